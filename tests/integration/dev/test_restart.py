"""What outlives `aslant dev`: everything, however it ends."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infra.local.home import Home
from tests.integration.dev.running import Dev, Line

CHILD = """\
dialect: canonical
id: child
outputs: {done: "{{ steps.inside.output }}"}
steps:
  - {id: rest, type: wait, seconds: 1}
  - {id: inside, type: skill, depends_on: [rest], config: {skill: note, parameters: {name: inside, seconds: 0.2}}}
"""
JOURNEY = """\
dialect: canonical
id: journey
steps:
  - {id: first, type: skill, config: {skill: note, parameters: {name: first, seconds: 0.1}}}
  - id: both
    type: parallel
    depends_on: [first]
    branches:
      - name: left
        steps:
          - {id: left, type: skill, config: {skill: note, parameters: {name: left, seconds: 0.2}}}
          - {id: odd, type: skill, on_failure: continue, depends_on: [left], config: {skill: shaky, parameters: {name: odd}}}
          - {id: after_odd, type: skill, depends_on: [odd], config: {skill: note, parameters: {name: after_odd}}}
      - name: right
        steps:
          - {id: nap, type: wait, seconds: 1}
          - {id: right, type: skill, depends_on: [nap], config: {skill: note, parameters: {name: right, seconds: 0.1}}}
  - {id: ask, type: approval, depends_on: [both], config: {message: "On?", timeout: 3600}}
  - {id: kid, type: workflow, workflow: child, depends_on: [ask]}
  - id: each
    type: foreach
    depends_on: [kid]
    items: [1, 2, 3]
    max_parallel: 1
    steps:
      - {id: inner, type: skill, config: {skill: note, parameters: {name: "inner-{{ item }}", seconds: 0.1}}}
  - {id: last, type: skill, depends_on: [each], config: {skill: note, parameters: {name: last}}}
"""
LABELS = {  # what the skill notes, by the step that is recorded
    "first": "first", "left": "left", "after_odd": "after_odd", "right": "right", "inside": "inside", "last": "last",
    "inner[0]": "inner-1", "inner[1]": "inner-2", "inner[2]": "inner-3",
}  # fmt: skip


def recorded(folder: Path) -> set[str]:
    """Labels of the steps that the journal has as completed."""
    database = sqlite3.connect(folder / ".aslant" / "journal.db")
    rows = database.execute("SELECT body FROM items WHERE tab = 'aslant-executions'").fetchall()
    database.close()
    items = [json.loads(body) for (body,) in rows]
    return {
        item["step"]["S"] + "".join(f"[{index}]" for index in json.loads(item.get("iteration", {"S": "[]"})["S"]))
        for item in items
        if "#execution#" in item["pk"]["S"] and item["sk"]["S"].startswith("step#") and item["status"]["S"] == "completed"
    }


@pytest.mark.parametrize("seed", [1])
def test_killed_at_any_moment_it_goes_on_and_repeats_nothing_that_was_finished(
    dev: Callable[..., Dev], line: Line, tmp_path: Path, seed: int
) -> None:
    choice = random.Random(seed)
    (tmp_path / "journey.yaml").write_text(JOURNEY, encoding="utf-8")
    (tmp_path / "child.yaml").write_text(CHILD, encoding="utf-8")
    running = dev("journey.yaml")
    id = line.start("journey")
    before: list[tuple[set[str], int]] = []  # what was recorded at each kill, and how many notes there were
    approved = False
    for _ in range(5):
        until = time.monotonic() + choice.uniform(0.2, 1.2)
        while time.monotonic() < until:
            if not approved and line.json("approvals", id):
                line.json("approve", id[:8], "ask", "--comment", "yes")
                approved = True
            time.sleep(0.05)
        running.kill()
        before.append((recorded(tmp_path), len(line.notes())))
        running = dev()
    if not approved:
        line.waiting(id)
        line.json("approve", id, "ask")
    ended = line.status(id, "completed", "failed", "timed_out", "cancelled")
    assert ended["status"] == "completed" and ended["output"] == {"last": "last"}, ended["error"]
    notes = line.notes()
    for done, count in before:
        again = set(notes[count:]) & {LABELS[label] for label in done if label in LABELS}
        assert not again, f"{again} ran again, though they had finished"
        if "after_odd" in done:
            assert "odd" not in notes[count:], "the failure that the workflow had gone on after was tried again"
    assert set(notes) == {*LABELS.values(), "odd"}
    events = line.until(
        lambda: line.json("events", id), lambda found: any(one["event_type"] == "workflow_completed" for one in found)
    )
    assert len({one["event_id"] for one in events}) == len(events)
    assert running.stop() == 0


def test_a_wait_keeps_its_deadline_and_an_answer_stays(dev: Callable[..., Dev], line: Line, tmp_path: Path) -> None:
    (tmp_path / "slow.yaml").write_text("""\
