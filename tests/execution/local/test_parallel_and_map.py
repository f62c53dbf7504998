"""Branches and items side by side."""

from __future__ import annotations

import json
import threading
import time

import pytest


def test_branches_overlap_in_time(cloud, run, call):
    both = threading.Barrier(2, timeout=10)

    def meet(event, context):
        both.wait()
        return event

    cloud.function("meet", meet)
    branches = [{"StartAt": name, "States": {name: call("meet", name)}} for name in ("a", "b")]
    assert run({"both": {"Type": "Parallel", "Branches": branches, "End": True}}).output == ["a", "b"]


def test_the_branches_beside_a_failed_one_end(cloud, machine, call, Recorder):
    after = Recorder()
    cloud.function("after", after)
    branches = [
        {"StartAt": "fail", "States": {"fail": {"Type": "Fail", "Error": "E", "Cause": "c"}}},
        {"StartAt": "wait", "States": {"wait": {"Type": "Wait", "Seconds": 5, "Next": "call"}, "call": call("after")}},
    ]
    states = {
        "both": {"Type": "Parallel", "Branches": branches, "Catch": [{"ErrorEquals": ["E"], "Next": "hold"}], "End": True},
        "hold": {"Type": "Wait", "Seconds": 10, "Next": "end"},
        "end": {"Type": "Succeed"},
    }
    execution = cloud.start(cloud.state_machine("m", machine(states)), {})
    assert execution.wait(10).status == "SUCCEEDED"
    assert after.events == []
    kinds = [event["type"] for event in execution.events()]
    assert "WaitStateExited" not in kinds[: kinds.index("ParallelStateFailed")]


def test_a_retried_parallel_starts_anew(cloud, run, call, Recorder):
    def act(event):
        if event == 0:
            raise ValueError
        return "ok"

    cloud.function("f", Recorder(act))
    branch = {"StartAt": "a", "States": {"a": call("f", "{% $n %}")}}
    states = {
        "set": {"Type": "Pass", "Assign": {"n": 1}, "Next": "both"},
        "both": {
            "Type": "Parallel",
            "Branches": [branch],
            "Retry": [{"ErrorEquals": ["States.ALL"], "MaxAttempts": 1}],
            "End": True,
        },
    }
    assert run(states).output == ["ok"]


def _map(call, concurrency=None, **fields):
    loop = {
        "Type": "Map",
        "Items": "{% $states.input.items %}",
        "ItemSelector": {"index": "{% $states.context.Map.Item.Index %}", "value": "{% $states.context.Map.Item.Value %}"},
        "ItemProcessor": {"StartAt": "item", "States": {"item": call("f", "{% $states.input %}")}},
        "End": True,
        **fields,
    }
    return {"loop": loop if concurrency is None else {**loop, "MaxConcurrency": concurrency}}


@pytest.mark.parametrize("concurrency", [1, 2, "{% 3 %}"])
def test_items_keep_their_order_and_the_limit_holds(cloud, run, call, Recorder, concurrency):
    def act(event):
        time.sleep(event["value"] / 100)
        return [event["index"], event["value"]]

    handler = Recorder(act)
    cloud.function("f", handler)
    result = run(_map(call, concurrency), {"items": [6, 1, 3, 1, 2]})
    assert result.output == [[0, 6], [1, 1], [2, 3], [3, 1], [4, 2]]
    limit = 3 if isinstance(concurrency, str) else concurrency
    assert handler.most_at_once == limit


def test_no_items_and_a_single_item(cloud, run, call):
    cloud.function("f", lambda event, context: event["value"])
    assert run(_map(call), {"items": []}).output == []
    assert run(_map(call), {"items": [7]}).output == [7]


def test_the_context_of_the_item_is_there_in_its_states(cloud, run, call):
    cloud.function("f", lambda event, context: event)
    payload = {"at": "{% $states.context.Map.Item.Index %}", "of": "{% $states.context.Map.Item.Value %}"}
    loop = {
        "Type": "Map",
        "Items": ["a", "b"],
        "End": True,
        "ItemProcessor": {"StartAt": "item", "States": {"item": call("f", payload)}},
    }
    assert run({"loop": loop}).output == [{"at": 0, "of": "a"}, {"at": 1, "of": "b"}]


