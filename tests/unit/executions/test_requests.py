"""How many requests of AWS each call of the store costs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from aslant.executions.records import Checkpoint, Child, Execution, Run
from tests.unit.executions.conftest import fresh_table
from tests.unit.executions.memory import T0


@pytest.fixture
def counted(shared_aws):
    """The store, and the names of the requests that it makes."""
    from aslant.adapters.clients import client

    store, made = fresh_table(), []
    dynamo = client("dynamodb", "us-east-1")

    def count(model, **_):
        made.append(model.name)

    dynamo.meta.events.register("before-call.dynamodb", count)
    yield store, made
    dynamo.meta.events.unregister("before-call.dynamodb", count)


def test_requests(counted):
    store, made = counted

    def cost(call) -> list[str]:
        made.clear()
        cost.answer = call()
        return list(made)

    run = Run(1, "arn", "machine", "1", "start", "ann", T0)
    first = Execution("acme", "x", "flow", "1", "running", 0, 1, "machine", "arn", "ann", T0, T0)
    assert cost(lambda: store.create(first, {"input": 1}, run)) == ["TransactWriteItems"]
    before = cost.answer[1]
    assert cost(lambda: store.read("acme", "x")) == ["GetItem"]
    after = replace(before, status="completed", ttl=5)
    assert cost(lambda: store.transition(before, after, by="me", run=run, output=1)) == ["TransactWriteItems"]
    after = cost.answer
    assert cost(lambda: store.amend(after, replace(after, usage={"a": 1}))) == ["TransactWriteItems"]
    assert cost(lambda: store.amend(after, after)) == []
    for call in (
        lambda: store.steps("acme", "x"), lambda: store.steps("acme", "x", outputs=True), lambda: store.runs("acme", "x"),
        lambda: store.transitions("acme", "x"), lambda: store.children("acme", "x"), lambda: store.checkpoints("acme", "x"),
        lambda: store.last_checkpoint("acme", "x"), lambda: store.set_aside("acme", "x", run=2, chosen=lambda step: True),
        lambda: store.page("acme", workflow="flow", status=None, limit=10, before=None),
    ):
        assert cost(call) == ["Query"]
    assert cost(lambda: store.input("acme", "x")) == ["GetItem"]
    assert cost(lambda: store.add_child("acme", "x", Child("c", "s"))) == ["PutItem"]
    assert cost(lambda: store.put_checkpoint("acme", "x", Checkpoint(1, T0, "manual", "me", 1, (), ""))) == ["TransactWriteItems"]
    assert cost(lambda: store.page("acme", workflow=None, status=None, limit=10, before=None)) == ["Query"] * 4  # its shards
    assert cost(lambda: store.page("acme", workflow=None, status="completed", limit=10, before=None)) == ["Query"] * 4
