"""A deployed workflow in the catalog, and CloudFormation's requests for it. The stores are fakes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from aslant import bootstrap, serving
from aslant.errors import NotFoundError, ValidationError
from aslant.releases import Release
from functions.register_workflow import handler as handlers
from functions.register_workflow.logic import packed, unpacked
from translator.pipeline import compile_source
from translator.release import release_of

NIGHTLY = "triggers:\n  - {type: schedule, config: {cron: '0 6 * * 1-5', timezone: Europe/Paris}}\n"
STEPS = "id: job\nversion: 1.0.0\nsteps:\n  - {id: one, type: transform, config: {data: 1}}\n"


@dataclass
class Catalog:
    kept: dict[tuple[str, str], Release] = field(default_factory=dict)
    withdrawn: list[str] = field(default_factory=list)

    def get(self, tenant: str, workflow: str, version: str | None = None) -> Release:
        if (tenant, workflow) not in self.kept:
            raise NotFoundError(workflow)
        return self.kept[tenant, workflow]

    def put(self, tenant: str, release: Release) -> None:
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


class Subscriptions:
    def add(self, tenant: str, topic: str, workflow: str) -> None: ...

    def remove(self, tenant: str, topic: str, workflow: str) -> None: ...


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> tuple[Catalog, Schedules, list[dict[str, Any]]]:
    catalog, schedules, answers = Catalog(), Schedules(), []

    class Pool:
        def request(self, method: str, url: str, *, body: bytes, headers: Any, timeout: float, retries: int) -> None:
            answers.append({"method": method, "url": url, "body": json.loads(body)})

    monkeypatch.setattr(bootstrap, "releases", lambda settings: catalog)
    monkeypatch.setattr(bootstrap, "schedules", lambda settings: schedules)
    monkeypatch.setattr(serving, "subscriptions", lambda settings: Subscriptions())
    monkeypatch.setattr("urllib3.PoolManager", Pool)
    return catalog, schedules, answers


def request(kind: str, machine: str, text: str) -> dict[str, Any]:
    release = release_of(compile_source(text), machine="unknown")
    return {
        "RequestType": kind, "ResponseURL": "https://answers.example.com/1", "StackId": "stack", "RequestId": "r1",
        "LogicalResourceId": "Job", "ServiceToken": "function",
        "ResourceProperties": {"Tenant": "acme", "Machine": machine, "Rollback": "", "Release": packed(release)},
    }  # fmt: skip


def test_a_workflow_is_published_with_the_machine_that_was_deployed(world: Any) -> None:
    catalog, schedules, answers = world
    handlers.handler(request("Create", "arn:1", STEPS + NIGHTLY), None)
    assert catalog.kept["acme", "job"]["machine"] == "arn:1"
    assert list(schedules.kept.values()) == [("cron(0 6 ? * 2-6 *)", "Europe/Paris", "aslant-start-execution")]
    assert answers[0]["url"] == "https://answers.example.com/1" and answers[0]["method"] == "PUT"
    assert answers[0]["body"] | {"Reason": ""} == {
        "Status": "SUCCESS", "Reason": "", "PhysicalResourceId": "acme#job", "StackId": "stack", "RequestId": "r1",
        "LogicalResourceId": "Job",
    }  # fmt: skip


def test_an_update_takes_away_the_schedules_that_it_has_no_more(world: Any) -> None:
    catalog, schedules, _ = world
    handlers.handler(request("Create", "arn:1", STEPS + NIGHTLY), None)
    handlers.handler(request("Update", "arn:2", STEPS), None)
    assert catalog.kept["acme", "job"]["machine"] == "arn:2" and schedules.kept == {}


def test_what_is_removed_is_withdrawn_unless_somebody_has_published_another(world: Any) -> None:
    catalog, schedules, _ = world
    handlers.handler(request("Create", "arn:1", STEPS + NIGHTLY), None)
    handlers.handler(request("Delete", "arn:0", STEPS + NIGHTLY), None)
    assert catalog.withdrawn == [] and schedules.kept
    handlers.handler(request("Delete", "arn:1", STEPS + NIGHTLY), None)
    assert catalog.withdrawn == ["job"] and schedules.kept == {}


def test_cloudformation_gets_an_answer_when_it_fails(world: Any) -> None:
    catalog, _, answers = world
    handlers.handler(request("Create", "arn:1", STEPS) | {"ResourceProperties": {"Tenant": "acme", "Release": "?"}}, None)
    assert answers[0]["body"]["Status"] == "FAILED" and "no packed release" in answers[0]["body"]["Reason"]
    assert catalog.kept == {}


def test_packing_is_lossless_and_the_same_each_time() -> None:
    release = release_of(compile_source(STEPS + NIGHTLY), machine="m")
    assert unpacked(packed(release)) == release and packed(release) == packed(release)
    with pytest.raises(ValidationError):
        unpacked("AAAA")
