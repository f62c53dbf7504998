"""Canonical data -> `tasks`. What the dialect has no words for keeps its canonical key."""

from __future__ import annotations

import re
from typing import Any

from translator.diagnostics import Findings, Position
from translator.dialects import common
from translator.dialects.holes import parts, spelled
from translator.dialects.spelling import (
    STRUCTURE,
    Spelling,
    carry_step,
    carry_workflow,
    dependencies,
    each,
    in_literals,
    only,
    put,
    put_changed,
    respelled,
    without,
)
from translator.dialects.tasks import schema
from translator.dialects.templates import map_texts
from translator.dialects.validate import check
from translator.dialects.writing import two_way
from translator.findings import dialects as rules
from translator.source import Map, Seq, plain

_NAMES = {"command": "Command", "http": "Http", "query": "Query", "deploy": "Deploy", "scale": "Scale"}
_ACTIONS = {"fail": "Fail", "continue": "Continue", "rollback": "Rollback"}
_POLICY = ("max_attempts", "delay", "max_delay", "multiplier")
_ORDER = ("id", "name", "description", "type", "depends_on", "condition", "config", "retry_policy", "timeout")
_FIRST = ("id", "name", "version", "description", "inputs", "variables", "metadata", "config", "tasks")


def render(document: Map, findings: Findings) -> Map:
    """`document` is canonical data, tidied. Gives a definition that reads back as the same data."""
    return _Rendering(findings).workflow(document)


def _text(text: str, at: Position) -> str:
    pieces = (part._replace(text=part.text.strip()) if part.hole else part for part in parts(text))
    return spelled(pieces, "${", "}", lambda plain: _DELIMITER.sub(r"\\\g<0>", plain))


_DELIMITER = re.compile(r"\$\{\{?|(?<=\\)\{\{")  # what a backslash keeps from being read as an opener
_OPENER = re.compile(r"(?<!\\)(\\*)(?=\$\{(?!\{))")


def _expression(text: str, at: Position) -> tuple[str, Position]:
    """An expression whose text literals hold no `${` that would be read as a hole."""
    return in_literals(text, lambda literal: _OPENER.sub(_escaped, literal)) if "${" in text else text, at


def _escaped(match: re.Match[str]) -> str:
    # A backslash that stands alone is one of the text itself, and is written as two to stay one.
    return match[1] + "\\" * (1 + len(match[1]) % 2)


