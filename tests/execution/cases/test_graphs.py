"""Skipped steps, graphs that are not series-parallel, nested parallels, and values that branches write."""

from __future__ import annotations

import random

import pytest

from tests.examples import TIMES
from tests.execution.cases.spelling import compiled, errors_of, in_every_dialect, start, start_as
from tests.execution.support import Skills, status_of

SKIPPED = """
    name: skip-read
    steps:
      - {id: maybe, type: transform, when: "false", config: {expression: "1"}}
      - {id: loop, type: foreach, items: [1, 2], when: "false", steps: [{id: one, type: transform, config: {expression: "item"}}]}
      - {id: asked, type: skill, when: "false", config: {skill: echo}}
      - id: after
        type: transform
        depends_on: [maybe, loop, asked]
        config:
          data:
            v: "{{ steps.maybe.output }}"
            deep: "{{ steps.asked.output.a.b[0] }}"
            text: "[{{ steps.asked.output }}]"
            d: "{{ steps.maybe.output ?? 'none' }}"
            e: "{{ default(steps.maybe.output, 'none') }}"
            st: "{{ steps.loop.status }}"
            l: "{{ steps.loop.output }}"
"""


@in_every_dialect
def test_a_skipped_step_reads_as_null_and_says_that_it_was_skipped(skills: Skills, dialect: str) -> None:
    result = start_as(dialect, SKIPPED)
    assert result.output == {
        "after": {"v": None, "deep": None, "text": "[]", "d": "none", "e": "none", "st": "skipped", "l": None}
    }
    assert [status_of(result, step) for step in ("maybe", "loop", "asked", "after")] == ["skipped"] * 3 + ["completed"]
    assert skills.calls == []


EDGES: dict[str, list[str]] = {"a": [], "b": [], "c": ["a"], "d": ["a", "b"], "e": ["b", "c"]}


@pytest.mark.parametrize("shape", [
    EDGES,
    {"a": [], "b": [], "c": [], "d": ["a", "b"], "e": ["b", "c"], "f": ["d", "c"], "g": ["a", "e"]},
    {"a": [], "b": ["a"], "c": ["a"], "d": ["b"], "e": ["b", "c"], "f": ["d", "e", "a"]},
], ids=["n", "two-levels", "fan"])
def test_every_edge_holds_in_every_run(skills: Skills, shape: dict[str, list[str]]) -> None:
    draw = random.Random(len(shape))
    steps = "\n".join(
        f"  - {{id: {name}, type: skill, depends_on: [{', '.join(before)}], config: {{skill: sleep, parameters: "
        f"{{name: {name}, seconds: '{{{{ input.{name} }}}}'}}}}}}" for name, before in shape.items()
    )
    compilations = compiled(f"name: shape\nsteps:\n{steps}")
    for _ in range(runs := 4 * TIMES):
        skills.spans.clear()
        result = start(compilations, {name: draw.choice([0, 0.01, 0.03, 0.06]) for name in shape})
        assert result.status == "completed"
        for name, before in shape.items():
            for source in before:
                assert skills.spans[source][1] <= skills.spans[name][0], (source, name)
    assert len(skills.calls) == runs * len(shape)


@in_every_dialect
def test_no_edge_is_lost_in_any_dialect(skills: Skills, dialect: str) -> None:
    steps = "\n".join(
        f"  - {{id: {name}, type: skill, depends_on: [{', '.join(before)}], config: {{skill: sleep, parameters: "
        f"{{name: {name}, seconds: {0.08 if name in 'ac' else 0}}}}}}}" for name, before in EDGES.items()
    )
    assert start_as(dialect, f"name: n\nsteps:\n{steps}").status == "completed"
    assert all(skills.spans[source][1] <= skills.spans[name][0] for name, before in EDGES.items() for source in before)


