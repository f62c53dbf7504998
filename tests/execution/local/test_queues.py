"""Queues that call functions: what fails comes again, then goes to the dead-letter queue; a restart loses nothing."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from infra.local.cloud import LocalCloud
from infra.local.queues import failures


def url(cloud: LocalCloud, name: str) -> str:
    return str(cloud.client("sqs").get_queue_url(QueueName=name)["QueueUrl"])


def waiting(cloud: LocalCloud, name: str) -> list[str]:
    got = cloud.client("sqs").receive_message(QueueUrl=url(cloud, name), MaxNumberOfMessages=10, VisibilityTimeout=0)
    return sorted(one["Body"] for one in got.get("Messages", ()))


def send(cloud: LocalCloud, *bodies: str) -> None:
    for body in bodies:
        cloud.client("sqs").send_message(QueueUrl=url(cloud, "q"), MessageBody=body)


def test_a_part_of_a_batch_may_fail() -> None:
    seen: list[str] = []

    def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
        seen.extend(record["body"] for record in event["Records"])
        return {"batchItemFailures": [{"itemIdentifier": one["messageId"]} for one in event["Records"] if one["body"] == "bad"]}

    with LocalCloud() as cloud:
        cloud.function("f", handler)
        cloud.queue("q", "f", dead="dead", receives=3)
        send(cloud, "a", "bad", "b")
        assert cloud.settle(20)
        assert sorted(seen) == ["a", "b", "bad", "bad", "bad"]
        assert waiting(cloud, "dead") == ["bad"] and waiting(cloud, "q") == []


def test_a_rule_gives_events_to_the_queue() -> None:
    got: list[Any] = []
    with LocalCloud() as cloud:
        cloud.function("f", lambda event, context: got.extend(json.loads(one["body"]) for one in event["Records"]))
        cloud.queue("q", "f", dead="dead", receives=3)
        cloud.rule("r", {"$or": [{"detail": {"a": [{"exists": True}]}}, {"detail": {"b": [{"exists": True}]}}]}, "q", service="sqs")
        entries = [{"Source": "s", "DetailType": "t", "Detail": json.dumps({name: 1})} for name in "abc"]
        cloud.client("events").put_events(Entries=entries)
        assert cloud.settle(20)
    assert sorted(next(iter(one["detail"])) for one in got) == ["a", "b"] and {one["detail-type"] for one in got} == {"t"}


def test_messages_outlive_the_process(tmp_path: Path) -> None:
    def fails(event: Any, context: Any) -> None:
        raise RuntimeError("as asked")

    with LocalCloud(journal=tmp_path / "j.db") as cloud:
        cloud.function("f", fails)
        cloud.queue("q", "f", dead="dead", receives=1)
        send(cloud, "lost")
        assert cloud.settle(20) and waiting(cloud, "dead") == ["lost"]
        cloud.queue("later", "f", dead="later-dead", receives=100)
        cloud.client("sqs").send_message(QueueUrl=url(cloud, "later"), MessageBody="kept")
    seen: list[str] = []
    with LocalCloud(journal=tmp_path / "j.db") as cloud:
        cloud.function("f", lambda event, context: seen.extend(one["body"] for one in event["Records"]))
        cloud.queue("q", "f", dead="dead", receives=1)
        cloud.queue("later", "f", dead="later-dead", receives=100)
        end = time.monotonic() + 20
        while seen != ["kept"]:
            assert time.monotonic() < end
            time.sleep(0.02)
        assert cloud.settle(20) and waiting(cloud, "dead") == ["lost"]
    with LocalCloud(journal=tmp_path / "j.db") as cloud:
        cloud.function("f", fails)
        cloud.queue("later", "f", dead="later-dead", receives=1)
        assert cloud.settle(20) and waiting(cloud, "later-dead") == [], "what was taken is gone"


def test_answers_of_functions() -> None:
    assert failures({"a", "b"}, None) == set() and failures({"a", "b"}, {}) == set()
    assert failures({"a", "b"}, {"batchItemFailures": [{"itemIdentifier": "a"}]}) == {"a"}
    for wrong in ({"batchItemFailures": [{"itemIdentifier": "x"}]}, {"batchItemFailures": [{}]}, {"batchItemFailures": ["a"]}):
        assert failures({"a", "b"}, wrong) == {"a", "b"}
