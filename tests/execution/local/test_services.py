"""Integrations of compiled machines, and what lies around them."""

from __future__ import annotations

import http.client
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import boto3
import pytest

from infra.local.cloud import LocalCloud


def _task(resource, arguments, **fields):
    return {"Type": "Task", "Resource": f"arn:aws:states:::{resource}", "Arguments": arguments, "End": True, **fields}


def test_messages_and_events_arrive(cloud, run):
    sqs, sns, events = (cloud.client(name) for name in ("sqs", "sns", "events"))
    queue = sqs.create_queue(QueueName="q")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    topic = sns.create_topic(Name="t")["TopicArn"]
    sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn, Attributes={"RawMessageDelivery": "true"})
    text = "{% $states.context.Execution.Input.text %}"
    entries = [{"Source": "s", "DetailType": "d", "Detail": {"text": text}, "EventBusName": "default"}]
    states = {
        "sns": {**_task("sns:publish", {"TopicArn": topic, "Message": text}), "Next": "sqs"},
        "sqs": {**_task("sqs:sendMessage", {"QueueUrl": queue, "MessageBody": {"text": text}}), "Next": "events"},
        "events": _task("events:putEvents", {"Entries": entries}, Output="{% $states.result.FailedEntryCount %}"),
    }
    for name in ("sns", "sqs"):
        states[name].pop("End")
    events.put_rule(Name="r", EventPattern='{"source": ["s"]}')
    events.put_targets(Rule="r", Targets=[{"Id": "1", "Arn": arn}])
    assert run(states, {"text": 'say "hi"'}).output == 0
    bodies = [m["Body"] for m in sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10)["Messages"]]
    assert bodies[0] == 'say "hi"' and json.loads(bodies[1]) == {"text": 'say "hi"'}
    assert json.loads(bodies[2])["detail"] == {"text": 'say "hi"'}


@pytest.mark.parametrize("prefix", ["dynamodb", "aws-sdk:dynamodb"])
def test_items_of_a_table(cloud, run, prefix):
    cloud.client("dynamodb").create_table(
        TableName="t",
        KeySchema=[{"AttributeName": "k", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "k", "AttributeType": "S"}],
    )
    key = {"k": {"S": "a"}}
    update = {
        "TableName": "t",
        "Key": key,
        "UpdateExpression": "SET n = n + :one",
        "ExpressionAttributeValues": {":one": {"N": "1"}},
    }
    states = {
        "put": _task(f"{prefix}:putItem", {"TableName": "t", "Item": {**key, "n": {"N": "1"}}}, Next="update"),
        "update": _task(f"{prefix}:updateItem", update, Next="get"),
        "get": _task(f"{prefix}:getItem", {"TableName": "t", "Key": key}, Output="{% $states.result.Item.n.N %}"),
    }
    for name in ("put", "update"):
        states[name].pop("End")
    assert run(states).output == "2"


def test_an_error_of_a_service_is_an_error_that_a_catch_sees(run):
    catch = [{"ErrorEquals": ["States.TaskFailed"], "Output": "{% $states.errorOutput.Error %}", "Next": "end"}]
    states = {
        "get": _task("dynamodb:getItem", {"TableName": "none", "Key": {"k": {"S": "a"}}}, Catch=catch),
        "end": {"Type": "Succeed"},
    }
    assert "ResourceNotFoundException" in run(states).output


def test_handlers_reach_the_services_and_a_server_on_this_machine(cloud, run, call):
    class Hello(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"hello")

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Hello)
    threading.Thread(target=server.serve_forever, daemon=True).start()

    def handler(event, context):
        import urllib3

        boto3.client("s3").put_object(Bucket="bucket", Key="k", Body=b"stored")
        boto3.client("secretsmanager").create_secret(Name="s", SecretString="secret")
        plain = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=5)
        plain.request("GET", "/")
        pooled = urllib3.PoolManager().request("GET", f"http://127.0.0.1:{server.server_port}/")
        return [
            plain.getresponse().read().decode(),
            pooled.data.decode(),
            boto3.client("secretsmanager").get_secret_value(SecretId="s")["SecretString"],
        ]

    cloud.client("s3").create_bucket(Bucket="bucket")
    cloud.function("f", handler)
    try:
        assert run({"t": call("f")}).output == ["hello", "hello", "secret"]
    finally:
        server.shutdown()
        server.server_close()
    assert cloud.client("s3").get_object(Bucket="bucket", Key="k")["Body"].read() == b"stored"


def test_two_clouds_one_after_another_share_nothing(machine, call):
    for count in range(2):
        with LocalCloud(time_scale=50) as cloud:
            assert cloud.client("stepfunctions").list_state_machines()["stateMachines"] == []
            assert cloud.client("sqs").list_queues().get("QueueUrls", []) == []
            assert cloud.client("lambda").list_functions()["Functions"] == []
            cloud.client("sqs").create_queue(QueueName="q")
            cloud.function("f", lambda event, context, count=count: count)
            execution = cloud.start(cloud.state_machine("m", machine({"t": call("f")})), {}, "same")
            assert execution.wait(10).output == count


def test_there_is_one_cloud_at_a_time(cloud):
    with pytest.raises(RuntimeError), LocalCloud():
        pass


def test_nothing_runs_on_after_the_end(machine, call, Recorder):
    late = Recorder()
    hold = threading.Event()
    child = {"w": {"Type": "Wait", "Seconds": 10, "Next": "t"}, "t": call("late")}
    with LocalCloud(time_scale=50, handlers={"late": late, "hold": lambda event, context: hold.wait(10)}) as cloud:
        kid = cloud.state_machine("kid", machine(child))
        waits = {
            "Type": "Task",
            "Resource": "arn:aws:states:::states:startExecution.sync:2",
            "Arguments": {"StateMachineArn": kid},
            "Next": "t",
        }
        retried = call("hold", Retry=[{"ErrorEquals": ["States.ALL"], "IntervalSeconds": 10}])
        branches = [{"StartAt": "c", "States": {"c": waits, "t": call("late")}}, {"StartAt": "h", "States": {"h": retried}}]
        executions = [
            cloud.start(cloud.state_machine("p", machine({"p": {"Type": "Parallel", "Branches": branches, "End": True}})), {}),
            cloud.start(kid, {}),
        ]
        time.sleep(0.1)
    hold.set()
    assert [execution.status for execution in executions] == ["ABORTED", "ABORTED"]
    assert not [thread for thread in threading.enumerate() if thread.name in ("aslant-execution", "aslant-item")]
    time.sleep(0.4)
    assert late.events == []
    with LocalCloud() as cloud:
        assert cloud.start(cloud.state_machine("m", machine({"a": {"Type": "Succeed"}})), 1).wait(10).output == 1


def test_moto_is_as_before_after_the_end(machine):
    from infra.local.moto_patches.registry import PATCHES, fingerprint

    with LocalCloud():
        inside = [fingerprint(patch.target) for patch in PATCHES if patch.target.endswith("eval_body")]
    after = [fingerprint(patch.target) for patch in PATCHES if patch.target.endswith("eval_body")]
    assert inside != after
    assert after == [patch.fingerprint for patch in PATCHES if patch.target.endswith("eval_body")]
