"""canonical -> `stages`. Steps that run side by side become a parallel stage, the others serial stages; edges that no
stage says are written as `depends_on`, so nothing is lost."""

from __future__ import annotations

from itertools import count
from typing import Any

from translator.diagnostics import Findings, Position
from translator.dialects import writing
from translator.dialects.routing import Target
from translator.dialects.spelling import without
from translator.dialects.stages.frame import ABOUT, STAGE, default_name
from translator.dialects.stages.lower import MAX_PARALLEL
from translator.dialects.templates import (
    from_canonical_holes,
    map_texts,
    written_around,
)
from translator.source import Map, Seq

_FIRST = (
    "name", "version", "description", "metadata", "parameters", "variables", "stages", "error_handlers", "rollback",
)
_STEP_FIRST = ("id", "name", "type", "skill", "workflow", "decision", "depends_on", "when", "parameters", "config")
_ACTIONS = {"fail": "abort"}
_TEXTS = ("outputs", "variables", "notifications")
_STEP_TEXTS = ("items", "input", "seconds", "until")


def render(document: Map, findings: Findings) -> Map:
    """`document` is canonical data, tidied. Gives a definition that reads back as the same data."""
    workflow = Map(document.pos)
    for key in document:
        value, at = document[key], document.at(key)
        if key == "steps":
            workflow.put("stages", _stages(value), at)
        elif key == "rollback":
            rollback = Map(at)
            rollback.put("steps", _list(value), at)
            workflow.put(key, rollback, at)
        elif key == "finally":
            workflow.put(key, _list(value), at)
        elif key == "inputs" and value:
            workflow.put("parameters", _parameters(value), at)
        elif key == "error_handlers":
            workflow.put(key, _handlers(value), at)
        elif key in _TEXTS:
            workflow.put(key, _texts(value, at), at)
        elif key not in ("labels", "settings"):
            workflow.move(key, document)
    _metadata(document, workflow)
    result = Map(document.pos)
    result.put("workflow", _sorted(workflow, _FIRST), document.pos)
    return result


def _sorted(source: Map, first: tuple[str, ...]) -> Map:
    result = Map(source.pos)
    for key in [*(key for key in first if key in source), *(key for key in source if key not in first)]:
        result.move(key, source)
    return result


def _text(value: str, at: Position) -> str:
    return from_canonical_holes(value)


def _texts(value: Any, at: Position) -> Any:
    return map_texts(value, _text, at)


def _metadata(document: Map, workflow: Map) -> None:
    metadata = Map(document.pos)
    labels, settings = document.get("labels") or Map(document.pos), document.get("settings") or Map(document.pos)
    other, rest = Map(labels.pos), Map(settings.pos)
    tags = labels.get("tags")
    for key in labels:
        if (key == "author" and isinstance(labels[key], str)) or (key == "tags" and isinstance(tags, list)
                and all(isinstance(tag, str) for tag in tags)):
            metadata.move(key, labels)
        else:
            other.move(key, labels)
    for key in settings:
        if key in ("timeout", "priority"):
            metadata.move(key, settings)
        elif key == "retry":
            metadata.put("retry_policy", _retry(settings[key]), settings.at(key))
        else:
            rest.move(key, settings)
    for key, value in (("metadata", metadata), ("labels", other), ("settings", rest)):
        if value:
            workflow.put(key, value, value.pos)


def _parameters(source: Map) -> Seq:
    result = Seq(source.pos)
    for name in source:
        parameter = Map(source.at(name))
        parameter.put("name", name, source.at_key(name))
        for key in source[name]:
            parameter.move(key, source[name])
        result.add(parameter, parameter.pos)
    return result


def _handlers(source: Seq) -> Seq:
    result = Seq(source.pos)
    for handler, at in source.pairs():
        changed = Map(handler.pos)
        for key in handler:
            if key == "errors":
                one = len(handler[key]) == 1
                changed.put("error", handler[key][0] if one else handler[key], handler.at(key))
            elif key in ("action", "then"):
                changed.put(key, _ACTIONS.get(handler[key], handler[key]), handler.at(key))
            else:
                changed.move(key, handler)
        result.add(changed, at)
    return result


def _retry(source: Map) -> Map:
    result = Map(source.pos)
    for key in source:
        # `backoff: adaptive` has limits of its own; the canonical word has not.
        result.put("backoff" if key == "strategy" and source[key] != "adaptive" else key, source[key], source.at(key))
    return result


def _stages(source: Seq) -> Seq:
    steps = list(source)
    groups = _groups(steps)
    barriers = [start if len(group) > 1 else start + offset for start, group in groups for offset in range(len(group))]
    written = writing.shortest(steps, barriers, strict=True)
    if written is None or any(edges is not None for edges in written.edges):
        every = writing.Written([step.get("depends_on") or Seq(step.pos) for step in steps], {})
        written = writing.shortest(steps, [0] * len(steps), strict=True) or every
        parts = [(steps, True)]
    else:
        parts = []
        for _, group in groups:
            if len(group) > 1 or not parts or parts[-1][1] or _label(parts[-1][0][-1]) != _label(group[0]):
                parts.append((group, len(group) > 1))
            else:
                parts[-1][0].extend(group)
    result = Seq(source.pos)
    names: set[str] = set()
    for number, (part, parallel) in enumerate(parts, 1):
        head = _head(part, number, names)
        result.add(_stage(head, part, written, parallel=parallel), head.pos)
    return result


