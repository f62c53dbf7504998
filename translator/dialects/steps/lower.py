"""`steps` -> canonical: order of the list, branch targets, milliseconds, and `config` of the structural types."""

from __future__ import annotations

from typing import Any

from translator.diagnostics import Findings, Position
from translator.dialects import common, routing
from translator.dialects.canonical.schema import Strict
from translator.dialects.common import STEP_TYPES
from translator.dialects.holes import OPEN
from translator.dialects.routing import Listed, Target
from translator.dialects.spelling import CANONICAL_TYPES, only
from translator.dialects.steps import schema
from translator.dialects.templates import map_texts, splice_holes, to_canonical_holes
from translator.dialects.validate import check, did_you_mean
from translator.expressions.parser import parse
from translator.findings import dialects as rules
from translator.source import Map, Seq

OWN_TYPES = ("http", "agent", "transform", "conditional", "parallel", "delay", "notification")
_TYPES = (*OWN_TYPES, *(kind for kind in CANONICAL_TYPES if kind not in {STEP_TYPES[name] for name in OWN_TYPES}))
DEFAULT_RETRIES, DEFAULT_RETRY_DELAY = 3, 1  # of `on_error: retry`
LONGEST, MOST_ATTEMPTS, MOST_RETRIES, LONGEST_NAME, LONGEST_DESCRIPTION = 300, 5, 5, 100, 500
MILLI = 0.001
_SHAPES: dict[str, type[Strict]] = {
    "parallel": schema.ParallelConfig, "foreach": schema.ForeachConfig, "wait": schema.DelayConfig,
    "workflow": schema.WorkflowConfig,
}
_STEP_TEXTS = ("items", "input", "seconds", "until", "cache")


def lower(document: Map, findings: Findings) -> Map:
    """Canonical data from a definition that has the shape of `schema.Definition`."""
    return _Reader(findings).workflow(document)


def text(value: str, at: Position = common.NO_PLACE) -> str:
    """A text with both of the dialect's delimiters, `{{ }}` and `${{ }}`, in the canonical one."""
    return to_canonical_holes(value, "${{", OPEN)


