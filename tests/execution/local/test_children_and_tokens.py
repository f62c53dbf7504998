"""Nested executions, stops, and task tokens."""

from __future__ import annotations

import json
import threading
import time

import pytest

from infra.local.cloud import LocalCloud

START = "arn:aws:states:::states:startExecution"


def _child(arn, how=".sync:2", input="{% $states.input %}", **fields):
    state = {"Type": "Task", "Resource": START + how, "Arguments": {"StateMachineArn": arn, "Input": input}, **fields}
    return state if "Next" in state else {**state, "End": True}


def test_the_output_of_a_child(cloud, run, machine):
    arn = cloud.state_machine("kid", machine({"a": {"Type": "Pass", "Output": {"got": "{% $states.input %}"}, "End": True}}))
    assert run({"c": _child(arn, Output="{% $states.result.Output.got %}")}, {"x": None}).output == {"x": None}
    text = run({"c": _child(arn, ".sync", Output="{% $states.result.Output %}")}, {"x": 1}).output
    assert json.loads(text) == {"got": {"x": 1}}
    started = run({"c": _child(arn, "", Output="{% $states.result.ExecutionArn %}")}, {"x": 1}).output
    assert cloud.execution(started).wait(10).output == {"got": {"x": 1}}


def test_a_failed_child_is_a_failed_task_with_its_description(cloud, run, machine):
    arn = cloud.state_machine("kid", machine({"f": {"Type": "Fail", "Error": "Bad", "Cause": "why"}}))
    result = run({"c": _child(arn)})
    cause = json.loads(result.cause)
    assert (result.error, cause["Status"], cause["Error"], cause["Cause"]) == ("States.TaskFailed", "FAILED", "Bad", "why")
    assert cause["StateMachineArn"] == arn and json.loads(cause["Input"]) == {}


def test_an_unknown_child_and_a_taken_name_are_errors_that_a_catch_sees(cloud, run, machine):
    arn = cloud.state_machine("kid", machine({"a": {"Type": "Succeed"}}))
    catch = [{"ErrorEquals": ["States.ALL"], "Output": "{% $states.errorOutput.Error %}", "Next": "end"}]
    end = {"Type": "Succeed"}
    assert "StateMachineDoesNotExist" in run({"c": _child(arn + "x", Catch=catch), "end": end}).output
    named = {
        "Type": "Task",
        "Resource": START + ".sync:2",
        "Arguments": {"StateMachineArn": arn, "Name": "one", "Input": "{% $states.input %}"},
    }
    assert run({"c": {**named, "Output": "{% $states.result.Name %}", "End": True}}, {"n": 1}).output == "one"
    assert "ExecutionAlreadyExists" in run({"c": {**named, "Catch": catch, "End": True}, "end": end}, {"n": 2}).output


def test_equal_items_are_separate_children(cloud, run, machine):
    arn = cloud.state_machine("kid", machine({"a": {"Type": "Succeed"}}))
    loop = {
        "Type": "Map",
        "Items": [1, 1, 2],
        "ItemProcessor": {"StartAt": "c", "States": {"c": _child(arn, Output="{% $states.result.Name %}")}},
        "End": True,
    }
    names = run({"l": loop}).output + run({"l": loop}).output
    assert len(set(names)) == 6


def test_names_of_executions(cloud, machine):
    arn = cloud.state_machine("m", machine({"a": {"Type": "Succeed"}}))
    client = cloud.client("stepfunctions")
    first, second = (client.start_execution(stateMachineArn=arn)["executionArn"] for _ in range(2))
    assert first != second
    cloud.start(arn, {"n": 1}, "taken").wait(10)
    with pytest.raises(client.exceptions.ExecutionAlreadyExists):
        client.start_execution(stateMachineArn=arn, name="taken", input='{"n": 2}')
    for name in ("x" * 81, "a b", "a/b"):
        with pytest.raises((client.exceptions.InvalidName, client.exceptions.ClientError)):
            client.start_execution(stateMachineArn=arn, name=name)


@pytest.fixture
def family(cloud, machine, call, Recorder):
    """Three generations: the leaves wait, then count."""
    effect = Recorder()
    cloud.function("effect", effect)
    leaf = cloud.state_machine("leaf", machine({"w": {"Type": "Wait", "Seconds": 100, "Next": "e"}, "e": call("effect")}))
    mid = cloud.state_machine("mid", machine({"c": _child(leaf)}))
    loop = {
        "Type": "Map",
        "Items": "{% [1..8] %}",
        "ItemProcessor": {"StartAt": "c", "States": {"c": _child(mid, input={})}},
        "End": True,
    }
    return cloud.state_machine("parent", machine({"loop": loop})), effect


