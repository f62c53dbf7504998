"""Definitions as our own builder and as moto's parser read them; histories as the timeline reads them."""

from __future__ import annotations

import json

import pytest

from aslant.history.timeline import Timeline


@pytest.fixture
def wide(call):
    """A machine with a bit of everything that compiled machines use."""
    branch = {"StartAt": "b", "States": {"b": {"Type": "Pass", "Output": ["{% $x %}", {"deep": [1, "{% $x %}"]}], "End": True}}}
    retry = [
        {
            "ErrorEquals": ["States.Timeout", "Other"],
            "IntervalSeconds": 1,
            "MaxAttempts": 2,
            "BackoffRate": 1.5,
            "MaxDelaySeconds": 5,
            "JitterStrategy": "FULL",
        }
    ]
    catch = [{"ErrorEquals": ["States.ALL"], "Assign": {"e": "{% $states.errorOutput.Error %}"}, "Output": {}, "Next": "end"}]
    item = call("echo", {"v": "{% $states.input %}", "$.x": "$.y", "States.Format('a')": "{%", "n": 1.5, "a": [], "o": {}})
    rule = {"Condition": "{% $x = 1 %}", "Assign": {"chosen": True}, "Next": "wait"}
    return {
        "set": {"Type": "Pass", "Comment": "c", "Assign": {"x": 1, "t": 'a"\\/b\n\u00e9'}, "Next": "choose"},
        "choose": {"Type": "Choice", "Choices": [{"Condition": False, "Next": "end"}, rule], "Default": "end"},
        "wait": {"Type": "Wait", "Seconds": "{% 1 %}", "Next": "until"},
        "until": {"Type": "Wait", "Timestamp": "2020-01-01T00:00:00Z", "Next": "both"},
        "both": {"Type": "Parallel", "Branches": [branch, branch], "Assign": {"both": "{% $states.result %}"}, "Next": "loop"},
        "loop": {
            "Type": "Map",
            "Items": [3, "{% 4 %}"],
            "MaxConcurrency": 2,
            "Retry": retry,
            "Catch": catch,
            "ItemProcessor": {"ProcessorConfig": {"Mode": "INLINE"}, "StartAt": "i", "States": {"i": item}},
            "Output": {"items": "{% $states.result %}"},
            "Next": "task",
        },
        "task": call("fail", TimeoutSeconds=30, Retry=retry, Catch=catch),
        "end": {
            "Type": "Pass",
            "End": True,
            "Output": {"x": "{% $x %}", "t": "{% $t %}", "both": "{% $both %}", "e": "{% $e %}", "chosen": "{% $chosen %}"},
        },
    }


def _fail(event, context):
    raise ValueError("no")


def test_both_readers_make_the_same_machine(cloud, run, wide, monkeypatch):
    from infra.local.moto_patches import api, builder

    def refuse(definition):
        raise builder.NotHandled

    cloud.function("echo", lambda event, context: event)
    cloud.function("fail", _fail)
    both = [[1, {"deep": [1, 1]}]] * 2
    expected = {"x": 1, "t": 'a"\\/b\n\u00e9', "both": both, "e": "ValueError", "chosen": True}
    kinds = []
    for read in (builder.build, refuse):
        monkeypatch.setattr(api, "build", read)
        monkeypatch.setattr(api, "_parsed", type(api._parsed)())
        arn = cloud.state_machine(
            f"m{len(kinds)}", {"QueryLanguage": "JSONata", "StartAt": "set", "TimeoutSeconds": 500, "States": wide}
        )
        execution = cloud.start(arn, {})
        assert execution.wait(20).output == expected
        loop = next(e for e in execution.events() if e["type"] == "MapStateExited")
        assert json.loads(loop["stateExitedEventDetails"]["output"])["items"][1] == {
            "v": 4,
            "$.x": "$.y",
            "States.Format('a')": "{%",
            "n": 1.5,
            "a": [],
            "o": {},
        }
        kinds.append(sorted(event["type"] for event in execution.events()))
    assert kinds[0] == kinds[1]


