"""`aslant run` is stopped at any moment, meets a hanging skill, a closed or full output: it says so, and leaves nothing."""

from __future__ import annotations

import errno
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.integration.cli.processes import LIMIT, Forked, Terminal, environment, started

EVERYTHING = """\
dialect: canonical
name: everything
steps:
  - {id: first, type: skill, config: {skill: work}}
  - id: both
    type: parallel
    depends_on: [first]
    branches:
      - name: left
        steps:
          - {id: l1, type: skill, config: {skill: work}}
          - {id: l2, type: transform, depends_on: [l1], config: {expression: "steps.l1.output + 1"}}
      - {name: right, steps: [{id: call, type: workflow, workflow: child}]}
  - id: loop
    type: foreach
    depends_on: [both]
    items: [1, 2, 3]
    max_parallel: 2
    steps: [{id: one, type: skill, config: {skill: work}}]
  - {id: ask, type: approval, depends_on: [loop], timeout: 60, config: {message: "go?"}}
  - {id: last, type: wait, seconds: 3600, depends_on: [ask]}
"""
CHILD = """\
dialect: canonical
name: child
steps:
  - {id: inner, type: skill, config: {skill: work}}
  - {id: pause, type: wait, seconds: 1, depends_on: [inner]}
"""
SKILLS = """\
import subprocess, time
from concurrent.futures import ThreadPoolExecutor

def work():
    time.sleep(0.05)
    return 1

def sleep():
    time.sleep(600)

def program():
    subprocess.run(["sleep", "600"])

def pool():
    with ThreadPoolExecutor() as threads:
        threads.submit(time.sleep, 600).result()
"""
TWO = """\
dialect: canonical
name: two
steps:
  - {id: a, type: approval, timeout: 600, depends_on: [], config: {message: "Really?"}}
  - {id: b, type: approval, timeout: 600, depends_on: [], config: {message: "Really?"}}
"""
SAID = {signal.SIGINT: (130, "aslant: interrupted\n"), signal.SIGTERM: (143, "aslant: terminated\n")}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in (("everything.yaml", EVERYTHING), ("child.yaml", CHILD), ("skills.py", SKILLS), ("two.yaml", TWO)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def hanging(folder: Path, skill: str) -> str:
    path = folder / f"{skill}.yaml"
    path.write_text(f"dialect: canonical\nname: hang\nsteps: [{{id: x, type: skill, config: {{skill: {skill}}}}}]\n")
    return path.name


def others(process: subprocess.Popen[str] | Forked) -> list[str]:
    """What is left of the session that the process led, once it had time to end."""
    left: list[str] = []
    for _ in range(100):
        left = subprocess.run(["ps", "-o", "stat=,args=", "-s", str(process.pid)], capture_output=True, text=True,
            check=False).stdout.splitlines()
        left = [line for line in left if not line.startswith("Z")]
        if not left:
            break
        time.sleep(0.05)
    return left


# The word that a line of progress begins with, and how long after it the signal comes.
_MOMENTS = random.Random(20_240_611)
POINTS = [
    (_MOMENTS.choice(["running           first", "running           l1", "running           call",
        "running           loop", "running           one[2]", "waiting_approval  ask", "running           last"]),
     _MOMENTS.uniform(0, 0.12), _MOMENTS.choice([*SAID]))
    for _ in range(8)
]


@pytest.mark.parametrize(("line", "later", "number"), POINTS)
def test_a_run_is_stopped_in_order_at_any_moment(line: str, later: float, number: signal.Signals, folder: Path) -> None:
    process = Forked(["run", "everything.yaml", "--skills", "skills.py", "--approve", "ask", "--time-scale", "5"], folder)
    seen = ""
    while line not in seen:
        text = process.stderr.readline()
        assert text, seen
        seen += text
    time.sleep(later)
    process.send_signal(number)
    out, err = process.communicate(timeout=LIMIT)
    code, said = SAID[number]
    assert (process.returncode, out) == (code, "")
    assert err.endswith(said) and "cancelled" in err
    assert not [word for word in ("Traceback", "ignored", "fault") if word in err]
    assert others(process) == []


@pytest.mark.parametrize("later", [0.15, 0.4, 0.8, 1.2])
def test_a_signal_while_the_run_is_being_prepared(later: float, folder: Path) -> None:
    process = started(["run", "everything.yaml", "--skills", "skills.py"], folder)
    time.sleep(0.15 + later)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=LIMIT)
    # Before the first line of aslant has run, the signal ends Python itself.
    assert (process.returncode, err) == (-signal.SIGTERM, "") or (process.returncode == 143 and err.endswith(SAID[signal.SIGTERM][1]))
    assert out == "" and "Traceback" not in err