dialect: canonical
id: slow
steps:
  - {id: ask, type: approval, config: {message: "On?", timeout: 3600}}
  - {id: nap, type: wait, seconds: 9, depends_on: [ask]}
""", encoding="utf-8")
    running = dev("slow.yaml")
    id = line.start("slow")
    expires = line.waiting(id)[0]["expires_at"]
    running.kill()
    running = dev()
    assert [one["id"] for one in running.document["continued"]] == [id]
    assert line.waiting(id)[0]["expires_at"] == expires
    line.json("approve", id)
    nap = line.until(lambda: _step(line.json("show", id), "nap"), lambda step: step["status"] == "running")
    answered = _step(line.json("show", id), "ask")
    assert answered["status"] == "completed"
    line.json("checkpoints", id, "create")
    running.kill()
    dev()
    ended = line.status(id, "completed")
    assert [one["why"] for one in ended["runs"]] == ["start", "recover", "recover"]
    # The answer is as old as it is, so a restore does not ask again; the deadline of the wait is the first one.
    assert _step(ended, "ask") == answered
    last = _step(ended, "nap")
    end = _seconds(last["finished_at"])
    assert last["started_at"] == nap["started_at"] and _seconds(nap["started_at"]) + 3.5 <= end
    assert last["duration"] == pytest.approx(end - _seconds(nap["started_at"]), abs=0.01)
    plan = line.json("restore", id, "1", "--plan")
    assert {step["step"]: step["action"] for step in plan["steps"]} == {"ask": "kept", "nap": "re-runs"}


def test_what_rested_goes_on_after_a_restart_as_it_would_have_before(
    dev: Callable[..., Dev], line: Line, tmp_path: Path
) -> None:
    (tmp_path / "rests.yaml").write_text("""\
dialect: canonical
id: rests
steps:
  - {id: odd, type: skill, on_failure: continue, config: {skill: shaky, parameters: {name: odd}}}
  - {id: nap, type: wait, seconds: 2, depends_on: [odd]}
  - {id: end, type: skill, depends_on: [nap], config: {skill: fails_until, parameters: {name: end, file: ready}}}
""", encoding="utf-8")
    running = dev("rests.yaml")
    id = line.start("rests")
    line.until(lambda: line.json("show", id), lambda one: _step(one, "nap")["status"] == "running")
    assert line.json("pause", id)["status"] == "paused"
    assert running.stop() == 0
    running = dev()
    assert running.document["continued"] == []
    line.json("resume", id)
    failed = line.status(id, "failed")
    assert failed["error"]["step"] == "end"
    running.kill()
    (tmp_path / "ready").touch()
    dev()
    line.json("retry", id)
    assert [one["why"] for one in line.status(id, "completed")["runs"]] == ["start", "resume", "retry"]
    assert line.notes() == ["odd", "end", "end"]


def test_killed_while_it_undoes_it_undoes_the_rest(dev: Callable[..., Dev], line: Line, tmp_path: Path) -> None:
    (tmp_path / "saga.yaml").write_text("""\
