"""An execution's output is always an object that JSON can say."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.execution.cases.deployment import deployed
from tests.execution.cases.spelling import compiled, in_every_dialect, start, start_as

VALUES: list[Any] = ["done", "", 5, 1.5, True, False, None, [], [1, [None]], {}, {"a": None}, "\"quoted\"", "{% 1 %}"]


@in_every_dialect
def test_a_last_step_that_gives_a_scalar_gives_an_object(dialect: str) -> None:
    result = start_as(dialect, "name: s\nsteps: [{id: a, type: transform, config: {expression: \"'done'\"}}]")
    assert result.output == {"a": "done"}


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_the_output_is_json_text_of_an_object_whatever_the_last_step_gives(value: Any) -> None:
    text = "inputs: {x: {}}\nsteps: [{id: a, type: transform, config: {data: '{{ input.x }}'}}]"
    with deployed(text) as cloud:
        handle = cloud.start("one", {"x": value})
        assert handle.wait(20).status == "SUCCEEDED"
        described = cloud.cloud.client("stepfunctions").describe_execution(executionArn=handle.arn)
    assert json.loads(described["output"]) == {"a": value}


@pytest.mark.parametrize("value", VALUES[:6], ids=repr)
def test_each_declared_output_may_be_a_scalar(value: Any) -> None:
    result = start(compiled("""
        inputs: {x: {}}
        outputs: {y: "{{ input.x }}", fixed: 1}
        steps: [{id: a, type: wait, seconds: 0}]
    """), {"x": value})
    assert result.output == {"y": value, "fixed": 1}


@pytest.mark.parametrize("steps", [
    "[{id: a, type: wait, seconds: 0}]",
    "[{id: c, type: choice, cases: [{name: y, when: 'true'}]}]",
    "[{id: p, type: parallel, branches: [{steps: [{id: a, type: wait, seconds: 0}]}]}]",
    "[{id: l, type: foreach, items: [], steps: [{id: a, type: wait, seconds: 0}]}]",
    "[{id: t, type: transform, when: 'false', config: {expression: '1'}}]",
])
def test_every_last_state_gives_an_object(steps: str) -> None:
    result = start(compiled(f"steps: {steps}"))
    assert result.status == "completed"
    assert isinstance(result.output, dict)
