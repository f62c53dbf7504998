"""Updates and conditions do here what moto does without our faster way of checking them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import boto3
from botocore.exceptions import ClientError
from moto import mock_aws

from infra.local.moto_patches.loading import load_interpreter

load_interpreter()

from infra.local.moto_patches import updates  # noqa: E402
from infra.local.moto_patches.registry import PATCHES, install  # noqa: E402

ITEM = {
    "pk": {"S": "a"}, "n": {"N": "5"}, "txt": {"S": "x"}, "bag": {"SS": ["p", "q"]}, "seq": {"L": [{"N": "1"}, {"N": "2"}, {"N": "3"}]},
    "tree": {"M": {"inner": {"M": {"n": {"N": "1"}}}}},
}  # fmt: skip
VALUES = {":one": {"N": "1"}, ":text": {"S": "new"}, ":list": {"L": [{"S": "z"}]}, ":set": {"SS": ["q", "r"]}, ":empty": {"S": ""}}
NAMES = {"#status": "status", "#n": "n", "#map": "tree"}
UPDATES = [
    "SET a = :one", "SET #n = #n + :one, m = n", "SET n = n - :one REMOVE txt", "SET #status = :text, a = :one REMOVE seq[0], seq[2]",
    "SET a = if_not_exists(n, :text), b = if_not_exists(none, :text), c = if_not_exists(none, :one) + :one",
    "SET seq = list_append(seq, :list), b = list_append(:list, seq)", "SET tree.inner.n = :text, #map.other = :one",
    "ADD n :one, none :one DELETE #map :set", "ADD #n :one DELETE bag :set", "ADD bag :set", "SET seq[1] = :text, seq[9] = :one",
    "REMOVE none, txt, #n", "SET a = n, b = a", "SET a = :text SET b = :one", "SET a = :one, a = :text", "SET tree = :one, tree.inner = :one",
    "SET pk = :text", "SET #pk = :text", "SET a = :none", "SET #none = :one", "SET a = none", "SET a = b.c", "SET b.c = :one", "SET status = :one",
    "SET a = txt + :one", "SET a = list_append(n, :list)", "SET a = list_append(none, :list)", "SET a", "SET", "GO a = :one", "SET txt.inner = :one",
    "SET key_of_index = :empty", "SET key_of_index = :one", "SET a = (n + :one)", "DELETE txt :set", "ADD txt :one", "REMOVE seq[1], seq[0] SET c = :one",
]  # fmt: skip
CONDITIONS = [
    "attribute_not_exists(pk)", "attribute_exists(pk) AND n > :one", "(n < :one OR #n = :one) AND NOT contains(txt, :text)", "n IN (:one, :text)",
    "n BETWEEN :one AND :one", "size(txt) = :one OR begins_with(txt, :text)", "tree.inner.n = :one", "status = :one", "n ==== :one", "n = :none",
    "#none = :one", "(n = :one", "((n = :one))", "attribute_exists(n, txt)", "txt <> :text",
]  # fmt: skip


def outcome(client: Any, update: str, condition: str) -> Any:
    """The item after the update, or how it was refused."""
    used = f"{update} {condition}"
    given = {
        "ExpressionAttributeNames": {name: real for name, real in NAMES.items() if name in used},
        "ExpressionAttributeValues": {name: value for name, value in VALUES.items() if name in used},
        "ConditionExpression": condition,
    }  # fmt: skip
    client.put_item(TableName="t", Item=ITEM)
    try:
        client.update_item(
            TableName="t", Key={"pk": ITEM["pk"]}, UpdateExpression=update, **{name: value for name, value in given.items() if value}
        )
    except ClientError as error:
        return error.response["Error"]
    except Exception as error:  # moto's own, where it has no answer
        return type(error), str(error)
    return client.get_item(TableName="t", Key={"pk": ITEM["pk"]})["Item"]


def table() -> Any:
    """A client with an empty table."""
    client = boto3.client("dynamodb", region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="a")
    client.create_table(
        TableName="t", KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}], BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "key_of_index")],
        GlobalSecondaryIndexes=[{
            "IndexName": "other", "KeySchema": [{"AttributeName": "key_of_index", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }],
    )  # fmt: skip
    return client


def outcomes(cases: list[tuple[str, str]]) -> Iterator[dict[tuple[str, str, int], Any]]:
    """Of each update and condition, twice: what moto makes of it alone; then what it makes of it with the patches."""
    mine = [one for one in PATCHES if one.replacement.__module__ == updates.__name__]
    assert len(mine) == 7
    for patches in ([], mine):
        with ExitStack() as stack, mock_aws():
            install(stack, patches)
            client = table()
            yield {(update, condition, turn): outcome(client, update, condition) for update, condition in cases for turn in (1, 2)}


def test_an_update_changes_what_it_changes_in_moto():
    alone, patched = outcomes([(update, "") for update in UPDATES])
    assert patched == alone
    assert sum("Code" not in found for found in alone.values()) > 20  # of 74: the others are refused


def test_a_condition_holds_where_it_holds_in_moto():
    alone, patched = outcomes([("SET a = :one", condition) for condition in CONDITIONS])
    assert patched == alone
    assert len({str(found) for found in alone.values()}) > 4
