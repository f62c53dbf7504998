"""A secret goes through the whole platform, and is found nowhere but in the secret store and where it was sent."""

from __future__ import annotations

import gzip
import json
import logging
import sqlite3
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import urllib3

from aslant import bootstrap, skills
from aslant.approvals.links import PATH
from aslant.approvals.rules import Person
from aslant.errors import StepError
from functions.publish_definition.logic import publish
from infra import inventory
from infra.cli.main import main
from infra.local import provision
from infra.local.dev import Dev, dev
from infra.local.home import Home
from infra.local.issuer import Issuer
from translator.pipeline import Source, compile_sources

CANARY = 'tr0ub4dor&3 "correct" horse/é'
SLUG = "tr0ub4dor-slug-9000"  # one that fits into an address
TENANT = provision.TENANT
DEFINITION = """
dialect: canonical
id: canary
inputs: {url: {type: string}}
settings: {on_error: compensate, checkpoint: {policy: every_node}, retry: {max_attempts: 2, delay: 1, on: ["*"]}}
outputs: {h: "{{ steps.h.output }}"}
steps:
  - id: h
    type: http
    compensation: {id: ch, type: skill, config: {skill: leak_fails, parameters: {key: "{{ secrets.canary }}"}}}
    config: {url: "{{ input.url }}/h", method: POST, body: {a: "{{ secrets.canary }}"},
             auth: {type: basic, username: me, password: "{{ secrets.canary }}"}}
  - id: e
    type: http
    on_failure: {action: continue}
    config: {url: "{{ input.url }}/error?k={{ secrets.slug }}", method: POST, form: {a: "{{ secrets.canary }}"},
             auth: {type: bearer, token: "{{ secrets.canary }}"}}
  - id: n
    type: notify
    config: {channel: [webhook, email], to: a@example.com, url: "{{ input.url }}/n", message: "x {{ secrets.canary }}",
             data: {k: "{{ secrets.canary }}"}, headers: {X-Key: k}}
  - id: m
    type: notify
    on_failure: {action: continue}
    config: {channel: webhook, url: "{{ input.url }}/error/{{ secrets.slug }}", message: "x {{ secrets.canary }}"}
  - {id: a, type: agent, config: {prompt: "say {{ secrets.canary }}"}}
  - {id: s, type: skill, config: {skill: leak, parameters: {key: "{{ secrets.canary }}"}}}
  - {id: f, type: skill, config: {skill: leak_fails, parameters: {key: "{{ secrets.canary }}"}}, on_failure: {action: continue}}
  - {id: t, type: transform, config: {script: "return [data, {data: 1}]", data: "{{ secrets.canary }}"}}
  - {id: u, type: transform, on_failure: {action: continue}, config: {script: "raise ValueError(data)", data: "{{ secrets.canary }}"}}
  - {id: c, type: workflow, workflow: below, input: {told: "{{ steps.s.output }}"}, on_failure: {action: continue},
     depends_on: [h, e, n, m, a, s, f, t, u]}
  - {id: q, type: approval, depends_on: [c], config: {message: "ok {{ secrets.canary }}?", data: ["{{ secrets.canary }}"],
     notify: {channel: webhook, url: "{{ input.url }}/question"}}}
  - {id: z, type: skill, depends_on: [q], config: {skill: leak_fails, parameters: {key: "{{ secrets.canary }}"}}}
"""
BELOW = """
dialect: canonical
id: below
inputs: {told: {}}
steps:
  - {id: y, type: skill, config: {skill: leak_fails, parameters: {key: "{{ secrets.canary }}"}}}
"""
SENT = ("/h", "/error", "/n")  # whom the workflow itself tells


def leak(key: str) -> dict[str, Any]:
    assert key == CANARY
    return {"echo": key, "list": [key, key.upper()], key: 1}


def leak_fails(key: str) -> Any:
    raise RuntimeError(f"the key {key!r} does not fit, nor does {json.dumps(key)}")