def _descendants(cloud: LocalCloud, arn: str) -> list[str]:
    return [deeper for child in cloud.children(arn) for deeper in (child, *_descendants(cloud, child))]


@pytest.mark.parametrize("leaves", [8, 0])
def test_a_stop_reaches_children_and_grandchildren(cloud, family, leaves):
    parent, effect = family
    execution = cloud.start(parent, {})
    while len(_descendants(cloud, execution.arn)) < 2 * leaves:
        time.sleep(0.005)
    client = cloud.client("stepfunctions")
    client.stop_execution(executionArn=execution.arn, error="Cancelled", cause='by "me"')
    described = client.describe_execution(executionArn=execution.arn)
    assert (described["status"], described["error"], described["cause"]) == ("ABORTED", "Cancelled", 'by "me"')
    ends = [cloud.execution(arn).wait(5).status for arn in _descendants(cloud, execution.arn)]
    assert set(ends) <= {"ABORTED"} and len(ends) >= 2 * leaves
    assert effect.events == []
    assert execution.events()[-1]["type"] == "ExecutionAborted"


def test_a_second_stop_and_a_late_one_change_nothing(cloud, machine):
    arn = cloud.state_machine("m", machine({"w": {"Type": "Wait", "Seconds": 100, "End": True}}))
    execution = cloud.start(arn, {})
    assert cloud.stop(execution.arn, error="One") is True
    assert cloud.stop(execution.arn, error="Two") is False
    client = cloud.client("stepfunctions")
    client.stop_execution(executionArn=execution.arn, error="Three")
    assert execution.wait(1).error == "One"
    done = cloud.start(cloud.state_machine("n", machine({"a": {"Type": "Succeed"}})), {})
    assert done.wait(10).status == "SUCCEEDED"
    client.stop_execution(executionArn=done.arn)
    assert done.status == "SUCCEEDED"


def test_a_stopped_execution_runs_no_further_state(cloud, machine, call, Recorder):
    begun, release = threading.Event(), threading.Event()

    def hold(event, context):
        begun.set()
        release.wait(10)

    after = Recorder()
    cloud.function("hold", hold)
    cloud.function("after", after)
    retry = [{"ErrorEquals": ["States.ALL"], "IntervalSeconds": 1}]
    arn = cloud.state_machine("m", machine({"a": call("hold", Retry=retry, Next="b"), "b": call("after")}))
    execution = cloud.start(arn, {})
    assert begun.wait(5)
    assert cloud.stop(execution.arn, cause="enough")
    assert execution.wait(0).status == "ABORTED"  # at once, though the handler still runs
    seen = execution.events()
    release.set()
    time.sleep(0.2)
    assert after.events == [] and execution.events() == seen


def test_a_child_ends_when_the_state_that_waits_for_it_times_out(cloud, run, machine):
    arn = cloud.state_machine("kid", machine({"w": {"Type": "Wait", "Seconds": 1000, "End": True}}))
    assert run({"c": _child(arn, TimeoutSeconds=2)}).error == "States.Timeout"
    (child,) = cloud.client("stepfunctions").list_executions(stateMachineArn=arn)["executions"]
    assert cloud.execution(child["executionArn"]).wait(5).status == "ABORTED"


WAIT = "arn:aws:states:::lambda:invoke.waitForTaskToken"


def _ask(**fields):
    arguments = {"FunctionName": "ask", "Payload": {"token": "{% $states.context.Task.Token %}"}}
    return {"Type": "Task", "Resource": WAIT, "Arguments": arguments, **({} if "Next" in fields else {"End": True}), **fields}


@pytest.fixture
def tokens(cloud):
    import queue

    found: queue.Queue[str] = queue.Queue()
    cloud.function("ask", lambda event, context: found.put(event["token"]))
    return found


def test_an_answer_ends_the_task_and_a_second_one_is_refused(cloud, machine, tokens):
    client = cloud.client("stepfunctions")
    hold = {"Type": "Wait", "Seconds": 20, "End": True}
    execution = cloud.start(cloud.state_machine("m", machine({"ask": _ask(Next="hold"), "hold": hold})), {})
    token = tokens.get(timeout=5)
    client.send_task_success(taskToken=token, output='{"by": "ann", "text": "\\"ok\\""}')
    with pytest.raises(client.exceptions.TaskTimedOut):
        client.send_task_success(taskToken=token, output="{}")
    with pytest.raises(client.exceptions.TaskTimedOut):
        client.send_task_failure(taskToken=token)
    assert execution.wait(10).output == {"by": "ann", "text": '"ok"'}
    with pytest.raises(client.exceptions.TaskTimedOut):
        client.send_task_success(taskToken=token, output="{}")
    with pytest.raises(client.exceptions.InvalidToken):
        client.send_task_success(taskToken="nonsense", output="{}")


