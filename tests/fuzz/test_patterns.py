"""The JSONata that the emitter writes by itself, on AWS's engine and on the local one: no JSON value changes its shape."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.fuzz.engines import NodeEngine, Outcome, ensure_node_modules, local
from translator.asl.failures import MESSAGE
from translator.asl.native import parallel_result
from translator.asl.tasks import EXECUTION
from translator.asl.values import CONTEXT
from translator.model.workflow import Step

VALUES: list[Any] = [[], [1], [[1]], [[], []], None, {}, "", 0, False, [None], {"a": [1]}, "he said \"{% hi %}\""]


@pytest.fixture(scope="module")
def node() -> Iterator[NodeEngine]:
    ensure_node_modules()
    with NodeEngine() as engine:
        yield engine


def both(node: NodeEngine, code: str, states: dict[str, Any], **more: Any) -> Any:
    """The value under both engines, which must be the same."""
    code = code.removeprefix("{% ").removesuffix(" %}")
    bindings = {"states": states, **more}
    (there,) = node.run([(code, bindings)])
    here = local(code, bindings)
    assert here == there
    assert there.state == "ok", there
    return there.value


@pytest.mark.parametrize("value", VALUES)
def test_results_are_taken_over_as_they_are(node: NodeEngine, value: Any) -> None:
    assert both(node, "$states.result.Payload.output", {"result": {"Payload": {"output": value}}}) == value
    assert both(node, "$states.result[0]", {"result": [value]}) == value
    assert both(node, "$states.result[1]", {"result": [1, value]}) == value
    assert both(node, "$states.result[1].x", {"result": [{"x": 1}, {"x": value}]}) == value
    assert both(node, "$states.input.item", {"input": {"item": value, "index": 0}}) == value


@pytest.mark.parametrize("value", VALUES)
def test_the_result_of_a_parallel(node: NodeEngine, value: Any) -> None:
    step = Step(id="p", type="parallel")
    failed = {"error": "E", "message": value}
    assert both(node, parallel_result(step), {"result": [{"output": value}, {"failed": failed}]}) == {
        "results": [{"success": True, "output": value}, {"success": False, "error": failed}], "errors": [failed],
    }
    assert both(node, parallel_result(step), {"result": [{"output": value}]}) == {
        "results": [{"success": True, "output": value}], "errors": [],
    }
    fast = Step(id="p", type="parallel", wait_for_all=False)
    assert both(node, parallel_result(fast), {"result": [{"output": value}]})["results"] == [{"success": True, "output": value}]


@pytest.mark.parametrize("failed", [0, 1, 2])
def test_collected_errors_are_a_list(node: NodeEngine, failed: int) -> None:
    result = [{"failed": {"error": str(n)}} for n in range(failed)] + [{"x": 1}]
    assert both(node, "[$states.result.failed]", {"result": result}) == [{"error": str(n)} for n in range(failed)]


@pytest.mark.parametrize(("given", "expected"), [
    ({"execution": {"id": "e"}}, {"id": "e"}), ({}, "arn"), ({"execution": {}}, {}),
])
def test_who_runs_it(node: NodeEngine, given: dict[str, Any], expected: Any) -> None:
    states = {"context": {"Execution": {"Id": "arn", "Input": given}}}
    assert both(node, EXECUTION, states) == expected


@pytest.mark.parametrize(("given", "expected"), [({"context": {"user": [1]}}, {"user": [1]}), ({}, {})])
def test_the_context_is_an_object(node: NodeEngine, given: dict[str, Any], expected: Any) -> None:
    assert both(node, CONTEXT["context"], {"context": {"Execution": {"Input": given}}}) == expected


@pytest.mark.parametrize(("output", "expected"), [
    ({"Error": "E", "Cause": '{"errorMessage": "it broke", "errorType": "E"}'}, "it broke"),
    ({"Error": "E", "Cause": "plain \"text\""}, 'plain "text"'),
    ({"Error": "E"}, ""),
])
def test_the_message_of_an_error(node: NodeEngine, output: dict[str, Any], expected: str) -> None:
    # $parse is Step Functions' own function: the original engine has no such name.
    if '"errorMessage"' in output.get("Cause", ""):
        here = local(MESSAGE.removeprefix("{% ").removesuffix(" %}"), {"states": {"errorOutput": output}})
        assert here == Outcome("ok", expected)
    else:
        assert both(node, MESSAGE, {"errorOutput": output}) == expected
