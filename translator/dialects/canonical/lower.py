"""The canonical spelling, tidied: every dialect passes through here last, `dialect: canonical` through here alone.

Ids are NFC, times are numbers of seconds, versions are semantic, expressions carry no delimiters, an edge without a
guard is the id of its step, and keys without a value are gone.
"""

from __future__ import annotations

from typing import Any

from aslant.formats import FORMATS, NOTES
from translator.diagnostics import Findings
from translator.dialects import common
from translator.dialects.validate import did_you_mean
from translator.findings import dialects as rules
from translator.source import Map, Seq

_TIMES = ("timeout", "heartbeat")
_NESTED = ("steps", "rollback", "finally")
# What says nothing when it is empty.
_EMPTY = ("rollback", "finally", "error_handlers", "notifications", "triggers", "labels", "variables", "settings")
_EMPTY_IN_STEP = ("name", "description", "output_key", "config", "labels", "depends_on")


def lower(document: Map, findings: Findings) -> Map:
    """`document` has passed the shape check of the canonical schema. Gives new data; the argument stays as it is."""
    result = Map(document.pos)
    for key, value in document.items():
        at = document.at(key)
        if value is None or key == "dialect" or (key in _EMPTY and not value):
            continue
        if key in _NESTED:
            result.put(key, _steps(value, findings), at, document.at_key(key))
        elif key == "version":
            text = common.version(value, at, findings)
            if text:
                result.put(key, text, at, document.at_key(key))
        elif key == "settings":
            result.put(key, _settings(value, findings), at, document.at_key(key))
        elif key == "inputs":
            for name in value:
                _formats(value[name], findings)
            result.move(key, document)
        elif key == "error_handlers":
            handlers = Seq(value.pos)
            for handler, place in value.pairs():
                changed = _without_nulls(handler)
                if "steps" in changed:
                    changed["steps"] = _texts(changed["steps"])
                handlers.add(changed, place)
            result.put(key, handlers, at, document.at_key(key))
        else:
            result.move(key, document)
    return result


def _formats(row: Any, findings: Findings) -> None:
    """Findings about the formats that an input, its items and its properties name and nothing checks."""
    if not isinstance(row, Map):
        return
    name = row.get("format")
    if isinstance(name, str) and name in NOTES:
        findings.add(rules.FORMAT_NOTE, f"the format {name!r} is a note; it is not checked", row.at("format"))
    elif isinstance(name, str) and name not in FORMATS:
        findings.add(rules.UNKNOWN_FORMAT, f"the format {name!r} is not known and is not checked", row.at("format"),
            hint=did_you_mean(name, FORMATS, f"known: {', '.join(FORMATS)}"))
    properties = row.get("properties")
    for inner in (row.get("items"), *(properties.values() if isinstance(properties, Map) else ())):
        _formats(inner, findings)


def _steps(source: Seq, findings: Findings) -> Seq:
    result = Seq(source.pos)
    for item, at in source.pairs():
        result.add(_step(item, findings), at)
    return result


def _step(source: Map, findings: Findings) -> Map:
    result = Map(source.pos)
    for key, value in source.items():
        at, at_key = source.at(key), source.at_key(key)
        if value is None or (key in _EMPTY_IN_STEP and not value):
            continue
        if key == "id":
            result.put(key, common.nfc(value), at, at_key)
        elif key in _TIMES:
            _put_time(result, key, source, findings)
        elif key == "when":
            common.put_expression(result, key, source)
        elif key == "depends_on":
            result.put(key, _edges(value), at, at_key)
        elif key == "cases":
            result.put(key, _cases(value), at, at_key)
        elif key == "retry":
            result.put(key, _retry(value, findings), at, at_key)
        elif key == "on_failure":
            common.put_on_failure(result, source)
        elif key == "cache" and isinstance(value, Map):
            result.put(key, _timed(value, "ttl", findings), at, at_key)
        elif key == "compensation":
            result.put(key, _step(value, findings), at, at_key)
        elif key == "config" and source.get("type") == "approval" and "timeout_seconds" in value:
            result.put(key, _answer_time(value, findings), at, at_key)
        elif key == "config" and source.get("type") == "transform" and "expression" in value:
            changed = Map(value.pos)
            for name in value:
                changed.move(name, value)
            common.put_expression(changed, "expression", value)
            result.put(key, changed, at, at_key)
        elif key == "steps":
            result.put(key, _steps(value, findings), at, at_key)
        elif key == "branches":
            result.put(key, _branches(value, findings), at, at_key)
        else:
            result.move(key, source)
    return result