def test_only_one_of_two_answers_at_once_counts(cloud, machine, tokens):
    client = cloud.client("stepfunctions")
    arn = cloud.state_machine("m", machine({"ask": _ask()}))
    for _ in range(10):
        execution = cloud.start(arn, {})
        token, go, taken = tokens.get(timeout=5), threading.Barrier(4), []

        def answer(n, token=token, go=go, taken=taken):
            go.wait(5)
            try:
                client.send_task_success(taskToken=token, output=str(n))
                taken.append(n)
            except client.exceptions.TaskTimedOut:
                pass

        threads = [threading.Thread(target=answer, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
        assert len(taken) == 1 and execution.wait(10).output == taken[0]


def test_a_refusal_has_error_and_cause_and_the_next_attempt_its_own_token(cloud, machine, tokens):
    client = cloud.client("stepfunctions")
    retry = [{"ErrorEquals": ["Again"], "IntervalSeconds": 1, "MaxAttempts": 1}]
    execution = cloud.start(cloud.state_machine("m", machine({"ask": _ask(Retry=retry)})), {})
    first = tokens.get(timeout=5)
    client.send_task_failure(taskToken=first, error="Again", cause="once more")
    second = tokens.get(timeout=5)
    assert second != first
    with pytest.raises(client.exceptions.TaskTimedOut):
        client.send_task_success(taskToken=first, output="{}")
    client.send_task_failure(taskToken=second, error="ApprovalRejected", cause="no")
    result = execution.wait(10)
    assert (result.error, result.cause) == ("ApprovalRejected", "no")


def test_a_token_that_ran_out_is_refused(cloud, machine, tokens):
    client = cloud.client("stepfunctions")
    execution = cloud.start(cloud.state_machine("m", machine({"ask": _ask(TimeoutSeconds=5)})), {})
    token = tokens.get(timeout=5)
    assert execution.wait(10).error == "States.Timeout"
    with pytest.raises(client.exceptions.TaskTimedOut):
        client.send_task_success(taskToken=token, output="{}")


def test_a_token_of_a_stopped_execution_is_refused(cloud, machine, tokens):
    client = cloud.client("stepfunctions")
    execution = cloud.start(cloud.state_machine("m", machine({"ask": _ask()})), {})
    token = tokens.get(timeout=5)
    cloud.stop(execution.arn)
    for send in (
        lambda: client.send_task_success(taskToken=token, output="{}"),
        lambda: client.send_task_heartbeat(taskToken=token),
    ):
        with pytest.raises(client.exceptions.TaskTimedOut):
            send()


def test_heartbeats_keep_a_task_alive(cloud, machine, tokens):
    client = cloud.client("stepfunctions")
    arn = cloud.state_machine("m", machine({"ask": _ask(HeartbeatSeconds=20, TimeoutSeconds=1000)}))  # 0.4 real seconds
    execution = cloud.start(arn, {})
    token = tokens.get(timeout=5)
    for _ in range(6):
        time.sleep(0.1)
        client.send_task_heartbeat(taskToken=token)
    client.send_task_success(taskToken=token, output='"alive"')
    assert execution.wait(10).output == "alive"
    execution = cloud.start(arn, {})
    tokens.get(timeout=5)
    assert execution.wait(10).error in ("States.Timeout", "States.HeartbeatTimeout")


def test_an_answer_that_comes_before_the_function_returns(cloud, run):
    client = cloud.client("stepfunctions")
    cloud.function("ask", lambda event, context: client.send_task_success(taskToken=event["token"], output="1") and None)
    assert run({"ask": _ask()}).output == 1


def test_a_stop_at_any_moment_ends_the_history(cloud, machine):
    branch = {"StartAt": "b", "States": {"b": {"Type": "Wait", "Seconds": 100, "End": True}}}
    states = {"a": {"Type": "Pass", "Next": "p"}, "p": {"Type": "Parallel", "Branches": [branch] * 3, "End": True}}
    arn = cloud.state_machine("m", machine(states))
    for count in range(40):
        execution = cloud.start(arn, {})
        time.sleep(count / 10_000)
        assert cloud.stop(execution.arn)
        assert execution.events()[-1]["type"] == "ExecutionAborted"
