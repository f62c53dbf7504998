"""Functions, timeouts, retries and catches."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from datetime import datetime

import pytest

from infra.local.cloud import LocalCloud


def test_a_function_is_found_by_name_arn_and_qualifier(cloud, run, call):
    arn = cloud.function(
        "f", lambda event, context: {"arn": context.invoked_function_arn, "left": context.get_remaining_time_in_millis()}
    )
    for name in ("f", arn, f"{arn}:live", "f:1"):
        output = run({"task": call(name, TimeoutSeconds=50)}).output
        assert output["arn"] == arn and 40_000 < output["left"] <= 50_000  # real ones


def test_an_unknown_function_is_an_error_that_a_catch_sees(run, call):
    catch = {"ErrorEquals": ["Lambda.ResourceNotFoundException"], "Output": {"caught": True}, "Next": "end"}
    assert run({"task": call("nobody", Catch=[catch]), "end": {"Type": "Succeed"}}).output == {"caught": True}


def _raises(error: BaseException):
    def handler(event, context):
        raise error

    return handler


class ApprovalRejected(Exception):
    pass


@pytest.mark.parametrize(
    ("error", "name"),
    [
        (ApprovalRejected("no"), "ApprovalRejected"),
        (SystemExit(3), "Runtime.ExitError"),
        (KeyboardInterrupt("stop"), "KeyboardInterrupt"),
        (GeneratorExit(), "GeneratorExit"),
    ],
)
def test_whatever_a_handler_raises_is_the_error_of_the_state(cloud, run, call, error, name):
    cloud.function("f", _raises(error))
    result = run({"task": call("f")})
    cause = json.loads(result.cause)
    assert (result.status, result.error, cause["errorType"]) == ("FAILED", name, name)
    assert isinstance(cause["errorMessage"], str) and isinstance(cause["stackTrace"], list)


def test_a_result_that_is_no_json_is_an_error(cloud, run, call):
    for value in ({1, 2}, float("nan"), object()):
        cloud.function("f", lambda event, context, value=value: value)
        assert run({"task": call("f")}).error == "Runtime.MarshalError"


def test_handlers_share_no_objects(cloud, run, call):
    kept = []

    def keep(event, context):
        kept.append(event)
        return event

    def change(event, context):
        kept[0]["list"].append("changed")
        event["list"].append("mine")
        return event

    cloud.function("keep", keep)
    cloud.function("change", change)
    states = {
        "a": call("keep", "{% $states.input %}", Next="b"),
        "b": call("change", "{% $states.input %}", Next="c"),
        "c": {"Type": "Succeed"},
    }
    assert run(states, {"list": []}).output == {"list": ["mine"]}


def test_a_timeout_ends_the_state_and_a_late_result_changes_nothing(cloud, machine, call):
    release, done = threading.Event(), threading.Event()

    def slow(event, context):
        release.wait(10)
        done.set()
        return "late"

    cloud.function("slow", slow)
    catch = {"ErrorEquals": ["States.Timeout"], "Output": {"timeout": True}, "Next": "hold"}
    states = {
        "task": call("slow", TimeoutSeconds="{% 3 - 2 %}", Catch=[catch]),
        "hold": {"Type": "Wait", "Seconds": 10, "Next": "end"},
        "end": {"Type": "Succeed"},
    }
    execution = cloud.start(cloud.state_machine("m", machine(states)), {})
    while not any(event["type"] == "TaskTimedOut" for event in execution.events()):
        time.sleep(0.01)
    release.set()
    assert done.wait(5)
    assert execution.wait(10).output == {"timeout": True}
    assert "TaskSucceeded" not in [event["type"] for event in execution.events()]


def test_each_attempt_has_the_whole_timeout(cloud, run, call, Recorder):
    hang = Recorder(lambda event: time.sleep(4) if event["attempt"] == 0 else "second")
    cloud.function("f", hang)
    retry = [{"ErrorEquals": ["States.Timeout"], "IntervalSeconds": 1, "MaxAttempts": 2}]
    payload = {"attempt": "{% $states.context.State.RetryCount %}"}
    assert run({"task": call("f", payload, TimeoutSeconds=2, Retry=retry)}).output == "second"
    hang = Recorder(lambda event: time.sleep(2))
    cloud.function("f", hang)
    result = run({"task": call("f", TimeoutSeconds=1, Retry=[{**retry[0], "MaxAttempts": 1}])})
    assert (result.error, len(hang.events)) == ("States.Timeout", 2)


def test_work_has_the_real_time_of_its_limit_however_fast_the_clock_runs(cloud, run, call):
    cloud.function("f", lambda event, context: time.sleep(0.5) or context.get_remaining_time_in_millis())
    left = run({"task": call("f", TimeoutSeconds=20)}).output  # fifty times as fast, half a second is longer than that
    assert 0 < left <= 19_500


def _pauses(execution) -> list[float]:
    """Seconds between a failed attempt and the next one."""
    at = [(event["type"], datetime.fromisoformat(event["timestamp"])) for event in execution.events()]
    failed = [moment for kind, moment in at if kind == "TaskFailed"]
    scheduled = [moment for kind, moment in at if kind == "TaskScheduled"]
    return [(later - before).total_seconds() for before, later in zip(failed, scheduled[1:], strict=False)]


def test_retriers_are_chosen_by_error_and_keep_their_own_count(machine, call, Recorder):
    names = iter(["A", "B", "A", "A"])

    def act(event):
        raise type(next(names), (Exception,), {})("x")

    handler = Recorder(act)
    with LocalCloud(time_scale=20, handlers={"f": handler}) as cloud:
        retry = [
            {"ErrorEquals": ["A"], "IntervalSeconds": 2, "MaxAttempts": 2, "BackoffRate": 4, "MaxDelaySeconds": 5},
            {"ErrorEquals": ["B"], "IntervalSeconds": 4, "MaxAttempts": 1},
        ]
        payload = {"attempt": "{% $states.context.State.RetryCount %}"}
        execution = cloud.start(cloud.state_machine("m", machine({"task": call("f", payload, Retry=retry)})), {})
        assert execution.wait(20).error == "A"
        pauses = _pauses(execution)
    assert [event["attempt"] for event in handler.events] == [0, 1, 2, 3]
    assert len(pauses) == 3 and all(pause >= wanted - 0.01 for pause, wanted in zip(pauses, (2, 4, 5), strict=True))
    assert pauses[0] < pauses[1] + 2 and pauses[2] < 8  # the third would be 8 without the bound


def test_error_names_of_single_attempts(cloud, run, call, Recorder):
    def act(event):
        if event["attempt"] == 2:
            return "third"
        raise type(f"Retry.{event['attempt'] + 1}", (Exception,), {})("again")

    cloud.function("f", Recorder(act))
    retry = [{"ErrorEquals": [f"Retry.{n}"], "IntervalSeconds": n, "MaxAttempts": 1, "BackoffRate": 1} for n in (1, 2)]
    payload = {"attempt": "{% $states.context.State.RetryCount %}"}
    assert run({"task": call("f", payload, Retry=retry)}).output == "third"


def test_full_jitter_stays_below_the_interval(cloud, run, call, Recorder):
    handler = Recorder(lambda event: 1 / 0)
    cloud.function("f", handler)
    retry = [{"ErrorEquals": ["ZeroDivisionError"], "IntervalSeconds": 3, "MaxAttempts": 3, "JitterStrategy": "FULL"}]
    assert run({"task": call("f", Retry=retry)}).error == "ZeroDivisionError"
    assert len(handler.events) == 4


def test_a_catch_has_assign_and_output(cloud, run, call):
    cloud.function("f", _raises(ValueError("why")))
    catch = {
        "ErrorEquals": ["States.TaskFailed"],
        "Assign": {"error": "{% $states.errorOutput %}"},
        "Output": {"kept": "{% $states.input.a %}"},
        "Next": "end",
    }
    states = {
        "task": call("f", Catch=[catch]),
        "end": {
            "Type": "Pass",
            "Output": {
                "kept": "{% $states.input.kept %}",
                "name": "{% $error.Error %}",
                "why": "{% $parse($error.Cause).errorMessage %}",
            },
            "End": True,
        },
    }
    assert run(states, {"a": 1}).output == {"kept": 1, "name": "ValueError", "why": "why"}


@pytest.mark.parametrize("error", ["States.Timeout", "States.TaskFailed", "Custom"])
def test_an_error_inside_a_parallel_keeps_its_name(run, error):
    branch = {"StartAt": "in", "States": {"in": {"Type": "Fail", "Error": error, "Cause": "c"}}}
    catch = {"ErrorEquals": [error], "Output": "{% $states.errorOutput %}", "Next": "end"}
    states = {"both": {"Type": "Parallel", "Branches": [branch], "Catch": [catch], "End": True}, "end": {"Type": "Succeed"}}
    assert run(states).output == {"Error": error, "Cause": "c"}


def test_nobody_catches_a_runtime_error_and_all_is_not_all(cloud, run, call):
    cloud.function("blob", lambda event, context: "x" * 300_000)
    catch = {"ErrorEquals": ["States.ALL"], "Next": "end"}
    result = run({"task": call("blob", Catch=[catch]), "end": {"Type": "Succeed"}})
    assert result.error == "States.DataLimitExceeded"


def test_a_timeout_of_the_machine(cloud, run, call, Recorder):
    after = Recorder()
    cloud.function("after", after)
    result = run({"wait": {"Type": "Wait", "Seconds": 500, "Next": "after"}, "after": call("after")}, TimeoutSeconds=2)
    assert result.status == "TIMED_OUT" and after.events == []
    described = cloud.client("stepfunctions").list_executions(
        stateMachineArn=cloud.state_machine("machine", {"StartAt": "a", "States": {"a": {"Type": "Succeed"}}})
    )
    assert [found["status"] for found in described["executions"]] == ["TIMED_OUT"]


@pytest.mark.parametrize("offset", ["Z", "+00:00", ".250Z", "+02:00"])
def test_waits_for_a_moment_on_the_clock_of_the_cloud(cloud, run, offset):
    moment = (
        "{% $fromMillis($millis() + 4000 + "
        + ("7200000" if offset == "+02:00" else "0")
        + ").$substringBefore('.') & '"
        + offset
        + "' %}"
    )
    started = cloud.clock.now()
    result = run(
        {
            "set": {"Type": "Pass", "Assign": {"at": moment}, "Next": "wait"},
            "wait": {"Type": "Wait", "Timestamp": "{% $at %}", "Next": "end"},
            "end": {"Type": "Succeed"},
        }
    )
    assert result.status == "SUCCEEDED" and (result.stopped - started).total_seconds() > 2.9


def test_a_past_moment_with_an_offset_goes_on_at_once_and_a_wrong_one_fails(run):
    def states(text):
        return {
            "set": {"Type": "Pass", "Assign": {"at": text}, "Next": "wait"},
            "wait": {"Type": "Wait", "Timestamp": "{% $at %}", "Next": "end"},
            "end": {"Type": "Succeed"},
        }

    assert run(states("2020-01-01T00:00:00+02:00")).status == "SUCCEEDED"
    assert run(states("2020-02-30T00:00:00Z")).error == "States.Runtime"


def test_order_is_the_same_on_the_faster_clock(cloud, run, call, Recorder):
    handler = Recorder()
    cloud.function("note", handler)

    def branch(seconds):
        return {
            "StartAt": f"w{seconds}",
            "States": {
                f"w{seconds}": {"Type": "Wait", "Seconds": "{% " + str(seconds) + " %}", "Next": f"n{seconds}"},
                f"n{seconds}": call("note", seconds),
            },
        }

    run({"all": {"Type": "Parallel", "Branches": [branch(seconds) for seconds in (15, 5, 10)], "End": True}})
    assert handler.events == [5, 10, 15]


def test_the_environment_is_there_for_as_long_as_the_cloud(machine, call):
    def read(event, context):
        return [os.environ.get("ASLANT_TEST"), os.environ["AWS_REGION"]]

    before = os.environ.get("AWS_REGION")
    with LocalCloud(handlers={"f": read}, environment={"ASLANT_TEST": "yes"}, region="eu-west-1") as cloud:
        assert cloud.start(cloud.state_machine("m", machine({"t": call("f")})), {}).wait(10).output == ["yes", "eu-west-1"]
    assert "ASLANT_TEST" not in os.environ and os.environ.get("AWS_REGION") == before


def test_a_boto3_client_invokes_the_same_function(cloud):
    cloud.function("f", lambda event, context: {"twice": event["n"] * 2})
    client = cloud.client("lambda")
    answer = client.invoke(FunctionName="f", Payload=b'{"n": 2}')
    assert json.load(answer["Payload"]) == {"twice": 4} and "FunctionError" not in answer
    answer = client.invoke(FunctionName="f", Payload=b"{}")
    assert json.load(answer["Payload"])["errorType"] == "KeyError" and answer["FunctionError"] == "Unhandled"
    with pytest.raises(client.exceptions.ResourceNotFoundException):
        client.invoke(FunctionName="nobody")
    assert [function["FunctionName"] for function in client.list_functions()["Functions"]] == ["f"]


def test_the_interpreter_survives_deep_recursion_in_a_handler(cloud, run, call):
    def deep(event, context):
        return deep(event, context)

    limit = sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(2_000)
        cloud.function("f", deep)
        assert run({"task": call("f")}).error == "RecursionError"
    finally:
        sys.setrecursionlimit(limit)
