"""The wrapper and its records: what is recorded, answered from records, counted and logged."""

from __future__ import annotations

import json
import logging
import sys
from typing import Any

import pytest

from aslant import errors, observability
from aslant.configs.base import Config
from aslant.ports import StepKey
from aslant.step import result, step


class Free(Config):
    value: object = None


class Context:
    memory_limit_in_mb = "512"

    def get_remaining_time_in_millis(self) -> int:
        return 20_000


def event(run: int = 1, **more: Any) -> dict[str, Any]:
    return {"step": "pay", "execution": {"id": "e1", "tenant": "acme", "workflow": "w", "run": run}, "config": {}, **more}


def handler_of(logic: Any, kind: str = "test", **more: Any) -> Any:
    return step(kind, Free, **more)(logic)


def failing(config: Any, run: Any) -> Any:
    raise errors.ServerError("down")


def broken(handler: Any, payload: Any) -> Exception:
    with pytest.raises(Exception) as caught:
        handler(payload, None)
    return caught.value


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Any:
    caplog.set_level(logging.INFO, "aslant")
    return lambda: [json.loads(record.getMessage()) for record in caplog.records if record.name == "aslant"]


def test_a_result_is_recorded_and_answers_all_later_calls(step_records):
    calls: list[int] = []
    handler = handler_of(lambda config, run: calls.append(1) or result({"n": len(calls)}, calls=1, tokens_in=7))
    assert handler(event(), Context()) == {"output": {"n": 1}, "usage": {"calls": 1, "tokens_in": 7}}
    assert handler(event(run=2), Context()) == {"output": {"n": 1}}
    record = step_records.only()
    assert (record.status, record.type, record.run, record.output) == ("completed", "test", 1, {"n": 1})
    assert record.usage["tokens_in"] == 7 and record.usage["memory_mb"] == 512 and record.usage["billed_ms"] >= 1
    assert "retries" not in record.usage
    assert step_records.workflows == {StepKey("acme", "e1", "pay"): "w"}
    assert step_records.calls == ["begin", "finish", "begin"]


def test_usage_is_that_of_all_attempts(step_records):
    left = [2]

    def logic(config: Any, run: Any) -> Any:
        if left[0]:
            left[0] -= 1
            raise errors.ServerError("down")
        return result(1, tokens_in=5, note="text", yes=True)

    handler = handler_of(logic)
    for _ in range(2):
        broken(handler, event())
    before = step_records.only().usage["billed_ms"]
    handler(event(), None)
    usage = step_records.only().usage
    assert usage == {"billed_ms": usage["billed_ms"], "tokens_in": 5, "retries": 2} and usage["billed_ms"] > before >= 2


def test_iterations_and_executions_have_records_of_their_own(step_records):
    handler = handler_of(lambda config, run: result(config.value))
    for number, more in enumerate([{}, {"iteration": [0]}, {"iteration": [0, 1]}, {"iteration": [1]}, {"step": "pay2"},
                                   {"execution": "arn:aws:states:us-east-1:1:execution:m:e"}]):
        assert handler(event(config={"value": number}, **more) if "config" not in more else more, None)["output"] == number
    assert len(step_records.records) == 6
    assert StepKey("default", "arn:aws:states:us-east-1:1:execution:m:e", "pay") in step_records.records


def test_what_is_evaluated_for_a_step_is_not_the_step(step_records):
    class Evaluated(Config):
        evaluate: object = None

    handler = step("transform", Evaluated)(lambda config, run: result(config.evaluate["slots"]))
    first = event(config={"evaluate": {"expressions": {"e0": [1]}, "slots": "condition"}})
    other = event(config={"evaluate": {"expressions": {"e0": [2]}, "slots": "value"}})
    named = event(config={"evaluate": {"expressions": {"e0": [1]}, "slots": "own"}}, part="")
    told = event(config={"evaluate": {"expressions": {"e0": [1]}, "slots": "told"}}, part="condition")
    outputs = [handler(payload, None)["output"] for payload in (first, other, named, told, first, other, named, told)]
    assert outputs == ["condition", "value", "own", "told"] * 2
    names = [key.step for key in step_records.records]
    assert names[2:] == ["pay", "condition pay"]
    assert all(name.startswith("evaluate:") and name.endswith(" pay") for name in names[:2]) and names[0] != names[1]


def test_a_step_that_the_machine_ran_began_when_its_state_was_entered(step_records):
    handler_of(lambda config, run: result(1))(event(part="", type="workflow", entered="2026-11-28T12:00:00.250Z"), None)
    record = step_records.only()
    assert (record.type, record.begun_at) == ("workflow", 1795867200_250_000) and record.finished_at > record.begun_at


def test_a_failure_that_the_workflow_went_on_after_is_found_again(step_records):
    calls: list[int] = []

    def logic(config: Any, run: Any) -> Any:
        calls.append(1)
        raise errors.ServerError("down")

    plan = {"max_attempts": 5, "delays": [1], "on": []}
    broken(handler_of(logic), event())
    step_records.settle(StepKey("acme", "e1", "pay"))
    for _ in range(2):
        error = broken(handler_of(logic), event(run=2, retry=plan))
        assert (type(error).__name__, str(error)) == ("ServerError", "step pay: down")
    assert len(calls) == 1 and step_records.only().attempts == 1