@pytest.mark.parametrize("skill", ["sleep", "program", "pool"])
def test_a_skill_that_hangs_does_not_keep_the_process(skill: str, folder: Path) -> None:
    process = Forked(["run", hanging(folder, skill), "--skills", "skills.py"], folder)
    assert "running" in process.stderr.readline()
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=LIMIT)
    assert (process.returncode, out) == (130, "")
    assert "cancelled         x" in err and err.endswith("aslant: interrupted\n")
    assert others(process) == []


def test_an_interrupted_run_prints_one_json_document(folder: Path) -> None:
    process = Forked(["run", hanging(folder, "sleep"), "--skills", "skills.py", "--json", "--watch"], folder)
    assert "running" in process.stderr.readline()
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=LIMIT)
    assert process.returncode == 143
    assert json.loads(out) == {"status": "cancelled", "message": "terminated", "findings": [], "input_problems": []}


def test_a_second_interrupt_ends_at_once(folder: Path) -> None:
    (folder / "stubborn.py").write_text(
        "import time\n\ndef slow():\n    time.sleep(600)\n", encoding="utf-8")
    (folder / "slow.yaml").write_text(
        "dialect: canonical\nname: slow\nsteps: [{id: x, type: skill, config: {skill: slow}}]\n", encoding="utf-8")
    # A stop that takes for ever, as one that meets a fault would.
    code = """if True:
        import signal, sys, time
        from infra.local.cloud import LocalCloud
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's `&` has it ignored
        LocalCloud.stop = lambda *_, **__: (print("stopping", file=sys.stderr, flush=True), time.sleep(600))
        from infra.cli.main import main
        sys.argv[1:] = ["run", "slow.yaml", "--skills", "stubborn.py"]
        sys.exit(main())
    """
    process = subprocess.Popen([sys.executable, "-c", code], cwd=folder, env=environment(), stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stderr is not None
    assert "running" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    assert process.stderr.readline() == "stopping\n"
    time.sleep(0.5)  # longer than what is taken for an echo of the first
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=LIMIT)
    assert (process.returncode, out, err) == (130, "", "aslant: ended at once\n")
    assert others(process) == []


def test_an_interrupt_at_a_question_stops_the_run_and_asks_nothing_more(folder: Path) -> None:
    terminal = Terminal(["run", "two.yaml"], folder)
    terminal.read_until("approve? [y/n] ")
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.close() == 130
    assert terminal.seen.rstrip().endswith("aslant: interrupted")
    assert terminal.seen.count("approve? [y/n]") == 1
    assert "Traceback" not in terminal.seen


def test_two_runs_of_one_file_at_the_same_time_do_not_meet(folder: Path) -> None:
    argv = ["run", "two.yaml", "--approve", "*", "--json"]
    both = [Forked(argv, folder) for _ in range(2)]
    ends = [process.communicate(timeout=LIMIT) for process in both]
    documents = [json.loads(out) for out, _ in ends]
    assert [document["status"] for document in documents] == ["completed"] * 2
    assert [[one["outcome"] for one in document["approvals"]] for document in documents] == [["approved"] * 2] * 2
    assert documents[0]["execution"] != documents[1]["execution"]


@pytest.mark.parametrize("command", [
    ["compile", "child.yaml", "-o", "/dev/full"], ["graph", "child.yaml", "-o", "/dev/full"],
    ["convert", "child.yaml", "--to", "tasks", "-o", "/dev/full"],
], ids=lambda command: command[0])
def test_a_full_disk_behind_an_output_file_is_told(command: list[str], folder: Path) -> None:
    process = started(command, folder)
    out, err = process.communicate(timeout=LIMIT)
    assert (process.returncode, out) == (2, "")
    assert err.splitlines()[-1] == f"aslant: /dev/full: {os.strerror(errno.ENOSPC)}"


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_run_without_one_of_its_streams_runs_all_the_same(closed: str, folder: Path) -> None:
    command = f"exec {sys.executable} -m infra.cli.main run child.yaml --simulate --time-scale 60 {closed}"
    done = subprocess.run(["sh", "-c", command], cwd=folder, env=environment(), capture_output=True, text=True,
        timeout=LIMIT, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ("{}\n" if closed in ("<&-", "2>&-") else "")
    assert "fault" not in done.stderr


def test_a_full_disk_behind_the_result_of_a_run_is_told(folder: Path) -> None:
    with open("/dev/full", "w", encoding="utf-8") as full:
        process = started(["run", "child.yaml", "--simulate", "--time-scale", "60"], folder, stdout=full)
        _, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 2
    assert err.endswith(f"aslant: {os.strerror(errno.ENOSPC)}\n")
