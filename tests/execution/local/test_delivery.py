"""Events on a bus, notices of executions, and asynchronous invocations: real shapes, delivered through rules."""

from __future__ import annotations

import json
import threading

import pytest

NOTICES = {"source": ["aws.states"], "detail-type": ["Step Functions Execution Status Change"]}
PASS = {"done": {"Type": "Pass", "End": True}}


class Target:
    def __init__(self, act=lambda event: None):
        self.events = []
        self._act = act
        self._lock = threading.Lock()

    def __call__(self, event, context):
        with self._lock:
            self.events.append(event)
        return self._act(event)


def put(cloud, detail, bus="default", source="shop", kind="order"):
    entry = {"EventBusName": bus, "Source": source, "DetailType": kind, "Detail": json.dumps(detail)}
    return cloud.client("events").put_events(Entries=[entry])["Entries"][0]["EventId"]


def test_a_rule_calls_a_function_with_the_event_as_it_is_on_aws(cloud):
    target = Target()
    cloud.function("target", target)
    cloud.client("events").create_event_bus(Name="workflows")
    cloud.rule("orders", {"source": ["shop"], "detail": {"total": [{"numeric": [">", 100]}]}}, "target", bus="workflows")
    identifier = put(cloud, {"total": 150}, "workflows")
    put(cloud, {"total": 150}, "default")
    put(cloud, {"total": "150"}, "workflows")
    put(cloud, {}, "workflows")
    assert cloud.settle()
    (event,) = target.events
    assert {**event, "time": ""} == {
        "version": "0", "id": identifier, "detail-type": "order", "source": "shop", "account": "123456789012", "time": "",
        "region": "us-east-1", "resources": [], "detail": {"total": 150},
    }
    assert len(event["time"]) == 20 and event["time"].endswith("Z")


def test_rules_that_are_disabled_or_gone_call_nothing(cloud):
    target, events = Target(), cloud.client("events")
    cloud.function("target", target)
    cloud.rule("orders", {"source": ["shop"]}, "target")
    events.disable_rule(Name="orders")
    put(cloud, {"n": 1})
    events.enable_rule(Name="orders")
    put(cloud, {"n": 2})
    events.remove_targets(Rule="orders", Ids=["target"])
    events.delete_rule(Name="orders")
    put(cloud, {"n": 3})
    assert cloud.settle()
    assert [event["detail"]["n"] for event in target.events] == [2]


def test_queues_get_events_and_targets_choose_what_they_are_given(cloud):
    sqs, events, target = cloud.client("sqs"), cloud.client("events"), Target()
    function = cloud.function("target", target)
    queue = sqs.create_queue(QueueName="q")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    events.put_rule(Name="r", EventPattern=json.dumps({"source": ["shop"]}))
    events.put_targets(Rule="r", Targets=[
        {"Id": "queue", "Arn": arn}, {"Id": "part", "Arn": function, "InputPath": "$.detail.order"},
        {"Id": "constant", "Arn": function, "Input": '{"constant": true}'},
        {"Id": "made", "Arn": function,
         "InputTransformer": {"InputPathsMap": {"id": "$.detail.order.id"}, "InputTemplate": '{"the id": "<id>"}'}},
    ])  # fmt: skip
    put(cloud, {"order": {"id": "o-1"}})
    assert cloud.settle()
    (message,) = sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10)["Messages"]
    body = json.loads(message["Body"])
    assert body["detail"] == {"order": {"id": "o-1"}} and body["account"] == "123456789012"
    given = sorted(map(json.dumps, target.events))
    assert given == ['{"constant": true}', '{"id": "o-1"}', '{"the id": "o-1"}']