dialect: canonical
id: saga
steps:
  - {id: a, type: skill, config: {skill: note, parameters: {name: a}},
     compensation: {id: undo_a, type: skill, config: {skill: note, parameters: {name: undo-a, seconds: 1.5}}}}
  - {id: b, type: skill, depends_on: [a], config: {skill: note, parameters: {name: b}},
     compensation: {id: undo_b, type: skill, config: {skill: note, parameters: {name: undo-b}}}}
  - {id: c, type: skill, depends_on: [b], on_failure: rollback, config: {skill: shaky, parameters: {name: c}}}
""", encoding="utf-8")
    running = dev("saga.yaml")
    id = line.start("saga")
    line.until(line.notes, lambda notes: "undo-a" in notes)
    running.kill()
    dev()
    ended = line.status(id, "rolled_back", "failed", "completed")
    assert (ended["status"], ended["undone"], ended["error"]["step"]) == ("rolled_back", ["b", "a"], "c")
    assert line.notes() == ["a", "b", "c", "undo-b", "undo-a", "undo-a"], "only what was cut short is done again"


def test_time_that_runs_faster_does_not_go_back(dev: Callable[..., Dev], line: Line, tmp_path: Path) -> None:
    (tmp_path / "day.yaml").write_text("""\
dialect: canonical
id: day
steps: [{id: nap, type: wait, seconds: 1800}]
""", encoding="utf-8")
    running = dev("day.yaml", "--time-scale", "720")
    id = line.start("day")
    first = line.until(lambda: line.json("show", id), lambda one: one["steps"][0]["status"] == "running")
    running.kill()
    dev("--time-scale", "720")
    ended = line.status(id, "completed")
    assert first["started_at"] < first["steps"][0]["started_at"] < ended["finished_at"]
    assert 1800 <= ended["duration"] < 1800 + 720 * 60
    assert all(one["started_at"] < (one["ended_at"] or "9") for one in ended["runs"])


def _step(view: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(step for step in view["steps"] if step["step"] == name)
    return found


def _seconds(text: str) -> float:
    from datetime import datetime

    return datetime.fromisoformat(text).timestamp()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopped_in_order_it_ends_soon_even_when_a_skill_hangs(
    dev: Callable[..., Dev], line: Line, tmp_path: Path, number: int
) -> None:
    (tmp_path / "hangs.yaml").write_text("""\
dialect: canonical
id: hangs
steps:
  - {id: hang, type: skill, config: {skill: note, parameters: {name: hang, seconds: 600}}}
