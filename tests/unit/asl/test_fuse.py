"""Which choices become one, on machines written by hand."""

from __future__ import annotations

from typing import Any

from translator.asl.block import Origin
from translator.asl.fuse import fuse
from translator.diagnostics import NOWHERE

STOP = {"Type": "Succeed"}


def choice(*rules: tuple[str, str, dict[str, Any]], default: str, assign: dict[str, Any] | None = None) -> dict[str, Any]:
    made: dict[str, Any] = {"Type": "Choice", "Default": default, "Choices": [
        {"Condition": f"{{% {code} %}}", "Next": target} | ({"Assign": set_} if set_ else {}) for code, target, set_ in rules
    ]}
    return made | ({"Assign": assign} if assign else {})


def fused(
    states: dict[str, Any], *, steps: tuple[str, ...] = (), total: tuple[str, ...] = (), routed: tuple[str, ...] = ()
) -> dict[str, Any]:
    definition = {"StartAt": next(iter(states)), "States": states}
    origins = {name: Origin(name, "step" if name in steps else "condition", NOWHERE) for name in states}
    fuse(definition, origins, {*total, *routed}, {*routed})
    assert origins.keys() == states.keys()
    return states


def route(name: str) -> dict[str, Any]:
    return {"route": name}


def asking(name: str = "x") -> dict[str, Any]:
    return choice((f'$route="{name}"', "run", {}), default="past", assign={"run": None})


def test_a_way_with_a_known_outcome_leads_past_the_question() -> None:
    made = fused({
        "c": choice(("$a", "ask", route("x")), default="ask", assign=route("y")), "ask": asking(), "run": STOP, "past": STOP,
    }, steps=("c", "run"), routed=("ask",))  # fmt: skip
    assert made["c"] == choice(("$a", "run", route("x")), default="past", assign=route("y") | {"run": None})
    assert "ask" not in made


def test_an_outcome_that_is_computed_or_set_earlier_is_asked_for() -> None:
    for set_ in ({"route": "{% $other %}"}, {"other": "x"}):
        made = fused({"c": {"Type": "Pass", "Assign": set_, "Next": "ask"}, "ask": asking(), "run": STOP, "past": STOP},
                     routed=("ask",))
        assert made["c"]["Next"] == "ask"


def test_several_outcomes_in_one_question() -> None:
    either = choice(('$route="w" or $route="x or y"', "run", {}), default="past")
    for name, target in (("x or y", "run"), ("w", "run"), ("x", "past")):
        made = fused({"c": {"Type": "Pass", "Assign": route(name), "Next": "ask"}, "ask": dict(either), "run": STOP, "past": STOP},
                     routed=("ask",))
        assert made["c"]["Next"] == target


def test_ways_of_a_step_that_tell_its_outcome_stay_apart() -> None:
    made = fused({
        "c": choice(("$a", "ask", route("y")), default="past", assign=route("z")), "ask": asking(), "run": STOP, "past": STOP,
    }, steps=("c",), routed=("ask",))  # fmt: skip
    assert made["c"]["Choices"][0]["Next"] == "ask"


def test_a_question_at_the_default_joins_the_others() -> None:
    made = fused({
        "one": choice(("$a", "s", {}), default="two", assign={"s": None}), "s": {"Type": "Pass", "Next": "two"},
        "two": choice(("$b", "t", {}), default="end", assign={"t": None}), "t": {"Type": "Pass", "Next": "end"}, "end": STOP,
    }, steps=("s", "t"), total=("one", "two"))  # fmt: skip
    assert made["one"] == choice(("$a", "s", {}), ("$b", "t", {"s": None}), default="end", assign={"s": None, "t": None})
    assert made["s"]["Next"] == "two" and "two" in made


def test_a_question_behind_a_rule_is_asked_only_when_the_rule_holds() -> None:
    made = fused({
        "one": choice(("$a", "two", {"v": 1}), default="end"), "two": choice(("$b", "t", {}), default="end"),
        "t": STOP, "end": STOP,
    }, steps=("t",), total=("one", "two"))  # fmt: skip
    assert made["one"] == choice(("($a)?($b):false", "t", {"v": 1}), ("$a", "end", {"v": 1}), default="end")


def test_what_can_fail_or_reads_what_the_way_sets_or_is_a_step_stays() -> None:
    for default, assign, total, steps in (
        ("two", {}, ("one",), ()), ("two", {"b": 1}, ("one", "two"), ()), ("two", {}, ("one", "two"), ("two",)),
        ("two", {}, ("one", "two"), ("one",)),
    ):
        made = fused({
            "one": choice(("$a", "s", {}), default=default, assign=assign), "two": choice(("$b", "t", {}), default="end"),
            "s": STOP, "t": STOP, "end": STOP,
        }, total=total, steps=steps)  # fmt: skip
        assert made["one"]["Default"] == "two"


def test_a_chain_of_conditions_grows_with_its_length_only() -> None:
    states: dict[str, Any] = {}
    for number in range(30):
        after = f"w{number + 1}" if number < 29 else "end"
        states[f"w{number}"] = choice((f"$a{number}", f"s{number}", {}), default=after)
        states[f"s{number}"] = {"Type": "Pass", "Next": after}
    states["end"] = STOP
    made = fused(states, total=tuple(f"w{number}" for number in range(30)))
    assert max(len(state["Choices"]) for state in made.values() if state["Type"] == "Choice") <= 4
