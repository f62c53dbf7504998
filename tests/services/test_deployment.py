"""The CDK command line tool deploys the stacks into the local cloud; then what is deployed is used, changed and taken away.

Everything goes through deployed functions, in the archives that were deployed; only API Gateway's part is played by
`infra.local.gateway`.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import urllib3

from aslant.settings import Settings
from infra.inventory import API
from infra.local.cloud import LocalCloud
from infra.local.deployed import deployed
from infra.local.gateway import gateway
from infra.local.issuer import ISSUER, PATH, Issuer
from infra.local.moto_patches.formation import formation
from infra.local.server import Server
from infra.local.websocket import Sockets
from tests.infra.conftest import ROOT, synthesize
from tests.services.servers import until

CDK = ROOT / "infra" / "node" / "node_modules" / ".bin" / "cdk"
KEYS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": "us-east-1", "AWS_DEFAULT_REGION": "us-east-1"}
STACKS = {f"aslant-dev-{name}" for name in ("data", "engine", "functions", "events", "api", "workflows-1", "observability")}
PARCEL = """\
dialect: canonical
id: parcel
version: {version}
triggers:
  - {{type: event, config: {{event: parcel.sent, fields: {{from: sender}}}}}}
inputs: {{from: {{type: string, default: nobody}}}}
steps:
  - {{id: ask, type: approval, config: {{message: "Deliver it?", timeout: 3600}}}}
  - {{id: note, type: transform, depends_on: [ask], config: {{data: "{word} {{{{ input.from }}}}"}}}}