class _Reader:
    def __init__(self, findings: Findings) -> None:
        self.findings = findings

    def workflow(self, source: Map) -> Map:
        result = Map(source.pos)
        for key in source:
            if key in ("steps", "rollback", "finally"):
                result.put(key, self.list_(source[key], key), source.at(key), source.at_key(key))
            elif key == "version":
                version = common.version(source[key], source.at(key), self.findings)
                if version:
                    result.put(key, version, source.at(key), source.at_key(key))
            elif key in ("outputs", "variables", "notifications"):
                result.put(key, map_texts(source[key], text, source.at(key)), source.at(key), source.at_key(key))
            elif key != "error_handling":
                result.move(key, source)
        for key, most in (("name", LONGEST_NAME), ("description", LONGEST_DESCRIPTION)):
            self.limit(len(source.get(key, "")), most, f"the {key} of a workflow has at most {most} characters",
                source.at(key))
        if isinstance(source.get("error_handling"), Map):
            self.error_handling(source["error_handling"], source, result)
        return result

    def limit(self, amount: float, most: float, message: str, at: Position) -> None:
        if amount > most:
            self.findings.add(rules.BEYOND_DIALECT, f"in the steps dialect {message}", at)

    def error_handling(self, source: Map, document: Map, result: Map) -> None:
        old = document.get("settings")
        settings = Map(old.pos if isinstance(old, Map) else source.pos)
        if isinstance(old, Map):
            for key in old:
                settings.move(key, old)
        for key, own in (("on_error", "on_error"), ("retry", "max_retries")):
            if key in settings and source.get(own) is not None:
                self.findings.add(rules.WRITTEN_TWICE,
                    f"`settings.{key}` and `error_handling.{own}` say the same thing", source.at_key(own),
                    related=(("the other one", settings.at_key(key)),))
        at = source.at("on_error")
        wants_retry = source.get("on_error") == "retry"
        retries = source.get("max_retries")
        if retries is None and (wants_retry or source.get("retry_delay") is not None):
            retries = DEFAULT_RETRIES
        if retries:
            self.limit(retries, MOST_RETRIES, f"`max_retries` is at most {MOST_RETRIES}", source.at("max_retries"))
            place = source.at("max_retries") if "max_retries" in source else at
            delay = self.milliseconds(source, "retry_delay")
            retry = Map(place)
            retry.put("max_attempts", retries + 1, place)
            retry.put("strategy", "fixed", place)
            retry.put("delay", DEFAULT_RETRY_DELAY if delay is None else delay, source.at("retry_delay"))
            settings.put("retry", retry, place)
        elif source.get("retry_delay") is not None:
            self.findings.add(rules.NO_EFFECT, "`retry_delay` has no effect, since `max_retries` is 0",
                source.at_key("retry_delay"))
        if source.get("on_error") is not None:
            # The retries are part of each step's attempts, so what is left to decide is what follows them.
            settings.put("on_error", "fail" if wants_retry else common.action(source["on_error"]), at,
                source.at_key("on_error"))
        if settings:
            result.put("settings", settings, settings.pos)

    def milliseconds(self, source: Map, key: str) -> int | float | None:
        """A time of this dialect in seconds; a number below 1000 is refused, as it is meant in seconds."""
        value = source.get(key)
        if value is None:
            return None
        if isinstance(value, (int, float)) and 0 < value < 1000:
            self.findings.add(rules.MILLISECONDS, f"`{key}: {value}` is in milliseconds, at least 1000", source.at(key),
                hint=f"write {int(value * 1000)} or `{value}s`")
            return None
        return common.seconds(value, source.at(key), self.findings, MILLI)

    def list_(self, source: Seq, place: str) -> Seq:
        """The steps of a list, in order."""
        listed = [self.listed(item, f"{place}[{number}]", number) for number, item in enumerate(source)]
        routing.connect(listed, self.findings)
        self.between(listed)
        result = Seq(source.pos)
        for entry, at in zip(listed, source.item_at, strict=True):
            result.add(entry.step, at)
        return result

    def between(self, listed: list[Listed]) -> None:
        """Tell of steps that a branch seems to jump over."""
        places = {entry.id: number for number, entry in enumerate(listed)}
        named = {common.nfc(target.step) for entry in listed for target in entry.targets}
        for number, entry in enumerate(listed):
            self.apart(entry, listed[number + 1 :])
            for target in entry.targets:
                inside = listed[number + 1 : places.get(common.nfc(target.step), 0)]
                passed = next((one for one in inside if one.written is None and one.id not in named), None)
                if passed is not None:
                    self.findings.add(rules.RUNS_EITHER_WAY, f"{passed.id!r} stands before {target.step!r} and runs whichever"
                        f" branch of {entry.id!r} is taken", target.at,
                        hint=f"let another branch name {passed.id!r} if it belongs to that one alone")
                    break

    def apart(self, entry: Listed, following: list[Listed]) -> None:
        """Tell of a branch that ends with an approval, where the other branch's step stands next as if it came after that."""
        targets = {common.nfc(target.step): target for target in entry.targets}
        if len(following) < 2 or following[0].id not in targets:
            return
        first = targets[following[0].id]
        for before, after in zip(following, following[1:], strict=False):
            if before.written is not None or before is not following[0] and before.id in targets:
                return
            other = targets.get(after.id)
            if other is not None and other.outcome != first.outcome and before.step.get("type") == "approval":
                self.findings.add(rules.ONE_OR_OTHER, f"{after.id!r} does not run after {before.id!r}:"
                    f" {entry.id!r} leads to one of the two", other.at,
                    hint=f"remove the branch {other.outcome!r} if {after.id!r} is to run in any case")

    def listed(self, source: Map, place: str, barrier: int) -> Listed:
        step, targets = self.step(source, place)
        return Listed(step, routing.written(source), targets, barrier)

    def step(self, source: Map, place: str) -> tuple[Map, list[Target]]:
        result = Map(source.pos)
        kind = self.type(source)
        result.move("id", source)
        for key in source:
            at, at_key = source.at(key), source.at_key(key)
            if key in ("id", "depends_on", "config") or source[key] is None:
                continue
            if key == "type":
                result.put(key, kind, at, at_key)
            elif key == "timeout":
                self.timeout(result, source, kind)
            elif key == "when":
                common.put_expression(result, key, source)
            elif key == "retry":
                result.put(key, self.retry(source[key]), at, at_key)
            elif key == "on_failure":
                common.put_on_failure(result, source)
            elif key in _STEP_TEXTS:
                result.put(key, map_texts(source[key], text, at), at, at_key)
            elif key == "compensation":
                result.put(key, self.step(source[key], f"{place}.{key}")[0], at, at_key)
            elif key == "steps":
                result.put(key, self.list_(source[key], f"{place}.{key}"), at, at_key)
            elif key == "branches":
                result.put(key, self.branches(source[key], f"{place}.{key}"), at, at_key)
            else:
                result.move(key, source)
        self.limit(len(source.get("name") or ""), LONGEST_NAME,
            f"the name of a step has at most {LONGEST_NAME} characters", source.at("name"))
        config = source.get("config")
        if not isinstance(config, Map):
            config = Map(source.pos)
        if "retry" in config and kind not in _SHAPES:
            config = self.retry_from_config(config, source, result, place)
        return result, self.config(kind, config, source, result, place)

    def type(self, source: Map) -> str:
        name = str(source["type"])
        kind = STEP_TYPES.get(name.lower())
        if kind is None:
            self.findings.add(rules.UNKNOWN_TYPE, f"{name!r} is no step type", source.at("type"),
                hint=did_you_mean(name, STEP_TYPES, f"types: {', '.join(_TYPES)}; your own function: `type: skill`"))
            return name
        return kind

    def timeout(self, result: Map, source: Map, kind: str) -> None:
        amount = self.milliseconds(source, "timeout")
        if amount is not None:
            if source["type"] in OWN_TYPES and isinstance(source["timeout"], (int, float)):
                self.limit(amount, LONGEST, "the timeout of a step is at most 300000 milliseconds",
                    source.at("timeout"))
            result.put("timeout", amount, source.at("timeout"), source.at_key("timeout"))

    def retry(self, source: Map) -> Map:
        for key in ("initial_delay",):
            if isinstance(source.get(key), (int, float)) and 0 < source[key] < 1000:
                self.milliseconds(source, key)
        attempts = source.get("max_attempts")
        if isinstance(attempts, int):
            self.limit(attempts, MOST_ATTEMPTS, f"`max_attempts` is at most {MOST_ATTEMPTS}", source.at("max_attempts"))
        return common.retry(source, self.findings, times={"initial_delay": ("delay", MILLI)}, strategy="backoff")

    def retry_from_config(self, config: Map, source: Map, result: Map, place: str) -> Map:
        """`retry` may stand inside of `config` too."""
        retry = config["retry"]
        rest = Map(config.pos)
        for key in config:
            if key != "retry":
                rest.move(key, config)
        if "retry" in result:
            self.findings.add(rules.WRITTEN_TWICE, "`retry` stands in the step and in its `config`",
                config.at_key("retry"), related=(("the other one", source.at_key("retry")),))
        elif not isinstance(retry, Map):
            self.findings.add(rules.WRONG_TYPE, f"{place}.config.retry must be a mapping", config.at("retry"))
        elif check(schema.Retry, retry, self.findings, f"{place}.config.retry"):
            result.put("retry", self.retry(retry), config.at("retry"), config.at_key("retry"))
        return rest

    def config(self, kind: str, config: Map, source: Map, result: Map, place: str) -> list[Target]:
        """Put the settings where the canonical spelling has them; gives what a conditional step leads to."""
        if kind in _SHAPES:
            if check(_SHAPES[kind], config, self.findings, f"{place}.config"):
                self.structure(kind, config, result, place)
            return []
        if kind == "choice":
            if "cases" in result and not config:
                return []
            routing.check_keys(config, ("condition", "when", "branches", "default", "cases", "mode"),
                "the config of a conditional step", self.findings)
            common.join(result, only(config, ("mode",)), self.findings, "config", "step")
            if "cases" in config:
                common.only_one(config, ("cases", "condition", "when", "branches"), self.findings)
                for key in ("cases", "default"):
                    if key in result:
                        common.twice(self.findings, f"`config.{key}`", f"`{key}` of the step", config.at_key(key),
                            result.at_key(key))
                    result.move(key, config)
                return []
            return routing.choice(result, config, self.findings)
        if kind == "transform" and "expression" in config:
            config = self.transform(config)
        elif kind == "transform" and not any(key in config for key in ("operation", "script", "data")):
            self.findings.add(rules.MISSING_FIELD, f"the transform step {source['id']!r} has no `expression`",
                config.pos, hint="add `expression:` to its `config`")
        if kind == "http" and isinstance(config.get("timeout"), str):
            amount = common.seconds(config["timeout"], config.at("timeout"), self.findings)
            changed = Map(config.pos)
            for key in config:
                changed.move(key, config)
            changed["timeout"] = amount
            config = changed
        if config:
            self.put_config(result, kind, config, source)
        return []

    def put_config(self, result: Map, kind: str, config: Map, source: Map) -> None:
        changed = Map(config.pos)
        for key in config:
            at = config.at(key)
            bare = kind == "transform" and key == "expression"  # an expression, not a text with holes
            changed.put(key, config[key] if bare else map_texts(config[key], text, at), at, config.at_key(key))
        result.put("config", changed, source.at("config"), source.at_key("config"))

    def transform(self, config: Map) -> Map:
        """An expression whose value comes out under `output_key`; an empty `output_key` leaves the value alone."""
        result = Map(config.pos)
        for key in config:
            if key not in ("expression", "output_key"):
                result.move(key, config)
        key = config.get("output_key", "result")
        if key is not None and not isinstance(key, str):
            self.findings.add(rules.WRONG_TYPE, "`output_key` is a text", config.at("output_key"))
            return result
        if not isinstance(config["expression"], str):
            result.move("expression", config)
            return result
        common.put_expression(result, "expression", config)
        if config.get("operation", "transform") != "transform":  # the expression is evaluated for each item
            if "output_key" in config:
                self.findings.add(rules.NO_EFFECT, "`output_key` has no effect on an operation over items",
                    config.at_key("output_key"))
        elif key and parse(result["expression"], config.at("expression"), Findings()) is not None:  # else it is reported alone
            quoted = key.replace("\\", "\\\\").replace('"', '\\"')
            before = f'{{"{quoted}": ('
            at = result.at("expression")
            if at.column > len(before):  # so that what is inside keeps its column
                at = at._replace(column=at.column - len(before), length=at.length + len(before) + 2)
            result.put("expression", f"{before}{result['expression']})}}", at, config.at_key("expression"))
        return result

    def structure(self, kind: str, config: Map, result: Map, place: str) -> None:
        for key in config:
            value, at, at_key = config[key], config.at(key), config.at_key(key)
            if value is None:
                continue
            canonical = {"workflow_id": "workflow", "duration": "seconds", "duration_ms": "seconds"}.get(key, key)
            if kind == "parallel" and key == "steps":
                canonical = "branches"
            if canonical in result:
                self.findings.add(rules.WRITTEN_TWICE, f"`{key}` is said twice in step {result['id']!r}", at_key,
                    related=(("the other one", result.at_key(canonical)),))
            elif kind == "parallel" and key == "steps":
                result.put("branches", self.parallel(value, result["id"], f"{place}.config.steps"), at, at_key)
            elif key == "branches":
                result.put(key, self.branches(value, f"{place}.config.branches"), at, at_key)
            elif key == "steps":
                result.put(key, self.list_(value, f"{place}.config.steps"), at, at_key)
            elif key in ("duration", "duration_ms"):
                result.put("seconds", self.delay(value, at), at, at_key)
            else:
                result.put(canonical, map_texts(value, text, at), at, at_key)

    def delay(self, value: Any, at: Position) -> Any:
        if isinstance(value, str) and "{{" in value:
            expression = splice_holes(value)
            return f"{{{{ ({expression}) / 1000 }}}}"
        return common.seconds(value, at, self.findings, MILLI) or 0

    def parallel(self, source: Seq, parent: str, place: str) -> Seq:
        """A branch for each step; steps that depend on each other share one."""
        listed = []
        for number, item in enumerate(source):
            named = item
            if "id" not in item:
                named = Map(item.pos)
                named.put("id", f"{parent}_parallel_{number}", item.pos)
                for key in item:
                    named.move(key, item)
            listed.append(self.listed(named, f"{place}[{number}]", 0))
        return self.beside(listed, source.pos)

    def beside(self, listed: list[Listed], at: Position) -> Seq:
        branches = Seq(at)
        for group in routing.components(listed):
            routing.connect(group, self.findings)
            branch = Map(group[0].step.pos)
            steps = Seq(branch.pos)
            for entry in group:
                steps.add(entry.step, entry.step.pos)
            branch.put("steps", steps, branch.pos)
            branches.add(branch, branch.pos)
        return branches

    def branches(self, source: Seq, place: str) -> Seq:
        result = Seq(source.pos)
        for number, (branch, at) in enumerate(source.pairs()):
            changed = Map(branch.pos)
            for key in branch:
                changed.move(key, branch)
                if key == "steps":
                    changed[key] = self.list_(branch[key], f"{place}[{number}].steps")
            result.add(changed, at)
        return result
