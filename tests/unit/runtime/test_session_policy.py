"""The session policy against the builders of keys: it reaches every key of its tenant and none of another."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from aslant import keys
from aslant.adapters import clients, tenant_session
from aslant.session_policy import document, session_policy
from aslant.settings import Settings
from tests.unit.moto_aws import moto_aws

TENANTS = ["acme", "a", "a*", "?", "${aws:username}", "a#b", "a%23b", "ä ö", "x" * 200, "$", "*", "acme#execution"]
GIVEN: dict[str, Any] = {
    "identifier": "id", "execution": "e", "revision": 1, "number": "1.2.3", "step": "s", "iteration": (1,), "run": 1, "name": "n",
    "parent": "p", "machine": "arn:m", "point": "x", "ref": keys.ApprovalRef("e", "s", (), 1), "requested_at": 1, "approval_id": "i",
    "workflow": "w", "shard": 0, "status": "running", "arn": "arn:m", "topic": "t", "topic_name": "t", "month": "2026-01", "at": 5,
    "endpoint": "e", "window": 1, "per": 60, "digest": "d", "version": "1.0.0", "day": "2026-01-01", "event": "e",
    "limit": "all",
}


def partitions(tenant: str) -> dict[str, str]:
    """The partition key of every builder that takes a tenant, by the builder's name; those of the bucket are apart."""
    found = {}
    for name, build in inspect.getmembers(keys, inspect.isfunction):
        parameters = inspect.signature(build).parameters
        if build.__module__ != keys.__name__ or "tenant" not in parameters or name in ("artifact", "artifacts", "prompt", "circuit"):
            continue
        given = {each: GIVEN[each] for each, about in parameters.items() if each != "tenant" and about.default is about.empty}
        if name in ("run", "checkpoint", "place"):
            given["number"] = 1
        made = build(tenant, **given)
        found[name] = made.pk if isinstance(made, keys.Key) else made
    return found


def like(pattern: str, text: str) -> bool:
    """StringLike of IAM: `*` and `?`, and `${*}` and so on for the characters themselves."""
    parts = re.split(r"(\$\{[*?$]\}|\*|\?)", pattern)
    expression = "".join(
        ".*" if part == "*" else "." if part == "?" else re.escape(part[2]) if re.fullmatch(r"\$\{[*?$]\}", part) else re.escape(part)
        for part in parts
    )
    return re.fullmatch(expression, text, re.DOTALL) is not None


def patterns(tenant: str) -> tuple[list[str], str]:
    items, objects, _ = session_policy(Settings(), tenant)["Statement"]
    return items["Condition"]["ForAllValues:StringLike"]["dynamodb:LeadingKeys"], objects["Resource"][0].split(":::", 1)[1]


@pytest.mark.parametrize("tenant", TENANTS)
def test_own_keys_are_reached_and_no_others(tenant: str) -> None:
    (leading,), objects = patterns(tenant)
    own = partitions(tenant)
    assert len(own) >= 20
    assert {name for name, key in own.items() if not like(leading, key)} == set()
    assert like(objects, f"{Settings().bucket}/{keys.artifact(tenant, 'e', 'n')}") and like(objects, f"{Settings().bucket}/{keys.prompt(tenant, 'p')}")
    for other in (each for each in TENANTS if each != tenant):
        assert {name for name, key in partitions(other).items() if like(leading, key)} == set(), other
        assert not like(objects, f"{Settings().bucket}/{keys.artifact(other, 'e', 'n')}")


def test_what_is_encrypted_can_be_read_with_the_installations_key_alone() -> None:
    arn = "arn:aws:kms:us-east-1:123456789012:key/k"
    key = session_policy(Settings(key=arn), "acme")["Statement"][-1]
    assert (key["Action"], key["Resource"]) == (["kms:Decrypt", "kms:GenerateDataKey"], [arn])


def test_every_index_has_the_tenant_first() -> None:
    """The pattern counts for the partition keys of indexes, which are built by the same module."""
    names = {name for table in (keys.executions_table("t"), keys.catalog_table("t")) for index in table["GlobalSecondaryIndexes"]
        for name in [index["KeySchema"][0]["AttributeName"]]}
    assert names == {"workflow_pk", "tenant_pk", "status_pk", "gsi_pk"}
    assert {"by_workflow", "by_tenant", "by_status", "waiting", "workflows"} <= set(partitions("acme"))


def test_the_document_is_no_more_than_a_session_takes() -> None:
    for tenant in TENANTS:
        text = document(Settings(), tenant, account="123456789012")
        assert len(text) <= 2048 and "Scan" not in text and json.loads(text)["Version"] == "2012-10-17"
        assert all(statement["Effect"] == "Allow" for statement in json.loads(text)["Statement"])


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with moto_aws(monkeypatch):
        tenant_session._known.clear()
        yield
        clients.confine(None)
        tenant_session._known.clear()


def test_requests_go_with_the_role_of_their_tenant(aws: None, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []
    sts = clients.client("sts", "us-east-1")
    assume = sts.assume_role
    monkeypatch.setattr(sts, "assume_role", lambda **given: (asked.append(given), assume(**given))[1])
    settings = Settings(data_role="arn:aws:iam::123456789012:role/data")

    def keys_of(service: str) -> str:
        return str(clients.client(service, "us-east-1")._request_signer._credentials.access_key)

    plain = keys_of("dynamodb")
    tenant_session.enter(Settings(), "acme")
    assert keys_of("dynamodb") == plain and asked == []
    tenant_session.enter(settings, "acme")
    first = keys_of("dynamodb")
    assert first == keys_of("s3") != plain and keys_of("stepfunctions") == plain
    tenant_session.enter(settings, "other")
    assert keys_of("dynamodb") not in (first, plain)
    tenant_session.enter(settings, "acme")
    assert keys_of("dynamodb") == first and len(asked) == 2, "kept for an hour"
    assert asked[0]["Policy"] == document(settings, "acme", account="123456789012") and "acme" not in asked[0]["RoleSessionName"]
    clients.confine(None)
    assert keys_of("dynamodb") == plain