class _Rendering:
    def __init__(self, findings: Findings) -> None:
        self.findings = findings
        self.spelling = Spelling(_text, _expression, self.task)

    def workflow(self, document: Map) -> Map:
        out = Map(document.pos)
        settings: Map = document.get("settings") or Map(document.pos)
        config = Map(settings.pos)
        taken = []
        for key, name in (("max_parallel", "max_parallel_tasks"), ("timeout", "timeout_seconds")):
            if key in settings:
                config.move(name, settings, key)
                taken.append(key)
        checkpoint: Map = settings.get("checkpoint") or Map(settings.pos)
        if {*checkpoint} == {"policy", "interval"} and checkpoint["policy"] == "interval":
            config.move("checkpoint_interval_seconds", checkpoint, "interval")
            taken.append("checkpoint")
        if config:
            out.put("config", config)
        if rest := without(settings, taken):
            put(out, "settings", rest, document)
        if document.get("labels"):
            out.move("metadata", document, "labels")
        carry_workflow(document, out, self.spelling, skip=("labels", "settings"))
        put(out, "tasks", self.scope(document["steps"]), document, "steps")
        return common.ordered(out, _FIRST)

    def scope(self, steps: Seq) -> Seq:
        """The tasks of one list; edges out of a plain condition become its branches where that says the same."""
        tasks = each(steps, self.task)
        conditions = {step["id"]: task["type"] for step, task in zip(steps, tasks, strict=True)
            if isinstance(task["type"], Map) and task["type"]["type"] == "Conditional"}
        order = [*conditions]
        for step, task in zip(steps, tasks, strict=True):
            found = _branch(dependencies(step.get("depends_on") or Seq(step.pos), self.spelling), order)
            if found is None:
                continue
            others, routed = found
            for source, outcomes in routed:
                for outcome in outcomes:
                    spec = conditions[source]
                    key = f"{outcome}_branch"
                    if key not in spec:
                        spec.put(key, Seq(spec.pos), spec.pos)
                    spec[key].add(step["id"], step.at("id"))
            task.pop("depends_on", None)
            if others:
                put(task, "depends_on", others, step)
        for spec in conditions.values():
            spec_order = ("type", "condition", "true_branch", "false_branch")
            spec_sorted = common.ordered(spec, spec_order)
            for key in spec_sorted:
                spec[key] = spec.pop(key)
        return tasks

    def task(self, step: Map) -> Map:
        out = Map(step.pos)
        out.move("id", step)
        spec, used = self.spec(step)
        put(out, "type", spec, step)
        config = Map(step.pos)
        action = step.get("on_failure")
        if isinstance(action, str) and action in _ACTIONS:
            put(config, "on_failure", _ACTIONS[action], step)
            used.append("on_failure")
        config.move("checkpoint", step)
        used.append("checkpoint")
        if config:
            out.put("config", config)
        if policy := _policy(step.get("retry"), self.findings):
            put(out, "retry_policy", policy, step, "retry")
            used.append("retry")
        if step.get("when") is not None:
            put_changed(out, "condition", step["when"], step, _expression, "when")
        carry_step(step, out, self.spelling, skip=("when", "type", "config", *used))
        return common.ordered(out, _ORDER)

    def spec(self, step: Map) -> tuple[Map, list[str]]:
        """What a task does, and the keys of the step that it says."""
        kind = step["type"]
        config = respelled(kind, step.get("config") or Map(step.at("type")), self.spelling)
        own = getattr(self, f"as_{kind}", None)
        found: tuple[Map, list[str]] | None = own(step, config) if own else None
        if found is None and kind in _NAMES:
            found = _named(_NAMES[kind], config), []
        if found is not None and check(schema.KINDS[found[0]["type"]][1], without(found[0], ("type",)), Findings()):
            return found
        spec = _named(kind, config)
        structure = [key for key in STRUCTURE.get(kind, ()) if key in step]
        carried = Map(step.pos)
        carry_step(only(step, structure), carried, self.spelling, skip=("steps",))
        if "steps" in structure:
            put(carried, "steps", self.scope(step["steps"]), step)
        for key in carried:
            spec.move(key, carried)
        if kind in STRUCTURE and config:
            self.findings.add(rules.CANNOT_SAY, f"a {kind} has no settings here; {', '.join(config)} is left out",
                step.at("config"))
            spec = without(spec, config)
            for key in carried:
                spec.move(key, carried)
        return spec, structure

    def as_skill(self, step: Map, config: Map) -> tuple[Map, list[str]] | None:
        if not {*config} <= {"skill", "parameters"} or not isinstance(config.get("skill"), str):
            return None
        spec = Map(step.pos)
        spec.put("type", "Plugin", step.at("type"))
        spec.move("plugin_name", config, "skill")
        spec.move("config", config, "parameters")
        return spec, []

    def as_workflow(self, step: Map, config: Map) -> tuple[Map, list[str]] | None:
        if config or not step.get("workflow"):
            return None
        spec = Map(step.pos)
        spec.put("type", "Subworkflow", step.at("type"))
        spec.move("workflow_id", step, "workflow")
        if "input" in step:
            put(spec, "inputs", map_texts(step["input"], _text, step.at("input")), step, "input")
        spec.move("wait_for_completion", step)
        return spec, ["workflow", "input", "wait_for_completion"]

    def as_approval(self, step: Map, config: Map) -> tuple[Map, list[str]] | None:
        if "on_timeout" not in config or "timeout_seconds" in config:
            return None
        spec = _named("Approval", config)
        used = []
        if step.get("timeout") is not None:
            spec.move("timeout_seconds", step, "timeout")
            used.append("timeout")
        return spec, used

    def as_choice(self, step: Map, config: Map) -> tuple[Map, list[str]] | None:
        if config or not two_way(step):
            return None
        spec = Map(step.pos)
        spec.put("type", "Conditional", step.at("type"))
        case = step["cases"][0]
        put_changed(spec, "condition", case["when"], case, _expression, "when")
        return spec, ["cases", "default", "mode"]

    def as_foreach(self, step: Map, config: Map) -> tuple[Map, list[str]] | None:
        items = step.get("items")
        if config or (isinstance(items, str) and not any(part.hole for part in parts(items))) or items is None:
            return None
        spec = Map(step.pos)
        spec.put("type", "Loop", step.at("type"))
        put(spec, "items", map_texts(items, _text, step.at("items")), step)
        body = self.scope(step.get("steps") or Seq(step.pos))
        if len(body) == 1:
            spec.put("task_template", body[0], step.at("steps"))
        elif body:
            put(spec, "steps", body, step)
        else:
            return None
        limit = step.get("max_parallel")
        spec.put("parallel", limit != 1, step.at("max_parallel"))
        if limit not in (None, 1):
            spec.move("max_parallel", step)
        names = ("item_name", "index_name", "batch_size", "on_item_error")
        for key in names:
            spec.move(key, step)
        return spec, ["items", "steps", "max_parallel", *names]


def _named(name: str, config: Map) -> Map:
    spec = Map(config.pos)
    spec.put("type", name, config.pos)
    for key in config:
        spec.move(key, config)
    return spec


def _policy(retry: Any, findings: Findings) -> Map | None:
    """A retry policy that means the same as a canonical retry; None when there is none."""
    if not isinstance(retry, Map) or not {*_POLICY, "strategy"} <= {*retry} <= {*_POLICY, "strategy", "on"}:
        return None
    if retry["strategy"] != "exponential":
        return None
    policy = Map(retry.pos)
    policy.move("max_attempts", retry)
    for key, name in (("delay", "initial_delay_ms"), ("max_delay", "max_delay_ms")):
        amount = retry[key] * 1000
        if common.seconds(amount, retry.pos, Findings(), 0.001) != retry[key]:
            return None
        put(policy, name, int(amount) if amount == int(amount) else amount, retry, key)
    policy.move("backoff_multiplier", retry, "multiplier")
    if retry.get("on"):
        policy.move("retryable_errors", retry, "on")
    return policy


def _branch(edges: Seq, conditions: list[str]) -> tuple[Seq, list[tuple[str, list[str]]]] | None:
    """The edges of a task without those that branches say, and these; None when branches can't say them.

    A branch's task waits for its other dependencies and is not entered by them, so these must be `when: false` edges.
    """
    others = Seq(edges.pos)
    routed: list[tuple[str, list[str]]] = []
    for edge, at in edges.pairs():
        if not isinstance(edge, Map):
            return None
        source, outcomes, when = edge["step"], plain(edge.get("on") or []), edge.get("when")
        if source in conditions and when is None and outcomes in (["true"], ["false"], ["true", "false"]):
            routed.append((source, outcomes))
        elif routed:
            return None  # the order would change
        elif when == "false" and not outcomes:
            others.add(source, at)
        elif outcomes or when is not None:
            others.add(edge, at)
        else:
            return None
    names = [source for source, _ in routed]
    in_order = names == sorted(names, key=conditions.index) and len({*names}) == len(names)
    return (others, routed) if routed and in_order else None
