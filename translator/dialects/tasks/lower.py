"""`tasks` -> canonical data.

Decisions: a task without `retry_policy` is not retried, except with `on_failure: Retry`, which means the default policy
(three attempts). A partial policy takes the defaults of the rest. A task in a branch of a Conditional is entered
through that branch alone; whatever else it depends on only has to be settled before. A Loop without `parallel: true`
goes one item at a time. An approval that nobody answers cancels the execution. An upper-case name that nothing declares
is read from the environment. Limits and timeouts that are not written are not invented.
"""

from __future__ import annotations

import re
from typing import Any

from translator.diagnostics import Findings, Position
from translator.dialects import common
from translator.dialects.holes import Part, hole_end, parts, written
from translator.dialects.spelling import (
    CANONICAL_TYPES,
    Spelling,
    carry_step,
    carry_workflow,
    each,
    lift,
    put,
    put_changed,
    rename,
    respelled,
    without,
)
from translator.dialects.tasks import schema
from translator.dialects.templates import (
    closed,
    expression,
    map_texts,
    splice_holes,
    strip_delimiters,
)
from translator.dialects.validate import check, did_you_mean, one_of
from translator.findings import dialects as rules
from translator.source import Map, Seq

HOLES = (("${{", "}}"), ("${", "}"))
ACTIONS = {"Fail": "fail", "Continue": "continue", "Rollback": "rollback"}
_ENVIRONMENT = re.compile(r"[A-Z][A-Z0-9_]+\Z")
_OBJECT = re.compile(r"\{\s*(?:\}|(?:\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|[^\W\d]\w*)\s*:)", re.DOTALL)
_POLICY = {"initial_delay_ms": ("delay", 0.001), "max_delay_ms": ("max_delay", 0.001)}


def lower(document: Map, findings: Findings) -> Map:
    """The canonical data of a `tasks` definition that has passed its schema."""
    return _Lowering(document, findings).workflow()


