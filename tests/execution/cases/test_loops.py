"""Loops: results in the order of the items, bounded concurrency, and items that fail."""

from __future__ import annotations

import threading

import pytest

from aslant import skills as registry
from tests.execution.cases.spelling import compiled, errors_of, in_every_dialect, start, start_as
from tests.execution.support import Skills

ORDER = """
    name: order
    inputs: {{waits: {{type: array, default: [3, 0.1, 0.1]}}}}
    steps:
      - id: each
        type: foreach
        items: "{{{{ input.waits }}}}"
        {limit}
        steps: [{{id: one, type: skill, config: {{skill: sleep, parameters: {{seconds: "{{{{ item }}}}", name: "n{{{{ index }}}}", value: "{{{{ index }}}}"}}}}}}]
"""


@in_every_dialect
def test_results_are_in_the_order_of_the_items_and_a_place_is_filled_as_soon_as_it_is_free(skills: Skills, dialect: str) -> None:
    result = start_as(dialect, ORDER.format(limit="max_parallel: 2"))
    assert result.output == {"each": [0, 1, 2]}
    assert skills.most == 2
    # The third starts when the second has ended, not when the first two have: no waves.
    assert skills.spans["n1"][1] <= skills.spans["n2"][0] + 0.01 < skills.spans["n0"][1]


@in_every_dialect
def test_a_limit_of_one_is_one_after_the_other(skills: Skills, dialect: str) -> None:
    result = start_as(dialect, ORDER.format(limit="max_parallel: 1"), given={"waits": [0.06, 0.02, 0.04]})
    assert (result.output, skills.most) == ({"each": [0, 1, 2]}, 1)
    assert [name for name, _ in skills.calls] == ["n0", "n1", "n2"]


def test_without_a_limit_ten_items_run_at_once(skills: Skills) -> None:
    lock, full = threading.Lock(), threading.Event()
    running: list[int] = []
    most: list[int] = []

    def meet(number: int) -> int:
        with lock:
            running.append(number)
            most.append(len(running))
            if len(running) == 10:
                full.set()
        assert full.wait(20), "fewer than ten at once"
        with lock:
            running.remove(number)
        return number

    registry.register("meet", meet)
    result = start_as("canonical", """
        steps: [{id: each, type: foreach, items: "{{ range(0, 14) }}", steps: [{id: one, type: skill, config: {skill: meet, parameters: {number: "{{ item }}"}}}]}]
    """, time_scale=1)
    assert (result.output, max(most)) == ({"each": [*range(14)]}, 10)


@pytest.mark.parametrize("limit", [0, -1, "'2'", 1.5])
def test_a_limit_that_is_none_is_refused(limit: object) -> None:
    assert errors_of(ORDER.format(limit=f"max_parallel: {limit}"))


@in_every_dialect
def test_an_item_that_fails_fails_the_loop_and_is_named(skills: Skills, dialect: str) -> None:
    result = start_as(dialect, """
        name: item-fail
        steps:
          - {id: strict, type: foreach, items: [1, 2, 3], max_parallel: 1, steps: [{id: check, type: skill, config: {skill: fail_if, parameters: {n: "{{ item }}", bad: 2}}}]}
    """)
    assert result.status == "failed"
    assert result.error is not None
    assert (result.error.error, result.error.step, result.error.iteration) == ("NoisyError", "check", (1,))
    assert "check[1]" in result.error.message and "2 is bad" in result.error.message
    failed = {one.step: one.status for one in result.steps if one.status == "failed"}
    assert failed == {"strict": "failed", "check": "failed"}


@in_every_dialect
def test_items_may_fail_without_losing_the_others(skills: Skills, dialect: str) -> None:
    result = start_as(dialect, """
        name: item-fail
        steps:
          - {id: loose, type: foreach, items: [1, 2, 3], on_item_error: continue, steps: [{id: check, type: skill, config: {skill: fail_if, parameters: {n: "{{ item }}", bad: 2}}}]}
          - {id: after, type: transform, depends_on: [loose], config: {data: ["{{ steps.loose.status }}", "{{ len(steps.loose.output) }}"]}}
    """)
    assert result.status == "completed"
    assert result.output == {"after": ["completed", 3]}
    compilations = compiled("""
        outputs: {all: "{{ steps.loose.output }}"}
        steps:
          - {id: loose, type: foreach, items: [1, 2, 3], on_item_error: continue, steps: [{id: check, type: skill, config: {skill: fail_if, parameters: {n: "{{ item }}", bad: 2}}}]}
    """)
    first, second, third = start(compilations).output["all"]
    assert (first, third) == (1, 3)
    assert (second["status"], second["error"]["error"]) == ("failed", "NoisyError")
    assert "2 is bad" in second["error"]["message"]
