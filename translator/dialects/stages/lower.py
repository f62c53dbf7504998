"""`stages` -> canonical: stages become edges, metadata and parameters become settings and inputs."""

from __future__ import annotations

from typing import Any

from translator.diagnostics import Findings, Position
from translator.dialects import common, routing
from translator.dialects.common import STEP_TYPES
from translator.dialects.holes import CLOSE, hole_end, parts, written
from translator.dialects.routing import Listed, Target
from translator.dialects.spelling import only
from translator.dialects.stages import frame
from translator.dialects.templates import closed, map_texts
from translator.dialects.validate import did_you_mean
from translator.findings import dialects as rules
from translator.source import Map, Seq

MAX_PARALLEL = 5  # of a parallel stage that does not say
ADAPTIVE_ATTEMPTS, ADAPTIVE_LONGEST = 5, 60
# What a step has beside its settings; of a type without structure everything else of `parameters` is its `config`.
_STRUCTURE = {
    "parallel": ("branches", "wait_for_all", "max_parallel"),
    "foreach": ("items", "item_name", "index_name", "steps", "batch_size", "on_item_error", "max_parallel"),
    "wait": ("seconds", "until", "duration"),
    "choice": ("cases", "default", "mode", "condition", "when", "branches"),
}


Written = list[tuple[Any, Position]] | None


def lower(document: Map, findings: Findings) -> Map:
    """Canonical data from a definition that has the shape of `schema.Definition`."""
    return _Reader(findings).workflow(document["workflow"])


def _outside(written: Written, wrapped: dict[str, str]) -> Written:
    """Edges to steps of a bounded stage lead to the step around it."""
    changed: list[tuple[Any, Position]] = []
    for edge, at in written or ():
        name = edge.get("step") if isinstance(edge, Map) else edge
        around = wrapped.get(common.nfc(name)) if isinstance(name, str) else None
        if around is None:
            changed.append((edge, at))
        else:
            changed.append((common.dependency(around, at, when=edge.get("when") if isinstance(edge, Map) else None), at))
    return None if written is None else changed