def test_no_limit_means_forty_at_once(cloud, run, call, Recorder):
    handler = Recorder(lambda event: time.sleep(0.05))
    cloud.function("f", handler)
    assert run(_map(call), {"items": [1] * 60}).status == "SUCCEEDED"
    assert handler.most_at_once <= 40


def test_many_items_one_after_another(run):
    loop = {
        "Type": "Map",
        "Items": "{% [1..1200] %}",
        "MaxConcurrency": 1,
        "Output": "{% $count($states.result) %}",
        "End": True,
        "ItemProcessor": {"StartAt": "p", "States": {"p": {"Type": "Succeed"}}},
    }
    assert run({"loop": loop}).output == 1200


def test_a_failed_item_fails_the_map_and_a_caught_one_does_not(cloud, run, call):
    def fail_two(event, context):
        if event["value"] == 2:
            raise ValueError("two")
        return event["value"]

    cloud.function("f", fail_two)
    result = run(_map(call, 1), {"items": [1, 2, 3]})
    assert (result.status, result.error) == ("FAILED", "ValueError") and "two" in result.cause
    item = call(
        "f",
        "{% $states.input %}",
        Catch=[{"ErrorEquals": ["States.ALL"], "Output": {"failed": "{% $states.errorOutput.Error %}"}, "Next": "end"}],
    )
    processor = {"StartAt": "item", "States": {"item": item, "end": {"Type": "Succeed"}}}
    assert run(_map(call, ItemProcessor=processor), {"items": [1, 2, 3]}).output == [1, {"failed": "ValueError"}, 3]


def test_items_that_are_no_list_are_an_error(run, call):
    assert run(_map(call, Items="{% 'text' %}")).error == "States.QueryEvaluationError"


def test_a_loop_in_a_loop_in_a_branch(cloud, run, call):
    inner = {
        "Type": "Map",
        "Items": "{% $states.input.row %}",
        "End": True,
        "ItemProcessor": {
            "StartAt": "cell",
            "States": {"cell": {"Type": "Pass", "Output": "{% $states.input * $factor %}", "End": True}},
        },
    }
    outer = {
        "Type": "Map",
        "Items": [[1, 2], [3]],
        "ItemSelector": {"row": "{% $states.context.Map.Item.Value %}"},
        "End": True,
        "ItemProcessor": {"StartAt": "inner", "States": {"inner": inner}},
    }
    states = {
        "set": {"Type": "Pass", "Assign": {"factor": 10}, "Next": "both"},
        "both": {"Type": "Parallel", "Branches": [{"StartAt": "outer", "States": {"outer": outer}}], "End": True},
    }
    assert run(states).output == [[[10, 20], [30]]]


def _distributed(item, **fields):
    processor = {
        "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"},
        "StartAt": "item",
        "States": {"item": item},
    }
    return {"loop": {"Type": "Map", "Items": "{% $states.input.items %}", "ItemProcessor": processor, "End": True, **fields}}


def test_a_distributed_map_keeps_its_order_and_its_limit(cloud, run, call, Recorder):
    handler = Recorder(lambda event: time.sleep(event / 200) or event)
    cloud.function("f", handler)
    items = [3, 1, 2] * 30
    assert run(_distributed(call("f", "{% $states.input %}"), MaxConcurrency=5), {"items": items}).output == items
    assert handler.most_at_once == 5


def test_a_distributed_map_fails_when_more_items_fail_than_it_tolerates(cloud, run, call):
    def act(event, context):
        if event < 2:
            raise ValueError
        return event

    cloud.function("f", act)
    item, items = call("f", "{% $states.input %}"), {"items": [1, 2, 3, 4]}
    assert run(_distributed(item), items).error == "States.ExceedToleratedFailureThreshold"
    for tolerated in ({"ToleratedFailureCount": 1}, {"ToleratedFailurePercentage": 25}):
        assert run(_distributed(item, **tolerated), items).output[1:] == [2, 3, 4]
    assert run(_distributed(item, ToleratedFailurePercentage=20), items).error == "States.ExceedToleratedFailureThreshold"
    catch = [{"ErrorEquals": ["States.ExceedToleratedFailureThreshold"], "Output": {"caught": True}, "Next": "end"}]
    states = _distributed(item, Catch=catch) | {"end": {"Type": "Succeed"}}
    assert run(states, items).output == {"caught": True}


