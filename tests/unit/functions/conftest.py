"""Helpers for tests of step functions: invocations, environments, and servers on loopback."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from aslant import bootstrap
from aslant.model_ports import ModelAnswer, ModelRequest
from tests.unit.runtime.fakes import ForgetfulSteps

EVENTS = Path(__file__).parents[3] / "events" / "steps"


@pytest.fixture(autouse=True)
def step_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every call of a handler is a step's first."""
    store = ForgetfulSteps()
    monkeypatch.setattr(bootstrap, "steps", lambda settings: store)


class NoSkills:
    """A registry in which nothing is."""

    def of(self, tenant: str, name: str) -> list[Any]:
        return []


@pytest.fixture(autouse=True)
def skill_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootstrap, "skill_store", lambda settings: NoSkills())


class Scripted:
    """A model that gives these answers, one after another."""

    def __init__(self, *answers: str | ModelAnswer | Exception) -> None:
        self.answers = list(answers)
        self.requests: list[ModelRequest] = []

    def ask(self, request: ModelRequest) -> ModelAnswer:
        self.requests.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, ModelAnswer) else ModelAnswer(answer, 10, 5)


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Scripted]:
    """Lets agents talk to a model with the answers it is called with."""

    def install(*answers: str | ModelAnswer | Exception) -> Scripted:
        scripted = Scripted(*answers)
        monkeypatch.setattr(bootstrap, "models", lambda settings, config, endpoint=None: scripted)
        return scripted

    return install


@pytest.fixture
def failure(run: Any) -> Callable[..., tuple[str, str]]:
    """How a call of the module's `run` fails: the name of the error, and its message."""

    def fail(config: Any, **more: Any) -> tuple[str, str]:
        with pytest.raises(Exception) as caught:
            run(config, **more)
        return type(caught.value).__name__, str(caught.value)

    return fail


@dataclass
class Answer:
    """What the server sends for a path."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class Seen:
    """A request that the server got."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class Server:
    """An HTTP server on loopback: `answers` by path (without query), `seen` in order."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer | Callable[[Seen], Answer]] = {}
        self.seen: list[Seen] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def respond(self) -> None:
                length = int(self.headers.get("content-length") or 0)
                headers = {name.lower(): value for name, value in self.headers.items()}
                seen = Seen(self.command, self.path, headers, self.rfile.read(length))
                outer.seen.append(seen)
                answer = outer.answers.get(self.path.partition("?")[0], Answer(404, b"nothing here"))
                if callable(answer):
                    answer = answer(seen)
                self.send_response(answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(answer.body)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(answer.body)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = respond

            def log_message(self, *arguments: object) -> None:
                """Quiet."""

        class Quiet(ThreadingHTTPServer):
            def handle_error(self, request: object, client_address: object) -> None:
                """A client that hangs up early is part of the tests."""

        self.server = Quiet(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"

    def answer(self, path: str, status: int = 200, body: bytes = b"", **headers: str) -> None:
        """Underscores in a header's name stand for hyphens."""
        self.answers[path] = Answer(status, body, {name.replace("_", "-"): value for name, value in headers.items()})

    def echo(self, path: str) -> None:
        """Answers with the headers of the request as JSON."""
        kind = {"Content-Type": "application/json"}
        self.answers[path] = lambda seen: Answer(200, json.dumps(seen.headers).encode(), kind)

    def json(self, path: str, value: Any, status: int = 200, **headers: str) -> None:
        self.answers[path] = Answer(status, json.dumps(value).encode(), {"Content-Type": "application/json", **headers})

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


@pytest.fixture
def other_server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


@pytest.fixture
def loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    """Opens loopback for http steps."""
    monkeypatch.setenv("ASLANT_HTTP_ALLOW", "127.0.0.1")


@pytest.fixture
def invocation() -> Callable[..., dict[str, Any]]:
    """An invocation of a step: `invocation("http", {"url": …}, iteration=[1])`."""

    def build(step_type: str, config: Any, **more: Any) -> dict[str, Any]:
        return {"step": "s", "type": step_type, "execution": {"id": "exec-1", "tenant": "acme", "workflow": "wf"},
                "attempt": 0, "config": config, **more}

    return build


@pytest.fixture(scope="session")
def sample() -> Callable[[str], dict[str, Any]]:
    """A sample event by its name."""

    def load(name: str) -> dict[str, Any]:
        data: dict[str, Any] = json.loads((EVENTS / f"{name}.json").read_text())
        return data

    return load


@pytest.fixture
def store_of_approvals(aws: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The table, the key and the role of timers that approvals need."""
    import boto3

    from aslant import keys
    from aslant.settings import Settings

    settings = Settings()
    monkeypatch.setenv("ASLANT_SCHEDULER_ROLE", "arn:aws:iam::123456789012:role/timers")
    dynamodb: Any = boto3.client("dynamodb")
    dynamodb.create_table(**keys.executions_table(settings.executions_table))
    kms: Any = boto3.client("kms")
    kms.create_alias(AliasName=settings.key, TargetKeyId=kms.create_key()["KeyMetadata"]["KeyId"])
