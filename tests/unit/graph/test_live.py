"""Dead-path elimination decided before anything runs, against playing every combination of outcomes through."""

from __future__ import annotations

import time
from itertools import chain, combinations, product

from hypothesis import given
from hypothesis import strategies as st

from tests.examples import few
from tests.unit.graph.scopes import Spec, dags, scope_of
from translator.diagnostics import Findings
from translator.graph.scope import Live, Scope, build_graph
from translator.model.workflow import Edge, Step, Workflow
from translator.pipeline import Source, compile_sources

Taken = dict[int, frozenset[str]]
OUTCOMES = ("c0", "c1", "other")


@st.composite
def routed(draw: st.DrawFn) -> tuple[list[Spec], dict[int, str]]:
    """A graph with up to three choices, whose edges name outcomes or none."""
    specs = draw(dags(7))
    choices = {step: draw(st.sampled_from(["first", "first", "all"])) for step in range(len(specs)) if draw(st.integers(0, 2)) == 0}
    choices = dict(list(choices.items())[:3])
    result: list[Spec] = []
    for edges in specs:
        result.append(tuple(
            (source, tuple(sorted(draw(st.sets(st.sampled_from(OUTCOMES), max_size=2)))) if source in choices else ())
            for source, _ in edges
        ))
    return result, choices


def possible(mode: str) -> list[frozenset[str]]:
    """What a choice can take: one outcome, or any of its cases, or else the default."""
    if mode == "first":
        return [frozenset([name]) for name in OUTCOMES]
    cases = [frozenset(names) for size in (1, 2) for names in combinations(("c0", "c1"), size)]
    return [*cases, frozenset(["other"])]


def runs(specs: list[Spec], order: list[int], taken: Taken) -> set[int]:
    """The steps that run: those with a live edge, or with none at all, taken in order."""
    running: set[int] = set()
    for step in order:
        alive = [source in running and (not names or bool(taken[source] & set(names))) for source, names in specs[step]]
        if any(alive) or not specs[step]:
            running.add(step)
    return running


def plays(choices: dict[int, str]) -> list[Taken]:
    return [dict(zip(choices, taken, strict=True)) for taken in product(*(possible(mode) for mode in choices.values()))]


def holds(live: Live, taken: Taken, running: set[int]) -> bool:
    return live is None or any(choice in running and name in taken[choice] for choice, name in live)


@few(40, derandomize=True)
@given(routed())
def test_a_step_runs_just_when_one_of_its_outcomes_is_taken(case: tuple[list[Spec], dict[int, str]]) -> None:
    specs, choices = case
    scope = scope_of(specs, choices)
    for taken in plays(choices):
        running = runs(specs, scope.order, taken)
        for step in scope:
            assert holds(scope.live[step], taken, running) == (step in running), (step, scope.live[step], taken)


@few(40, derandomize=True)
@given(routed())
def test_what_is_said_of_two_steps_is_so(case: tuple[list[Spec], dict[int, str]]) -> None:
    specs, choices = case
    scope = scope_of(specs, choices)
    seen = [runs(specs, scope.order, taken) for taken in plays(choices)]
    for one, two in product(scope, scope):
        if scope.disjoint(scope.live[one], scope.live[two]):
            assert not any(one in running and two in running for running in seen), (one, two)
        if scope.refines(scope.live[one], scope.live[two]):
            assert all(two in running for running in seen if one in running), (one, two)


def live_of(scope: Scope, name: str) -> Live:
    return next(scope.live[index] for index in scope if scope.steps[index].id == name)


def test_all_outcomes_together_are_always_live() -> None:
    scope = scope_of([(), ((0, ("c0",)),), ((0, ("c1", "other")),), ((1, ()), (2, ()))], {0: "first"})
    assert scope.live == [None, frozenset({(0, "c0")}), frozenset({(0, "c1"), (0, "other")}), None]


def test_a_choice_behind_a_choice() -> None:
    scope = scope_of([(), ((0, ("c0",)),), ((1, ("c0",)),), ((1, ("c1", "other")), (2, ()))], {0: "first", 1: "first"})
    assert live_of(scope, "s3") == frozenset({(0, "c0")})
    assert live_of(scope, "s2") == frozenset({(1, "c0")})


def test_conditions_of_edges_are_choices_of_their_own() -> None:
    from translator.expressions.tree import Name

    steps = (
        Step(id="a", type="skill"),
        Step(id="b", type="skill", depends_on=(Edge("a", when=Name("x")),)),
        Step(id="c", type="skill", depends_on=(Edge("a", when=Name("y")), Edge("b"))),
    )
    graph = build_graph(Workflow(id="w", name="w", steps=steps), Findings())
    assert graph is not None
    scope = graph.body
    assert [step.id for step in scope.steps] == ["a", "a edges", "b", "c"]
    assert live_of(scope, "b") == frozenset({(1, "b")})
    assert live_of(scope, "c") == frozenset({(1, "b"), (1, "c")})
    assert list(chain.from_iterable(scope.preds[3]))[0] == 1


def test_conditions_over_many_ways_take_no_time_for_each_way() -> None:
    """Each of fifteen layers has six ways through it: 6^15 ways in all."""
    steps = []
    for layer in range(15):
        before = f"[j{layer - 1}]" if layer else "[]"
        ways = ", ".join(f"{{name: o{way}, when: input.x{way} == {layer}}}" for way in range(6))
        steps.append(f"{{id: c{layer}, type: choice, mode: all, default: d, depends_on: {before}, cases: [{ways}]}}")
        steps += [f"{{id: b{layer}_{way}, type: skill, config: {{skill: s}}, depends_on: [{{step: c{layer}, on: [o{way}]}}]}}" for way in range(6)]
        steps.append(f"{{id: j{layer}, type: skill, config: {{skill: s}}, depends_on: [{', '.join(f'b{layer}_{way}' for way in range(6))}]}}")
    text = "dialect: canonical\nname: w\nsteps:\n" + "\n".join(f"- {step}" for step in steps)
    started = time.process_time()
    compile_sources([Source(text)])
    assert time.process_time() - started < 30  # of each way, it would be years


def test_a_condition_that_gates_of_tokens_stand_beside() -> None:
    text = """
dialect: canonical
name: w
steps:
- {id: c, type: choice, cases: [{name: y, when: input.z}, {name: n, when: input.x}]}
- {id: a, type: transform, depends_on: [{step: c, on: [y]}], config: {expression: input.x}}
- {id: b, type: skill, depends_on: [a], config: {skill: act}}
- {id: d, type: transform, depends_on: [b], config: {expression: input.x}}
- {id: e, type: skill, depends_on: [b], config: {skill: act}}
- {id: f, type: transform, depends_on: [b], config: {expression: input.x}}
- {id: g, type: skill, depends_on: [{step: a, when: input.x}, d, f], config: {skill: act}}
"""
    (compiled,) = compile_sources([Source(text)])
    assert {origin.step for origin in compiled.source_map.values()} >= set("cabdefg")
