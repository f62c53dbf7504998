"""Streams of tables: what a function gets of what was written, in which order, and what is sent again."""

from __future__ import annotations

import random
import threading
from collections import defaultdict

import boto3
import pytest
from botocore.exceptions import ClientError

from aslant import keys
from infra.local.cloud import LocalCloud
from infra.local.streams import accepted


@pytest.fixture
def table(cloud: LocalCloud):
    client = cloud.client("dynamodb")
    client.create_table(**keys.executions_table("t"))
    return client


def item(pk, sk="s", **columns):
    return {"pk": {"S": pk}, "sk": {"S": sk}, **columns}


def number(value):
    return {"N": str(value)}


class Reader:
    """A stream's function that notes its batches; `answer` is given each."""

    def __init__(self, answer=lambda records: None):
        self.batches = []
        self._answer = answer
        self._lock = threading.Lock()

    def __call__(self, event, context):
        with self._lock:
            self.batches.append(event["Records"])
        return self._answer(event["Records"])

    @property
    def records(self):
        return [record for batch in self.batches for record in batch]


def attach(cloud, reader, **options):
    cloud.function("reader", reader)
    cloud.stream("t", "reader", **options)


def images(record):
    data = record["dynamodb"]
    return record["eventName"], data.get("OldImage"), data.get("NewImage")


def test_each_kind_of_write_gives_a_record_with_both_images(cloud, table):
    reader = Reader()
    attach(cloud, reader, shards=1)
    table.put_item(TableName="t", Item=item("a", v=number(1)))
    table.update_item(TableName="t", Key=item("a"), UpdateExpression="SET v = :v", ExpressionAttributeValues={":v": number(2)})
    table.delete_item(TableName="t", Key=item("a"))
    table.update_item(TableName="t", Key=item("b"), UpdateExpression="SET v = :v", ExpressionAttributeValues={":v": number(3)})
    table.batch_write_item(RequestItems={"t": [
        {"PutRequest": {"Item": item("c")}}, {"DeleteRequest": {"Key": item("b")}}, {"DeleteRequest": {"Key": item("none")}},
    ]})
    assert cloud.settle()
    assert sorted(images(r) for r in reader.records if r["dynamodb"]["Keys"] == item("a")) == sorted([
        ("INSERT", None, item("a", v=number(1))),
        ("MODIFY", item("a", v=number(1)), item("a", v=number(2))),
        ("REMOVE", item("a", v=number(2)), None),
    ], key=lambda image: image[0])
    assert [images(r) for r in reader.records if r["dynamodb"]["Keys"] == item("b")] == [
        ("INSERT", None, item("b", v=number(3))), ("REMOVE", item("b", v=number(3)), None),
    ]
    assert [images(r) for r in reader.records if r["dynamodb"]["Keys"] == item("c")] == [("INSERT", None, item("c"))]
    assert len(reader.records) == 6
    sequences = [record["dynamodb"]["SequenceNumber"] for record in reader.records]
    assert sequences == sorted(set(sequences)) and all(21 <= len(each) <= 40 for each in sequences)


def test_what_changes_nothing_gives_no_record(cloud, table):
    reader = Reader()
    table.put_item(TableName="t", Item=item("a", v=number(1)))
    attach(cloud, reader)
    table.put_item(TableName="t", Item=item("a", v=number(1)))
    table.update_item(TableName="t", Key=item("a"), UpdateExpression="SET v = :v", ExpressionAttributeValues={":v": number(1)})
    with pytest.raises(ClientError):
        table.put_item(TableName="t", Item=item("a", v=number(2)), ConditionExpression="attribute_not_exists(pk)")
    table.get_item(TableName="t", Key=item("a"))
    assert cloud.settle()
    assert reader.records == []


def test_a_transaction_gives_all_its_records_or_none_and_leaves_nothing_behind(cloud, table):
    reader = Reader()
    attach(cloud, reader, shards=1)
    put = {"Put": {"TableName": "t", "Item": item("a", "1", v=number(1))}}
    update = {"Update": {
        "TableName": "t", "Key": item("a", "2"), "UpdateExpression": "SET v = :v",
        "ExpressionAttributeValues": {":v": number(2)},
    }}
    table.transact_write_items(TransactItems=[put, update])
    before = table.scan(TableName="t")["Items"]
    change = {"Update": {**update["Update"], "ExpressionAttributeValues": {":v": number(9)}}}
    with pytest.raises(ClientError) as refused:
        table.transact_write_items(TransactItems=[
            change, {"Delete": {"TableName": "t", "Key": item("a", "1")}}, {"Put": {"TableName": "t", "Item": item("new")}},
            {"ConditionCheck": {"TableName": "t", "Key": item("x"), "ConditionExpression": "attribute_exists(pk)"}},
        ])
    assert refused.value.response["Error"]["Code"] == "TransactionCanceledException"
    assert table.scan(TableName="t")["Items"] == before == [item("a", "1", v=number(1)), item("a", "2", v=number(2))]
    assert cloud.settle()
    assert [images(record)[0] for record in reader.records] == ["INSERT", "INSERT"]


