"""Tests that need a real server or a real browser: `make test-services` installs both and runs them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from aslant import bootstrap
from aslant.claims import Claims
from functions.steps.http.handler import handler
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