# Semantics: docs.aws.amazon.com/eventbridge/latest/userguide/eb-create-pattern-operators.html
@pytest.mark.parametrize(("pattern", "matching", "others"), [
    ({"a": ["x", 1]}, [{"a": "x"}, {"a": 1}, {"a": ["q", "x"]}], [{"a": "y"}, {"a": "1"}, {}, {"a": {"x": 1}}]),
    ({"a": [True]}, [{"a": True}], [{"a": 1}, {"a": "true"}, {"a": False}]),
    ({"a": [1]}, [{"a": 1}], [{"a": True}]),
    ({"a": [None]}, [{"a": None}], [{"a": ""}, {"a": 0}, {}]),
    ({"a": [""]}, [{"a": ""}], [{"a": None}, {}]),
    ({"a": [{"prefix": "ord"}]}, [{"a": "order"}], [{"a": "Order"}, {"a": "word"}, {"a": 1}, {}]),
    ({"a": [{"suffix": ".png"}]}, [{"a": "x.png"}], [{"a": "x.PNG"}, {"a": "png"}]),
    ({"a": [{"equals-ignore-case": "AlIce"}]}, [{"a": "alice"}], [{"a": "bob"}, {}]),
    ({"a": [{"anything-but": ["x", "y"]}]}, [{"a": "z"}, {"a": 1}], [{"a": "x"}, {}]),
    ({"a": [{"anything-but": {"prefix": "x"}}]}, [{"a": "yx"}], [{"a": "xy"}, {}]),
    ({"a": [{"numeric": [">", 0, "<=", 5]}]}, [{"a": 5}, {"a": 0.1}], [{"a": 0}, {"a": 5.1}, {"a": "3"}, {}]),
    ({"a": [{"numeric": ["=", 3]}]}, [{"a": 3}], [{"a": 2}, {"a": "3"}]),
    ({"a": [{"exists": True}]}, [{"a": None}, {"a": ""}], [{}, {"b": 1}]),
    ({"a": [{"exists": False}]}, [{}, {"b": 1}], [{"a": 1}, {"a": None}]),
    ({"a": [{"wildcard": "dir/*.png"}]}, [{"a": "dir/a.png"}], [{"a": "dir/a.jpg"}, {}]),
    ({"$or": [{"a": [1]}, {"b": [2]}]}, [{"a": 1}, {"b": 2}], [{"a": 2, "b": 1}, {}]),
    ({"a": {"b": ["x"]}}, [{"a": {"b": "x"}}, {"a": [{"b": "y"}, {"b": "x"}]}], [{"a": "x"}, {"a": [{"b": "y"}]}]),
    ({"a": [1], "b": [2]}, [{"a": 1, "b": 2}], [{"a": 1}, {"a": 1, "b": 3}]),
])
def test_patterns(cloud, pattern, matching, others):
    target = Target()
    cloud.function("target", target)
    cloud.rule("rule", {"detail": pattern}, "target")
    for detail in [*matching, *others]:
        put(cloud, detail)
    assert cloud.settle()
    key = json.dumps
    assert sorted((event["detail"] for event in target.events), key=key) == sorted(matching, key=key)


def test_every_execution_tells_that_it_runs_and_how_it_ends(cloud):
    target = Target()
    cloud.function("target", target)
    cloud.function("fails", lambda event, context: 1 / 0)
    cloud.rule("notices", NOTICES, "target")
    fails = {"Type": "Task", "Resource": "arn:aws:states:::lambda:invoke", "Arguments": {"FunctionName": "fails"}, "End": True}

    def run(name, states, **top):
        arn = cloud.state_machine(name, {"QueryLanguage": "JSONata", "StartAt": next(iter(states)), "States": states, **top})
        return cloud.start(arn, {"n": 1}, name=f"{name}-1")

    good, bad = run("good", PASS), run("bad", {"task": fails})
    slow = run("slow", {"wait": {"Type": "Wait", "Seconds": 3600, "End": True}})
    late = run("late", {"wait": {"Type": "Wait", "Seconds": 3600, "End": True}}, TimeoutSeconds=5)
    cloud.stop(slow.arn, error="Stopped", cause="by hand")
    ends = {handle.arn: handle.wait(20) for handle in (good, bad, slow, late)}
    assert cloud.settle()
    by_arn = {}
    for event in target.events:
        assert event["resources"] == [event["detail"]["executionArn"]] and event["source"] == "aws.states"
        by_arn.setdefault(event["detail"]["executionArn"], {})[event["detail"]["status"]] = event["detail"]
    assert {arn: set(notices) for arn, notices in by_arn.items()} == {
        good.arn: {"RUNNING", "SUCCEEDED"}, bad.arn: {"RUNNING", "FAILED"}, slow.arn: {"RUNNING", "ABORTED"},
        late.arn: {"RUNNING", "TIMED_OUT"},
    }
    done = by_arn[good.arn]["SUCCEEDED"]
    assert json.loads(done["input"]) == json.loads(done["output"]) == {"n": 1}
    assert done["stopDate"] == round(ends[good.arn].stopped.timestamp() * 1000) >= done["startDate"]
    assert done["name"] == "good-1" and done["stateMachineArn"].endswith(":stateMachine:good")
    running = by_arn[good.arn]["RUNNING"]
    assert running["stopDate"] is running["output"] is None and running["startDate"] == done["startDate"]
    assert by_arn[bad.arn]["FAILED"]["output"] is None and by_arn[bad.arn]["FAILED"]["error"] == "ZeroDivisionError"
    assert (by_arn[slow.arn]["ABORTED"]["error"], by_arn[slow.arn]["ABORTED"]["cause"]) == ("Stopped", "by hand")