@pytest.fixture
def callee() -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """A server that says what it was told, and what it was told."""
    told: list[tuple[str, str]] = []

    class Echo(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0)).decode()
            answer = json.dumps({"path": self.path, "headers": dict(self.headers), "body": body}).encode()
            told.append((self.path, body + str(self.headers)))
            self.send_response(500 if "/error" in self.path else 200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *given: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", told
    server.shutdown()
    server.server_close()


def spelled(text: str) -> bool:
    """Whether the secret is in a text, as it is or as JSON, a URL or text within JSON has it. Its middle is enough."""
    spellings = ("tr0ub4dor", "TR0UB4DOR", "correct\\\" horse", "correct%22")
    return any(each in text for each in spellings)


def run(running: Dev, url: str) -> str:
    """Runs the workflow until it has failed and undone what it can; its id."""
    service = bootstrap.executions(running.settings)
    id = service.start(TENANT, "canary", {"url": url}, user="me", key="one").id
    people = bootstrap.approvals(running.settings)
    until = time.monotonic() + 90
    while (found := service.get(TENANT, id)).status not in ("failed", "rolled_back", "completed") and time.monotonic() < until:
        for item in people.pending(TENANT)[0]:
            try:
                people.decide(TENANT, item["approval_id"], "approve", by=Person("ann"), comment="fine")
            except StepError:
                continue
        time.sleep(0.1)
    assert found.status == "failed", found
    assert found.error is not None and found.error.step == "z"
    assert len(service.children(TENANT, id)) >= 1
    running.cloud.settle(20)
    return id


def sinks(running: Dev, streamed: list[str], events: list[str]) -> Iterator[tuple[str, str]]:
    """All that is kept or told anywhere, but for the secret store."""
    cloud = running.cloud
    dynamodb, s3, states = cloud.client("dynamodb"), cloud.client("s3"), cloud.client("stepfunctions")
    for table in dynamodb.list_tables()["TableNames"]:
        for page in dynamodb.get_paginator("scan").paginate(TableName=table):
            for item in page["Items"]:
                yield f"{table} {item.get('sk')}", json.dumps(item, default=str, ensure_ascii=False)
    for found in s3.list_objects_v2(Bucket=running.settings.bucket).get("Contents", ()):
        data = s3.get_object(Bucket=running.settings.bucket, Key=found["Key"])["Body"].read()
        yield f"s3 {found['Key']}", data.decode("utf-8", "replace")
    for machine in states.list_state_machines()["stateMachines"]:
        arn = machine["stateMachineArn"]
        yield arn, states.describe_state_machine(stateMachineArn=arn)["definition"]
        for execution in states.list_executions(stateMachineArn=arn)["executions"]:
            yield execution["executionArn"], json.dumps(states.describe_execution(executionArn=execution["executionArn"]), default=str)
            for page in states.get_paginator("get_execution_history").paginate(executionArn=execution["executionArn"]):
                for event in page["events"]:
                    yield f"history {event['id']} {event['type']}", json.dumps(event, default=str)
    yield from (("stream", text) for text in streamed)
    yield from (("bus", text) for text in events)


def answers(running: Dev, id: str) -> tuple[str, list[tuple[str, str]]]:
    """What the API says of the execution, and to callers whose token or link is the secret; with it the token of a good one."""
    token = Issuer(running.home.path).token(
        tenant=TENANT, user="ann", roles=("admin",), seconds=600, settings=running.settings
    )  # fmt: skip
    found = []
    with urllib3.PoolManager() as http:

        def ask(method: str, path: str, bearer: str, body: str | None = None) -> None:
            answer = http.request(method, running.api.url + path, body=body, headers={"Authorization": f"Bearer {bearer}"})
            found.append((f"api {method} {path.partition('?')[0]} {answer.status}", answer.data.decode() + str(answer.headers)))

        paths = json.loads(http.request("GET", running.api.url + "/openapi.json").data)["paths"]
        for path in sorted(each for each, methods in paths.items() if "get" in methods):
            path = path.replace("{execution_id}", id).replace("{workflow_id}", "canary").replace("{version}", "1.0.0")
            if "{" not in path:
                ask("GET", path, token)
        for method, path in (("GET", "/api/v1/executions"), ("POST", "/api/v1/workflows/canary/execute"), ("GET", f"{PATH}?l={SLUG}"),
                             ("POST", f"/api/v1/hooks/{SLUG}"), ("POST", f"/api/v1/executions/{id}/retry")):
            ask(method, path, SLUG, json.dumps({"input": CANARY}))
    return token, found


def journal(path: Path) -> Iterator[tuple[str, str]]:
    """Every row of the journal but those of the secret store."""
    with sqlite3.connect(path) as database:
        for (table,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            for row in database.execute(f'SELECT * FROM "{table}"'):
                texts = [gzip.decompress(cell).decode() if isinstance(cell, bytes) and cell[:2] == b"\x1f\x8b" else str(cell) for cell in row]
                if not (table == "kept" and row[0] == "secret"):
                    yield f"journal {table} {row[0]}", " ".join(texts)


def test_a_secret_is_found_nowhere(callee: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: Any, capfd: Any) -> None:
    url, told = callee
    monkeypatch.setenv("ASLANT_HTTP_ALLOW", "127.0.0.1")
    caplog.set_level(logging.DEBUG, logger="aslant")
    streamed: list[str] = []
    events: list[str] = []
    skills.register("leak", leak)
    skills.register("leak_fails", leak_fails)
    home = Home(tmp_path / "home")
    try:
        with dev(home, port=0, time_scale=20) as running:
            running.store_secrets({"canary": CANARY, "slug": SLUG})
            publisher = running.cloud._runtime.functions.find(inventory.PUBLISH_EVENTS).handler

            def listening(event: Any, context: Any) -> Any:
                streamed.append(json.dumps(event, default=str, ensure_ascii=False))
                return publisher(event, context)

            running.cloud.function(inventory.PUBLISH_EVENTS, listening)
            running.cloud.function("listener", lambda event, context: events.append(json.dumps(event, ensure_ascii=False)))
            running.cloud.rule("everything", {"account": [{"exists": True}]}, "listener")
            publish(
                lambda versions: compile_sources([Source(DEFINITION, "canary.yaml"), Source(BELOW, "below.yaml")]),
                running.settings, TENANT, role="local",
            )  # fmt: skip
            id = run(running, url)
            running.announce()
            token, told_by_api = answers(running, id)
            running.cloud.settle(20)
            found = told_by_api + list(sinks(running, streamed, events))
            for words in (["show", id], ["show", id, "--json"], ["events", id, "--json"], ["list", "--json"]):
                capfd.readouterr()
                assert main([*words, "--data", str(home.path)]) == 0
                found.append((f"command {words}", "".join(capfd.readouterr())))
    finally:
        skills.unregister("leak", "leak_fails")
    found += journal(home.journal)
    found.append(("log file", home.log.read_text(encoding="utf-8")))
    found += [("log", record.getMessage()) for record in caplog.records]
    found += [("request", body) for path, body in told if not path.startswith(SENT)]

    # The secret was really used, and what is looked at is really there.
    assert all(any(spelled(path + body) for path, body in told if path.startswith(sent)) for sent in SENT)
    assert any(path.startswith("/question") for path, _ in told)
    kinds = {name.split(" ")[0] for name, _ in found}
    assert {"aslant-executions", "aslant-events", "history", "stream", "bus", "journal", "command", "log", "request"} <= kinds
    assert {name.rpartition(" ")[2] for name, _ in told_by_api} >= {"200", "401"}
    assert [(name, text[:600]) for name, text in found if spelled(text)] == []
    assert [name for name, text in found if token.rpartition(".")[2] in text] == [], "the signature of a caller's token is kept"