class _Reader:
    def __init__(self, findings: Findings) -> None:
        self.findings = findings
        self.taken: set[str] = set()

    def text(self, value: str, at: Position) -> str:
        """`${{ x }}` as a canonical hole. `{{ x }}` is plain text here, which is often a mistake."""
        index = value.find("{{")
        while index >= 0:
            end = hole_end(value, index + 2)
            if (index == 0 or value[index - 1] not in "$\\") and end is not None:
                self.findings.add(rules.LITERAL_BRACES, f"{value[index:end + 2]!r} is plain text here", at,
                    hint=f"write `${value[index:end + 2]}` for the value")
                break
            index = value.find("{{", index + 2 if end is None else end)
        return written(closed(value, parts(value, ["${{"]), "${{", CLOSE, at, self.findings)) if "{" in value else value

    def texts(self, value: Any, at: Position) -> Any:
        return map_texts(value, self.text, at)

    def workflow(self, source: Map) -> Map:
        result = Map(source.pos)
        self.taken = {common.nfc(item["id"]) for stage in source["stages"] for item in stage["steps"]}
        for key in source:
            value, at, at_key = source[key], source.at(key), source.at_key(key)
            if value is None or key in ("metadata", "context", "parameters", "stages"):
                continue
            if key == "version":
                version = common.version(value, at, self.findings)
                if version:
                    result.put(key, version, at, at_key)
            elif key == "rollback":
                steps = value.get("steps", Seq(at)) if isinstance(value, Map) else value
                result.put(key, self.list_(steps), at, at_key)
            elif key == "finally":
                result.put(key, self.list_(value), at, at_key)
            elif key == "error_handlers":
                result.put(key, frame.handlers(value, source, self.findings), at, at_key)
            elif key in ("outputs", "variables", "notifications"):
                result.put(key, self.texts(value, at), at, at_key)
            else:
                result.move(key, source)
        if isinstance(source.get("metadata"), Map):
            frame.metadata(source["metadata"], result, self.retry, self.findings)
        if isinstance(source.get("parameters"), Seq):
            frame.parameters(source, result, self.findings)
        if isinstance(source.get("context"), Map):
            frame.context(source["context"], self.findings)
        result.put("steps", self.stages(source["stages"]), source.at("stages"), source.at_key("stages"))
        return result

    def stages(self, source: Seq) -> Seq:
        """One list of steps: each waits for the stage before, and in a serial stage for the step before."""
        listed: list[Listed] = []
        names: dict[str, Position] = {}
        wrapped: dict[str, str] = {}  # steps of bounded stages, with the step around them
        everywhere = {target.step for stage in source for target in self.foreign_targets(stage)}
        for number, (stage, at) in enumerate(source.pairs(), 1):
            if stage["name"] in names:
                self.findings.add(rules.WRITTEN_TWICE, f"two stages are named {stage['name']!r}", stage.at("name"),
                    related=(("the first one", names[stage["name"]]),))
            names.setdefault(stage["name"], stage.at("name"))
            start = len(listed)
            entries = [self.listed(item, start if stage.get("parallel") else start + index)
                for index, item in enumerate(stage["steps"])]
            limit = stage.get("max_parallel")
            if not stage.get("parallel") and limit is not None and len(entries) > 1:
                self.findings.add(rules.NO_EFFECT, "`max_parallel` has no effect on a stage without `parallel: true`",
                    stage.at_key("max_parallel"))
            most = MAX_PARALLEL if limit is None else limit
            if stage.get("parallel") and most < len(entries):
                own = {entry.id for entry in entries}
                outward = any(common.nfc(target.step) not in own for entry in entries for target in entry.targets)
                if outward or everywhere & own:
                    self.findings.add(rules.STAGE_LIMIT, f"the stage {stage['name']!r} runs all its steps at once",
                        stage.at_key("max_parallel") if limit is not None else stage.at("name"))
                else:
                    around = self.bounded(stage, entries, most, start, at)
                    frame.mark([around.step], stage, number)
                    wrapped.update(dict.fromkeys(own, around.id))
                    listed.append(around)
                    continue
            for entry in entries:
                self.guard(entry.step, stage)
            frame.mark([entry.step for entry in entries], stage, number)
            listed += entries
        for entry in listed:
            entry.written = _outside(entry.written, wrapped)
        routing.connect(listed, self.findings, strict=True)
        result = Seq(source.pos)
        for entry in listed:
            result.add(entry.step, entry.step.pos)
        return result

    def foreign_targets(self, stage: Map) -> list[Target]:
        """What decisions of a stage lead to in other stages. Findings come later, when the steps are read."""
        own = {common.nfc(item["id"]) for item in stage["steps"]}
        quiet = _Reader(Findings())
        return [target for item in stage["steps"] if item.get("decision") is not None or item.get("type") in
            ("decision", "choice", "conditional", "router")
            for target in quiet.step(item)[1] if common.nfc(target.step) not in own]

    def bounded(self, stage: Map, entries: list[Listed], most: int, start: int, at: Position) -> Listed:
        """A stage that runs fewer steps at once than it has: one parallel step around them."""
        name = stage["name"] if common.nfc(stage["name"]) not in self.taken else f"{stage['name']}_stage"
        step = Map(stage.pos)
        step.put("id", common.unique(common.nfc(name), self.taken), stage.at("name"))
        step.put("type", "parallel", at)
        own = {entry.id for entry in entries}
        for entry in entries:
            if entry.written is not None:
                entry.written = [(edge, place) for edge, place in entry.written
                    if common.nfc(str(edge["step"] if isinstance(edge, Map) else edge)) in own] or None
        branches = Seq(stage.at("steps"))
        for group in routing.components(entries):
            for entry in group:
                entry.barrier = 0
            routing.connect(group, self.findings)
            branch, steps = Map(group[0].step.pos), Seq(group[0].step.pos)
            for entry in group:
                steps.add(entry.step, entry.step.pos)
            branch.put("steps", steps, steps.pos)
            branches.add(branch, branch.pos)
        step.put("branches", branches, branches.pos)
        step.put("max_parallel", most, stage.at("max_parallel"))
        self.guard(step, stage)
        return Listed(step, None, [], start)

    def guard(self, step: Map, stage: Map) -> None:
        """A stage's `when` counts for each of its steps."""
        if stage.get("when") is None:
            return
        own = Map(stage.pos)
        common.put_expression(own, "when", stage)
        if step.get("when") is None:
            step.put("when", own["when"], own.at("when"), own.at_key("when"))
        else:
            first, second = (str(value).lower() if isinstance(value, bool) else f"({value})"
                for value in (own["when"], step["when"]))
            step.put("when", f"{first} and {second}", step.at("when"), step.at_key("when"))

    def list_(self, source: Seq) -> Seq:
        listed = [self.listed(item, number) for number, item in enumerate(source)]
        routing.connect(listed, self.findings)
        result = Seq(source.pos)
        for entry in listed:
            result.add(entry.step, entry.step.pos)
        return result

    def listed(self, source: Map, barrier: int) -> Listed:
        step, targets = self.step(source)
        return Listed(step, routing.written(source), targets, barrier)

    def step(self, source: Map) -> tuple[Map, list[Target]]:
        result = Map(source.pos)
        result.move("id", source)
        kind, custom = self.type(source)
        result.put("type", kind, source.at("type"), source.at_key("type"))
        for key in source:
            value, at, at_key = source[key], source.at(key), source.at_key(key)
            if value is None:
                continue
            match key:
                case "id" | "type" | "depends_on" | "skill" | "decision" | "parameters" | "config" | "has_side_effects":
                    continue
                case "compensation" | "compensation_on_failure":
                    self.compensation(result, source, key)
                case "when":
                    common.put_expression(result, key, source)
                case "retry":
                    result.put(key, self.retry(value), at, at_key)
                case "on_failure":
                    common.put_on_failure(result, source)
                case "caching":
                    common.only_one(source, ("caching", "cache"), self.findings)
                    result.put("cache", self.caching(value), at, at_key)
                case "steps":
                    result.put(key, self.list_(value), at, at_key)
                case "branches":
                    result.put(key, self.branches(value), at, at_key)
                case "items" | "input" | "seconds" | "until" | "cache":
                    result.put(key, self.texts(value, at), at, at_key)
                case _:
                    result.move(key, source)
        if common.only_one(source, ("pure", "has_side_effects"), self.findings) == "has_side_effects":
            result.put("pure", not source["has_side_effects"], source.at("has_side_effects"),
                source.at_key("has_side_effects"))
        return result, self.settings(kind, custom, source, result)

    def type(self, source: Map) -> tuple[str, str]:
        """The canonical type, and the name of the skill when the type is none of the product's."""
        name = source.get("type") or next((key for key in ("skill", "workflow", "decision") if source.get(key)), "")
        if not name:
            self.findings.add(rules.MISSING_KEY, f"the step {source['id']!r} has no 'type'", source.pos,
                hint=_skill_hint(source) or "add `type: skill` with `skill:`")
            return "skill", "-"
        kind = STEP_TYPES.get(name.lower())
        if kind is not None:
            return kind, ""
        hint = did_you_mean(name, STEP_TYPES)
        if hint:
            self.findings.add(rules.UNKNOWN_TYPE, f"{name!r} is no step type", source.at("type"),
                hint=f"{hint} A function of your own of that name is `type: skill` with `skill: {name}`")
        return "skill", name

    def settings(self, kind: str, custom: str, source: Map, result: Map) -> list[Target]:
        """Put `parameters`, `config`, `skill` and `decision` where the canonical spelling has them."""
        parameters, at = source.get("parameters"), source.at("parameters")
        config = Map(source.at("config"))
        frame.take(config, source.get("config"))
        for key, own in (("skill", "skill"), ("decision", "choice")):
            if source.get(key) not in (None, "") and kind != own:
                self.findings.add(rules.UNKNOWN_KEY, f"{key!r} is not a key of a step of type {kind}", source.at_key(key),
                    hint=f"remove it, or write `type: {'decision' if own == 'choice' else own}`")
        if kind == "choice":
            return self.decision(source, result, config)
        if kind == "skill":
            named = [*([source.at_key("type")] if custom else ()), *([source.at_key("skill")] if source.get("skill") else ()),
                *([config.at_key("skill")] if "skill" in config else ())]
            for at_key in named[1:] if not did_you_mean(custom, STEP_TYPES) else ():
                common.twice(self.findings, "this name of a skill", "another one", at_key, named[0])
            if source.get("skill"):
                config.move("skill", source)
            elif custom:
                config.put("skill", custom, source.at("type"))
            elif "skill" not in config:
                self.findings.add(rules.MISSING_FIELD, f"the step {source['id']!r} names no skill", source.pos,
                    hint=_skill_hint(source) or "add `skill:`")
            if parameters is not None:
                common.join(config, only(source, ("parameters",)), self.findings, "step", "config")
        elif kind == "workflow":
            if parameters is not None:
                if "input" in result:
                    self.findings.add(rules.WRITTEN_TWICE, "`parameters` and `input` say the same thing",
                        source.at_key("parameters"), related=(("the other one", source.at_key("input")),))
                result.put("input", self.texts(parameters, at), at, source.at_key("parameters"))
        elif isinstance(parameters, Map):
            for key in parameters:
                if key in config:
                    self.findings.add(rules.WRITTEN_TWICE, f"`parameters.{key}` and `config.{key}` say the same thing",
                        parameters.at_key(key))
                elif key in ("steps", "branches"):
                    self.findings.add(rules.UNKNOWN_KEY, f"`{key}` stands in the step itself, not in its parameters",
                        parameters.at_key(key), hint=f"write `{key}:` beside `type:`")
                elif key in _STRUCTURE.get(kind, ()):
                    self.structure(key, parameters, result)
                else:
                    config.move(key, parameters)
        elif parameters is not None:
            self.findings.add(rules.WRONG_TYPE, f"the parameters of a step of type {kind} are a mapping", at)
        if config:
            self.put_config(result, kind, config, source)
        return []

    def structure(self, key: str, parameters: Map, result: Map) -> None:
        """What shapes the state machine may stand among the parameters too."""
        name = "seconds" if key == "duration" else key
        if name in result:
            common.twice(self.findings, f"`parameters.{key}`", f"`{name}`", parameters.at_key(key), result.at_key(name))
            return
        value, at = parameters[key], parameters.at(key)
        result.put(name, self.duration(value, at) if key == "duration" else self.texts(value, at), at, parameters.at_key(key))

    def put_config(self, result: Map, kind: str, config: Map, source: Map) -> None:
        changed = Map(config.pos)
        for key in config:
            if kind == "transform" and key == "expression":  # an expression, not a text with holes
                common.put_expression(changed, key, config)
            else:
                changed.put(key, self.texts(config[key], config.at(key)), config.at(key), config.at_key(key))
        result.put("config", changed, source.at("config") if "config" in source else source.at("parameters"))

    def duration(self, value: Any, at: Position) -> Any:
        if isinstance(value, str) and "{{" in value:
            return self.text(value, at)
        return common.seconds(value, at, self.findings) or 0

    def decision(self, source: Map, result: Map, config: Map) -> list[Target]:
        decision = source.get("decision")
        parameters = source.get("parameters")
        settings = Map(source.pos)
        if isinstance(decision, Map):
            settings = Map(decision.pos)
            frame.take(settings, decision)
        elif decision is not None:
            settings.put("condition", decision, source.at("decision"), source.at_key("decision"))
        if isinstance(parameters, Map):
            common.join(settings, parameters, self.findings, "parameters", "decision")
        elif parameters is not None:
            self.findings.add(rules.WRONG_TYPE, "the parameters of a decision are a mapping", source.at("parameters"))
        common.join(settings, config, self.findings, "config", "decision")
        if "cases" in result and not settings:
            return []
        routing.check_keys(settings, ("condition", "when", "branches", "default"), "a decision", self.findings)
        return routing.choice(result, settings, self.findings)

    def retry(self, source: Map) -> Map:
        result = common.retry(source, self.findings, times={}, strategy="backoff")
        if source.get("backoff") == "adaptive":
            for key, value in (("max_attempts", ADAPTIVE_ATTEMPTS), ("max_delay", ADAPTIVE_LONGEST)):
                if key not in result:
                    result.put(key, value, result.at("strategy"))
        return result

    def caching(self, source: Any) -> Any:
        if not isinstance(source, Map):
            return source
        if source.get("enabled") is False:
            return False
        cache = Map(source.pos)
        for key in ("key", "key_pattern"):
            if source.get(key) is not None:
                if "key" in cache:
                    self.findings.add(rules.WRITTEN_TWICE, "`key` and `key_pattern` say the same thing",
                        source.at_key(key), related=(("the other one", cache.at_key("key")),))
                cache.put("key", self.texts(source[key], source.at(key)), source.at(key), source.at_key(key))
        if source.get("ttl") is not None:
            cache.move("ttl", source)
        if source.get("invalidation_rules"):
            self.findings.add(rules.NO_INVALIDATION, "`invalidation_rules` are not applied",
                source.at_key("invalidation_rules"))
        return cache or True

    def compensation(self, result: Map, source: Map, key: str) -> None:
        if key == "compensation" and source.get("compensation_on_failure") is not None:
            self.findings.add(rules.OWN_COMPENSATION,
                "`compensation_on_failure` is what undoes this step; `compensation` is not run", source.at_key(key))
            return
        value, at = source[key], source.at(key)
        written = value
        if isinstance(value, str):
            written = Map(at)
            written.put("skill", value, at)
        if "id" not in written:
            named = Map(written.pos)
            named.put("id", common.unique(f"{common.nfc(source['id'])}_compensation", self.taken), at)
            for name in written:
                named.move(name, written)
            written = named
        result.put("compensation", self.step(written)[0], at, source.at_key(key))

    def branches(self, source: Seq) -> Seq:
        result = Seq(source.pos)
        for branch, at in source.pairs():
            changed = Map(branch.pos)
            for key in branch:
                changed.move(key, branch)
                if key == "steps":
                    changed[key] = self.list_(branch[key])
            result.add(changed, at)
        return result


def _skill_hint(step: Map) -> str:
    """What to say when the name of a skill stands among its parameters."""
    parameters = step.get("parameters")
    if not isinstance(parameters, Map) or not isinstance(parameters.get("skill"), str):
        return ""
    return f"write `skill: {parameters['skill']}` beside `id:`, and under `parameters:` only what the skill is given"
