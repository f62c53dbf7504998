"""The command line as a process: terminals, signals, and what is imported."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from infra.cli.main import main
from tests.integration.cli.processes import LIMIT, Forked, Terminal, environment

ASK = """\
dialect: canonical
name: ask
steps:
  - {id: sign-off, type: approval, timeout: 3600, config: {message: "Ship it?"}}
outputs: {by: "{{ steps['sign-off'].output.approved }}"}
"""
NAPS = """\
dialect: canonical
name: naps
steps:
  - {id: nap, type: workflow, workflow: nap}
"""
NAP = """\
dialect: canonical
name: nap
steps:
  - {id: sleep, type: wait, seconds: 3600}
"""


def test_checking_a_definition_imports_neither_aws_nor_the_local_cloud(tmp_path: Path) -> None:
    (tmp_path / "ask.yaml").write_text(ASK, encoding="utf-8")
    code = """if True:
        import sys
        from infra.cli.main import main
        assert main(["validate", "ask.yaml"]) == 0
        heavy = ("boto3", "botocore", "moto", "jsonata", "aws_lambda_powertools", "rich.console", "infra.local.cloud")
        print([name for name in heavy if name in sys.modules])
    """
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment(), capture_output=True, text=True,
        timeout=LIMIT, check=True)
    assert done.stdout == "no findings\n[]\n"


@pytest.mark.parametrize(("answer", "code", "shown"), [("y", 0, '"by": true'), ("maybe\nno", 3, "ApprovalRejected")])
def test_a_person_is_asked_at_the_terminal(answer: str, code: int, shown: str, tmp_path: Path) -> None:
    (tmp_path / "ask.yaml").write_text(ASK, encoding="utf-8")
    terminal = Terminal(["run", "ask.yaml"], tmp_path)
    assert "Ship it?" in terminal.read_until("approve? [y/n] ")
    terminal.write(f"{answer}\n")
    assert terminal.close() == code, terminal.seen
    assert shown in terminal.seen and "\x1b[" in terminal.seen  # a coloured tree
    assert ("neither approve nor reject" in terminal.seen) == (answer != "y")


def test_an_interrupt_stops_the_run_and_its_children(tmp_path: Path) -> None:
    (tmp_path / "naps.yaml").write_text(NAPS, encoding="utf-8")
    (tmp_path / "nap.yaml").write_text(NAP, encoding="utf-8")
    process = Forked(["run", "naps.yaml"], tmp_path)
    first = process.stderr.readline()
    assert "running" in first and "nap" in first
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 130
    assert out == "" and "cancelled" in err and err.endswith("aslant: interrupted\n")


def test_a_pipe_that_closes_early_is_no_fault(tmp_path: Path) -> None:
    steps = "\n".join(f"  - {{id: s{number}, type: wait, seconds: 1}}" for number in range(200))
    (tmp_path / "big.yaml").write_text(f"dialect: canonical\nname: big\nsteps:\n{steps}\n", encoding="utf-8")
    process = subprocess.Popen([sys.executable, "-m", "infra.cli.main", "compile", "big.yaml"], cwd=tmp_path,
        env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait(timeout=LIMIT) == 128 + signal.SIGPIPE


@pytest.mark.parametrize("template", ["hello", "approval"])
def test_a_starter_definition_runs_as_it_is(
    template: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["new", "mine", "--template", template]) == 0
    capsys.readouterr()
    options = ["--approve", "sign-off"] if template == "approval" else []
    code = main(["run", "mine.yaml", *options])
    out, err = capsys.readouterr()
    assert code == 0, err
    output = json.loads(out)
    assert output == ({"greeting": "Good morning, world!"} if template == "hello" else {"parcels": [
        {"parcel": {"to": "north", "pieces": 30}}, {"parcel": {"to": "south", "pieces": 30}}]})
    assert "\x1b" not in err


def test_a_full_disk_behind_standard_output_is_told(tmp_path: Path) -> None:
    (tmp_path / "ask.yaml").write_text(ASK, encoding="utf-8")
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run([sys.executable, "-m", "infra.cli.main", "compile", "ask.yaml"], cwd=tmp_path,
            env=environment(), stdout=full, stderr=subprocess.PIPE, text=True, timeout=LIMIT, check=False)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (2, f"aslant: {os.strerror(errno.ENOSPC)}")


def test_a_closed_standard_output_is_no_fault(tmp_path: Path) -> None:
    (tmp_path / "ask.yaml").write_text(ASK, encoding="utf-8")
    done = subprocess.run(["sh", "-c", f"{sys.executable} -m infra.cli.main compile ask.yaml >&-"], cwd=tmp_path,
        env=environment(), stderr=subprocess.PIPE, text=True, timeout=LIMIT, check=False)
    assert done.returncode == 0
    assert "fault" not in done.stderr