outputs: {{note: "{{{{ steps.note.output }}}}"}}
"""
ROUND = """\
dialect: canonical
id: round
version: 1.0.0
triggers: [{type: schedule, config: {every: 1 minute, input: {from: clock}}}]
inputs: {from: {type: string, default: nobody}}
steps: [{id: one, type: transform, config: {data: "{{ input.from }}"}}]
outputs: {from: "{{ steps.one.output }}"}
"""


@dataclass(frozen=True, slots=True)
class Account:
    """The local cloud with what a test needs of it. `assembly(version, word)` is a synthesis with that parcel."""

    cloud: LocalCloud
    url: str
    api: str
    folder: Path
    issuer: Issuer
    http: urllib3.PoolManager

    def assembly(self, name: str, *, version: str = "1.0.0", word: str = "for") -> Path:
        workflows, made = self.folder / f"{name}-workflows", self.folder / name
        workflows.mkdir()
        (workflows / "parcel.yaml").write_text(PARCEL.format(version=version, word=word))
        (workflows / "round.yaml").write_text(ROUND)
        done = synthesize(made, workflows=str(workflows), issuer=ISSUER, keys_url=self.api + PATH)
        assert done.returncode == 0, done.stderr[-3000:]
        return made

    def cdk(self, assembly: Path, *arguments: str) -> str:
        variables = os.environ | KEYS | {"AWS_ENDPOINT_URL": self.url, "AWS_ENDPOINT_URL_S3": self.url, "CI": "true"}
        done = subprocess.run(
            [str(CDK), *arguments, "--no-notices", "--app", str(assembly)], cwd=assembly, env=variables, capture_output=True,
            text=True, timeout=300, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout + done.stderr

    def deploy(self, assembly: Path) -> None:
        self.cdk(assembly, "deploy", "--all", "--method=direct", "--require-approval=never")

    def stacks(self) -> dict[str, str]:
        rows = self.cloud.client("cloudformation").describe_stacks()["Stacks"]
        return {one["StackName"]: one["StackStatus"] for one in rows if one["StackName"] in STACKS}

    def call(self, method: str, path: str, body: Any = None, *, user: str = "ann") -> Any:
        """A request to the deployed API function; what it answers must be good."""
        token = self.issuer.token(tenant="default", user=user, roles=["admin"], seconds=600, settings=Settings())
        answer = self.http.request(
            method, f"{self.api}/api/v1{path}", headers={"Authorization": f"Bearer {token}"}, json=body, retries=False, timeout=90
        )
        assert answer.status < 300, (path, answer.status, answer.data)
        return answer.json()

    def start(self, sender: str) -> str:
        return str(self.call("POST", "/workflows/parcel/execute", {"input": {"from": sender}})["id"])

    def approve(self, execution: str) -> None:
        """Says yes to what the execution asks, as somebody else than who started it."""
        def asked() -> list[str]:
            found = self.call("GET", "/approvals", user="ben")["items"]
            return [one["id"] for one in found if one["execution"] == execution]

        until(asked, f"the approval of {execution}")
        self.call("POST", f"/approvals/{asked()[0]}/approve", {}, user="ben")

    def ended(self, execution: str) -> Any:
        """What the API tells of an execution that has completed."""
        found: list[Any] = []

        def over() -> bool:
            found.append(self.call("GET", f"/executions/{execution}"))
            assert found[-1]["status"] in ("running", "completed"), found[-1]
            return bool(found[-1]["status"] == "completed")

        until(over, f"the end of {execution}")
        return found[-1]

    def note(self, execution: str) -> str:
        self.approve(execution)
        return str(self.ended(execution)["output"]["note"])


@pytest.fixture
def account(tmp_path: Path) -> Iterator[Account]:
    with ExitStack() as stack:
        cloud = stack.enter_context(LocalCloud())
        server = stack.enter_context(Server(0))
        url = f"http://127.0.0.1:{server.port}"
        register = stack.enter_context(deployed(tmp_path / "code", cloud, KEYS | {"AWS_ENDPOINT_URL": url}))
        stack.enter_context(formation(cloud, url, register))
        issuer = Issuer(tmp_path)
        api = stack.enter_context(Server(0, gateway(cloud.functions, API, issuer.keys, Sockets(cloud.functions, "-"))))
        http = stack.enter_context(urllib3.PoolManager())
        yield Account(cloud, url, api.url, tmp_path, issuer, http)


@pytest.mark.timeout(1200)
def test_what_cdk_deploys_runs(account: Account) -> None:
    first, second = account.assembly("first"), account.assembly("second", version="1.1.0", word="to")
    account.cdk(first, "bootstrap", "aws://123456789012/us-east-1", "--output", str(account.folder / "toolkit"))
    account.deploy(first)
    assert account.stacks() == dict.fromkeys(STACKS, "CREATE_COMPLETE")
    # The custom resources ran the deployed code: the workflows are in the API's list.
    assert {one["id"] for one in account.call("GET", "/workflows")["items"]} == {"parcel", "round"}
    by_hand = account.start("ann")
    assert account.note(by_hand) == "for ann"
    old = account.start("old")  # it waits while another version is deployed
    _tell(account, "cid")
    (told,) = _started(account, "parcel", "event")
    assert account.note(told) == "for cid"

    account.deploy(second)
    clocked, *_ = _started(account, "round", "schedule")  # within a minute of a deployment
    assert account.ended(clocked)["output"] == {"from": "clock"}
    new, between = account.start("new"), account.start("between")
    assert (account.note(new), account.note(old)) == ("to new", "for old")

    again = account.assembly("again")
    names = [path.name for path in sorted(first.glob("*.template.json"))]
    assert len(names) == len(STACKS)
    assert [(again / name).read_bytes() for name in names] == [(first / name).read_bytes() for name in names]
    account.deploy(again)  # the rollback: a second synthesis of the first
    assert account.note(account.start("back")) == "for back" and account.note(between) == "to between"
    shown = account.cdk(first, "diff", "--method=template", "--fail")
    assert "Number of stacks with differences: 0" in shown

    account.cdk(first, "destroy", "--all", "--force")
    assert account.stacks() == {}


def _tell(account: Account, sender: str) -> None:
    """Puts an event on the deployed bus."""
    events = account.cloud.client("events")
    (bus,) = [one["Name"] for one in events.list_event_buses()["EventBuses"] if one["Name"] != "default"]
    detail = {"tenant_id": "default", "event_id": "1", "sender": sender}
    events.put_events(Entries=[{
        "Source": "shop", "DetailType": "parcel.sent", "Detail": json.dumps(detail), "EventBusName": bus,
    }])  # fmt: skip


def _started(account: Account, workflow: str, user: str) -> list[str]:
    """Executions of a workflow that a trigger started, once there is one: a schedule of a minute may take that long."""
    def look() -> list[str]:
        rows = account.call("GET", f"/workflows/{workflow}/executions")["items"]
        return [one["id"] for one in rows if str(one["user"]).startswith(user)]

    until(look, f"the start of {workflow} by {user}", patience=120)
    return look()