NESTED = """
    name: nested-par
    steps:
      - id: p
        type: parallel
        branches:
          - steps:
              - {id: x1, type: skill, config: {skill: sleep, parameters: {seconds: 0.1, name: x1}}}
              - id: q
                type: parallel
                depends_on: [x1]
                branches:
                  - steps: [{id: y1, type: skill, config: {skill: sleep, parameters: {seconds: 0.2, name: y1, value: 7}}}]
                  - steps: [{id: y2, type: skill, when: "false", config: {skill: echo}}]
                  - steps:
                      - {id: c, type: choice, cases: [{name: go, when: "input.go"}], default: stay}
                      - {id: y3, type: transform, depends_on: [{step: c, on: [go]}], config: {expression: "3"}}
          - steps: [{id: z1, type: skill, config: {skill: echo, parameters: {value: 1}}}]
      - {id: done, type: skill, depends_on: [p], config: {skill: sleep, parameters: {name: done, seconds: 0, value: {y: "{{ steps.y1.output }}", s: "{{ steps.y2.status }}", z: "{{ steps.z1.output }}", c: "{{ steps.y3.output }}"}}}}
"""


@in_every_dialect
def test_what_follows_nested_parallels_starts_once_when_all_have_ended(skills: Skills, dialect: str) -> None:
    result = start_as(dialect, NESTED, given={"go": dialect != "steps"})
    assert result.output == {"done": {"y": 7, "s": "skipped", "z": 1, "c": 3 if dialect != "steps" else None}}
    assert skills.count("done") == 1
    assert skills.spans["x1"][1] <= skills.spans["y1"][0] and skills.spans["y1"][1] <= skills.spans["done"][0]


def test_a_branch_without_steps_is_mentioned_and_does_no_harm(skills: Skills) -> None:
    compilations = compiled("""
        name: nested-par
        steps:
          - id: p
            type: parallel
            branches:
              - steps: []
              - steps: [{id: y, type: skill, config: {skill: sleep, parameters: {seconds: 0.1, name: y}}}]
          - {id: done, type: skill, depends_on: [p], config: {skill: sleep, parameters: {seconds: 0, name: done}}}
    """)
    assert "G022" in {found.code for found in compilations[0].diagnostics}
    assert start(compilations).status == "completed"
    assert skills.spans["y"][1] <= skills.spans["done"][0]


@pytest.mark.parametrize("steps", [
    """
      - id: p
        type: parallel
        branches:
          - steps: [{id: l, type: transform, output_key: acc, config: {data: "{{ ['l'] }}"}}]
          - steps: [{id: r, type: transform, output_key: acc, config: {data: "{{ ['r'] }}"}}]
      - {id: e, type: transform, depends_on: [p], config: {data: "{{ state.acc }}"}}
    """,
    """
      - {id: l, type: transform, output_key: acc, config: {data: "{{ ['l'] }}"}}
      - {id: r, type: transform, output_key: acc, config: {data: "{{ ['r'] }}"}}
      - {id: e, type: transform, depends_on: [l, r], config: {data: "{{ state.acc }}"}}
    """,
], ids=["branches", "levels"])
def test_two_branches_must_not_write_the_same_value(steps: str) -> None:
    found = errors_of(f"name: shared\nsteps:\n{steps}")
    assert [one.code for one in found] == ["G010"]
    assert "acc" in found[0].message
    assert found[0].related  # both places are shown


@in_every_dialect
def test_what_one_branch_alone_writes_is_there_afterwards(skills: Skills, dialect: str) -> None:
    result = start_as(dialect, """
        name: shared
        variables: {acc: []}
        steps:
          - id: p
            type: parallel
            branches:
              - steps: [{id: l, type: transform, output_key: only_l, config: {data: "{{ vars.acc + ['l'] }}"}}]
              - steps: [{id: r, type: transform, output_key: only_r, config: {data: "{{ vars.acc + ['r'] }}"}}]
          - {id: e, type: transform, depends_on: [p], config: {data: ["{{ state.only_l }}", "{{ steps.r.output }}", "{{ vars.acc }}"]}}
    """)
    assert result.output == {"e": [["l"], ["r"], []]}


def test_ways_that_exclude_each_other_may_write_the_same_value() -> None:
    (compilation,) = compiled("""
        name: routed
        inputs: {n: {type: integer, required: true}}
        steps:
          - {id: size, type: choice, cases: [{name: large, when: "input.n > 3"}], default: small}
          - {id: large, type: transform, output_key: word, depends_on: [{step: size, on: [large]}], config: {expression: "'large'"}}
          - {id: small, type: transform, output_key: word, depends_on: [{step: size, on: [small]}], config: {expression: "'small'"}}
          - {id: say, type: transform, depends_on: [large, small], config: {data: "{{ state.word }}"}}
    """)
    assert [start([compilation], {"n": n}).output for n in (1, 9)] == [{"say": "small"}, {"say": "large"}]