class _Lowering:
    def __init__(self, document: Map, findings: Findings) -> None:
        self.document = document
        self.findings = findings
        self.known = {"item", "index", *(document.get("variables") or ()), *(document.get("inputs") or ())}
        _declared(document.get("tasks"), self.known)
        self.config: Map = document.get("config") or Map(document.pos)
        self.rollback = self.config.get("enable_rollback", True)
        self.spelling = Spelling(self.text, self.expression, self.task)

    # Texts

    def name(self, word: str) -> str | None:
        if word in self.known:
            return None
        if _ENVIRONMENT.match(word):
            return f"env.{word}"
        return {"outputs": "tasks", "environment": "env"}.get(word)

    def text(self, text: str, at: Position) -> str:
        if "$" not in text and "{{" not in text:
            return text
        found = closed(text, parts(text, ["${"]), "${", "}", at, self.findings)
        return written(Part(self.hole(part.text), True, part.closed) if part.hole else part for part in found)

    def hole(self, inner: str) -> str:
        bare = inner.strip()
        if (within := strip_delimiters(bare)) != bare:
            return rename(within, self.name)
        if bare.startswith("{") and bare.endswith("}") and not _OBJECT.match(bare):  # `${{ x }}` is taken as well
            return rename(f" {bare[1:-1].strip()} ", self.name)
        return rename(inner, self.name)

    def expression(self, text: str, at: Position) -> tuple[str, Position]:
        stripped = text.strip()
        if _OBJECT.match(stripped, 2) and stripped.startswith("${") and hole_end(stripped, 2, "}") == len(stripped) - 1:
            return rename(stripped[2:-1].strip(), self.name), at  # an object, and no `${{ x }}`
        bare, place = expression(text, at)
        spliced = splice_holes(bare, *HOLES)
        return rename(spliced, self.name), place if spliced == bare else at

    # The workflow

    def workflow(self) -> Map:
        doc = self.document
        out = Map(doc.pos)
        for key in ("id", "name"):
            out.move(key, doc)
        if doc.get("version") is not None:
            put(out, "version", common.version(doc["version"], doc.at("version"), self.findings), doc)
        self.labels(out)
        self.settings(out)
        self.notifications(out)
        carry_workflow(doc, out, self.spelling, skip=("version", "labels", "settings", "notifications"),
            findings=self.findings)
        put(out, "steps", self.scope(doc["tasks"]), doc, "tasks")
        return common.ordered(out, common.WORKFLOW_KEYS)

    def labels(self, out: Map) -> None:
        labels = Map(self.document.at("metadata"))
        for section in ("metadata", "labels"):
            common.join(labels, self.document.get(section) or Map(), self.findings, section, "metadata")
        if labels:
            out.put("labels", labels)

    def settings(self, out: Map) -> None:
        settings = Map(self.document.at("settings"))
        written = self.document.get("settings") or Map(self.document.pos)
        for key in written:
            settings.move(key, written)
        for key, canonical in (("max_parallel_tasks", "max_parallel"), ("timeout_seconds", "timeout")):
            if self.config.get(key) is not None:
                self.once(settings, canonical, self.config.at_key(key), f"config.{key}")
                put(settings, canonical, self.config[key], self.config, key)
        if self.config.get("checkpoint_interval_seconds") is not None:
            self.once(settings, "checkpoint", self.config.at_key("checkpoint_interval_seconds"),
                "config.checkpoint_interval_seconds")
            at = self.config.at("checkpoint_interval_seconds")
            checkpoint = Map(at)
            checkpoint.put("policy", "interval", at)
            checkpoint.move("interval", self.config, "checkpoint_interval_seconds")
            put(settings, "checkpoint", checkpoint, self.config, "checkpoint_interval_seconds")
        if settings:
            out.put("settings", settings, self.document.at("settings" if written else "config"))

    def once(self, target: Map, key: str, at: Position, other: str) -> None:
        if target.get(key) is not None:
            self.findings.add(rules.WRITTEN_TWICE, f"`{key}` and `{other}` say the same thing", at,
                related=(("also here", target.at_key(key)),))

    def notifications(self, out: Map) -> None:
        result = Seq(self.document.at("notifications"))
        notify: Map = self.config.get("notification_config") or Map(self.config.pos)
        rows = (
            ("on_completion", ("completed",), "completed"),
            ("on_failure", ("failed",), "failed"),
        )
        for key, events, word in rows:
            if notify.get(key):
                at = notify.at(key)
                config = Map(at)
                config.put("channel", "email", at)
                config.put("to", map_texts(notify[key], self.text, at), at)
                config.put("subject", f"{{{{ workflow.name }}}} {word}", at)
                config.put("message", f"Execution {{{{ execution.id }}}} of {{{{ workflow.name }}}} {word}.", at)
                result.add(_notification(events, config))
        if notify.get("webhook_url"):
            at = notify.at("webhook_url")
            config = Map(at)
            config.put("channel", "webhook", at)
            config.put("url", self.text(notify["webhook_url"], at), at)
            config.put("message", "Execution {{ execution.id }} of {{ workflow.name }} has ended.", at)
            result.add(_notification(("completed", "failed"), config))
        written = self.document.get("notifications")
        for item, at in written.pairs() if written else ():
            result.add(map_texts(item, self.text, at), at)
        if result:
            out.put("notifications", result)

    # Tasks

    def scope(self, tasks: Seq) -> Seq:
        """The tasks of one list; a Conditional's branches become edges of the tasks they name."""
        steps = each(tasks, self.task)
        by_id = {common.nfc(step["id"]): step for step in steps if isinstance(step.get("id"), str)}
        routes: dict[str, dict[str, list[str]]] = {}
        for task, step in zip(tasks, steps, strict=True):
            spec = _spec(task)
            if spec is None or _type_name(spec["type"]) != "Conditional":
                continue
            for key, outcome in (("true_branch", "true"), ("false_branch", "false")):
                for target, at in common.dependencies(spec, key):
                    if not isinstance(target, str) or common.nfc(target) not in by_id:
                        self.findings.add(rules.BRANCH_TARGET, f"{key} names {target!r}, which is no task here", at,
                            hint=one_of(str(target), by_id))
                        continue
                    routes.setdefault(common.nfc(target), {}).setdefault(step["id"], []).append(outcome)
        for target, sources in routes.items():
            _route(by_id[target], sources)
        return steps

    def task(self, task: Map) -> Map:
        out = Map(task.pos)
        for key in ("id", "name"):
            out.move(key, task)
        spec = _spec(task)
        common.only_one(task, ("type", "task_type"), self.findings)
        if spec is None:
            self.findings.add(rules.MISSING_KEY, f"the task {task.get('id')!r} has no `type` with a `type` in it",
                task.pos, hint="write `type: {type: Command, command: …}`")
            out.put("type", "skill")
            return out
        self.typed(task, spec, out)
        self.around(task, spec, out)
        return common.ordered(out, common.STEP_KEYS)

    def typed(self, task: Map, spec: Map, out: Map) -> None:
        """The step's type, its structure and its configuration."""
        name = _type_name(spec["type"])
        found = schema.KINDS.get(name)
        kind = found[0] if found else name
        config = Map(spec.pos)
        settings = without(spec, ("type",))
        if found:
            put(out, "type", kind, spec, "type")
            if not check(found[1], settings, self.findings, f"`type` ({name}) of {str(task.get('id'))!r}"):
                return
            special = getattr(self, f"as_{kind}", None)
            if special:
                special(task, settings, out, config)
            else:
                for key in settings:
                    config.move(key, settings)
        elif kind in CANONICAL_TYPES:
            put(out, "type", kind, spec, "type")
            structure = Map(spec.pos)
            lift(kind, settings, structure, config, self.findings)
            if "steps" in structure:
                put(out, "steps", self.scope(structure["steps"]), structure)
            carry_step(structure, out, self.spelling, ("steps",), self.findings)
        else:
            named = {kind for kind, _ in schema.KINDS.values()} - {"choice", "foreach"}
            others = [kind for kind in CANONICAL_TYPES if kind not in named]
            self.findings.add(rules.UNKNOWN_TYPE, f"{name!r} is no type of task", spec.at("type"),
                hint=common.type_hint(name) or did_you_mean(name, (*schema.KINDS, *CANONICAL_TYPES),
                    f"types: {', '.join((*schema.KINDS, *others))}"))
            out.put("type", "skill")
        if config:
            out.put("config", respelled(kind, config, self.spelling), spec.pos)

    def as_skill(self, task: Map, settings: Map, out: Map, config: Map) -> None:
        config.move("skill", settings, "plugin_name")
        config.move("parameters", settings, "config")

    def as_workflow(self, task: Map, settings: Map, out: Map, config: Map) -> None:
        out.move("workflow", settings, "workflow_id")
        if "inputs" in settings:
            put(out, "input", map_texts(settings["inputs"], self.text, settings.at("inputs")), settings, "inputs")
        out.move("wait_for_completion", settings)

    def as_approval(self, task: Map, settings: Map, out: Map, config: Map) -> None:
        for key in settings:
            if key != "timeout_seconds":
                config.move(key, settings)
        if "on_timeout" not in config:
            config.put("on_timeout", "cancel")
        if settings.get("timeout_seconds") is not None:
            out.move("timeout", settings, "timeout_seconds")
            if task.get("timeout") is not None:
                own = common.seconds(task["timeout"], task.at("timeout"), self.findings)
                if own != settings["timeout_seconds"]:
                    self.findings.add(rules.TIMEOUTS_DIFFER,
                        f"people have {settings['timeout_seconds']} seconds to answer; the task's own timeout is not"
                        " used", task.at("timeout"))

    def as_choice(self, task: Map, settings: Map, out: Map, config: Map) -> None:
        case = Map(settings.at("condition"))
        case.put("name", "true")
        condition = settings["condition"]
        if isinstance(condition, bool):
            condition = "true" if condition else "false"
        put_changed(case, "when", condition, settings, self.expression, "condition")
        cases = Seq(settings.at("condition"))
        cases.add(case)
        put(out, "cases", cases, settings, "condition")
        out.put("default", "false", settings.at("condition"))

    def as_foreach(self, task: Map, settings: Map, out: Map, config: Map) -> None:
        items = settings["items"]
        at = settings.at("items")
        if isinstance(items, str) and "${" not in items:
            items = f"{{{{ {rename(items.strip(), self.name)} }}}}"
        else:
            items = map_texts(items, self.text, at)
        put(out, "items", items, settings)
        if not settings.get("parallel") and settings.get("max_parallel") is None and task.get("max_parallel") is None:
            out.put("max_parallel", 1, settings.at("parallel"))
        body = Seq(settings.at("task_template"))
        template = settings.get("task_template")
        if template is not None:
            filled = Map(template.pos)
            filled.put("id", f"{task.get('id')}-task", task.at("id"))
            for key in template:
                filled.move(key, template)
            body.add(filled, settings.at("task_template"))
        for inner, inner_at in (settings.get("steps") or Seq()).pairs():
            body.add(inner, inner_at)
        if template is None and not body:
            self.findings.add(rules.MISSING_KEY, f"the loop {task.get('id')!r} has no `task_template`", settings.pos)
        shape = Map(body.pos)
        shape.put("tasks", body)
        if check(schema.Scope, shape, self.findings, f"the loop {str(task.get('id'))!r}"):
            out.put("steps", self.scope(body), settings.at("task_template"))
        carry_step(settings, out, self.spelling, ("steps", "items"), self.findings)

    def around(self, task: Map, spec: Map, out: Map) -> None:
        """What surrounds the type: edges, condition, retry, failure, times."""
        if task.get("condition") is not None:
            self.once(task, "when", task.at_key("condition"), "condition")
            put_changed(out, "when", task["condition"], task, self.expression, "condition")
        if task.get("timeout") is not None and "timeout" not in out:
            seconds = self.duration(task)
            if seconds is not None:
                put(out, "timeout", seconds, task)
        config: Map = task.get("config") or Map(task.pos)
        self.retry(task, config, out)
        self.on_failure(task, config, out)
        out.move("checkpoint", config)
        if config.get("stream_output"):
            self.findings.add(rules.NOT_STREAMED, "the output of this task is not streamed; it arrives at the end",
                config.at_key("stream_output"))
        if config.get("collect_output") is False:
            self.findings.add(rules.NO_EFFECT, "an output that nothing reads is never carried along anyway",
                config.at_key("collect_output"))
        skip = ["type", "config", "timeout", *(key for key in ("when", "retry", "on_failure") if key in out)]
        if task.get("steps") and "steps" not in out:
            put(out, "steps", self.scope(task["steps"]), task)
        carry_step(task, out, self.spelling, skip, self.findings)

    def duration(self, task: Map) -> int | float | None:
        value = task["timeout"]
        at = task.at("timeout")
        if isinstance(value, Map) and {*value} <= {"secs", "nanos"}:
            value = value.get("secs", 0) + value.get("nanos", 0) / 1_000_000_000
        return common.seconds(value, at, self.findings)

    def retry(self, task: Map, config: Map, out: Map) -> None:
        policy = task.get("retry_policy")
        asked = config.get("on_failure") == "Retry"
        if policy is None and (not asked or task.get("retry") is not None):
            return
        at = task.at("retry_policy") if policy is not None else config.at("on_failure")
        if policy is not None:
            self.once(task, "retry", task.at_key("retry_policy"), "retry_policy")
        result = Map(at)
        for key, value in (("max_attempts", 3), ("strategy", "exponential"), ("delay", 1), ("max_delay", 30),
                ("multiplier", 2)):
            result.put(key, value, at)
        if policy is not None:
            written = common.retry(policy, self.findings, times=_POLICY)
            for key, name in (("backoff_multiplier", "multiplier"), ("retryable_errors", "on")):
                if key in written:
                    put(result, name, written.pop(key), policy, key)
            for key in written:
                result.move(key, written)
            if result["max_delay"] < result["delay"] and "max_delay_ms" not in policy:
                result["max_delay"] = result["delay"]  # the default limit must not shorten a delay that is written
        out.put("retry", result, at)

    def on_failure(self, task: Map, config: Map, out: Map) -> None:
        chosen = config.get("on_failure")
        if chosen is None or chosen == "Retry":
            return
        self.once(task, "on_failure", config.at_key("on_failure"), "config.on_failure")
        action = ACTIONS[chosen]
        if action == "rollback" and not self.rollback:
            self.findings.add(rules.ROLLBACK_DISABLED, "this task's rollback is switched off by `enable_rollback`",
                config.at("on_failure"), related=(("switched off here", self.config.at("enable_rollback")),))
            action = "fail"
        put(out, "on_failure", action, config)


