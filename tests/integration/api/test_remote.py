"""Commands and the client over HTTP: the same exit codes, refusals in full, copies from one environment to another."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infra.cli.main import main
from infra.client import ApiProblem, Client
from tests.integration.api.conftest import Api

FLOW = """\
dialect: canonical
id: remote
inputs: {n: {type: integer, required: true}, place: {type: string, default: here}}
steps:
  - {id: one, type: transform, config: {data: "{{ 10 / input.n }} {{ input.place }} test"}}
outputs: {text: "{{ steps.one.output }}"}
"""
ASK = """\
dialect: canonical
id: remote-ask
steps: [{id: ask, type: approval, config: {message: "On?", timeout: 3600}}]
"""
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(api: Api, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """A command line on the API, of ann's unless a token is given."""

    def execute(*argv: str, token: str | None = None) -> tuple[int, str, str]:
        monkeypatch.setenv("ASLANT_TOKEN", api.token(tenant="remote") if token is None else token)
        capsys.readouterr()
        code = main([*argv, "--url", api.running.api.url])
        return (code, *capsys.readouterr())

    return execute


@pytest.fixture
def pushed(run: Run, tmp_path: Path) -> None:
    for name, text in (("flow", FLOW), ("ask", ASK)):
        (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
    code, out, err = run("push", str(tmp_path / "flow.yaml"), str(tmp_path / "ask.yaml"))
    assert code == 0 and "remote 0." in out + err or "remote 1." in out, (out, err)


def test_start_and_wait_tells_by_its_exit_code(run: Run, pushed: None) -> None:
    code, out, err = run("start", "remote", "-i", "n=4", "--wait")
    assert code == 0 and json.loads(out) == {"text": "2.5 here test"} and "workflow_completed" in err
    code, out, err = run("start", "remote", "-i", "n=0", "--wait", "--json")
    assert code == 3 and json.loads(out)["status"] == "failed"
    assert run("start", "remote", "-i", "n=x", "--wait")[0] == 2
    code, _, err = run("start", "nothing")
    assert code == 2 and "no workflow nothing" in err
    assert run("start", "remote", "-i", "n=1", token="wrong")[0] == 2
    assert run("start", "remote", "-i", "n=1", token="")[2].startswith("aslant: there is no token")


def test_the_life_of_an_execution(run: Run, pushed: None, api: Api) -> None:
    id = run("start", "remote-ask")[1].strip()
    end = time.monotonic() + 30
    while id[:8] not in (out := run("approvals")[1]):
        assert time.monotonic() < end
        time.sleep(0.1)
    assert "On?" in out and id[:8] in run("list", "--workflow", "remote-ask")[1]
    assert run("pause", id[:8])[1].strip() == f"{id} paused"
    code, out, _ = run("resume", id[:8], "--plan")
    assert code == 0 and "its request stays open" in out and json.loads(run("show", id, "--json")[1])["status"] == "paused"
    code, out, err = run("resume", id[:8])
    assert code == 0 and out.strip() == f"{id} running" and "its request stays open" in err
    assert "running" in run("retry", id, "--plan")[2]
    while (answered := run("approve", id, "ask", token=api.token(tenant="remote", user="ben")))[0]:
        assert time.monotonic() < end, answered
        time.sleep(0.1)
    code, out, _ = run("watch", id, "--json")
    assert code == 0 and json.loads(out)["status"] == "completed"
    code, out, _ = run("show", id)
    assert code == 0 and "ask" in out and "completed" in out
    code, _, err = run("cancel", id)
    assert code == 2 and "completed" in err


def test_findings_of_the_other_side(run: Run, tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text(FLOW.replace("transform", "nothing"), encoding="utf-8")
    code, _, err = run("push", str(tmp_path / "bad.yaml"))
    assert code == 1 and "bad.yaml:5" in err
    code, _, err = run("skills", "list")
    assert code == 2


def test_a_copy_with_what_is_different_there(
    api: Api, run: Run, pushed: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "token").write_text(api.token(tenant="production"), encoding="ascii")
    profiles = tmp_path / "profiles.toml"
    profiles.write_text(
        f'[staging]\nurl = "{api.running.api.url}"\ntoken_env = "STAGING"\n'
        f'[production]\nurl = "{api.running.api.url}"\ntoken_file = "token"\n[odd]\nurl = "http://example.com"\n[wrong]\nuri = "x"\n',
        encoding="utf-8",
    )
    monkeypatch.setenv("ASLANT_PROFILES", str(profiles))
    monkeypatch.setenv("STAGING", api.token(tenant="remote"))
    over = tmp_path / "production.yaml"
    over.write_text("inputs: {place: {default: there}}\nsteps: [{id: one, config: {data: '{{ input.place }} live'}}]\n", encoding="utf-8")
    assert main(["copy", "remote", "--from", "staging", "--to", "production", "--override", str(over), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["workflow"] == "remote"
    assert main(["start", "remote", "-i", "n=1", "--wait", "--profile", "production"]) == 0
    assert json.loads(capsys.readouterr().out) == {"text": "there live"}
    over.write_text("steps: [{id: three}]\n", encoding="utf-8")
    assert main(["copy", "remote", "--from", "staging", "--to", "production", "--override", str(over)]) == 2
    assert "three" in capsys.readouterr().err
    over.write_text("steps: [{id: one, type: nothing}]\n", encoding="utf-8")
    assert main(["copy", "remote", "--from", "staging", "--to", "production", "--override", str(over)]) == 1
    for profile, words in (("odd", "https"), ("wrong", "url"), ("nowhere", "no profile nowhere")):
        assert main(["list", "--profile", profile]) == 2 and words in capsys.readouterr().err


def test_the_client_asks_again_when_the_other_side_is_busy() -> None:
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    asked: list[tuple[str, str | None]] = []
    statuses = [429, 503, 202, 409]

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append((self.path, self.headers["Idempotency-Key"]))
            self.rfile.read(int(self.headers["Content-Length"]))
            status = statuses.pop(0)
            body = json.dumps(EXECUTION if status == 202 else {"code": "conflict", "detail": "no", "errors": []}).encode()
            self.send_response(status)
            self.send_header("Retry-After", "0")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        client = Client(f"http://127.0.0.1:{server.server_port}", "t")
        assert client.start("a/b", {}).id == "e1"
        assert len({key for _, key in asked}) == 1 and [path for path, _ in asked] == ["/api/v1/workflows/a%2Fb/execute"] * 3
        with pytest.raises(ApiProblem) as refused:
            client.start("a", {})
        assert (refused.value.status, refused.value.code) == (409, "conflict")
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


EXECUTION = {
    "id": "e1", "workflow": "a", "version": "1", "status": "running", "run": 1, "user": "u", "started_at": "t", "finished_at": None,
    "changed_at": "t", "reason": "", "error": None, "machine": "m", "arn": "a", "labels": {}, "trigger": {}, "undone": [],
    "not_undone": [], "usage": {}, "sla_due": None, "sla_breached": False, "parent": None, "timeout_seconds": None, "priority": None,
    "webhook": False, "a_field_of_a_later_version": 1,
}  # fmt: skip
