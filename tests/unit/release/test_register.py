"""A deployed workflow in the catalog, and CloudFormation's requests for it. The stores are fakes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from aslant import bootstrap, serving
from aslant.catalog import Catalog, Change, DefinitionRecord, WorkflowRecord, Written
from aslant.errors import NotFoundError, ValidationError
from aslant.releases import Release
from functions.register_workflow import handler as handlers
from functions.register_workflow.logic import packed, unpacked
from infra.cli.publishing import written_of
from translator.pipeline import compile_source
from translator.release import release_of

NIGHTLY = "triggers:\n  - {type: schedule, config: {cron: '0 6 * * 1-5', timezone: Europe/Paris}}\n"
STEPS = "id: job\nversion: 1.0.0\nsteps:\n  - {id: one, type: transform, config: {data: 1}}\n"


@dataclass
class Releases:
    definitions: Definitions
    kept: dict[tuple[str, str], Release] = field(default_factory=dict)
    withdrawn: list[str] = field(default_factory=list)

    def get(self, tenant: str, workflow: str, version: str | None = None) -> Release:
        if (tenant, workflow) not in self.kept:
            raise NotFoundError(workflow)
        return self.kept[tenant, workflow]

    def put(self, tenant: str, release: Release, change: Change | None = None) -> None:
        if change is not None:
            self.definitions.write(change)
        self.kept[tenant, release["workflow"]] = release

    def withdraw(self, tenant: str, workflow: str) -> None:
        self.withdrawn.append(workflow)


@dataclass
class Schedules:
    kept: dict[str, Any] = field(default_factory=dict)

    def put(
        self, name: str, expression: str, timezone: str, function: str, payload: Mapping[str, Any], *, age: int, window: int
    ) -> None:
        self.kept[name] = (expression, timezone, function)

    def cancel(self, name: str) -> None:
        self.kept.pop(name, None)


@dataclass
class Definitions:
    """Definitions in memory, as far as publishing asks for them."""

    records: dict[tuple[str, str], WorkflowRecord] = field(default_factory=dict)
    texts: dict[tuple[str, str, str], DefinitionRecord] = field(default_factory=dict)

    def read(self, tenant: str, workflow: str) -> WorkflowRecord | None:
        return self.records.get((tenant, workflow))

    def write(self, change: Change) -> None:
        before, after, definition = change
        assert self.records.get((after.tenant, after.id)) == before
        self.records[after.tenant, after.id] = after
        if definition is not None:
            self.texts[after.tenant, after.id, definition.version] = definition

    def definition(self, tenant: str, workflow: str, version: str) -> DefinitionRecord | None:
        return self.texts.get((tenant, workflow, version))

    def versions(self, tenant: str, workflow: str) -> tuple[DefinitionRecord, ...]:
        raise NotImplementedError

    def page(self, tenant: str, *, limit: int, after: str | None) -> tuple[WorkflowRecord, ...]:
        return tuple(one for (owner, _), one in sorted(self.records.items()) if owner == tenant)[:limit]


class Subscriptions:
    def add(self, tenant: str, topic: str, workflow: str) -> None: ...

    def remove(self, tenant: str, topic: str, workflow: str) -> None: ...


@dataclass
class World:
    definitions: Definitions = field(default_factory=Definitions)
    schedules: Schedules = field(default_factory=Schedules)
    answers: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.releases = Releases(self.definitions)
        self.catalog = Catalog(self.definitions, lambda: 1)

    def listed(self) -> list[tuple[str, str, str]]:
        """What the API's list of workflows would have."""
        return [(one.id, one.status, one.published) for one in self.catalog.page("acme", limit=9, after=None)[0]]


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    made = World()

    class Pool:
        def request(self, method: str, url: str, *, body: bytes, headers: Any, timeout: float, retries: int) -> None:
            made.answers.append({"method": method, "url": url, "body": json.loads(body)})

    monkeypatch.setattr(bootstrap, "releases", lambda settings: made.releases)
    monkeypatch.setattr(bootstrap, "catalog", lambda settings: made.catalog)
    monkeypatch.setattr(bootstrap, "schedules", lambda settings: made.schedules)
    monkeypatch.setattr(serving, "subscriptions", lambda settings: Subscriptions())
    monkeypatch.setattr("urllib3.PoolManager", Pool)
    return made


