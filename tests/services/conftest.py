"""Tests that need a real server or a real browser: `make test-services` installs both and runs them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from aslant import bootstrap
from aslant.claims import Claims
from functions.steps.http.handler import handler
from functions.steps.query.handler import handler as query
from tests.services.databases import PASSWORD, Server
from tests.unit.runtime.fakes import ForgetfulSteps, MemoryArtifacts

HERE = Path(__file__).parent


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Everybody else's run of `tests` leaves them out: they run when this folder, or something in it, is asked for."""
    asked = (Path(config.invocation_params.dir, argument.partition("::")[0]).resolve() for argument in config.args)
    return None if any(path.is_relative_to(HERE) for path in asked) else True


Call = Callable[..., dict[str, Any]]


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch) -> Call:
    """Calls the handler of http steps as Lambda does, with loopback open: `call(url, method="POST")` -> the output."""
    monkeypatch.setenv("ASLANT_HTTP_ALLOW", "127.0.0.1")
    store = ForgetfulSteps()
    monkeypatch.setattr(bootstrap, "steps", lambda settings: store)
    large = MemoryArtifacts()
    monkeypatch.setattr(bootstrap, "claims", lambda settings, tenant: Claims(large, settings.bucket, tenant))

    def send(url: str, **config: Any) -> dict[str, Any]:
        event = {"step": "fetch", "type": "http", "execution": {"id": "e-1", "tenant": "t", "workflow": "w"},
            "attempt": 0, "config": {"url": url, "timeout": 20, **config}}
        output = handler(event, None)["output"]
        assert isinstance(output, dict)
        return output

    return send


class Secrets:
    """Secrets by name; those of connections are `db`."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}

    def get(self, tenant: str, name: str) -> str:
        return self.values[name]


@pytest.fixture
def secrets(monkeypatch: pytest.MonkeyPatch) -> Secrets:
    store, steps = Secrets(), ForgetfulSteps()
    monkeypatch.setenv("ASLANT_DATABASE_ALLOW", "127.0.0.1")
    monkeypatch.setattr(bootstrap, "steps", lambda settings: steps)
    monkeypatch.setattr(bootstrap, "secrets", lambda settings: store)
    return store


Ask = Callable[..., dict[str, Any]]


@pytest.fixture
def ask(secrets: Secrets) -> Ask:
    """Calls the handler of query steps: `ask(server, "SELECT 1")` -> the output; several queries are one transaction."""

    def send(server: Server, *queries: Any, **config: Any) -> dict[str, Any]:
        secrets.values["db"] = server.url
        pairs = [(each, []) if isinstance(each, str) else each for each in queries]
        asked = [{"query": text, "parameters": values} for text, values in pairs]
        more = asked[0] if len(asked) == 1 else {"statements": asked}
        event = {"step": "ask", "type": "query", "execution": {"id": "e-1", "tenant": "t", "workflow": "w"}, "attempt": 0,
            "config": {"connection": "db", "timeout": 20, **more, **config}}
        output = query(event, None)["output"]
        assert isinstance(output, dict)
        return output

    return send


@pytest.fixture
def failure(ask: Ask) -> Callable[..., tuple[str, str]]:
    """The class and text of the error that the same call ends with."""

    def fail(*args: Any, **more: Any) -> tuple[str, str]:
        with pytest.raises(Exception) as caught:
            ask(*args, **more)
        assert PASSWORD not in str(caught.value)
        return type(caught.value).__name__, str(caught.value)

    return fail
