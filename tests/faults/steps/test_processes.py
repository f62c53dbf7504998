"""Copies of a step in processes of their own, against one server: as on Lambda."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from aslant import keys
from tests.unit.runtime.fakes import one_write_at_a_time

ROOT = Path(__file__).parents[3]
COPY = """
import json, os, sys, time
from pathlib import Path
from tests.faults.steps.support import Context, Effects, event

effects, mode = Path(sys.argv[1]), sys.argv[2]

def act(number):
    (effects / f"{os.getpid()}").touch()
    time.sleep(0.3)
    if mode == "dies":
        os._exit(9)
    return os.getpid()

seconds = 1.0 if mode == "dies" else 30
answer = Effects(act).handler()(event(), Context(seconds))
print(json.dumps(answer["output"]))
"""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """The environment of processes that talk to a server on loopback."""
    import boto3
    from moto.server import ThreadedMotoServer

    one_write_at_a_time(monkeypatch)
    running = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    host, port = running.get_host_and_port()
    url = f"http://{host}:{port}"
    environment = {
        **os.environ, "AWS_ENDPOINT_URL": url, "AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_DEFAULT_REGION": "us-east-1", "ASLANT_EXECUTIONS_TABLE": f"records-{port}",
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "layers/runtime/python")]),
    }
    made: Any = boto3.client("dynamodb", endpoint_url=url, region_name="us-east-1", aws_access_key_id="testing",
        aws_secret_access_key="testing")
    made.create_table(**keys.executions_table(f"records-{port}"))
    yield environment
    running.stop()


def copy(server: dict[str, str], effects: Path, mode: str = "") -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", COPY, str(effects), mode], env=server, cwd=ROOT, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_processes_that_begin_at_once_do_it_once(server, tmp_path):
    copies = [copy(server, tmp_path) for _ in range(3)]
    ended = [each.communicate(timeout=90) for each in copies]
    assert [each.returncode for each in copies] == [0, 0, 0], ended
    (done,) = tmp_path.iterdir()
    assert {json.loads(out) for out, _ in ended} == {int(done.name)}


def test_a_process_that_died_leaves_the_step_to_the_next(server, tmp_path):
    first = copy(server, tmp_path, "dies")
    first.communicate(timeout=90)
    assert first.returncode == 9
    second = copy(server, tmp_path)
    out, err = second.communicate(timeout=90)
    assert json.loads(out) == second.pid, err
    assert {int(each.name) for each in tmp_path.iterdir()} == {first.pid, second.pid}
    third = copy(server, tmp_path)
    assert json.loads(third.communicate(timeout=90)[0]) == second.pid
    assert len(list(tmp_path.iterdir())) == 2