def workflow(text: str) -> tuple[Release, Written]:
    compiled = compile_source(text)
    return release_of(compiled, machine="unknown"), written_of(compiled)


def request(kind: str, machine: str, text: str) -> dict[str, Any]:
    return {
        "RequestType": kind, "ResponseURL": "https://answers.example.com/1", "StackId": "stack", "RequestId": "r1",
        "LogicalResourceId": "Job", "ServiceToken": "function",
        "ResourceProperties": {"Tenant": "acme", "Machine": machine, "Rollback": "", "Workflow": packed(*workflow(text))},
    }  # fmt: skip


def test_a_workflow_is_published_with_the_machine_that_was_deployed(world: World) -> None:
    handlers.handler(request("Create", "arn:1", STEPS + NIGHTLY), None)
    assert world.releases.kept["acme", "job"]["machine"] == "arn:1"
    assert list(world.schedules.kept.values()) == [("cron(0 6 ? * 2-6 *)", "Europe/Paris", "aslant-start-execution")]
    assert world.listed() == [("job", "published", "1.0.0")]
    assert world.catalog.definition("acme", "job").text == STEPS + NIGHTLY
    (answer,) = world.answers
    assert answer["url"] == "https://answers.example.com/1" and answer["method"] == "PUT"
    assert answer["body"] | {"Reason": ""} == {
        "Status": "SUCCESS", "Reason": "", "PhysicalResourceId": "acme#job", "StackId": "stack", "RequestId": "r1",
        "LogicalResourceId": "Job",
    }  # fmt: skip


def test_an_update_takes_away_the_schedules_that_it_has_no_more(world: World) -> None:
    later = STEPS.replace("1.0.0", "1.1.0")
    handlers.handler(request("Create", "arn:1", STEPS + NIGHTLY), None)
    handlers.handler(request("Update", "arn:2", later), None)
    assert world.releases.kept["acme", "job"]["machine"] == "arn:2" and world.schedules.kept == {}
    assert world.listed() == [("job", "published", "1.1.0")]
    handlers.handler(request("Update", "arn:3", STEPS + NIGHTLY), None)  # a rollback
    assert world.listed() == [("job", "published", "1.0.0")] and world.schedules.kept


def test_a_version_keeps_its_definition(world: World) -> None:
    handlers.handler(request("Create", "arn:1", STEPS), None)
    handlers.handler(request("Update", "arn:2", STEPS + NIGHTLY), None)
    assert world.answers[-1]["body"]["Status"] == "FAILED" and "raise its version" in world.answers[-1]["body"]["Reason"]
    assert world.releases.kept["acme", "job"]["machine"] == "arn:1" and world.schedules.kept == {}


def test_what_is_removed_is_withdrawn_unless_somebody_has_published_another(world: World) -> None:
    handlers.handler(request("Create", "arn:1", STEPS + NIGHTLY), None)
    handlers.handler(request("Delete", "arn:0", STEPS + NIGHTLY), None)
    assert world.releases.withdrawn == [] and world.schedules.kept
    handlers.handler(request("Delete", "arn:1", STEPS + NIGHTLY), None)
    assert world.releases.withdrawn == ["job"] and world.schedules.kept == {}
    assert world.listed() == [("job", "archived", "1.0.0")]
    handlers.handler(request("Create", "arn:1", STEPS + NIGHTLY), None)
    assert world.listed() == [("job", "published", "1.0.0")]


def test_cloudformation_gets_an_answer_when_it_fails(world: World) -> None:
    handlers.handler(request("Create", "arn:1", STEPS) | {"ResourceProperties": {"Tenant": "acme", "Workflow": "?"}}, None)
    assert world.answers[0]["body"]["Status"] == "FAILED" and "no packed workflow" in world.answers[0]["body"]["Reason"]
    assert world.releases.kept == {}


def test_packing_is_lossless_and_the_same_each_time() -> None:
    both = workflow(STEPS + NIGHTLY)
    assert unpacked(packed(*both)) == both and packed(*both) == packed(*both)
    with pytest.raises(ValidationError):
        unpacked("AAAA")