def test_children_tell_too_and_large_data_is_left_out(cloud):
    target = Target()
    cloud.function("target", target)
    cloud.rule("notices", {**NOTICES, "detail": {"status": ["SUCCEEDED"]}}, "target")
    machine = {"QueryLanguage": "JSONata", "StartAt": "done", "States": PASS}
    child = cloud.state_machine("child", machine)
    start = {
        "Type": "Task", "Resource": "arn:aws:states:::states:startExecution.sync:2", "End": True,
        "Arguments": {"StateMachineArn": child, "Input": {"text": "x" * 130_000}},
        "Output": "{% $states.result.Status %}",
    }
    parent = cloud.state_machine("parent", {"QueryLanguage": "JSONata", "StartAt": "start", "States": {"start": start}})
    handle = cloud.start(parent, {})
    assert handle.wait(20).output == "SUCCEEDED" and cloud.settle()
    details = {event["detail"]["stateMachineArn"]: event["detail"] for event in target.events}
    assert set(details) == {parent, child}
    assert details[child]["input"] is None and details[child]["inputDetails"] == {"included": False}
    assert len(details[child]["output"]) > 130_000 and details[child]["outputDetails"] == {"included": True}
    assert details[child]["executionArn"] in cloud.children(handle.arn)


def test_a_failing_function_is_called_three_times_then_a_dead_letter(cloud):
    def act(event):
        if event["detail"]["until"] > sum(each["detail"] == event["detail"] for each in target.events):
            raise RuntimeError("not yet")

    target = Target(act)
    cloud.function("target", target)
    cloud.rule("orders", {"source": ["shop"]}, "target")
    for until in (1, 3, 99):
        put(cloud, {"until": until})
    assert cloud.settle(20)
    counts = {until: sum(each["detail"]["until"] == until for each in target.events) for until in (1, 3, 99)}
    assert counts == {1: 1, 3: 3, 99: 3}
    (letter,) = cloud.dead_letters
    assert json.loads(letter.payload)["detail"] == {"until": 99} and json.loads(letter.error)["errorType"] == "RuntimeError"


def test_an_asynchronous_invocation_returns_at_once_and_is_tried_again(cloud):
    gate = threading.Event()

    def act(event):
        assert gate.wait(10)
        if len(target.events) < 2:
            raise RuntimeError("once")

    target = Target(act)
    cloud.function("target", target)
    answer = cloud.client("lambda").invoke(FunctionName="target", InvocationType="Event", Payload=b'{"n": 1}')
    assert answer["StatusCode"] == 202
    gate.set()
    assert cloud.settle()
    assert target.events == [{"n": 1}, {"n": 1}]


def test_what_comes_for_a_function_before_it_is_there_waits_for_it(cloud):
    cloud.rule("orders", {"source": ["shop"]}, "target")
    put(cloud, {"n": 1})
    assert cloud.settle()
    target = Target()
    cloud.function("target", target)
    assert cloud.settle()
    assert [event["detail"] for event in target.events] == [{"n": 1}]