""", encoding="utf-8")
    running = dev("hangs.yaml")
    id = line.start("hangs")
    line.until(line.notes)
    started = time.monotonic()
    assert running.stop(number) == 0
    assert time.monotonic() - started < 15
    assert "Traceback" not in running.errors() and "has stopped" in running.errors()
    code, _, err = line("list")
    assert code == 2 and "no `aslant dev` is running" in err and "aslant dev" in err
    again = dev()
    assert [one["id"] for one in again.document["continued"]] == [id]
    assert line.json("show", id)["status"] == "running"


def test_one_process_for_a_directory(dev: Callable[..., Dev], line: Line) -> None:
    running = dev()
    code, _, err = line("dev", "--port", "0")
    assert code == 2 and f"process {running.pid}" in err and len(err.splitlines()) == 1
    port = running.document["url"].rpartition(":")[2]
    code, _, err = line("dev", "--port", port, "--data", "other")
    assert code == 2 and f"port {port} is in use" in err and len(err.splitlines()) == 1


def test_the_files_of_one_that_was_killed_are_not_taken_for_it(dev: Callable[..., Dev], line: Line, tmp_path: Path) -> None:
    running = dev()
    running.kill()
    address = json.loads((tmp_path / ".aslant" / "dev.json").read_text(encoding="utf-8"))
    address["pid"] = os.getpid()  # an id that another process has by now
    (tmp_path / ".aslant" / "dev.json").write_text(json.dumps(address), encoding="utf-8")
    code, _, err = line("list")
    assert code == 2 and "no `aslant dev` is running" in err
    assert line("list", "--endpoint", address["url"])[0] == 2


def test_one_that_is_starting_is_told_from_none(line: Line, tmp_path: Path) -> None:
    with Home(tmp_path / ".aslant").taken():
        code, _, err = line("list")
    assert code == 2 and "not ready yet" in err
    code, _, err = line("list")
    assert code == 2 and "no `aslant dev` is running" in err


def test_a_directory_of_a_newer_version_or_of_something_else_is_refused(line: Line, tmp_path: Path) -> None:
    folder = tmp_path / ".aslant"
    folder.mkdir()
    database = sqlite3.connect(folder / "journal.db")
    database.execute("PRAGMA user_version = 99")
    database.commit()
    database.close()
    code, _, err = line("dev", "--port", "0")
    assert code == 2 and "newer version" in err and len(err.splitlines()) == 1
    (folder / "journal.db").write_bytes(b"no database" * 1000)
    code, _, err = line("dev", "--port", "0")
    assert code == 2 and len(err.splitlines()) == 1
    (tmp_path / "file").write_text("", encoding="utf-8")
    code, _, err = line("dev", "--port", "0", "--data", "file")
    assert code == 2 and len(err.splitlines()) == 1


def test_definitions_with_findings_or_missing_children_end_it_before_anything_starts(line: Line, tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("dialect: canonical\nid: bad\nsteps: [{id: a, type: nothing}]\n", encoding="utf-8")
    code, _, err = line("dev", "bad.yaml", "--port", "0")
    assert code == 1 and "bad.yaml:3" in err
    assert not (tmp_path / ".aslant").exists()
    (tmp_path / "calls.yaml").write_text(
        "dialect: canonical\nid: calls\nsteps: [{id: a, type: workflow, workflow: nowhere}]\n", encoding="utf-8"
    )
    code, _, err = line("dev", "calls.yaml", "--port", "0")
    assert code == 1 and "nowhere" in err


def test_what_was_pushed_after_a_file_survives_a_restart(dev: Callable[..., Dev], line: Line, tmp_path: Path) -> None:
    folder, other = tmp_path / "flows", tmp_path / "other.yaml"
    folder.mkdir()
    text = "dialect: canonical\nid: {id}\nsteps: [{{id: a, type: {step}}}]\n"
    calls, waits = "workflow, workflow: called", "wait, seconds: 1"
    (folder / "calls.yaml").write_text(text.format(id="calls", step=calls), encoding="utf-8")
    (folder / "called.yaml").write_text(text.format(id="called", step=waits), encoding="utf-8")
    other.write_text(text.format(id="called", step="wait, seconds: 2"), encoding="utf-8")

    def published(running: Dev) -> list[tuple[str, str]]:
        return sorted((one["workflow"], one["version"]) for one in running.document["workflows"])

    running = dev("flows")
    assert running.document["kept"] == []
    # Changed and pushed, and then overtaken by another push: the file has not changed since.
    (folder / "called.yaml").write_text(text.format(id="called", step="wait, seconds: 3"), encoding="utf-8")
    assert line("push", "flows/called.yaml")[0] == line("push", "other.yaml")[0] == 0
    running.kill()
    running = dev("flows")  # the caller is not bound to it anew either, as it was not by the push
    assert published(running) == [("called", "1.0.2"), ("calls", "1.0.0")]
    assert sorted(one["workflow"] for one in running.document["kept"]) == ["called", "calls"]
    # One that has changed is published, and so is one that was never seen.
    (folder / "called.yaml").write_text(text.format(id="called", step="wait, seconds: 4"), encoding="utf-8")
    (folder / "new.yaml").write_text(text.format(id="new", step=waits), encoding="utf-8")
    running.kill()
    running = dev("flows")
    assert {("called", "1.0.3"), ("new", "1.0.0")} <= set(published(running))
    assert running.document["kept"] == []