def test_a_distributed_map_of_many_items(run):
    item = {"Type": "Pass", "Output": "{% $states.input * 2 %}", "End": True}
    assert run(_distributed(item, MaxConcurrency=1), {"items": list(range(1500))}).output == [n * 2 for n in range(1500)]


def test_an_item_of_a_distributed_map_is_an_execution_of_its_own(cloud, run):
    """It has its own input, and neither the input nor the variables of the one around it."""
    output = "{% [$states.context.Execution.Input, $exists($outer), $states.context.Execution.Id] %}"
    states = _distributed({"Type": "Pass", "Output": output, "End": True}, ItemSelector={
        "item": "{% $states.context.Map.Item.Value %}", "index": "{% $states.context.Map.Item.Index %}", "from": "{% $outer %}"})
    before = {"Type": "Pass", "Assign": {"outer": 7}, "Next": "loop"}
    result = run({"before": before} | states, {"items": ["a", "b"]})
    assert [row[:2] for row in result.output] == [
        [{"item": "a", "index": 0, "from": 7}, False], [{"item": "b", "index": 1, "from": 7}, False]]
    arns = [row[2] for row in result.output]
    assert len(set(arns)) == 2 and all(":execution:machine/" in arn for arn in arns)
    events = cloud.execution(arns[0]).events()
    assert [event["type"] for event in events] == ["ExecutionStarted", "PassStateEntered", "PassStateExited", "ExecutionSucceeded"]


def test_a_distributed_map_reads_its_items_from_s3_and_writes_results_there(cloud, run, call):
    s3 = cloud.client("s3")
    s3.create_bucket(Bucket="bucket")
    s3.put_object(Bucket="bucket", Key="in.json", Body=json.dumps([3, 4, 5]).encode())

    def act(event, context):
        if event == 4:
            raise ValueError("four")
        return {"twice": event * 2}

    cloud.function("f", act)
    states = _distributed(
        call("f", "{% $states.input %}"), ToleratedFailureCount=1,
        ItemReader={"Resource": "arn:aws:states:::s3:getObject", "ReaderConfig": {"InputType": "JSON"},
                    "Arguments": {"Bucket": "bucket", "Key": "{% $states.input.key %}"}},
        ResultWriter={"Resource": "arn:aws:states:::s3:putObject", "Arguments": {"Bucket": "bucket", "Prefix": "out"},
                      "WriterConfig": {"OutputType": "JSON", "Transformation": "COMPACT"}})
    del states["loop"]["Items"]
    details = run(states, {"key": "in.json"}).output["ResultWriterDetails"]

    def read(key):
        return json.loads(s3.get_object(Bucket="bucket", Key=key)["Body"].read())

    files = read(details["Key"])["ResultFiles"]
    assert [read(one["Key"]) for one in files["SUCCEEDED"]] == [[{"twice": 6}, {"twice": 10}]]
    ((failed,),) = (read(one["Key"]) for one in files["FAILED"])
    assert (failed["Status"], failed["Error"], json.loads(failed["Input"])) == ("FAILED", "ValueError", 4)


def test_a_distributed_map_that_is_stopped_stops_its_items(cloud, machine):
    wait = {"Type": "Wait", "Seconds": 3000, "End": True}
    arn = cloud.state_machine("m", machine(_distributed(wait, MaxConcurrency=3)))
    handle = cloud.start(arn, {"items": [1, 2, 3, 4, 5]})
    for _ in range(500):
        if len(cloud.children(handle.arn)) == 3:
            break
        time.sleep(0.01)
    assert cloud.stop(handle.arn, error="Paused", cause="as asked")
    assert handle.wait(5).status == "ABORTED"
    assert [cloud.execution(child).wait(5).status for child in cloud.children(handle.arn)] == ["ABORTED"] * 3


def test_an_item_that_fails_stops_the_others_of_a_distributed_map(cloud, run):
    states = {
        "which": {"Type": "Choice", "Choices": [{"Condition": "{% $states.input = 0 %}", "Next": "no"}], "Default": "wait"},
        "no": {"Type": "Fail", "Error": "Own"}, "wait": {"Type": "Wait", "Seconds": 100_000, "End": True}}
    loop = _distributed({})
    loop["loop"]["ItemProcessor"] |= {"StartAt": "which", "States": states}
    result = run(loop, {"items": [1, 2, 0, 3]})
    assert (result.status, result.error) == ("FAILED", "States.ExceedToleratedFailureThreshold")
