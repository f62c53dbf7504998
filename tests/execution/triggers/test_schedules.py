"""A published schedule starts executions by itself on the local cloud, until a version without it is published."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from aslant import bootstrap
from functions.publish_definition.logic import publish
from infra.local.dev import Dev, dev
from infra.local.home import Home
from infra.local.provision import TENANT
from translator.pipeline import Compilation, Source, compile_sources

FLOW = """\
dialect: canonical
id: tick
version: {version}
triggers: [{trigger}]
inputs: {{from: {{type: string, default: nobody}}}}
outputs: {{from: "{{{{ steps.one.output }}}}"}}
steps:
  - {{id: one, type: transform, config: {{data: "{{{{ input.from }}}}"}}}}
  - {{id: rest, type: wait, seconds: {seconds}, depends_on: [one]}}
"""


def put(running: Dev, **given: Any) -> None:
    source = Source(FLOW.format(**{"version": "1.0.0", "seconds": 1} | given))

    def compile(versions: Mapping[str, str]) -> list[Compilation]:
        return compile_sources([source], versions=versions)

    publish(compile, running.settings, TENANT, role="local")


def until(look: Callable[[], Any]) -> Any:
    end = time.monotonic() + 30
    while not (found := look()):
        assert time.monotonic() < end
        time.sleep(0.05)
    return found


@pytest.fixture
def running(tmp_path: Path) -> Any:
    with dev(Home(tmp_path / ".aslant"), port=0, api_port=0, time_scale=120) as made:
        yield made


def test_it_starts_by_itself_until_it_is_taken_out(running: Dev) -> None:
    put(running, trigger="{type: schedule, config: {every: 1 minute, input: {from: clock}}}")
    executions = bootstrap.executions(running.settings)
    until(lambda: sum(one.status == "completed" for one in executions.list(TENANT, workflow="tick").items) >= 2)
    found = executions.list(TENANT, workflow="tick").items
    assert len({one.trigger["at"] for one in found}) == len(found) and {one.user for one in found} == {"schedule"}
    assert executions.output(TENANT, next(one.id for one in found if one.status == "completed")) == {"from": "clock"}
    assert [one["Name"].startswith("trigger-") for one in schedules(running)] == [True]
    put(running, version="2.0.0", trigger="{type: manual}")
    assert schedules(running) == []


def test_what_still_runs_is_not_overtaken(running: Dev) -> None:
    put(running, seconds=600, trigger="{type: schedule, config: {every: 1 minute, overlap: skip}}")
    executions = bootstrap.executions(running.settings)
    (first,) = until(lambda: executions.list(TENANT, workflow="tick").items)
    time.sleep(2)  # four more moments
    assert [one.id for one in executions.list(TENANT, workflow="tick").items] == [first.id]


def schedules(running: Dev) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = running.cloud.client("scheduler").list_schedules()["Schedules"]
    return [one for one in found if not one["Name"].startswith(("sla", "approval"))]
