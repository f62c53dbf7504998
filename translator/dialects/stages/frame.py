"""What stands around the stages: metadata, parameters, context and error handlers; what stages are called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from translator.diagnostics import Findings
from translator.dialects import common
from translator.dialects.spelling import only
from translator.dialects.validate import did_you_mean
from translator.findings import dialects as rules
from translator.source import Map, Seq

_LABELS = ("author", "tags")
STAGE, ABOUT = "stage", "stage_description"  # labels of steps that keep what a stage says


def take(target: Map, source: Any) -> None:
    """Move every key of a mapping, if it is one."""
    if isinstance(source, Map):
        for key in source:
            target.move(key, source)


def metadata(metadata: Map, result: Map, retry: Callable[[Map], Map], findings: Findings) -> None:
    """Labels and settings; a setting that is written in both places is an error."""
    labels, settings = Map(metadata.pos), Map(metadata.pos)
    for holder, name in ((labels, "labels"), (settings, "settings")):
        take(holder, result.get(name))
    for key in metadata:
        value, at, at_key = metadata[key], metadata.at(key), metadata.at_key(key)
        if value is None:
            continue
        if key == "labels":
            common.join(labels, value, findings, "metadata.labels", "labels")
        elif key in _LABELS:
            common.join(labels, only(metadata, (key,)), findings, "metadata", "labels")
        else:
            name = "retry" if key == "retry_policy" else key
            if name in settings:
                findings.add(rules.WRITTEN_TWICE, f"`metadata.{key}` and `settings.{name}` say the same thing",
                    at_key, related=(("the other one", settings.at_key(name)),))
                continue
            settings.put(name, retry(value) if key == "retry_policy" else value, at, at_key)
    for name, holder in (("labels", labels), ("settings", settings)):
        if holder:
            result.put(name, holder, holder.pos)


def parameters(source: Map, result: Map, findings: Findings) -> None:
    """The list of parameters as inputs by name."""
    parameters = source["parameters"]
    inputs = Map(parameters.pos)
    take(inputs, result.get("inputs"))
    for parameter, at in parameters.pairs():
        name = parameter["name"]
        if name in inputs:
            findings.add(rules.WRITTEN_TWICE, f"the parameter {name!r} is declared twice",
                parameter.at("name"), related=(("first here", inputs.at_key(name)),))
            continue
        declared = Map(parameter.pos)
        for key in parameter:
            if key != "name" and parameter[key] is not None:
                declared.move(key, parameter)
        if "default" in parameter and parameter["default"] is None:
            declared.move("default", parameter)
        if "type" in declared:
            declared["type"] = common.INPUT_TYPES[declared["type"]]
        inputs.put(name, declared, at, parameter.at("name"))
    result.put("inputs", inputs, source.at("parameters"), source.at_key("parameters"))


def context(context: Map, findings: Findings) -> None:
    """Nothing is merged into a context, so its settings only lead to findings."""
    if context.get("preserve") is True:
        findings.add(rules.NO_EFFECT, "outputs of steps always stay readable until the execution ends",
            context.at_key("preserve"))
    elif context.get("preserve") is False:
        findings.add(rules.NOT_MERGED, "outputs of steps stay readable until the execution ends",
            context.at_key("preserve"))
    if context.get("merge_strategy") is not None:
        findings.add(rules.NOT_MERGED,
            f"`merge_strategy: {context['merge_strategy']}`: outputs are kept apart by step, never merged",
            context.at_key("merge_strategy"), hint="read `steps.<id>.output`")


def handlers(source: Seq, workflow: Map, findings: Findings) -> Seq:
    """Error handlers whose `steps` are steps of the rollback section."""
    rollback = workflow.get("rollback")
    steps = rollback.get("steps", ()) if isinstance(rollback, Map) else rollback or ()
    known = {common.nfc(item["id"]) for item in steps}
    result = Seq(source.pos)
    for handler, at in source.pairs():
        changed = Map(handler.pos)
        errors = Seq(handler.at("error"))
        for key in ("error", "errors"):
            named = handler.get(key)
            for name, place in named.pairs() if isinstance(named, Seq) else [(named, handler.at(key))]:
                if name is not None:
                    errors.add(name, place)
        if not errors:
            findings.add(rules.MISSING_KEY, "the error handler names no error", at, hint="add `error:`")
            continue
        changed.put("errors", errors, errors.pos)
        for key in handler:
            if key in ("action", "then") and handler[key] is not None:
                changed.put(key, common.action(handler[key]), handler.at(key), handler.at_key(key))
            elif key == "steps":
                kept = _rollback_steps(handler[key], known, findings)
                if kept:
                    changed.put(key, kept, handler.at(key), handler.at_key(key))
            elif key not in ("error", "errors") and handler[key] is not None:
                changed.move(key, handler)
        result.add(changed, at)
    return result


def _rollback_steps(source: Seq, known: set[str], findings: Findings) -> Seq:
    kept = Seq(source.pos)
    for name, at in source.pairs():
        if common.nfc(name) in known:
            kept.add(common.nfc(name), at)
        else:
            findings.add(rules.UNKNOWN_ROLLBACK_STEP, f"{name!r} is no step of the rollback section", at,
                hint=did_you_mean(name, known))
    return kept


def default_name(number: int) -> str:
    """What the `number`-th stage is called when nothing else names it."""
    return f"stage_{number}"


def mark(steps: list[Map], stage: Map, number: int) -> None:
    """Steps keep the name of their stage, and the first one its description, for when they are written as stages again."""
    for index, step in enumerate(steps):
        labels = Map(step.pos)
        take(labels, step.get("labels"))
        if STAGE not in labels and stage["name"] != default_name(number):
            labels.put(STAGE, stage["name"], stage.at("name"), stage.at_key("name"))
        if index == 0 and ABOUT not in labels and stage.get("description"):
            labels.put(ABOUT, stage["description"], stage.at("description"), stage.at_key("description"))
        if labels:
            step.put("labels", labels, step.at("labels"), step.at_key("labels"))