@pytest.mark.parametrize(
    "definition",
    [
        {"StartAt": "a", "States": {"a": {"Type": "Nothing"}}},
        {"StartAt": "a"},
        {"StartAt": "a", "States": {"a": {"Type": "Pass", "Unknown": 1, "End": True}}},
        {"StartAt": "a", "States": {"a": {"Type": "Task", "Resource": "arn:aws:states:::nothing:here", "End": True}}},
        [],
    ],
)
def test_a_definition_that_is_none_is_refused(cloud, definition):
    text = json.dumps({"QueryLanguage": "JSONata", **definition} if isinstance(definition, dict) else definition)
    client = cloud.client("stepfunctions")
    with pytest.raises(client.exceptions.InvalidDefinition):
        client.create_state_machine(name="m", definition=text, roleArn="arn:aws:iam::123456789012:role/r")


def test_machines_in_jsonpath_run_too(cloud, call):
    cloud.function("f", lambda event, context: event)
    definition = {
        "StartAt": "a",
        "States": {
            "a": {"Type": "Pass", "Assign": {"v.$": "$.n"}, "ResultPath": None, "Next": "b"},
            "b": {
                "Type": "Task",
                "Resource": "arn:aws:states:::lambda:invoke",
                "ResultPath": "$.r",
                "OutputPath": "$.r.Payload",
                "Parameters": {"FunctionName": "f", "Payload": {"n.$": "$.n", "v.$": "$v"}},
                "End": True,
            },
        },
    }
    assert cloud.start(cloud.state_machine("p", definition), {"n": 1}).wait(10).output == {"n": 1, "v": 1}


def test_errors_of_output_and_of_arguments_of_a_parallel_are_caught(cloud, run, call):
    cloud.function("f", lambda event, context: event)
    catch = [{"ErrorEquals": ["States.QueryEvaluationError"], "Output": {"caught": True}, "Next": "end"}]
    branch = {"StartAt": "b", "States": {"b": {"Type": "Succeed"}}}
    for state in (
        call("f", Output="{% $missing %}", Assign={"x": 1}, Catch=catch),
        call("f", Assign={"x": "{% $missing %}"}, Catch=catch),
        {"Type": "Parallel", "Branches": [branch], "Arguments": "{% $missing %}", "Catch": catch, "End": True},
        {"Type": "Map", "Items": "{% $missing %}", "ItemProcessor": branch, "Catch": catch, "End": True},
    ):
        end = {"Type": "Pass", "Output": {"caught": "{% $states.input.caught %}", "x": "{% $exists($x) %}"}, "End": True}
        assert run({"state": state, "end": end}).output == {"caught": True, "x": False}


def test_the_timeline_of_a_real_history(cloud, machine, call, wide):
    cloud.function("echo", lambda event, context: event)
    cloud.function("fail", _fail)
    execution = cloud.start(cloud.state_machine("m", machine(wide)), {})
    execution.wait(20)
    timeline, last = Timeline(), 0
    while True:
        events = execution.events(last)[:3]
        if not events:
            break
        timeline.feed(events)
        last = events[-1]["id"]
    found = {(visit.state, visit.path): visit for visit in timeline.visits}
    assert timeline.status == "succeeded" and not timeline.running
    assert set(found) == {(name, ()) for name in wide} | {
        ("b", (("both", 0),)),
        ("b", (("both", 1),)),
        ("i", (("loop", 0),)),
        ("i", (("loop", 1),)),
    }
    assert found["task", ()].status == "caught" and found["task", ()].error == "ValueError"
    assert {visit.status for key, visit in found.items() if key != ("task", ())} == {"succeeded"}
    assert found["wait", ()].seconds >= 1
    ids = [event["id"] for event in execution.events()]
    assert ids == list(range(1, len(ids) + 1))


def test_the_history_is_the_same_through_the_api(cloud, machine):
    execution = cloud.start(cloud.state_machine("m", machine({"a": {"Type": "Succeed"}})), {})
    execution.wait(10)
    events = cloud.client("stepfunctions").get_execution_history(executionArn=execution.arn)["events"]
    assert [event["type"] for event in events] == [event["type"] for event in execution.events()]
    assert Timeline.from_events(events).status == "succeeded"
