"""A list of steps runs in order; branch targets and explicit dependencies are exceptions to it."""

from __future__ import annotations

import pytest

from tests.unit.dialects.common.reading import canonical, edges


def listed(*steps: str) -> str:
    return "name: order\nsteps:\n" + "".join(f"  - {step}\n" for step in steps)


def do(name: str, more: str = "") -> str:
    return f"{{id: {name}, type: skill, config: {{skill: x}}{', ' + more if more else ''}}}"


def route(name: str, true: str = "", false: str = "", more: str = "") -> str:
    branches = ", ".join(f"{key}: {{target_step: {goal}}}" for key, goal in (("true", true), ("false", false)) if goal)
    return (f"{{id: {name}, type: conditional, config: {{condition: input.ok, branches: {{{branches}}}}}"
        f"{', ' + more if more else ''}}}")


@pytest.mark.parametrize(("steps", "expected"), [
    pytest.param([do("a"), do("b"), do("c")], {"a": [], "b": ["a"], "c": ["b"]}, id="in order"),
    pytest.param([do("a"), do("b", "depends_on: a"), do("c", "depends_on: [a]"), do("d")],
        {"a": [], "b": ["a"], "c": ["a"], "d": ["b", "c"]}, id="mixed"),
    pytest.param([do("a"), do("b", "depends_on: []"), do("c")], {"a": [], "b": [], "c": ["a", "b"]}, id="an empty list"),
    pytest.param([do("a", "depends_on: c"), do("b"), do("c")], {"a": ["c"], "b": [], "c": ["b"]}, id="named later"),
    pytest.param([route("r", "yes", "nope"), do("yes"), do("nope"), do("join")],
        {"r": [], "yes": ["r=true"], "nope": ["r=false"], "join": ["r", "yes", "nope"]}, id="branches"),
    pytest.param([do("a"), route("r", "only"), do("only"), do("after"), do("last")],
        {"a": [], "r": ["a"], "only": ["r=true"], "after": ["r", "only"], "last": ["after"]}, id="one branch"),
    pytest.param([route("r", "yes"), do("yes"), do("more", "depends_on: yes"), do("end")],
        {"r": [], "yes": ["r=true"], "more": ["yes"], "end": ["r", "more"]}, id="what depends on a target"),
    pytest.param([route("r", "yes", more="depends_on: []"), do("yes", "depends_on: r"), do("end")],
        {"r": [], "yes": ["r=true"], "end": ["r", "yes"]}, id="a target that names its conditional"),
    pytest.param([do("a"), route("r", "yes"), do("yes", "depends_on: a"), do("end")],
        {"a": [], "r": ["a"], "yes": ["r=true"], "end": ["r", "yes"]}, id="a target that names what came before"),
    pytest.param([do("a", "depends_on: []"), route("r", "yes", more="depends_on: []"), do("yes", "depends_on: a")],
        {"a": [], "r": [], "yes": ["r=true", "a?false"]}, id="a target that also waits"),
    pytest.param([do("yes"), do("a"), route("r", "yes"), do("end")],
        {"yes": ["r=true"], "a": [], "r": ["a"], "end": ["yes", "r"]}, id="a target before its conditional"),
    pytest.param([route("r", "s", "z"), route("s", "x", "y"), do("x"), do("y"), do("z"), do("end")],
        {"r": [], "s": ["r=true"], "x": ["s=true"], "y": ["s=false"], "z": ["r=false"], "end": ["r", "x", "y", "z"]},
        id="a conditional as a target"),
    pytest.param([route("r", "same", "same"), do("same")], {"r": [], "same": ["r=true|false"]}, id="both branches"),
    pytest.param([route("r", "[x, y]"), do("x"), do("y")], {"r": [], "x": ["r=true"], "y": ["r=true"]}, id="two targets"),
    pytest.param([do("a"), do("b", "depends_on: [{step: a, when: '{{ steps.a.output.ok }}'}]"), do("c")],
        {"a": [], "b": ["a?steps.a.output.ok"], "c": ["a", "b"]}, id="a guarded edge"),
])
def test_edges(steps: list[str], expected: dict[str, list[str]]) -> None:
    assert edges(canonical(listed(*steps))) == expected


def test_circles_are_left_for_the_graph_to_report() -> None:
    found = edges(canonical(listed(do("a", "depends_on: b"), do("b", "depends_on: a"), do("c"))))
    assert (found["a"], found["b"]) == (["b"], ["a"])


def test_inner_lists_have_an_order_of_their_own() -> None:
    data = canonical("""
name: inner
steps:
  - id: each
    type: foreach
    config:
      items: "{{ input.rows }}"
      steps:
        - {id: one, type: skill, config: {skill: x}}
        - {id: two, type: skill, config: {skill: x}}
  - id: side
    type: parallel
    config:
      branches:
        - steps:
            - {id: left, type: skill, config: {skill: x}}
            - {id: left_too, type: skill, config: {skill: x}}
rollback:
  - {id: undo, type: skill, config: {skill: x}}
  - {id: undo_too, type: skill, config: {skill: x}}
""")
    assert data["steps"][0]["steps"][1]["depends_on"] == ["one"]
    assert data["steps"][1]["branches"][0]["steps"][1]["depends_on"] == ["left"]
    assert data["rollback"][1]["depends_on"] == ["undo"]
