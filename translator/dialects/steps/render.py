"""canonical -> `steps`. This dialect takes every canonical key, so nothing is lost; its own words are used where it has
them."""

from __future__ import annotations

import re
from typing import Any

from translator.diagnostics import Findings
from translator.dialects import writing
from translator.dialects.holes import hole_end
from translator.dialects.routing import Target
from translator.source import Map, Seq

_TYPES = {"choice": "conditional", "wait": "delay", "notify": "notification"}
_FIRST = ("name", "version", "description", "inputs", "triggers", "variables", "settings", "error_handling", "steps")
_STEP_FIRST = ("id", "name", "description", "type", "depends_on", "when", "config", "timeout", "retry", "on_failure")
_WHOLE = re.compile(r"([0-9]+)\.0\.0")
_WRAPPED = re.compile(r'\{"([^"\\]+)": \(')


def render(document: Map, findings: Findings) -> Map:
    """`document` is canonical data, tidied. Gives a definition that reads back as the same data."""
    result = Map(document.pos)
    for key in document:
        if key in ("steps", "rollback", "finally"):
            result.put(key, _list(document[key]), document.at(key))
        elif key == "version" and (match := _WHOLE.fullmatch(document[key])) and 0 < int(match[1]) < 1_000_000:
            result.put(key, int(match[1]), document.at(key))
        elif key == "settings":
            _settings(document[key], result)
        else:
            result.move(key, document)
    return _sorted(result, _FIRST)


def _sorted(source: Map, first: tuple[str, ...]) -> Map:
    result = Map(source.pos)
    for key in [*(key for key in first if key in source), *(key for key in source if key not in first)]:
        result.move(key, source)
    return result


def _settings(source: Map, result: Map) -> None:
    handling, rest = Map(source.pos), Map(source.pos)
    retry = source.get("retry")
    simple = (isinstance(retry, Map) and set(retry) == {"max_attempts", "strategy", "delay"}
        and retry["strategy"] == "fixed" and retry["delay"] >= 1 and retry["max_attempts"] > 1)
    for key in source:
        if key == "on_error" and source[key] in ("fail", "continue"):
            handling.move(key, source)
        elif key == "retry" and simple and isinstance(retry, Map):
            handling.put("max_retries", retry["max_attempts"] - 1, retry.at("max_attempts"))
            handling.put("retry_delay", _milliseconds(retry["delay"]), retry.at("delay"))
        else:
            rest.move(key, source)
    if handling.get("on_error") == "fail" and "max_retries" in handling:
        handling["on_error"] = "retry"
    handling = _sorted(handling, ("on_error",))
    if handling:
        result.put("error_handling", handling, handling.pos)
    if rest or not handling:
        result.put("settings", rest, rest.pos)


def _milliseconds(seconds: float) -> Any:
    """Milliseconds, or a text with a unit where the number would be taken for seconds."""
    amount = seconds * 1000
    if seconds and amount < 1000 or amount != int(amount):
        return f"{seconds:.6f}".rstrip("0").rstrip(".") + "s"
    return int(amount)


def _list(source: Seq) -> Seq:
    steps = list(source)
    written = writing.shortest(steps, range(len(steps)))
    if written is None:  # a circle or the like: every edge as it stands
        written = writing.Written([step.get("depends_on") or Seq(step.pos) for step in steps], {})
    result = Seq(source.pos)
    for step, edges, at in zip(steps, written.edges, source.item_at, strict=True):
        result.add(_step(step, edges, written.targets.get(step["id"], [])), at)
    return result


def _step(source: Map, edges: Seq | None, targets: list[Target]) -> Map:
    result = Map(source.pos)
    config = Map(source.at("config"))
    kind = source["type"]
    for key in source:
        value, at = source[key], source.at(key)
        if key == "type":
            result.put(key, _TYPES.get(kind, kind), at)
        elif key == "timeout":
            result.put(key, _milliseconds(value), at)
        elif key == "retry":
            result.put(key, _retry(value), at)
        elif key == "compensation":
            result.put(key, _step(value, value.get("depends_on"), []), at)
        elif key == "config":
            for name in value:
                config.move(name, value)
        elif key == "branches":
            config.put("branches", _branches(value), at)
        elif key == "steps":
            config.put(key, _list(value), at)
        elif kind in ("parallel", "foreach", "wait") and key in _CONFIG[kind]:
            config.move(key, source)
        elif key != "depends_on":
            result.move(key, source)
    if edges is not None:
        result.put("depends_on", edges, source.at("depends_on"))
    if kind == "choice" and writing.two_way(source):
        for key in ("cases", "default", "mode"):
            result.pop(key, None)
        config.put("condition", source["cases"][0]["when"], source["cases"][0].at("when"))
        config.put("branches", writing.branches(source, targets), source.at("cases"))
    elif kind == "transform" and "expression" in config:
        _transform(config)
    elif kind == "parallel" and "branches" in config:
        _parallel(config, source["id"])
    if config:
        result.put("config", config, config.pos)
    return _sorted(result, _STEP_FIRST)


_CONFIG = {
    "parallel": ("wait_for_all", "max_parallel"),
    "foreach": ("items", "item_name", "index_name", "batch_size", "on_item_error", "max_parallel"),
    "wait": ("seconds", "until"),
}


def _retry(source: Map) -> Map:
    result = Map(source.pos)
    for key in source:
        if key == "strategy":
            result.put("backoff", source[key], source.at(key))
        elif key == "delay":
            result.put("initial_delay", _milliseconds(source[key]), source.at(key))
        else:
            result.move(key, source)
    return result


def _transform(config: Map) -> None:
    """The expression as it was before it was put under its output key; an empty key when there is none."""
    if config.get("operation", "transform") != "transform" or not isinstance(config["expression"], str):
        return
    text = config["expression"]
    match = _WRAPPED.match(text)
    if match and text.endswith(")}") and hole_end(text, match.end(), ")") == len(text) - 2:
        config["expression"] = text[match.end():-2]
        config.put("output_key", match[1], config.at("expression"))
    else:
        config.put("output_key", "", config.at("expression"))


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


def _parallel(config: Map, parent: str) -> None:
    """A list of steps where every branch is a single one."""
    branches = config["branches"]
    if not all(set(branch) == {"steps"} and len(branch["steps"]) == 1 for branch in branches):
        return
    steps = Seq(branches.pos)
    identifiers = [branch["steps"][0]["id"] for branch in branches]
    for number, branch in enumerate(branches):
        step = branch["steps"][0]
        if step.get("depends_on") or (step["type"] == "conditional" and identifiers):
            return
        if step["id"] == f"{parent}_parallel_{number}" and step.get("name"):
            short = Map(step.pos)
            for key in step:
                if key != "id":
                    short.move(key, step)
            step = short
        steps.add(step, branch.pos)
    config.pop("branches")
    config.put("steps", steps, steps.pos)