def test_records_of_a_key_keep_their_order_when_many_write_at_once(cloud, table):
    reader = Reader(lambda records: None)
    attach(cloud, reader, batch=7)

    def write(key):
        client = boto3.client("dynamodb", region_name="us-east-1")
        for count in range(30):
            client.put_item(TableName="t", Item=item(key, v=number(count)))

    threads = [threading.Thread(target=write, args=(f"key {index}",)) for index in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert cloud.settle(30)
    seen = defaultdict(list)
    for record in reader.records:
        seen[record["dynamodb"]["Keys"]["pk"]["S"]].append(int(record["dynamodb"]["NewImage"]["v"]["N"]))
    assert seen == {f"key {index}": list(range(30)) for index in range(6)}
    assert max(len(batch) for batch in reader.batches) <= 7


def test_a_failed_batch_comes_again_from_the_first_failed_record_on(cloud, table):
    random.seed(3)
    done: list[str] = []
    tries = defaultdict(int)

    def act(records):
        for index, record in enumerate(records):
            value = record["dynamodb"]["NewImage"]["v"]["N"]
            tries[value] += 1
            if tries[value] == 1 and int(value) % 3 == 0:
                if index == 0:
                    raise RuntimeError("not today")
                return {"batchItemFailures": [{"itemIdentifier": record["dynamodb"]["SequenceNumber"]}]}
            done.append(value)
        return {"batchItemFailures": []}

    attach(cloud, Reader(act), shards=1)
    for value in range(10):
        table.put_item(TableName="t", Item=item("a", v=number(value)))
    assert cloud.settle(30)
    assert done == [str(value) for value in range(10)]


@pytest.mark.parametrize(("answer", "count"), [
    (None, 3), ({}, 3), ({"batchItemFailures": []}, 3), ({"batchItemFailures": None}, 3),
    ({"batchItemFailures": [{"itemIdentifier": "2"}]}, 1),
    ({"batchItemFailures": [{"itemIdentifier": "3"}, {"itemIdentifier": "2"}]}, 1),
    ({"batchItemFailures": [{"itemIdentifier": ""}]}, 0), ({"batchItemFailures": [{"itemIdentifier": None}]}, 0),
    ({"batchItemFailures": [{"wrong": "2"}]}, 0), ({"batchItemFailures": [{"itemIdentifier": "9"}]}, 0),
    ("a text", 0),
])
def test_answers(answer, count):
    assert accepted(["1", "2", "3"], answer) == count


def test_bytes_are_base64_in_a_record(cloud, table):
    reader = Reader()
    attach(cloud, reader)
    table.put_item(TableName="t", Item=item("a", v={"M": {"deep": {"B": b"\x00\xff"}}}))
    assert cloud.settle()
    assert reader.records[0]["dynamodb"]["NewImage"]["v"] == {"M": {"deep": {"B": "AP8="}}}


def test_queries_find_the_partition_and_the_index_in_order(cloud, table):
    for pk in ("b", "a"):
        for sk in ("3", "1", "2"):
            table.put_item(TableName="t", Item=item(pk, sk, tenant_pk={"S": pk}, started_sk={"S": str(9 - int(sk))}))
    asked = {"ExpressionAttributeValues": {":v": {"S": "a"}}}
    found = table.query(TableName="t", KeyConditionExpression="pk = :v", **asked)["Items"]
    assert [(row["pk"]["S"], row["sk"]["S"]) for row in found] == [("a", "1"), ("a", "2"), ("a", "3")]
    found = table.query(TableName="t", IndexName="by_tenant", KeyConditionExpression="tenant_pk = :v", **asked)["Items"]
    assert [row["sk"]["S"] for row in found] == ["3", "2", "1"]
    assert len(table.scan(TableName="t")["Items"]) == 6
