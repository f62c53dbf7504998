"""Loops: order, limits, nesting, batches, failures of items."""

from __future__ import annotations

from typing import Any

import pytest

from tests.execution.support import Skills, run_text
from translator.diagnostics import TranslatorError


def test_results_keep_the_order_of_the_items(skills: Skills) -> None:
    result = run_text("""
        inputs: {waits: {type: array, required: true}}
        steps:
          - id: each
            type: foreach
            items: "{{ input.waits }}"
            max_parallel: 2
            steps: [{id: one, type: skill, config: {skill: sleep, parameters: {seconds: "{{ item }}", name: "n{{ index }}", value: "{{ index }}"}}}]
    """, input={"waits": [1.5, 0.1, 0.3]})
    assert result.output == {"each": [0, 1, 2]}
    assert skills.most == 2
    assert skills.spans["n2"][0] >= skills.spans["n1"][1] - 0.01  # the third waits for a free place, not for the first
    assert skills.spans["n2"][0] < skills.spans["n0"][1]


def test_one_at_a_time(skills: Skills) -> None:
    result = run_text("""
        steps:
          - id: each
            type: foreach
            items: [1, 2, 3]
            max_parallel: 1
            steps: [{id: one, type: skill, config: {skill: sleep, parameters: {seconds: 0.05, value: "{{ item }}"}}}]
    """)
    assert (result.output, skills.most) == ({"each": [1, 2, 3]}, 1)


@pytest.mark.parametrize(("items", "expected"), [([], []), ([[1]], [[1]]), ([None], [None]), ([[], {}], [[], {}])])
def test_items_of_every_kind(skills: Skills, items: list[Any], expected: list[Any]) -> None:
    result = run_text("""
        inputs: {items: {type: array, required: true}}
        steps:
          - {id: each, type: foreach, items: "{{ input.items }}", steps: [{id: one, type: skill, config: {skill: echo, parameters: {value: "{{ item }}"}}}]}
    """, input={"items": items})
    assert result.output == {"each": expected}
    assert skills.count("echo") == len(items)


def test_a_body_of_several_steps_and_nested_loops(skills: Skills) -> None:
    result = run_text("""
        steps:
          - {id: base, type: transform, config: {expression: "100"}}
          - id: outer
            type: foreach
            depends_on: [base]
            items: [[1, 2], [3]]
            item_name: row
            steps:
              - {id: head, type: skill, config: {skill: echo, parameters: {value: "{{ row[0] }}"}}}
              - id: inner
                type: foreach
                depends_on: [head]
                items: "{{ row }}"
                item_name: cell
                index_name: at
                steps:
                  - {id: add, type: transform, config: {expression: "cell + steps.head.output * 10 + steps.base.output"}}
                  - {id: pack, type: transform, depends_on: [add], config: {data: ["{{ steps.add.output }}", "{{ at }}", "{{ row }}"]}}
    """)
    assert result.output == {"outer": [[[111, 0, [1, 2]], [112, 1, [1, 2]]], [[133, 0, [3]]]]}


def test_choices_inside_of_a_loop(skills: Skills) -> None:
    result = run_text("""
        steps:
          - id: each
            type: foreach
            items: [1, 2, 3, 4]
            steps:
              - {id: r, type: choice, cases: [{name: even, when: "item % 2 == 0"}], default: odd}
              - {id: e, type: transform, depends_on: [{step: r, on: [even]}], config: {expression: "'even ' ~ item"}}
              - {id: o, type: transform, depends_on: [{step: r, on: [odd]}], config: {expression: "'odd ' ~ item"}}
    """)
    assert result.output == {"each": ["odd 1", "even 2", "odd 3", "even 4"]}


def test_batches(skills: Skills) -> None:
    text = """
        inputs: {items: {type: array, required: true}}
        steps:
          - {id: each, type: foreach, items: "{{ input.items }}", batch_size: 2, steps: [{id: one, type: skill, config: {skill: echo, parameters: {value: "{{ item }}"}}}]}
    """
    assert run_text(text, input={"items": [1, 2, 3]}).output == {"each": [[1, 2], [3]]}
    assert run_text(text, input={"items": []}).output == {"each": []}
    assert run_text(text, input={"items": [1]}).output == {"each": [[1]]}


