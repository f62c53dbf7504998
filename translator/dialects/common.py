"""What the dialects share when they rewrite a definition to the canonical spelling."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

from translator.diagnostics import NOWHERE, Findings, Position
from translator.dialects.templates import expression, splice_holes
from translator.findings import dialects as rules
from translator.model.values import duration
from translator.source import Map, Seq

# Every name that one of the dialects has for a step type, in lower case.
STEP_TYPES = {
    "http": "http", "api": "http",
    "agent": "agent", "llm": "agent",
    "scrape": "scrape", "web_scraping": "scrape",
    "transform": "transform", "data_processing": "transform",
    "choice": "choice", "conditional": "choice", "router": "choice", "decision": "choice",
    "parallel": "parallel",
    "foreach": "foreach", "loop": "foreach", "map": "foreach", "map_reduce": "foreach",
    "wait": "wait", "delay": "wait",
    "notify": "notify", "notification": "notify",
    "email": "email",
    "query": "query", "database": "query",
    "command": "command", "deploy": "deploy", "scale": "scale",
    "approval": "approval", "human_loop": "approval",
    "aggregate": "aggregate", "aggregator": "aggregate",
    "workflow": "workflow", "subworkflow": "workflow",
    "skill": "skill", "plugin": "skill",
}
ACTIONS = {
    "fail": "fail", "abort": "fail", "stop": "fail", "continue": "continue", "skip": "continue", "ignore": "continue",
    "retry": "retry", "rollback": "rollback", "compensate": "compensate", "escalate": "escalate",
}
STRATEGIES = ("immediate", "fixed", "linear", "exponential", "fibonacci", "adaptive")
INPUT_TYPES = {
    "string": "string", "str": "string", "text": "string", "number": "number", "float": "number", "double": "number",
    "integer": "integer", "int": "integer", "boolean": "boolean", "bool": "boolean", "array": "array", "list": "array",
    "object": "object", "dict": "object", "map": "object", "any": "any",
}
# What a workflow may say in every dialect, in the canonical spelling.
WORKFLOW_KEYS = (
    "id", "name", "version", "description", "labels", "inputs", "outputs", "output_types", "variables", "settings",
    "notifications", "error_handlers", "rollback", "triggers", "steps", "finally",
)
STEP_KEYS = (
    "id", "name", "description", "type", "config", "depends_on", "when", "output_key", "retry", "timeout", "heartbeat",
    "on_failure", "compensation", "cache", "checkpoint", "pure", "undo_failed", "labels", "cases", "default", "mode",
    "branches", "wait_for_all", "max_parallel", "items", "item_name", "index_name", "steps", "batch_size", "on_item_error",
    "seconds", "until", "workflow", "input", "wait_for_completion",
)
_SEMVER = re.compile(r"(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(?:\.(0|[1-9][0-9]*)([-+][0-9A-Za-z.+-]+)?)?")


NO_PLACE = NOWHERE


def nfc(text: str) -> str:
    """The one spelling of a text whose accents can be written in two ways."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def slug(text: str, otherwise: str = "step") -> str:
    """A short lower-case ASCII name made of letters, digits and underscores."""
    flat = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "_", flat).strip("_")[:60] or otherwise


def unique(name: str, taken: set[str]) -> str:
    """`name`, or `name_2`, `name_3` … when it is taken; the result is added to `taken`."""
    number, found = 1, name
    while found in taken:
        number += 1
        found = f"{name}_{number}"
    taken.add(found)
    return found


def type_hint(name: str) -> str:
    """A hint for a name that other dialects have for a type; empty for any other."""
    known = STEP_TYPES.get(name.lower(), "")
    return f"did you mean `{known}`?" if known else ""


def seconds(value: Any, at: Position, findings: Findings, unit: float = 1) -> int | float | None:
    """A time in seconds. `value` is a number of `unit` seconds, or a text such as `30s`, `1h30m` or `PT15M`.

    Anything else is a finding, and None.
    """
    result: float | None = None
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        result = value * unit if unit >= 1 else value / round(1 / unit)
    elif isinstance(value, str):
        result = duration(value.strip())
    if result is None or not 0 <= result <= 99_999_999:
        findings.add(rules.BAD_DURATION, f"{value!r} is not a duration between 0 and 99,999,999 seconds", at,
            hint="write a number, `30s`, `1h30m` or `PT15M`")
        return None
    return int(result) if result == int(result) else round(result, 6)


