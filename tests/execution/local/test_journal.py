"""What the journal brings back: after an orderly end, and after a process was killed at some moment."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import sqlite3
import threading
import time
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from aslant import keys, triggers
from aslant.adapters.aws_scheduler import SchedulerTimers
from infra.local.cloud import LocalCloud
from infra.local.journal import Journal, JournalError

WAIT = {"QueryLanguage": "JSONata", "StartAt": "wait", "States": {"wait": {"Type": "Wait", "Seconds": 9999, "End": True}}}
DONE = {"QueryLanguage": "JSONata", "StartAt": "done", "States": {"done": {"Type": "Pass", "End": True}}}


@pytest.fixture
def journal(tmp_path) -> Path:
    return tmp_path / "state" / "journal.db"


def item(pk, **columns):
    return {"pk": {"S": pk}, "sk": {"S": "s"}, **columns}


def at(cloud, **delta):
    return f"at({(cloud.clock.now() + timedelta(**delta)).strftime('%Y-%m-%dT%H:%M:%S')})"


def schedule(cloud, name, when, **more):
    arguments = {
        "Name": name, "ScheduleExpression": when, "FlexibleTimeWindow": {"Mode": "OFF"}, "ActionAfterCompletion": "DELETE",
        "Target": {"Arn": "arn:aws:lambda:us-east-1:123456789012:function:target", "RoleArn": "arn:aws:iam::123456789012:role/r",
                   "Input": json.dumps({"timer": name})},
    }
    cloud.client("scheduler").create_schedule(**{**arguments, **more})


def test_everything_is_there_again(journal):
    with LocalCloud(journal=journal) as cloud:
        dynamo, s3, kms, secrets = (cloud.client(name) for name in ("dynamodb", "s3", "kms", "secretsmanager"))
        dynamo.create_table(**keys.executions_table("t"))
        dynamo.create_table(**keys.executions_table("gone"))
        dynamo.put_item(TableName="t", Item=item("a", n={"N": "12345678901234567890"}, b={"M": {"x": {"B": b"\x00\xff"}}}))
        dynamo.put_item(TableName="t", Item=item("b", l={"L": [{"NULL": True}, {"BOOL": False}, {"S": "ü"}]}))
        dynamo.put_item(TableName="t", Item=item("c", tenant_pk={"S": "x"}, started_sk={"S": "1"}))
        dynamo.delete_item(TableName="t", Key=item("b"))
        dynamo.update_item(TableName="t", Key=item("c"), UpdateExpression="SET v = :v", ExpressionAttributeValues={":v": {"SS": ["p", "q"]}})
        dynamo.delete_table(TableName="gone")
        s3.create_bucket(Bucket="bucket")
        s3.put_object(Bucket="bucket", Key="acme/a b#c", Body=b"\x00" * 70_000, ContentType="text/x", Metadata={"of": "me"})
        s3.put_object(Bucket="bucket", Key="gone", Body=b"1")
        s3.delete_object(Bucket="bucket", Key="gone")
        secrets.create_secret(Name="aslant/acme/key", SecretString="one")
        secrets.put_secret_value(SecretId="aslant/acme/key", SecretString="two")
        secrets.create_secret(Name="gone", SecretString="one")
        secrets.delete_secret(SecretId="gone", ForceDeleteWithoutRecovery=True)
        key = kms.create_key(Description="mine")["KeyMetadata"]["KeyId"]
        kms.create_alias(AliasName="alias/aslant", TargetKeyId=key)
        sealed = kms.encrypt(KeyId="alias/aslant", Plaintext=b"token", EncryptionContext={"tenant": "acme"})["CiphertextBlob"]
        arn = cloud.state_machine("machine", WAIT)
        cloud.state_machine("machine", DONE)
        schedule(cloud, "later", "at(2100-01-01T00:00:00)")
        schedule(cloud, "gone", "at(2100-01-01T00:00:00)")
        cloud.client("scheduler").delete_schedule(Name="gone")
        before = sorted(dynamo.scan(TableName="t")["Items"], key=str)
    assert os.stat(journal).st_mode & 0o077 == 0
    for _ in range(2):  # the second time from what the first one left
        with LocalCloud(journal=journal) as cloud:
            dynamo, s3, kms, secrets = (cloud.client(name) for name in ("dynamodb", "s3", "kms", "secretsmanager"))
            assert dynamo.list_tables()["TableNames"] == ["t"]
            assert sorted(dynamo.scan(TableName="t")["Items"], key=str) == before
            found = dynamo.query(TableName="t", IndexName="by_tenant", KeyConditionExpression="tenant_pk = :x",
                                 ExpressionAttributeValues={":x": {"S": "x"}})["Items"]
            assert [row["pk"]["S"] for row in found] == ["c"]
            got = s3.get_object(Bucket="bucket", Key="acme/a b#c")
            assert (got["Body"].read(), got["ContentType"], got["Metadata"]) == (b"\x00" * 70_000, "text/x", {"of": "me"})
            assert s3.list_objects_v2(Bucket="bucket")["KeyCount"] == 1
            assert [each["Name"] for each in secrets.list_secrets()["SecretList"]] == ["aslant/acme/key"]
            assert secrets.get_secret_value(SecretId="aslant/acme/key")["SecretString"] == "two"
            assert secrets.get_secret_value(SecretId="aslant/acme/key", VersionStage="AWSPREVIOUS")["SecretString"] == "one"
            opened = kms.decrypt(CiphertextBlob=sealed, EncryptionContext={"tenant": "acme"})
            assert opened["Plaintext"] == b"token" and opened["KeyId"].endswith(key)
            assert cloud.start(arn, {"n": 1}).wait(10).output == {"n": 1}
            assert [each["Name"] for each in cloud.client("scheduler").list_schedules()["Schedules"]] == ["later"]


def test_what_was_on_its_way_arrives_in_the_next_life(journal):
    with LocalCloud(journal=journal) as cloud:
        dynamo = cloud.client("dynamodb")
        dynamo.create_table(**keys.executions_table("t"))

        def fails(event, context):
            raise RuntimeError("not in this life")

        cloud.function("reader", fails)
        cloud.stream("t", "reader")
        cloud.rule("rule", {"source": ["shop"]}, "target")
        for number in range(5):
            dynamo.put_item(TableName="t", Item=item("a", v={"N": str(number)}))
        cloud.client("events").put_events(Entries=[{"Source": "shop", "DetailType": "x", "Detail": '{"n": 1}'}])
        schedule(cloud, "soon", at(cloud, seconds=1))
        schedule(cloud, "kept", at(cloud, seconds=-60), ActionAfterCompletion="NONE")
        time.sleep(0.1)
    time.sleep(1)
    with LocalCloud(journal=journal) as cloud:
        # Written before the reader is attached again, and still for it.
        cloud.client("dynamodb").put_item(TableName="t", Item=item("a", v={"N": "5"}))
        got: list = []
        cloud.function("target", lambda event, context: got.append(event))
        cloud.function("reader", lambda event, context: got.extend(event["Records"]))
        cloud.stream("t", "reader")
        deadline = time.monotonic() + 20
        while not (cloud.settle() and {"timer": "soon"} in got) and time.monotonic() < deadline:
            time.sleep(0.05)
        records = [each for each in got if "dynamodb" in each]
        assert [record["dynamodb"]["NewImage"]["v"]["N"] for record in records] == ["0", "1", "2", "3", "4", "5"]
        numbers = [record["dynamodb"]["SequenceNumber"] for record in records]
        assert numbers == sorted(set(numbers))
        assert sum(each.get("detail") == {"n": 1} for each in got) == 1
        assert [got.count({"timer": name}) for name in ("soon", "kept")] == [1, 1]
    with LocalCloud(journal=journal) as cloud:
        again: list = []
        cloud.function("target", lambda event, context: again.append(event))
        cloud.function("reader", lambda event, context: again.append(event))
        cloud.stream("t", "reader")
        assert cloud.settle() and again == []


def test_executions_that_ran_are_named_until_they_are_taken_care_of(journal):
    with LocalCloud(journal=journal) as cloud:
        arn = cloud.state_machine("machine", WAIT)
        done = cloud.start(cloud.state_machine("done", DONE), {}, "done")
        runs = cloud.start(arn, {}, "runs")
        stopped = cloud.start(arn, {}, "stopped")
        cloud.stop(stopped.arn)
        done.wait(10)
        assert cloud.lost() == []
    for _ in range(2):
        with LocalCloud(journal=journal) as cloud:
            assert cloud.lost() == [runs.arn]
            other = cloud.start(arn, {}, "other")
            cloud.stop(other.arn)
    with LocalCloud(journal=journal) as cloud:
        cloud.recovered(runs.arn)
        assert cloud.lost() == []
    with LocalCloud(journal=journal) as cloud:
        assert cloud.lost() == []


def test_a_cloud_without_a_journal_writes_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with LocalCloud() as cloud:
        cloud.client("dynamodb").create_table(**keys.executions_table("t"))
        cloud.client("dynamodb").put_item(TableName="t", Item=item("a"))
    assert list(tmp_path.iterdir()) == []
    with LocalCloud() as cloud:
        assert cloud.client("dynamodb").list_tables()["TableNames"] == []


def test_journals_that_cannot_be_used_say_why(tmp_path):
    path = tmp_path / "journal.db"
    first = Journal(path)
    first.keep("kind", "name", {"value": b"\x00"})
    with pytest.raises(JournalError, match="in use by another process"):
        Journal(path)
    first.close()
    second = Journal(path)
    assert second.kept("kind") == [("name", {"value": b"\x00"})]
    second.close()
    sqlite3.connect(path).execute("PRAGMA user_version = 99").connection.close()
    with pytest.raises(JournalError, match="newer version"):
        Journal(path)
    text = tmp_path / "notes.txt"
    text.write_text("these are notes, and no database at all" * 100)
    with pytest.raises(JournalError, match="no journal"):
        Journal(text)
    assert text.read_text().startswith("these are notes")


def _writes(journal: str, out: str, life: str) -> None:
    """What the process does that is killed. `out` gets a line for whatever the cloud said is written."""
    with Path(out).open("ab", buffering=0) as told, LocalCloud(journal=Path(journal)) as cloud:
        def say(*words):
            told.write((json.dumps(words) + "\n").encode())

        dynamo, s3 = cloud.client("dynamodb"), cloud.client("s3")
        if "t" not in dynamo.list_tables()["TableNames"]:
            dynamo.create_table(**keys.executions_table("t"))
        s3.create_bucket(Bucket="bucket")
        say("ready", life)

        def read(event, context):
            for each in event["Records"]:
                say("read", each["dynamodb"]["Keys"]["pk"]["S"], int(each["dynamodb"]["SequenceNumber"]))

        cloud.function("reader", read)
        cloud.stream("t", "reader")

        def write(worker):
            for number in range(10_000):
                name = f"{life}.{worker}.{number}"
                key = {"pk": {"S": name}, "sk": {"S": "s"}}
                if number % 3 == 0:
                    dynamo.transact_write_items(TransactItems=[
                        {"Put": {"TableName": "t", "Item": {**key, "sk": {"S": part}}}} for part in "sz"
                    ])
                else:
                    dynamo.put_item(TableName="t", Item=key)
                say("wrote", name, number % 3 == 0)
                if number % 5 == 0:
                    s3.put_object(Bucket="bucket", Key=name, Body=name.encode())
                    say("stored", name)

        threads = [threading.Thread(target=write, args=(index,)) for index in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def test_a_process_that_is_killed_at_any_moment_loses_nothing_that_it_was_told_is_written(journal, tmp_path):
    out = tmp_path / "out.jsonl"
    out.touch()
    choice = random.Random(11)
    forks = multiprocessing.get_context("forkserver")  # of a process without threads, which has imported what is slow to import
    forks.set_forkserver_preload(["tests.integration.warm"])

    def said():
        lines = out.read_bytes().split(b"\n")
        return [json.loads(line) for line in lines[:-1] if line.startswith(b"[") and line.endswith(b"]")]

    for life in range(3):
        child = forks.Process(target=_writes, args=(str(journal), str(out), str(life)), daemon=True)
        child.start()
        deadline = time.monotonic() + 60
        while sum(words[0] == "ready" for words in said()) <= life and time.monotonic() < deadline:
            assert child.is_alive()
            time.sleep(0.02)
        time.sleep(choice.uniform(0.05, 0.4))
        child.kill()
        child.join()
    with LocalCloud(journal=journal) as cloud:
        got: list = []
        cloud.function("reader", lambda event, context: got.extend(event["Records"]))
        cloud.stream("t", "reader")
        assert cloud.settle(30)
        dynamo, s3 = cloud.client("dynamodb"), cloud.client("s3")
        rows = [row for page in dynamo.get_paginator("scan").paginate(TableName="t") for row in page["Items"]]
        there = {(row["pk"]["S"], row["sk"]["S"]) for row in rows}
        objects = {each["Key"] for page in s3.get_paginator("list_objects_v2").paginate(Bucket="bucket") for each in page.get("Contents", ())}
        words = said()
        written = {(name, part) for kind, name, *more in words if kind == "wrote" for part in ("sz" if more[0] else "s")}
        assert len(written) > 20 and written <= there
        assert {name for kind, name, *_ in words if kind == "stored"} <= objects
        # Half a transaction would show as one of its two items.
        assert all((pk, "s") in there for pk, sk in there if sk == "z")
        read = {name for kind, name, *_ in words if kind == "read"} | {each["dynamodb"]["Keys"]["pk"]["S"] for each in got}
        assert {pk for pk, _ in there} <= read


def test_moments_that_passed_while_nothing_ran(journal):
    """From 10:30 to 14:10 nothing runs: with `catch_up: none` nothing comes for it, with `last` the start of 14:00, once."""
    def life(moment, seconds=0.3):
        got: list = []
        with LocalCloud(journal=journal, not_before=datetime.fromisoformat(f"2100-03-01T{moment}+00:00")) as cloud:
            cloud.function(triggers.FUNCTION, lambda event, context: got.append((event["trigger"], event["at"])))
            schedules = SchedulerTimers("us-east-1", "arn:aws:iam::123456789012:role/r")
            if moment == "10:20:00":
                facts = {"type": "schedule", "input": {}, "overlap": "allow", "enabled": True, "timezone": "UTC"}
                release: Any = {"workflow": "flow", "triggers": [
                    {"id": policy, "expression": "cron(0 * * * ? *)", "catch_up": policy, **facts} for policy in ("none", "last")
                ]}
                triggers.follow(schedules, SimpleNamespace(add=None, remove=None), "acme", None, release)
            time.sleep(seconds)
            assert cloud.settle()
        return sorted(got)

    assert life("10:20:00") == []
    assert life("14:10:00") == [("last", "2100-03-01T14:00:00Z")]
    assert life("14:20:00") == [], "what was made up for does not come again"
    assert life("15:00:40") == [("last", "2100-03-01T15:00:00Z"), ("none", "2100-03-01T15:00:00Z")], "it is less than a minute late"