def test_a_settled_record_without_an_error_fails_as_a_task(step_records):
    step_records.begin(StepKey("acme", "e1", "pay"), type="t", run=1, owner="o", now=1, lease_until=2)
    step_records.settle(StepKey("acme", "e1", "pay"))
    assert type(broken(handler_of(failing), event())).__name__ == "States.TaskFailed"


def test_failures_are_recorded_under_their_own_name(step_records):
    error = broken(handler_of(failing), event(iteration=[3], retry={"max_attempts": 3, "delays": [1], "on": []}))
    assert type(error).__name__ == "Retry.1"
    failure = step_records.only().error
    assert (failure.error, failure.message, failure.step, failure.iteration) == ("ServerError", "down", "pay", (3,))


def test_code_that_ends_its_process_only_ends_its_step(step_records):
    error = broken(handler_of(lambda config, run: sys.exit(3)), event())
    assert (type(error).__name__, str(error)) == ("Runtime.ExitError", "step pay: the step's code ended its process with 3")
    assert step_records.only().error.error == "Runtime.ExitError"


def test_steps_that_end_elsewhere_have_no_record(step_records):
    seen: list[int] = []
    handler = handler_of(lambda config, run: seen.append(run.attempt) or result("asked"), records=False)
    for _ in range(2):
        assert handler(event(attempt=2, token="t"), None)["output"] == "asked"
    assert seen == [2, 2] and step_records.records == {}


def test_a_payload_that_names_no_execution_is_none(step_records):
    for execution in (None, {}, {"id": ""}, "", [1], 5):
        assert isinstance(broken(handler_of(failing), event() | {"execution": execution}), errors.ValidationError)
    assert step_records.records == {}


def test_a_result_that_is_too_large_is_a_failure_with_a_record(step_records):
    error = broken(handler_of(lambda config, run: result("x" * 300_000)), event(claims={"keep": [""]}))
    assert isinstance(error, errors.PayloadTooLarge) and step_records.only().status == "failed"


def test_the_line_at_the_end_of_a_step(lines, monkeypatch):
    monkeypatch.setenv("_X_AMZN_TRACE_ID", "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1")
    handler = handler_of(lambda config, run: result(1, tokens_in=4))
    handler(event(iteration=[1]), Context())
    handler(event(iteration=[1]), Context())
    broken(handler_of(failing), event())
    done, recorded, failed = lines()
    ids = {"tenant": "acme", "workflow": "w", "execution": "e1", "run": 1, "step": "pay", "type": "test", "attempt": 0,
        "trace_id": "1-5759e988-bd862e3fe1be46a994272793"}
    assert done.items() >= {**ids, "iteration": [1], "level": "INFO", "outcome": "completed"}.items()
    assert recorded["outcome"] == "recorded" and "_aws" not in recorded
    assert failed.items() >= {**ids, "iteration": [], "level": "ERROR", "error": "ServerError", "cause": "down"}.items()
    (metrics,) = failed["_aws"]["CloudWatchMetrics"]
    assert metrics["Namespace"] == "Aslant" and metrics["Dimensions"] == [["step_type", "workflow"], ["step_type"]]
    assert {each["Name"] for each in metrics["Metrics"]} == {"StepDuration", "StepFailures", "StepRetries"}
    assert all(isinstance(failed[each["Name"]], int | float) for each in metrics["Metrics"])
    assert (failed["step_type"], failed["StepFailures"], done["StepFailures"], done["usage"]["tokens_in"]) == ("test", 1, 0, 4)


def test_values_under_telling_keys_are_masked(lines):
    observability.log("INFO", "said", {"tenant": "t"}, headers={"Authorization": "Bearer x", "cookie": ["a"], "n": 1},
        nested=[{"api_key": "k", "password": "", "tokens_in": 3}], text="y" * 5000, odd=object())
    observability.log("INFO", "said", {"tenant": "t"}, headers={"Authorization": "Bearer x", "cookie": ["a"], "n": 1},
        nested=[{"api_key": "k", "password": "", "tokens_in": 3}], text="y" * 5000)
    line = lines()[-1]
    assert line["headers"] == {"Authorization": "***", "cookie": "***", "n": 1}
    assert line["nested"] == [{"api_key": "***", "password": "", "tokens_in": 3}] and len(line["text"]) == 2000


def test_lambda_gets_plain_lines_and_others_get_none(monkeypatch, capsys):
    logger = logging.getLogger("aslant")
    monkeypatch.setattr(logger, "handlers", [logging.NullHandler()])
    monkeypatch.setattr(logger, "propagate", True)
    monkeypatch.setattr(logger, "level", logging.NOTSET)
    handler_of(lambda config, run: result(1))(event(), None)
    assert capsys.readouterr() == ("", "")
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_NAME", "aslant-step-test")
    for number in range(2):
        handler_of(lambda config, run: result(1))(event(iteration=[number]), None)
    printed = capsys.readouterr().out.splitlines()
    assert [json.loads(line)["outcome"] for line in printed] == ["completed", "completed"]