def version(value: Any, at: Position, findings: Findings) -> str:
    """A semantic version. A bare number with a point is an error; a text that is none is kept, with a warning."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        findings.add(rules.WRONG_TYPE, "a version is a text", at, hint='write `version: "1.0.0"`')
        return ""
    if isinstance(value, float):
        findings.add(rules.VERSION_NUMBER, f"the version {value} is a number here, so trailing zeros are lost", at,
            hint=f'quote it: version: "{value}"')
        return ""
    if isinstance(value, int):
        return f"{value}.0.0"
    match = _SEMVER.fullmatch(value.removeprefix("v"))
    if match:
        return f"{match[1]}.{match[2]}.{match[3] or 0}{match[4] or ''}"
    if value.isascii() and value.isdigit() and len(value) < 10:
        return f"{int(value)}.0.0"
    findings.add(rules.VERSION_LABEL, f"{value!r} is kept as a label; versions are MAJOR.MINOR.PATCH", at,
        hint='write `version: "1.0.0"`')
    return value


def twice(findings: Findings, one: str, other: str, at: Position, other_at: Position) -> None:
    """A finding that two places say the same thing, so that one of them would be lost."""
    findings.add(rules.WRITTEN_TWICE, f"{one} and {other} say the same thing", at, hint="remove one of them",
        related=(("the other one", other_at),))


def join(target: Map, source: Map, findings: Findings, place: str, other: str) -> None:
    """Move every key over. One that is there already, from `other`, is a finding: its value would be lost."""
    for key in source:
        if key in target:
            twice(findings, f"`{place}.{key}`", f"`{other}.{key}`", source.at_key(key), target.at_key(key))
        else:
            target.move(key, source)


def only_one(source: Map, keys: tuple[str, ...], findings: Findings) -> str | None:
    """The one of `keys`, which are names of the same thing, that is written; the first one where there are several."""
    written = [key for key in keys if source.get(key) is not None]
    for other in written[1:]:
        twice(findings, f"`{other}`", f"`{written[0]}`", source.at_key(other), source.at_key(written[0]))
    return written[0] if written else None


def put_expression(target: Map, key: str, source: Map, source_key: str | None = None) -> None:
    """Move an expression field: holes and delimiters that were written around it go, its place stays exact."""
    name = source_key or key
    value = source.get(name)
    at = source.at(name)
    if isinstance(value, str):
        bare, place = expression(value, at)
        spliced = splice_holes(bare).strip()
        target.put(key, spliced, place if spliced == bare else at, source.at_key(name))
    elif value is not None:
        target.put(key, value, at, source.at_key(name))


def action(value: Any) -> Any:
    """The canonical name of what to do on a failure; a word that is none stays for the schema to refuse."""
    return ACTIONS.get(value.lower(), value) if isinstance(value, str) else value


def put_on_failure(target: Map, source: Map, key: str = "on_failure", target_key: str = "on_failure") -> None:
    """Move an `on_failure`: a word, or a mapping with `action` and what belongs to it."""
    value = source.get(key)
    if isinstance(value, Map):
        mapping = Map(value.pos)
        for name in value:
            if value[name] is None:
                continue
            mapping.move(name, value)
            if name in ("action", "then"):
                mapping[name] = action(value[name])
        target.put(target_key, mapping, source.at(key), source.at_key(key))
    elif value is not None:
        target.put(target_key, action(value), source.at(key), source.at_key(key))


def retry(source: Map, findings: Findings, *, times: dict[str, tuple[str, float]], strategy: str = "strategy",
        attempts: str = "max_attempts") -> Map:
    """A canonical retry from a dialect's.

    `times` maps the dialect's keys to the canonical key and the length of its unit in seconds, such as
    `{"initial_delay_ms": ("delay", 0.001)}`; `strategy` and `attempts` are the dialect's keys for these. `max_retries`
    counts retries. Canonical keys are taken too.
    """
    result = Map(source.pos)
    names = {key: name for key, (name, _) in times.items()} | {attempts: "max_attempts", strategy: "strategy"}
    for key in source:
        at = source.at(key)
        if source[key] is None:
            continue
        name = "max_attempts" if key == "max_retries" and isinstance(source[key], int) else names.get(key, key)
        if name in result:
            other = next(each for each in source if source.at_key(each) == result.at_key(name))
            twice(findings, f"`{key}`", f"`{other}`", source.at_key(key), result.at_key(name))
        elif key in times or key in ("delay", "max_delay"):
            amount = seconds(source[key], at, findings, times[key][1] if key in times else 1)
            if amount is not None:
                result.put(name, amount, at, source.at_key(key))
        elif key == "max_retries" and name != key:
            result.put(name, source[key] + 1, at, source.at_key(key))
        else:
            result.move(name, source, key)
    return result


def dependency(step: str, at: Position, on: list[str] | None = None, when: str | None = None) -> Map:
    """An edge in its canonical form."""
    edge = Map(at)
    edge.put("step", nfc(step), at)
    if on:
        outcomes = Seq(at)
        for name in on:
            outcomes.add(name, at)
        edge.put("on", outcomes, at)
    if when is not None:
        edge.put("when", when, at)
    return edge


def dependencies(step: Map, key: str = "depends_on") -> list[tuple[Any, Position]]:
    """The edges a step has written, each with its place: a text, a list of texts, or mappings."""
    value = step.get(key)
    if isinstance(value, Seq):
        return list(value.pairs())
    return [] if value is None else [(value, step.at(key))]


def ordered(source: Map, keys: tuple[str, ...]) -> Map:
    """The same mapping with `keys` first, in that order."""
    result = Map(source.pos)
    for key in (*(name for name in keys if name in source), *(name for name in source if name not in keys)):
        result.move(key, source)
    return result
