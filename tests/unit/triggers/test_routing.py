"""Events start what their triggers say, once, in whatever order and however often they come."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from aslant import bootstrap, serving, triggers
from aslant.errors import ConflictError, NotFoundError, RateLimited, ValidationError
from aslant.executions.naming import body_hash, keyed_id
from aslant.executions.records import Execution, Parent
from functions.route_event import handler
from functions.route_event.logic import MAX_CHAIN, Router, notice_of
from translator.pipeline import compile_source
from translator.release import release_of

FLOW = """\
dialect: canonical
id: {id}
triggers: {triggers}
steps: [{{id: a, type: transform, config: {{data: 1}}}}]
"""


@dataclass
class World:
    """Releases, subscriptions and executions in memory."""

    flows: dict[str, Any] = field(default_factory=dict)
    topics: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    kept: dict[str, Execution] = field(default_factory=dict)
    inputs: dict[str, Any] = field(default_factory=dict)
    outputs: dict[str, Any] = field(default_factory=dict)
    refuses: dict[str, Exception] = field(default_factory=dict)
    cancelled: list[str] = field(default_factory=list)

    def publish(self, id: str, written: str, tenant: str = "acme") -> None:
        release = release_of(compile_source(FLOW.format(id=id, triggers=written)), machine="m")
        made: Any = self
        triggers.follow(made, made, tenant, self.flows.get(id), release)
        self.flows[id] = release

    # aslant.triggers.Schedules and Subscriptions
    def put(self, *given: Any, **more: Any) -> None: ...

    def cancel(self, name: str) -> None:
        self.cancelled.append(name)

    def add(self, tenant: str, topic: str, workflow: str) -> None:
        self.topics.setdefault((tenant, topic), set()).add(workflow)

    def remove(self, tenant: str, topic: str, workflow: str) -> None:
        self.topics[tenant, topic].discard(workflow)

    def workflows(self, tenant: str, topics: Iterable[str]) -> list[str]:
        return sorted({one for topic in topics for one in self.topics.get((tenant, topic), ())})

    # Releases, ExecutionStore, Executions
    def get(self, tenant: str, workflow: str) -> Any:
        if workflow not in self.flows:
            raise NotFoundError("no such workflow")
        return self.flows[workflow]

    def read(self, tenant: str, id: str) -> Execution | None:
        found = self.kept.get(id)
        return found if found is not None and found.tenant == tenant else None

    def output(self, tenant: str, id: str) -> Any:
        return self.outputs.get(id)

    def start(self, tenant: str, workflow: str, input: Any, *, user: str, key: str, trigger: Any) -> Execution:
        if workflow in self.refuses:
            raise self.refuses[workflow]
        id, asked = keyed_id(tenant, key), body_hash({"input": input})
        if id in self.kept:
            if self.kept[id].input_hash != asked:
                raise ConflictError("another start")
            return self.kept[id]
        self.kept[id] = Execution(
            tenant, id, workflow, "1.0.0", "running", 1, 1, "m", "a", user, 0, 0, input_hash=asked, trigger=trigger
        )
        self.inputs[id] = input
        return self.kept[id]

    def route(self, name: str, detail: dict[str, Any], *, source: str = "shop", id: str = "1") -> list[str]:
        made: Any = self
        body = {"id": id, "detail-type": name, "source": source, "detail": {"tenant_id": "acme", **detail}}
        return Router(made, made, made, made).route(notice_of(json.dumps(body)))

    def ended(self, execution: str, status: str = "completed", *, event: str = "", output: Any = None) -> list[str]:
        self.outputs[execution] = output
        found = self.kept[execution]
        detail = {"event_id": event or f"{execution}-{status}", "workflow_id": found.workflow, "execution_id": execution}
        return self.route(f"workflow_{status}", detail | {"payload": {"error": {"error": "E"}}}, source="aslant")


def execution(id: str, workflow: str = "first", **more: Any) -> Execution:
    return Execution("acme", id, workflow, "1.0.0", "completed", 1, 1, "m", "a", "ann", 0, 0, **more)


def test_the_case_of_filters_and_types() -> None:
    """Two triggers of one workflow, one with a condition: once for both, and nothing for what cannot be compared."""
    world = World()
    world.publish("ev", '[{type: event, config: {event: "order.*", where: "event.total > 100"}}, {type: event, config: {event: order.paid}}]')
    (both,) = world.route("order.paid", {"total": 150}, id="1")
    assert world.kept[both].trigger["matched"] == ["event-1", "event-2"] and world.inputs[both] == {"total": 150}
    (second,) = world.route("order.paid", {"total": "150"}, id="2")
    assert world.kept[second].trigger["matched"] == ["event-2"]
    assert world.route("order.new", {}, id="3") == [] and world.route("ORDER.PAID", {"total": 1}, id="4") == []
    assert world.route("order.new", {"total": 101}, id="5") != []


def test_an_event_that_comes_again_starts_nothing_new() -> None:
    world = World()
    world.publish("ev", "[{type: event, config: {event: paid}}]")
    first = world.route("paid", {"n": 1}, id="7")
    assert world.route("paid", {"n": 1}, id="7") == first
    assert world.route("paid", {"n": 1, "event_id": "p-1"}, id="8") == world.route("paid", {"n": 1, "event_id": "p-1"}, id="9")
    world.publish("ev", "[{type: event, config: {event: paid, input: {more: 1}}}]")
    assert world.route("paid", {"n": 1}, id="7") == first, "although it would start with something else by now"
    assert len(world.kept) == 2


def test_what_the_input_is_made_of() -> None:
    world = World()
    world.publish("ev", '[{type: event, config: {event: paid, source: "shop*", filter: {state: [new]}, input: {a: 1}, fields: {sku: items.1.sku, b: no}}}]')
    (id,) = world.route("paid", {"state": "new", "items": [{"sku": "x"}, {"sku": "y"}]}, source="shop.eu")
    assert world.inputs[id] == {"a": 1, "sku": "y"} and world.kept[id].user == "event"
    assert world.route("paid", {"state": "old"}, id="2") == [] and world.route("paid", {"state": "new"}, id="3", source="x") == []


def test_chains_by_the_end_of_another_workflow() -> None:
    world = World(kept={"e1": execution("e1")})
    world.publish("good", '[{type: workflow, config: {workflow: first, where: "event.output.n > 3"}}]')
    world.publish("bad", "[{type: workflow, config: {workflow: first, status: [failed, timed_out], fields: {why: error.error, id: execution}}}]")
    world.publish("other", "[{type: workflow, config: {workflow: second}}]")
    (id,) = world.ended("e1", output={"n": 4})
    assert world.kept[id].workflow == "good" and world.inputs[id] == {"n": 4}
    assert world.kept[id].trigger | {} == {"type": "workflow", "id": "workflow-1", "matched": ["workflow-1"],
        "event": "e1-completed", "name": "workflow_completed", "chain": 1, "execution": "e1"}
    assert world.ended("e1", event="again", output={"n": 2}) == []
    (id,) = world.ended("e1", "failed")
    assert world.kept[id].workflow == "bad" and world.inputs[id] == {"why": "E", "id": "e1"}
    assert world.route("workflow_completed", {"workflow_id": "first", "execution_id": "e1"}, source="shop", id="x") == [], "not ours"


def test_events_in_another_order_start_the_same() -> None:
    def routed(*names: str) -> set[tuple[str, str]]:
        world = World(kept={"e1": execution("e1")})
        world.publish("good", "[{type: workflow, config: {workflow: first, status: [completed, failed]}}]")
        for name in names:
            world.ended("e1", name, output={"x": 1})
        return {(id, one.trigger["name"]) for id, one in world.kept.items() if id != "e1"}

    assert routed("failed", "completed") == routed("completed", "failed", "completed", "failed")
    assert len(routed("failed", "completed")) == 2


def test_a_chain_ends() -> None:
    world = World(kept={"e0": execution("e0", "ping")})
    world.publish("ping", "[{type: workflow, config: {workflow: pong}}]")
    world.publish("pong", "[{type: workflow, config: {workflow: ping}}]")
    started, id = 0, "e0"
    while found := world.ended(id):
        (id,), started = found, started + 1
        assert started <= MAX_CHAIN
    assert started == MAX_CHAIN and world.kept[id].trigger["chain"] == MAX_CHAIN
    child = replace(execution("kid", "ping"), parent=Parent(id, "call"))
    world.kept["kid"] = child
    assert world.ended("kid") == [], "a child belongs to the chain of its parent"


def test_one_that_fails_does_not_keep_the_others_from_it() -> None:
    world = World()
    for name in ("a", "b", "c"):
        world.publish(name, "[{type: event, config: {event: paid}}]")
    world.refuses = {"a": RateLimited("too many"), "b": ValidationError("no")}
    with pytest.raises(RateLimited):
        world.route("paid", {})
    assert [one.workflow for one in world.kept.values()] == ["c"]
    world.refuses = {}
    assert len(world.route("paid", {})) == 3 and len(world.kept) == 3


def test_tenants_are_apart_and_an_event_without_one_is_refused() -> None:
    world = World()
    world.publish("ev", "[{type: event, config: {event: paid}}]", tenant="other")
    assert world.route("paid", {}) == []
    assert len(world.route("paid", {"tenant_id": None, "organization_id": "other"})) == 1
    for body in ("", "[]", "{}", '{"detail": 1}', json.dumps({"id": "1", "detail-type": "paid", "source": "s", "detail": {}}),
                 json.dumps({"id": "1", "detail-type": "paid", "source": "s", "detail": {"tenant_id": 5}})):
        with pytest.raises(ValidationError):
            notice_of(body)


def test_a_version_without_the_trigger_takes_it_out() -> None:
    world = World()
    world.publish("ev", "[{type: event, config: {event: [paid, sent]}}, {type: event, config: {event: x, enabled: false}}]")
    world.publish("ev", "[{type: event, config: {event: sent}}]")
    assert {topic for (_, topic), flows in world.topics.items() if flows} == {"event:sent"}
    assert world.route("paid", {}) == [] and world.route("x", {}, id="2") == [] and len(world.route("sent", {}, id="3")) == 1


def test_the_sample_of_the_function(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a batch those come again that failed."""
    world = World(kept={"0190": execution("0190")})
    made: Any = world
    world.publish("ev", "[{type: event, config: {event: order.paid, fields: {id: order.id}}}]")
    monkeypatch.setattr(serving, "subscriptions", lambda settings: made)
    for port in ("releases", "executions", "execution_store"):
        monkeypatch.setattr(bootstrap, port, lambda settings: made)
    sample = json.loads((Path(__file__).parents[3] / "events/routing/batch.json").read_text())
    answer = handler.handler(sample, None)
    assert answer == {"batchItemFailures": [{"itemIdentifier": sample["Records"][2]["messageId"]}]}
    assert [world.inputs[id] for id in world.inputs] == [{"id": 7}]
    assert handler.handler({"Records": sample["Records"][2:]}, None) == answer, "also when all of them fail"