def _spec(task: Map) -> Map | None:
    """The mapping that says what a task does."""
    key = "type" if task.get("type") is not None else "task_type"
    value: Any = task.get(key)
    if isinstance(value, str):
        spec = Map(task.at(key))
        spec.put("type", value, task.at(key))
        return spec
    return value if isinstance(value, Map) and isinstance(value.get("type"), str) else None


def _type_name(written: str) -> str:
    """The name of a type of task as it is listed; upper and lower case alike, canonical names first."""
    if written in schema.KINDS or written in CANONICAL_TYPES:
        return written
    lower = written.lower()
    return lower if lower in CANONICAL_TYPES else next((name for name in schema.KINDS if name.lower() == lower), written)


def _declared(tasks: Any, known: set[str]) -> None:
    """Output keys and loop names anywhere in `tasks`: names that an upper-case word may mean."""
    stack = [tasks]
    while stack:
        value = stack.pop()
        if isinstance(value, Map):
            known.update(value[key] for key in ("output_key", "item_name", "index_name")
                if isinstance(value.get(key), str))
            stack += value.values()
        elif isinstance(value, Seq):
            stack += value


def _notification(events: tuple[str, ...], config: Map) -> Map:
    result = Map(config.pos)
    on = Seq(config.pos)
    for event in events:
        on.add(event)
    result.put("on", on)
    result.put("config", config)
    return result


def _route(step: Map, sources: dict[str, list[str]]) -> None:
    """Make `step` a target of the Conditionals in `sources`; its other dependencies order it but do not enter it."""
    edges = Seq(step.at("depends_on"))
    routed = {common.nfc(source): outcomes for source, outcomes in sources.items()}
    for item, at in common.dependencies(step):
        if isinstance(item, Map):
            edges.add(item, at)
            if item.get("on") or item.get("when") is not None:
                routed.pop(common.nfc(item["step"]), None)
        elif common.nfc(item) not in routed:
            edges.add(common.dependency(item, at, when="false"), at)
    for source, outcomes in routed.items():
        edges.add(common.dependency(source, step.at("id"), on=list(dict.fromkeys(outcomes))))
    step.put("depends_on", edges, edges.pos)