def _label(step: Map, key: str = STAGE) -> str | None:
    """What a step keeps of the stage that it was written in."""
    labels = step.get("labels")
    found = labels.get(key) if isinstance(labels, Map) else None
    return found if isinstance(found, str) and found else None


def _head(steps: list[Map], number: int, taken: set[str]) -> Map:
    """Name and description of a stage: those of the one that all of its steps were written in, where no other has the name.

    What the stage says is no longer a label of its steps.
    """
    head = Map(steps[0].pos if steps else Map().pos)
    found = {_label(step) for step in steps}
    name = found.pop() if len(found) == 1 else None
    same = not found and (name is None or name not in taken)
    if not name or not same:
        name = next(each for each in map(default_name, count(number)) if each not in taken)
    taken.add(name)
    head.put("name", name, head.pos)
    if same and steps and (about := _label(steps[0], ABOUT)):
        head.put("description", about, head.pos)
        _without(steps[0], ABOUT)
    for step in steps:
        if _label(step) == name:
            _without(step, STAGE)
    return head


def _without(step: Map, label: str) -> None:
    labels = without(step["labels"], (label,))
    if labels:
        step["labels"] = labels
    else:
        del step["labels"]


def _groups(steps: list[Map]) -> list[tuple[int, list[Map]]]:
    """Neighbours with the same edges run side by side; with the index of the first of each group."""
    groups: list[tuple[int, list[Map]]] = []
    for index, step in enumerate(steps):
        edges = writing.edges_of(step)
        routed = any(isinstance(edge, dict) for edge in edges)
        if groups and not routed and writing.edges_of(groups[-1][1][-1]) == edges:
            groups[-1][1].append(step)
        else:
            groups.append((index, [step]))
    return groups


def _stage(stage: Map, steps: list[Map], written: writing.Written, *, parallel: bool) -> Map:
    if parallel:
        stage.put("parallel", True, stage.pos)
        if len(steps) > MAX_PARALLEL:
            stage.put("max_parallel", len(steps), stage.pos)
    items = Seq(stage.pos)
    by_id = {id(step): edges for step, edges in zip(steps, written.edges, strict=False)} if len(
        steps) == len(written.edges) else {}
    for step in steps:
        items.add(_step(step, by_id.get(id(step)), written.targets.get(step["id"], [])), step.pos)
    stage.put("steps", items, stage.pos)
    return stage


def _list(source: Seq) -> Seq:
    steps = list(source)
    written = writing.shortest(steps, range(len(steps))) or writing.Written(
        [step.get("depends_on") or Seq(step.pos) for step in steps], {})
    result = Seq(source.pos)
    for step, edges, at in zip(steps, written.edges, source.item_at, strict=True):
        result.add(_step(step, edges, written.targets.get(step["id"], [])), at)
    return result


def _step(source: Map, edges: Seq | None, targets: list[Target]) -> Map:
    result = Map(source.pos)
    kind = source["type"]
    for key in source:
        value, at = source[key], source.at(key)
        if key == "type":
            result.put(key, "decision" if kind == "choice" else kind, at)
        elif key == "when":
            result.put(key, written_around(value, "${{") if isinstance(value, str) else value, at)
        elif key == "retry":
            result.put(key, _retry(value), at)
        elif key == "on_failure" and isinstance(value, str):
            result.put(key, _ACTIONS.get(value, value), at)
        elif key == "compensation":
            result.put(key, _step(value, value.get("depends_on"), []), at)
        elif key == "cache" and isinstance(value, Map) and value:
            result.put("caching", _texts(value, at), at)
        elif key == "steps":
            result.put(key, _list(value), at)
        elif key == "branches":
            result.put(key, _branches(value), at)
        elif key == "input" and kind == "workflow":
            result.put("parameters", _texts(value, at), at)
        elif key == "config":
            _config(result, kind, value)
        elif key in _STEP_TEXTS:
            result.put(key, _texts(value, at), at)
        elif key != "depends_on":
            result.move(key, source)
    if edges is not None:
        result.put("depends_on", edges, source.at("depends_on"))
    if kind == "choice" and writing.two_way(source):
        for key in ("cases", "default", "mode"):
            result.pop(key, None)
        decision = Map(source.at("cases"))
        condition = source["cases"][0]
        decision.put("condition", written_around(condition["when"], "${{"), condition.at("when"))
        decision.put("branches", writing.branches(source, targets), source.at("cases"))
        result.put("decision", decision, decision.pos)
    return _sorted(result, _STEP_FIRST)


def _config(result: Map, kind: str, config: Map) -> None:
    rest = Map(config.pos)
    for key in config:
        value, at = config[key], config.at(key)
        if kind == "skill" and key == "skill" and isinstance(value, str):
            result.put(key, _text(value, at), at)
        elif kind == "skill" and key == "parameters":
            result.put(key, _texts(value, at), at)
        elif kind == "transform" and key == "expression":
            rest.put(key, value, at)
        else:
            rest.put(key, _texts(value, at), at)
    if rest:
        result.put("config", rest, rest.pos)


def _branches(source: Seq) -> Seq:
    result = Seq(source.pos)
    for branch, at in source.pairs():
        changed = Map(branch.pos)
        for key in branch:
            changed.move(key, branch)
            if key == "steps":
                changed[key] = _list(branch[key])
        result.add(changed, at)
    return result
