"""notify steps over every channel."""

from __future__ import annotations

import json

import boto3
import pytest

from functions.steps.notify.handler import handler


@pytest.fixture
def run(invocation):
    return lambda config: handler(invocation("notify", config, iteration=[1]), None)["output"]


@pytest.fixture
def inbox(aws):
    """A topic, and a queue that gets what is published to it."""
    sns, sqs = boto3.client("sns"), boto3.client("sqs")
    topic = sns.create_topic(Name="releases")["TopicArn"]
    queue = sqs.create_queue(QueueName="inbox")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn)

    def read():
        found = sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10).get("Messages", [])
        return [json.loads(message["Body"]) for message in found]

    return topic, read


def test_sns(run, inbox, monkeypatch):
    topic, read = inbox
    output = run({"topic": topic, "subject": "Release\n1.2" + "x" * 200, "message": {"version": "1.2"}})
    monkeypatch.setenv("ASLANT_NOTIFY_TOPIC", topic)
    run({"message": "to the default topic"})
    first, second = read()
    assert first["Message"] == '{"version":"1.2"}'
    assert first["Subject"].startswith("Release 1.2xxx") and len(first["Subject"]) == 100
    assert second["Message"] == "to the default topic"
    assert output["sent"] == [{"channel": "sns", "to": topic, "id": first["MessageId"]}]


@pytest.mark.usefixtures("loopback")
def test_webhooks_and_slack(run, server, failure):
    server.answer("/hook/secret-part", 200, b"ok")
    server.answer("/slack", 200, b"ok")
    output = run({"channel": "webhook", "url": f"{server.url}/hook/secret-part", "message": "hi", "data": {"n": 1},
                  "headers": {"X-Key": "k"}})
    body = json.loads(server.seen[0].body)
    assert body == {"message": "hi", "subject": "", "data": {"n": 1}, "execution": "exec-1", "workflow": "wf",
                    "step": "s[1]"}
    assert server.seen[0].headers["x-key"] == "k"
    assert "secret-part" not in json.dumps(output)
    run({"channel": "slack", "url": f"{server.url}/slack", "subject": "Down", "message": "Website is down!", "to": "#ops"})
    assert json.loads(server.seen[1].body) == {"text": "*Down*\nWebsite is down!", "channel": "#ops"}
    name, message = failure({"channel": "webhook", "url": f"{server.url}/gone", "message": "x"})
    assert name == "NotFoundError" and "gone" not in message


def test_email(run, aws, monkeypatch):
    boto3.client("ses").verify_email_identity(EmailAddress="bot@example.com")
    monkeypatch.setenv("ASLANT_EMAIL_FROM", "bot@example.com")
    output = run({"channel": "email", "to": ["a@example.com", "b@example.com"], "subject": "A\r\nBcc: x@example.com",
                  "message": "Line\nBreak"})
    from moto.core import DEFAULT_ACCOUNT_ID
    from moto.ses import ses_backends

    message = ses_backends[DEFAULT_ACCOUNT_ID]["us-east-1"].sent_messages[0]
    assert message.destinations["ToAddresses"] == ["a@example.com", "b@example.com"]
    assert message.subject == "A Bcc: x@example.com"
    assert message.body == "Line\nBreak"
    assert output["sent"][0]["to"] == "a@example.com, b@example.com"


def test_events(run, aws):
    events, sqs = boto3.client("events"), boto3.client("sqs")
    queue = sqs.create_queue(QueueName="bus")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    events.put_rule(Name="all", EventPattern=json.dumps({"source": ["aslant.workflow"]}))
    events.put_targets(Rule="all", Targets=[{"Id": "1", "Arn": arn}])
    output = run({"channel": "event", "message": "done", "event_type": "released", "data": {"n": 1}})
    event = json.loads(sqs.receive_message(QueueUrl=queue)["Messages"][0]["Body"])
    assert event["detail-type"] == "released"
    assert event["detail"] == {"message": "done", "data": {"n": 1}, "execution": "exec-1", "workflow": "wf", "step": "s[1]",
        "tenant_id": "acme", "execution_id": "exec-1"}
    assert output["sent"][0]["channel"] == "event"


@pytest.mark.usefixtures("loopback")
def test_several_channels_are_all_tried_and_the_first_failure_is_told(run, failure, inbox, server):
    topic, read = inbox
    server.answer("/ok", 200, b"ok")
    server.answer("/down", 503, b"no")
    output = run({"channel": ["sns", "webhook"], "topic": topic, "url": [f"{server.url}/ok", f"{server.url}/ok"],
                  "message": "x"})
    assert [entry["channel"] for entry in output["sent"]] == ["sns", "webhook", "webhook"]
    assert len(read()) == 1
    name, message = failure({"channel": ["webhook", "sns"], "topic": topic, "url": f"{server.url}/down", "message": "x"})
    assert name == "ServerError" and "answered 503" in message and message.endswith("sent: sns")
    assert len(read()) == 1


@pytest.mark.parametrize(("config", "words"), [
    ({"channel": "sns"}, "needs a `topic`"), ({"topic": "arn:aws:sns:us-east-1:1:t", "message": ""}, "needs a `message`"),
    ({"channel": "slack"}, "needs a `url`"), ({"channel": "webhook"}, "needs a `url`"),
    ({"channel": "email", "to": "a@example.com"}, "ASLANT_EMAIL_FROM"), ({"channel": []}, "no recipient"),
    ({"channel": "pigeon"}, "must be one of"),
    ({"channel": "webhook", "url": "http://127.0.0.1/", "headers": {"A": "b\r\nC: d"}}, "line break"),
])
def test_notifications_that_go_nowhere(failure, config, words):
    name, message = failure({"message": "x", **config})
    assert name == "ValidationError" and words in message


@pytest.mark.parametrize("to", ["nobody", "a@b@c", "a@example.com\r\nBcc: x@example.com", "a@example.com, b@example.com", []])
def test_addresses_that_are_none(failure, monkeypatch, to):
    monkeypatch.setenv("ASLANT_EMAIL_FROM", "bot@example.com")
    assert failure({"channel": "email", "to": to, "message": "x"})[0] == "ValidationError"


def test_a_missing_topic_has_its_class(failure, aws):
    arn = "arn:aws:sns:us-east-1:123456789012:nothing"
    assert failure({"topic": arn, "message": "x"})[0] == "NotFoundError"


def test_webhooks_to_private_addresses_are_refused(failure):
    config = {"channel": "webhook", "url": "http://169.254.169.254/latest", "message": "x"}
    assert failure(config)[0] == "AuthorizationError"
