"""Checks each step against its type: known type, what the type needs, the literal parts of its configuration."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from aslant.configs.check import UNKNOWN, check_config
from aslant.inputs import declaration
from aslant.step_types import STEP_TYPES
from translator.diagnostics import NOWHERE, Findings, Position
from translator.expressions.tree import Literal
from translator.expressions.types import certain_mismatch, kind
from translator.expressions.values import KINDS
from translator.findings import asl as asl_rules
from translator.findings import dialects as dialect_rules
from translator.findings import expressions as expression_rules
from translator.findings import graph as rules
from translator.model.inputs import type_of_inputs
from translator.model.values import duration, expressions_of, is_node, seconds_of
from translator.model.workflow import Step, Value, Workflow
from translator.nearest import nearest
from translator.passes.check_unused import check_unused
from translator.source import Map, position_of, value_at

# Settings that shape the state machine, by step type.
_WRITTEN = {"approval": ("timeout", "on_timeout", "on_reject")}


# Where a step without any settings has them, by dialect.
_PLACES = {
    **dict.fromkeys(("steps", "canonical"), "its settings stand under `config:`"),
    **dict.fromkeys(("stages", "agents"), "its settings stand under `parameters:`"),
    "graph": "its settings stand under `properties:`",
    "tasks": "its settings stand beside the name of the type: `type: {{type: {type}, …}}`",
}
_TIMES = (("timeout",), ("every",), ("timeout_seconds",))  # the last keys of settings that are seconds
# Settings that are addresses of web servers, by step type.
_ADDRESSES = {"http": ("url",), "scrape": ("url", "urls"), "notify": ("url",)}


def check_steps(
    workflow: Workflow, findings: Findings, broken: Collection[Position] = (), dialect: str = ""
) -> None:
    """Findings about single steps, in the workflow as it was written.

    `broken`: places of errors found before. What a step around one of them lacks may have been left out because of it.
    """
    steps = list(workflow.all_steps())
    lacking = around(steps, broken) | check_unused(workflow, findings)
    if not workflow.steps:
        findings.add(rules.EMPTY, "the workflow has no steps", workflow.at)
    for step in steps:
        if step.type not in STEP_TYPES:
            near = nearest(step.type, list(STEP_TYPES))
            findings.add(
                rules.UNKNOWN_TYPE,
                f"the step {step.id!r} has the unknown type {step.type!r}",
                _at(step, "type"),
                hint=f"did you mean {near!r}?" if near else "types are " + ", ".join(STEP_TYPES),
            )
            continue
        check = _CHECKS.get(step.type)
        if check is not None:
            if step.id not in lacking:
                check(step, findings)
        elif not STEP_TYPES[step.type].native:
            for path, message in check_config(step.type, plain(step.config)):
                if step.id in lacking and not _is_written(step, path):
                    continue
                key = "" if message.startswith("unknown key") else ".".join(map(str, path))
                hint = _hint(step, path, message, dialect) if step.config else _PLACES.get(dialect, "").format(type=step.type)
                findings.add(
                    rules.CONFIG, f"{step.id!r}: {f'{key} ' if key else ''}{message}", _wrong(step, path, known=bool(key)),
                    hint=hint,
                )
            _addresses(step, findings)
        for key in _WRITTEN.get(step.type, ()):
            value = step.config.get(key)
            if is_node(value) and not isinstance(value, Literal):
                findings.add(
                    rules.CONFIG, f"{step.id!r}: `{key}` decides what the state machine looks like, so it cannot be computed",
                    _at(step, "config", key), hint="write the value itself",
                )
        if step.type == "approval":
            _answer_time(step, findings)
        _report_unused(step, workflow, findings)


def _hint(step: Step, path: tuple[str | int, ...], message: str, dialect: str) -> str:
    """What is meant by a text where seconds are wanted, and by a key that only the dialect has."""
    value = value_at(step.config, path)
    text = value.value if isinstance(value, Literal) else value
    if message.startswith("unknown key"):
        only = dialect == "steps" and step.type == "transform" and len(path) == 1
        return "the key under which the value is put is `output_key`" if only and str(path[0]).startswith("output") else ""
    if isinstance(text, str) and path[-1:] in _TIMES and "number" in message:
        seconds = duration(text)
        return f"write {seconds:g}, the seconds" if seconds is not None else "write a number of seconds"
    return ""


def _addresses(step: Step, findings: Findings) -> None:
    """Addresses that are written out and that the step would refuse; they may hold a key, so no finding shows them."""
    for key in _ADDRESSES.get(step.type, ()):
        value = plain(step.config.get(key))
        for index, address in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if isinstance(address, str) and address and not address.lower().startswith(("http://", "https://")):
                path = (key,) if index is None else (key, index)
                findings.add(
                    rules.CONFIG, f"{step.id!r}: {key} must start with https:// or http://", _at(step, "config", *path),
                    hint="write the whole address: `https://…`",
                )


def _answer_time(step: Step, findings: Findings) -> None:
    """An approval waits for as long as its `timeout` says, which has two places."""
    value = step.config.get("timeout")
    written = value.value if isinstance(value, Literal) else value
    if step.timeout is not None and written is not None and written != step.timeout:
        findings.add(
            dialect_rules.WRITTEN_TWICE, f"the time to answer {step.id!r} is said twice: {step.timeout:g} s and {written}",
            _at(step, "config", "timeout"), hint="remove one of the two", related=(("the other one", _at(step, "timeout")),),
        )


def around(steps: Sequence[Step], places: Collection[Position]) -> set[str]:
    """The ids of the steps in which `places` are: of those written before a place, the last."""
    starts = sorted((step.source.pos[:2], step.id) for step in steps if isinstance(step.source, Map))
    lines = [start for start, _ in starts]
    return {starts[index - 1][1] for place in places if (index := bisect_right(lines, place[:2]))}


def _is_written(step: Step, path: tuple[str | int, ...]) -> bool:
    """Whether the configuration has a value at `path`."""
    here = step.source.get("config")
    for part in path:
        try:
            here = here[part]
        except (LookupError, TypeError):
            return False
    return bool(path)


def _wrong(step: Step, path: tuple[str | int, ...], *, known: bool) -> Position:
    """The place of a value that does not fit; of the key, where it is the key that nothing knows."""
    if not known and path:
        holder = value_at(step.source, ("config", *path[:-1]))
        if isinstance(holder, Map) and path[-1] in holder:
            return holder.at_key(str(path[-1]))
    return position_of(step.source, ("config", *path))


def check_inputs(workflow: Workflow, findings: Findings) -> None:
    """Findings about the declarations of inputs."""
    for name, row in (workflow.inputs or {}).items():
        for problem in declaration(name, row):
            path = [part.replace("~1", "/").replace("~0", "~") for part in problem.pointer.split("/")[1:]]
            inside = tuple(int(part) if part.isdigit() else part for part in path)
            written = (workflow.source or {}).get("inputs", {}).get(name)
            at = position_of(written, inside) if isinstance(written, Map) else workflow.inputs_at.get(name, workflow.at)
            findings.add(rules.DECLARATION, problem.message, at)


def check_types(step: Step, workflow: Workflow, findings: Findings) -> None:
    """Findings for operations of a resolved step that are certain to fail."""
    type_of = type_of_inputs(workflow)
    for node in expressions_of(step):
        if not isinstance(node, Literal):
            for at, message in certain_mismatch(node, type_of):
                findings.add(expression_rules.TYPE_MISMATCH, message, step.at if at == NOWHERE else at)
    if step.type == "foreach" and is_node(step.items) and not isinstance(step.items, Literal):
        found = kind(step.items, type_of)
        if found not in (None, "array"):
            at = _at(step, "items")
            findings.add(expression_rules.TYPE_MISMATCH, f"the items of {step.id!r} are a list, and this is {KINDS[found]}", at)


def _at(step: Step, *path: str | int) -> Any:
    return position_of(step.source, path)


def plain(value: Value) -> Any:
    """The configuration as far as it is known; anything computed is `UNKNOWN`."""
    if isinstance(value, Literal):
        return value.value
    if is_node(value):
        return UNKNOWN
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list) else value


def _choice(step: Step, findings: Findings) -> None:
    if not step.cases:
        findings.add(rules.MISSING, f"the choice {step.id!r} has no cases", step.at, hint="add `cases`")
    names = [*(case.name for case in step.cases), *([step.default] if step.default else [])]
    for name in sorted({name for name in names if names.count(name) > 1}):
        findings.add(rules.DUPLICATE_OUTCOME, f"the choice {step.id!r} names the outcome {name!r} twice", step.at)


def _parallel(step: Step, findings: Findings) -> None:
    if not step.branches:
        findings.add(rules.MISSING, f"the parallel {step.id!r} has no branches", step.at, hint="add `branches`")
    for branch in step.branches:
        if not branch:
            findings.add(rules.EMPTY_BRANCH, f"a branch of {step.id!r} has no steps", step.at)


def _foreach(step: Step, findings: Findings) -> None:
    if step.items is None:
        findings.add(rules.MISSING, f"the loop {step.id!r} has no items", step.at, hint="add `items`, a list")
    elif isinstance(step.items, Literal) and not isinstance(step.items.value, list):
        findings.add(
            rules.MISSING, f"the items of {step.id!r} are a text, not a list", _at(step, "items"),
            hint="write a list, or an expression in {{ }} as the dialect has them (${{ }} in stages)",
        )
    if not step.steps:
        findings.add(rules.MISSING, f"the loop {step.id!r} has no steps", step.at, hint="add `steps`")


def _wait(step: Step, findings: Findings) -> None:
    if (step.seconds is None) == (step.until is None):
        findings.add(
            rules.MISSING, f"the wait {step.id!r} needs either `seconds` or `until`", step.at,
        )
    seconds = plain(step.seconds)
    if isinstance(seconds, str) and seconds_of(seconds) is None:
            findings.add(asl_rules.BAD_TIME, f"{seconds!r} is no number of seconds", _at(step, "seconds"),
                hint="write a number, or an expression that gives one")


def _workflow(step: Step, findings: Findings) -> None:
    if not step.workflow:
        findings.add(rules.MISSING, f"the step {step.id!r} does not name a workflow", step.at, hint="add `workflow`")


_CHECKS: Mapping[str, Callable[[Step, Findings], None]] = {
    "choice": _choice, "parallel": _parallel, "foreach": _foreach, "wait": _wait, "workflow": _workflow,
}


def _report_unused(step: Step, workflow: Workflow, findings: Findings) -> None:
    """Settings that are kept with the definition, and that nothing acts on yet."""
    if step.cache is not None:
        at = _at(step, "cache")
        if step.type not in CAN_KEEP:
            findings.add(asl_rules.NOT_CARRIED_OUT, f"results of {step.id!r} are not kept: nothing is saved by it", at)
        elif not step.pure and _acts(step):
            findings.add(
                asl_rules.KEPT_ACTION, f"{step.id!r} is left out while its result is kept, and it may act on the world", at,
                hint="say `pure: true` when it has no side effect, or leave `cache` out",
            )
    if step.timeout is not None and step.type in ("parallel", "foreach"):
        findings.add(
            asl_rules.COMPOSITE_TIMEOUT, f"the time limit of {step.id!r} as a whole has no effect", step.at
        )


# Types whose results can be kept; what the state machine computes itself needs no call that could be saved.
CAN_KEEP = frozenset({"http", "agent", "scrape", "transform", "aggregate", "query", "command", "skill"})


def _acts(step: Step) -> bool:
    """Whether a step may do more than answer."""
    if step.type == "http":
        method = plain(step.config.get("method"))
        return not (method is None or isinstance(method, str) and method.upper() in ("GET", "HEAD", "OPTIONS"))
    if step.type == "query":
        return plain(step.config.get("read_only")) is not True
    if step.type == "agent":
        return bool(step.config.get("tools"))
    return step.type in ("skill", "command")


# What every execution has, whether it is asked for or not: its times, its cost, and a word about a broken promise.
_ALWAYS = frozenset({"track_cost", "track_duration", "alert_on_sla_breach"})
STARTS = frozenset({"concurrency", "priority"})  # of executions: whoever starts one looks at them
GUARDS = frozenset({"rate_limit", "circuit_breaker"})  # of calls: steps of type http and skill get them


def report_settings(workflow: Workflow, findings: Findings) -> None:
    """Findings for settings of the workflow that nothing acts on yet, and for durations of steps that are none of its own."""
    known = {step.id for step in workflow.all_steps()}
    for name in workflow.settings.durations:
        if name not in known:
            near = nearest(name, [*known])
            findings.add(
                rules.UNKNOWN_STEP, f"`durations` has the step {name!r}, which does not exist",
                position_of(workflow.source, ("settings", "durations", name)),
                hint=f"did you mean {near!r}?" if near else "",
            )
    first = next((step for step in workflow.all_steps() if step.pure is not None and step.cache is None), None)
    if first is not None:
        message = "pure of steps: kept with the definition, without effect so far"
        findings.add(asl_rules.NOT_CARRIED_OUT, message, _at(first, "pure"))
    kept: list[tuple[str, tuple[str | int, ...]]] = [
        (key.replace("_", " "), ("settings", key)) for key in workflow.settings.other if key not in _ALWAYS | GUARDS | STARTS
    ]
    for name, path in kept:
        at = position_of(workflow.source, path)
        findings.add(asl_rules.NOT_CARRIED_OUT, f"{name}: kept with the definition, without effect so far", at)
