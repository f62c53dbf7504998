"""Choices that follow one another become one: fewer states are entered, and everything else stays as it is.

- *Threading.* Where a way sets the outcome that the next Choice asks about, what that one does is known: the way leads there.
- *Merging.* A Choice that another one leads to is asked in that one, when its conditions cannot fail and read nothing that the
  way to it sets. It stays for those that come to it from elsewhere.

Only choices that belong to no step vanish from a way (`SILENT`), since a step's own is what tells that the step ran. The
outcome of a step's choice is told by the state that follows it, so ways of it are led on only as long as they stay apart.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Set
from copy import deepcopy
from typing import Any, NamedTuple

from translator.asl.block import Origin, State
from translator.asl.values import query

SILENT = frozenset({"condition", "end", "join"})
MOST_RULES = 4     # of a Choice that has taken in others, so that a chain of conditions does not grow with its square
MOST_BYTES = 1_500  # of a Choice that is taken in

_ASKED = r'\$(\w+)((?:\.\w+)*)(!?=)("(?:[^"\\]|\\.)*"|true|false|null)'
_QUESTION = re.compile(_ASKED)
_QUESTIONS = re.compile(rf"{_ASKED}(?: or {_ASKED})*")
_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'')
_VARIABLE = re.compile(r"\$([A-Za-z]\w*)")


class Way(NamedTuple):
    """One way out of a state: `owner[key]` is where to, `owner["Assign"]` what is set on it."""

    owner: dict[str, Any]
    key: str


def fuse(
    definition: dict[str, Any], origins: dict[str, Origin], total: Collection[str], routed: Collection[str],
    asked: Set[str] = frozenset(),
) -> None:
    """Fuses the choices of a machine in place.

    `total`: choices whose conditions cannot fail; `routed`: those of them that ask for outcomes of other choices or for edges'
    conditions, and Passes that only set constants. Only these are threaded: a step that a `when` keeps from running after
    another one shall still be seen to come after it. `asked`: those of `routed` that ask for edges' conditions; they stay where
    a step that never runs would lose its state otherwise.
    """
    before = deepcopy(definition) if asked else None
    _fuse(definition, origins, total, routed)
    lost = [(machine, _lost(machine)) for machine in _machines(definition)]
    if before is not None and any(origins[name].role == "step" for _, names in lost for name in names):
        definition.clear()
        definition.update(before)
        fuse(definition, origins, total, set(routed) - asked)
        return
    for machine, names in lost:
        for name in names:
            del machine["States"][name], origins[name]


def _fuse(definition: dict[str, Any], origins: Mapping[str, Origin], total: Collection[str], routed: Collection[str]) -> None:
    for states in _maps(definition):
        for name in reversed([*states]):
            _lead_on(states, name, origins, routed)
            if states[name]["Type"] == "Choice" and origins[name].role in SILENT:
                _take_in(states, name, origins, total)


def _machines(machine: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield machine
    for state in machine["States"].values():
        for inner in (*state.get("Branches", ()), *([state["ItemProcessor"]] if "ItemProcessor" in state else ())):
            yield from _machines(inner)


def _maps(definition: dict[str, Any]) -> list[dict[str, State]]:
    return [machine["States"] for machine in _machines(definition)]


def _ways(state: State) -> list[Way]:
    """All ways out of a state."""
    found = [Way(rule, "Next") for rule in (*state.get("Choices", ()), *state.get("Catch", ()))]
    return found + [Way(state, key) for key in ("Next", "Default") if key in state]


def _lead_on(
    states: Mapping[str, State], name: str, origins: Mapping[str, Origin], routed: Collection[str]
) -> None:
    """Leads the ways of a state past choices whose answers are known on them."""
    ways = _ways(states[name])
    told = states[name]["Type"] == "Choice" and origins[name].role == "step"
    for way in ways:
        while (past := _past(states, way, routed)) is not None:
            if told and any(other.owner[other.key] == past.owner[past.key] for other in ways if other is not way):
                break
            _follow(way, past)


def _past(states: Mapping[str, State], way: Way, routed: Collection[str]) -> Way | None:
    """The way that the next state takes after this one, if that is of `routed` and it is certain."""
    name = way.owner[way.key]
    if name not in routed:
        return None
    state = states[name]
    set_here = way.owner.get("Assign", {})
    if state["Type"] == "Pass":
        return _if_free(Way(state, "Next"), set_here)
    for rule in state["Choices"]:
        answer = _answer(rule["Condition"], set_here)
        if answer is None:
            return None
        if answer:
            return _if_free(Way(rule, "Next"), set_here)
    return _if_free(Way(state, "Default"), set_here)


def _if_free(way: Way, set_before: Mapping[str, Any]) -> Way | None:
    """The way, unless what it sets reads what is set before, which is visible from the next state on only."""
    return None if _read(way.owner.get("Assign")) & set_before.keys() else way


def _follow(way: Way, past: Way) -> None:
    assign = {**way.owner.get("Assign", {}), **past.owner.get("Assign", {})}
    way.owner[way.key] = past.owner[past.key]
    if assign:
        way.owner["Assign"] = assign


def _answer(condition: Any, known: Mapping[str, Any]) -> bool | None:
    """What a condition of the form `$x="a" or $y.c0=true or $z!=null` gives; None when that is not certain."""
    code = _code(condition)
    if code is None or not _QUESTIONS.fullmatch(code):
        return None
    answers = []
    for variable, path, compared, wanted in _QUESTION.findall(code):
        certain, value = _constant(known[variable]) if variable in known else (False, None)
        if path:
            certain = False
        answers.append((value == json.loads(wanted)) is (compared == "=") if certain else None)
    return True if True in answers else None if None in answers else False


def _constant(value: Any) -> tuple[bool, Any]:
    """Whether an assigned value is known, and the value: null, a text, or an object, which is not the same as any of these."""
    if value is None or isinstance(value, dict):
        return True, value
    code = _code(value)
    if code is None:
        return isinstance(value, str), value
    if _TEXT.fullmatch(code) and code.startswith('"'):
        return True, json.loads(code)
    return False, None


def _code(value: Any) -> str | None:
    return value[3:-3] if isinstance(value, str) and value.startswith("{% ") and value.endswith(" %}") else None


def _take_in(states: Mapping[str, State], name: str, origins: Mapping[str, Origin], total: Collection[str]) -> None:
    """Asks in a Choice what the choices that it leads to ask."""
    state = states[name]
    while (ways := _with(states, name, state, origins, total)) is not None:
        state["Choices"], (state["Default"], assign) = ways
        state.pop("Assign", None)
        if assign:
            state["Assign"] = assign


def _with(
    states: Mapping[str, State], name: str, state: State, origins: Mapping[str, Origin], total: Collection[str]
) -> tuple[list[dict[str, Any]], tuple[str, dict[str, Any]]] | None:
    """The rules and the default of a Choice with the first one taken in that can be; None when there is none."""

    def inner(way: Way) -> State | None:
        target = way.owner[way.key]
        other = states[target]
        if target == name or other["Type"] != "Choice" or origins[target].role not in SILENT or target not in total:
            return None
        if len(state["Choices"]) + len(other["Choices"]) > MOST_RULES or len(json.dumps(other)) > MOST_BYTES:
            return None
        return None if _read(other) & way.owner.get("Assign", {}).keys() else other

    for position, rule in enumerate(state["Choices"]):
        other = inner(Way(rule, "Next"))
        if other is None or len(state["Choices"]) + len(other["Choices"]) >= MOST_RULES:
            continue
        first = _code(rule["Condition"])
        kept = rule.get("Assign", {})
        rules = [
            _rule(query(f"({first})?({_code(each['Condition'])}):false"), each["Next"], kept, each.get("Assign", {}))
            for each in other["Choices"]
        ]
        rules.append(_rule(rule["Condition"], other["Default"], kept, other.get("Assign", {})))
        choices = [*state["Choices"][:position], *rules, *state["Choices"][position + 1 :]]
        return choices, (state["Default"], state.get("Assign", {}))
    other = inner(Way(state, "Default"))
    if other is None:
        return None
    kept = state.get("Assign", {})
    rules = [_rule(each["Condition"], each["Next"], kept, each.get("Assign", {})) for each in other["Choices"]]
    return [*state["Choices"], *rules], (other["Default"], {**kept, **other.get("Assign", {})})


def _rule(condition: Any, target: str, *assigned: Mapping[str, Any]) -> dict[str, Any]:
    assign = {name: value for one in assigned for name, value in one.items()}
    return {"Condition": condition, "Next": target} | ({"Assign": assign} if assign else {})


def _read(value: Any) -> set[str]:
    """The variables that the code in a value names."""
    if isinstance(value, str):
        return set(_VARIABLE.findall(_TEXT.sub("", value))) if value.startswith("{%") else set()
    found: set[str] = set()
    for item in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ():
        found |= _read(item)
    return found


def _lost(machine: Mapping[str, Any]) -> list[str]:
    """The states that nothing leads to."""
    found: set[str] = set()
    stack = [machine["StartAt"]]
    while stack:
        name = stack.pop()
        if name not in found:
            found.add(name)
            stack += [way.owner[way.key] for way in _ways(machine["States"][name])]
    return [name for name in machine["States"] if name not in found]