def _answer_time(source: Map, findings: Findings) -> Map:
    """The settings of an approval; `timeout_seconds` is another name of `timeout`."""
    result = Map(source.pos)
    for key in source:
        if key == "timeout_seconds":
            if "timeout" in source and source["timeout"] != source[key]:
                findings.add(rules.WRITTEN_TWICE, "`timeout_seconds` and `timeout` say the same thing and differ",
                    source.at_key(key), related=(("the other one", source.at_key("timeout")),))
            key = "timeout"
        result.move(key, source, key if key in source else "timeout_seconds")
    return result


def _branches(source: Seq, findings: Findings) -> Seq:
    result = Seq(source.pos)
    for branch, at in source.pairs():
        changed = Map(branch.pos)
        for key in branch:
            changed.move(key, branch)
            if key == "steps":
                changed[key] = _steps(branch[key], findings)
        result.add(changed, at)
    return result


def _edges(source: Seq) -> Seq:
    result = Seq(source.pos)
    for edge, at in source.pairs():
        if isinstance(edge, str):
            changed: Any = common.nfc(edge)
        else:
            changed = Map(edge.pos)
            for key in edge:
                if key == "when":
                    common.put_expression(changed, key, edge)
                elif edge[key] not in (None, []):
                    changed.move(key, edge)
            changed["step"] = common.nfc(changed["step"])
            if len(changed) == 1:
                changed = changed["step"]
        if changed not in result:
            result.add(changed, at)
    return result


def _cases(source: Seq) -> Seq:
    result = Seq(source.pos)
    for case, at in source.pairs():
        changed = Map(case.pos)
        changed.move("name", case)
        common.put_expression(changed, "when", case)
        result.add(changed, at)
    return result


def _retry(source: Map, findings: Findings) -> Map:
    result = Map(source.pos)
    for key in source:
        if source[key] is None or source[key] == []:
            continue
        if key in ("delay", "max_delay"):
            _put_time(result, key, source, findings)
        else:
            result.move(key, source)
    return result


def _settings(source: Map, findings: Findings) -> Map:
    result = Map(source.pos)
    for key, value in source.items():
        at, at_key = source.at(key), source.at_key(key)
        if value is None:
            continue
        if key in ("timeout", "sla"):
            _put_time(result, key, source, findings)
        elif key == "retry":
            result.put(key, _retry(value, findings), at, at_key)
        elif key == "checkpoint":
            result.put(key, _timed(value, "interval", findings), at, at_key)
        elif key == "on_error":
            common.put_on_failure(result, source, "on_error", "on_error")
        else:
            result.move(key, source)
    return result


def _timed(source: Map, time: str, findings: Findings) -> Map:
    result = Map(source.pos)
    for key in source:
        if key == time and source[key] is not None:
            _put_time(result, key, source, findings)
        elif source[key] is not None:
            result.move(key, source)
    return result


def _put_time(target: Map, key: str, source: Map, findings: Findings) -> None:
    amount = common.seconds(source[key], source.at(key), findings)
    if amount is not None:
        target.put(key, amount, source.at(key), source.at_key(key))


def _without_nulls(source: Map) -> Map:
    result = Map(source.pos)
    for key in source:
        if source[key] is not None:
            result.move(key, source)
    return result


def _texts(source: Seq) -> Seq:
    result = Seq(source.pos)
    for item, at in source.pairs():
        result.add(common.nfc(item) if isinstance(item, str) else item, at)
    return result
