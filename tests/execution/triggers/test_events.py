"""Events on the bus start executions on the local cloud: each once, chains of workflows, dead letters and their replay."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from aslant import bootstrap
from functions.publish_definition.logic import publish
from infra.cli import dead_letters
from infra.cli.main import main
from infra.local.dev import Dev, dev
from infra.local.home import Home
from infra.local.provision import TENANT
from translator.pipeline import Compilation, Source, compile_sources

FLOWS = {
    "ev": """
triggers:
  - {type: event, config: {event: "order.*", where: "event.total > 100"}}
  - {type: event, config: {event: order.paid}}
steps: [{id: a, type: transform, config: {data: "{{ input.total }}"}}]
outputs: {total: "{{ steps.a.output }}", next: {id: 7}}
""",
    "follower": """
triggers: [{type: workflow, config: {workflow: ev, where: "event.output.total > 100", fields: {number: output.next.id, from: execution}}}]
steps: [{id: a, type: transform, config: {data: "{{ input }}"}}, {id: tell, type: notify, depends_on: [a], config: {channel: event, event_type: told, data: {n: 1}}}]
outputs: {got: "{{ steps.a.output }}"}
""",
    "listener": """
triggers: [{type: event, config: {event: told, source: aslant.workflow, fields: {n: data.n}}}]
steps: [{id: a, type: transform, config: {data: "{{ input }}"}}]
outputs: {got: "{{ steps.a.output }}"}
""",
    "strict": """
triggers: [{type: event, config: {event: order.paid, fields: {needed: needed}}}]
inputs: {needed: {type: string, required: true}}
steps: [{id: a, type: transform, config: {data: 1}}]
""",
}


def put(running: Dev, id: str, text: str) -> None:
    source = Source(f"dialect: canonical\nid: {id}\n{text}")

    def compile(versions: Mapping[str, str]) -> list[Compilation]:
        return compile_sources([source], versions=versions)

    publish(compile, running.settings, TENANT, role="local")


@pytest.fixture
def running(tmp_path: Any) -> Iterator[Dev]:
    with dev(Home(tmp_path / ".aslant"), port=0, api_port=0, time_scale=20) as made:
        yield made


def tell(running: Dev, name: str, id: str, **detail: Any) -> None:
    running.cloud.client("events").put_events(Entries=[{
        "Source": "shop", "DetailType": name, "Detail": json.dumps({"tenant_id": TENANT, "event_id": id, **detail}),
    }])  # fmt: skip


def completed(running: Dev, workflow: str, number: int) -> list[Any]:
    """Outputs of the executions of a workflow, once there are so many and all have ended."""
    executions = bootstrap.executions(running.settings)
    for _ in range(200):
        running.cloud.settle(1)
        found = executions.list(TENANT, workflow=workflow).items
        if len(found) >= number and all(one.status == "completed" for one in found):
            break
    assert len(found) == number and {one.status for one in found} <= {"completed"}
    return [(one, executions.output(TENANT, one.id)) for one in found]


def test_events_start_what_waits_for_them(running: Dev, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for id in ("ev", "follower", "listener"):
        put(running, id, FLOWS[id])
    tell(running, "order.new", "4")
    tell(running, "ORDER.PAID", "3", total=1)
    tell(running, "order.paid", "2", total="150")
    for _ in range(2):  # delivered twice
        tell(running, "order.paid", "1", total=150)
    found = sorted(completed(running, "ev", 2), key=lambda pair: str(pair[1]["total"]))
    assert sorted(str(output["total"]) for _, output in found) == ["150", "150"]
    assert sorted(one.trigger["matched"] for one, _ in found) == [["event-1", "event-2"], ["event-2"]]
    ((follower, output),) = completed(running, "follower", 1)
    assert output["got"]["number"] == 7 and output["got"]["from"] in {one.id for one, _ in found}
    ((listener, output),) = completed(running, "listener", 1)
    assert output == {"got": {"n": 1}} and listener.trigger["chain"] == 3 and listener.trigger["execution"] == follower.id

    put(running, "strict", FLOWS["strict"])
    tell(running, "order.paid", "5", total=7)
    completed(running, "ev", 3)  # the same event; the other workflow refuses it
    assert running.cloud.settle(30)

    @contextmanager
    def connected(args: Any) -> Iterator[Any]:
        yield SimpleNamespace(settings=running.settings)

    monkeypatch.setattr(dead_letters, "connected", connected)
    assert main(["triggers", "dead", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["event"], row["id"], row["tenant"]) == ("order.paid", "5", TENANT)
    put(running, "strict", FLOWS["strict"].replace("required: true", "default: x"))
    assert main(["triggers", "replay"]) == 0 and "1 event sent again" in capsys.readouterr().err
    assert len(completed(running, "strict", 1)) == 1 and len(completed(running, "ev", 3)) == 3
    assert main(["triggers", "dead"]) == 0 and "0 events" in capsys.readouterr().err