def test_a_failing_item_fails_the_loop_and_is_named(skills: Skills) -> None:
    result = run_text("""
        steps:
          - {id: strict, type: foreach, items: [1, 2, 3], max_parallel: 1, steps: [{id: one, type: skill, config: {skill: fail_if, parameters: {n: "{{ item }}", bad: 2}}}]}
    """)
    assert result.status == "failed"
    assert result.error is not None
    assert result.error.error == "NoisyError"
    assert "one[1]" in result.error.message and "2 is bad" in result.error.message


@pytest.mark.parametrize("body", [
    "[{id: one, type: skill, config: {skill: fail_if, parameters: {n: '{{ item }}', bad: 2}}}]",
    "[{id: pre, type: transform, config: {expression: 'item'}}, {id: one, type: skill, depends_on: [pre], config: {skill: fail_if, parameters: {n: '{{ steps.pre.output }}', bad: 2}}}]",
])
def test_items_may_fail_and_the_others_are_kept(skills: Skills, body: str) -> None:
    result = run_text(f"""
        steps:
          - {{id: loose, type: foreach, items: [1, 2, 3], on_item_error: continue, steps: {body}}}
    """)
    assert result.status == "completed"
    first, second, third = result.output["loose"]
    assert (first, third) == (1, 3)
    assert second["status"] == "failed"
    assert second["error"]["error"] == "NoisyError"
    assert "2 is bad" in second["error"]["message"]


def test_a_loop_over_null_fails(skills: Skills) -> None:
    result = run_text("""
        steps:
          - {id: a, type: transform, config: {expression: "null"}}
          - {id: each, type: foreach, depends_on: [a], items: "{{ steps.a.output }}", steps: [{id: one, type: skill, config: {skill: echo}}]}
    """)
    assert result.status == "failed"


def test_a_skipped_loop_is_null_and_says_so(skills: Skills) -> None:
    result = run_text("""
        steps:
          - {id: each, type: foreach, when: "false", items: [1], steps: [{id: one, type: skill, config: {skill: echo}}]}
          - {id: after, type: transform, depends_on: [each], config: {data: ["{{ steps.each.output }}", "{{ steps.each.status }}"]}}
    """)
    assert result.output == {"after": [None, "skipped"]}


def test_a_parallel_inside_of_a_loop(skills: Skills) -> None:
    result = run_text("""
        steps:
          - id: each
            type: foreach
            items: [1, 2]
            steps:
              - {id: a, type: skill, config: {skill: echo, parameters: {value: "{{ item }}"}}}
              - {id: b, type: skill, config: {skill: echo, parameters: {value: "{{ item * 10 }}"}}}
              - {id: c, type: transform, depends_on: [a, b], config: {expression: "steps.a.output + steps.b.output + index"}}
    """)
    assert result.output == {"each": [11, 23]}


def test_a_condition_that_runs_in_a_function_inside_of_nested_loops(skills: Skills) -> None:
    result = run_text("""
        steps:
          - id: rows
            type: foreach
            items: [[ax, b], [ay]]
            item_name: row
            on_item_error: continue
            steps:
              - id: cells
                type: foreach
                items: "{{ row }}"
                item_name: cell
                on_item_error: continue
                steps:
                  - {id: route, type: choice, cases: [{name: a, when: "matches(cell, '^a')"}], default: other}
                  - {id: got, type: transform, depends_on: [{step: route, on: [a]}], config: {expression: "upper(cell)"}}
    """)
    assert result.output == {"rows": [["AX", None], ["AY"]]}


def test_items_that_are_certainly_no_list_are_refused() -> None:
    with pytest.raises(TranslatorError, match="a list"):
        run_text("""
            inputs: {n: {type: integer, required: true}}
            steps: [{id: each, type: foreach, items: "{{ input.n }}", steps: [{id: one, type: wait, seconds: 1}]}]
        """, input={"n": 1})


def test_a_loop_with_names_of_its_own_leaves_those_of_the_loop_around(skills: Skills) -> None:
    result = run_text("""
        steps:
          - id: outer
            type: foreach
            items: [10, 20]
            steps:
              - id: inner
                type: foreach
                items: [1]
                item_name: x
                index_name: k
                steps: [{id: one, type: transform, config: {expression: "[item, index, x, k]"}}]
          - {id: alone, type: foreach, items: [7], item_name: x, steps: [{id: other, type: transform, config: {expression: "[item, x]"}}]}
    """)
    assert result.output == {"outer": [[[10, 0, 1, 0]], [[20, 1, 1, 0]]], "alone": [[7, 7]]}
