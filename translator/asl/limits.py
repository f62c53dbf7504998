"""AWS's limits, measured in a finished machine. Shares nothing with the emitter: it reads the definition alone.

https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Set
from typing import Any, NamedTuple

from translator.asl.estimate import Estimate, byte_size, estimate, executions, heaviest

MAX_BYTES = 1024 * 1024  # UTF-8 bytes of a definition
MAX_EVENTS = 25_000      # of the history of one Standard execution
MAX_DATA = 256 * 1024    # bytes of JSON that a state takes, gives, or assigns at once
MAX_NAME = 80            # characters of a state's or a variable's name
MAX_LABEL = 40           # characters of a Distributed Map's label
MAX_INLINE = 40          # iterations of an inline Map at once
MAX_DISTRIBUTED = 10_000  # child executions of a Distributed Map at once
EXPRESS_SECONDS = 300
NEAR, HANDLED = 0.5, 0.8  # shares of a limit from which there is a warning, and from which the compiler does something

_TEMPLATES = ("Assign", "Arguments", "Output", "ItemSelector", "Items")
_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'')
_VARIABLE = re.compile(r"\$([A-Za-z][A-Za-z0-9_]*)")
_CALLBACKS = (".waitForTaskToken", ".sync", ".sync:2")


class Measure(NamedTuple):
    """How much of a limit is used. `state` is the one that uses most of it, empty when it is the machine as such."""

    limit: str
    state: str
    found: int
    most: int

    @property
    def share(self) -> float:
        return self.found / self.most if self.most else 2.0 * self.found

    @property
    def exceeded(self) -> bool:
        return self.found > self.most

    def __str__(self) -> str:
        where = f"{self.state!r}: " if self.state else ""
        return f"{where}{self.limit}: {self.found:,} of {self.most:,}"


def measures(
    definition: Mapping[str, Any], *, kind: str = "STANDARD", items: int = 10, lengths: Mapping[str, int] | None = None,
    figures: Estimate | None = None,
) -> list[Measure]:
    """Everything that uses half of a limit or more. `kind` is STANDARD or EXPRESS; `figures` is the estimate, if there is one.

    Events are those of the dearest way through without retries, loops counted as in `translator.asl.estimate`.
    """
    figures = figures or estimate(definition, items, lengths)
    found: list[Measure] = []  # where most of it is, is looked for only when it matters
    sizes = _sizes(definition) if figures.bytes >= NEAR * MAX_DATA else {}
    if figures.bytes >= NEAR * MAX_BYTES:
        found.append(Measure("bytes of the definition", _largest(sizes), figures.bytes, MAX_BYTES))
    events = figures.cost.events[1]
    if kind == "STANDARD" and events >= NEAR * MAX_EVENTS:
        found.append(Measure("history events", heaviest(definition, items, lengths), events, MAX_EVENTS))
    for state, express, events in executions(definition, items, lengths):
        if not express:
            found.append(Measure("history events of a child execution", state, events, MAX_EVENTS))
    seen: set[str] = set()
    found += _states(definition, seen, frozenset(), express=kind == "EXPRESS", variables={}, sizes=sizes)
    return [one for one in found if one.share >= NEAR]


def _sizes(machine: Mapping[str, Any]) -> dict[str, int]:
    return {name: byte_size(state) for name, state in machine["States"].items()}


def _largest(sizes: Mapping[str, int]) -> str:
    """The state with the most bytes, when it has half of them."""
    name = max(sizes, key=lambda name: sizes[name])
    return name if 2 * sizes[name] > sum(sizes.values()) else ""


def _states(
    machine: Mapping[str, Any], seen: set[str], unreachable: frozenset[str], *, express: bool, variables: dict[str, str],
    sizes: Mapping[str, int],
) -> Iterator[Measure]:
    """Measures of the states of a map. `unreachable`: variables outside of the Distributed Map around, which no state inside
    can read; `variables`: all that are assigned around or here, with the state that does; `sizes`: the bytes of
    each, none where all together are too few to be near the limit of data.
    """
    own = dict(variables)
    assigned = {name: _assigned(state) for name, state in machine["States"].items()}
    for name, names in assigned.items():
        for variable in names:
            own.setdefault(variable, name)
    for name, state in machine["States"].items():
        if len(name) >= NEAR * MAX_NAME:
            yield Measure("characters of a state's name", name, len(name), MAX_NAME)
        if name in seen:
            yield Measure("states of one name", name, 2, 1)
        seen.add(name)
        heavy = sizes.get(name, 0) >= NEAR * MAX_DATA
        yield from _one(name, state, assigned[name], unreachable, express=express, heavy=heavy)
        for branch in state.get("Branches", ()):
            inside = _sizes(branch) if heavy else {}
            yield from _states(branch, seen, unreachable, express=express, variables=own, sizes=inside)
        processor = state.get("ItemProcessor")
        if processor is None:
            continue
        inside = _sizes(processor) if heavy else {}
        config = processor.get("ProcessorConfig", {})
        if config.get("Mode") == "DISTRIBUTED":
            yield from _states(
                processor, seen, frozenset(own), express=config.get("ExecutionType") == "EXPRESS", variables={}, sizes=inside
            )
        else:
            yield from _states(processor, seen, unreachable, express=express, variables=own, sizes=inside)


def _one(
    name: str, state: Mapping[str, Any], assigned: Set[str], unreachable: frozenset[str], *, express: bool, heavy: bool
) -> Iterator[Measure]:
    for key in _TEMPLATES if heavy else ():
        if key in state:
            yield Measure(f"bytes of {key}", name, byte_size(state[key]), MAX_DATA)
    if state["Type"] == "Task" and not {"TimeoutSeconds", "TimeoutSecondsPath"} & state.keys():
        yield Measure("tasks that wait for ever", name, 1, 0)  # AWS's own limit is 99,999,999 seconds
    for variable in assigned:
        if len(variable) >= NEAR * MAX_NAME:
            yield Measure("characters of a variable's name", name, len(variable), MAX_NAME)
    if state["Type"] == "Map":
        distributed = state["ItemProcessor"].get("ProcessorConfig", {}).get("Mode") == "DISTRIBUTED"
        wanted = state.get("MaxConcurrency", 0)
        if isinstance(wanted, int):
            most = MAX_DISTRIBUTED if distributed else MAX_INLINE
            yield Measure("iterations at once", name, wanted if wanted > most else 0, most)
        yield Measure("characters of a label", name, len(state.get("Label", "")), MAX_LABEL)
        if distributed and express:
            yield Measure("Distributed Maps in an Express execution", name, 1, 0)
    if express:
        if state["Type"] == "Task" and str(state["Resource"]).endswith(_CALLBACKS):
            yield Measure("tasks that an Express execution cannot wait for", name, 1, 0)
        seconds = state.get("Seconds")
        if isinstance(seconds, int):
            yield Measure("seconds of a wait in an Express execution", name, seconds, EXPRESS_SECONDS)
    if unreachable:
        read = _read({key: value for key, value in state.items() if key not in ("Branches", "ItemProcessor")})
        lost = sorted(read & unreachable)
        if lost:
            yield Measure(f"variables of the execution around that are read ({', '.join(lost[:3])})", name, len(lost), 0)


def _assigned(state: Mapping[str, Any]) -> set[str]:
    rules = (*state.get("Choices", ()), *state.get("Catch", ()))
    return {variable for one in (state, *rules) for variable in one.get("Assign", ())}


def _read(value: Any) -> set[str]:
    """The variables that the code in a state names."""
    if isinstance(value, str):
        return set(_VARIABLE.findall(_TEXT.sub("", value))) if value.startswith("{%") else set()
    found: set[str] = set()
    for item in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ():
        found |= _read(item)
    return found
