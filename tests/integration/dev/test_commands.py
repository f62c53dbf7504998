"""The commands on a running `aslant dev`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import boto3
import pytest

from tests.integration.cli.processes import Terminal, environment
from tests.integration.dev.running import LIMIT, Dev, Line

SHOP = """\
dialect: canonical
id: shop
version: 1.2.0
inputs:
  n: {type: integer, required: true, minimum: 1}
  text: {type: string, default: "it's"}
settings: {checkpoint: {policy: every_node}}
outputs: {n: "{{ inputs.n }}", text: "{{ inputs.text }}", answer: "{{ steps.ask.output.answer }}"}
steps:
  - {id: order, type: skill, config: {skill: note, parameters: {name: order}},
     compensation: {id: unorder, type: skill, config: {skill: note, parameters: {name: undo-order}}}}
  - {id: ask, type: approval, depends_on: [order],
     config: {message: "Which one?", approval_type: multiple_choice, options: [red, blue], timeout: 3600, approvers: ["role:ops", ada]}}
  - {id: pack, type: skill, depends_on: [ask], config: {skill: fails_until, parameters: {name: pack, file: packed}}}
"""


@pytest.fixture
def shop(dev: Callable[..., Dev], tmp_path: Path) -> Dev:
    (tmp_path / "shop.yaml").write_text(SHOP, encoding="utf-8")
    return dev("shop.yaml")


def fine(found: tuple[int, str, str]) -> str:
    code, out, err = found
    assert code == 0, err
    return out


def refused(found: tuple[int, str, str]) -> str:
    """The one line that says why, of a command that was refused."""
    code, out, err = found
    assert code == 2 and out == "", (code, out, err)
    (line,) = err.splitlines()
    return line


def test_from_start_to_end_and_back(shop: Dev, line: Line, tmp_path: Path) -> None:
    assert shop.document["published"] == [{"workflow": "shop", "version": "1.2.0", "state": "new"}]
    id = line.start("shop", "-i", "n=3", "--label", "for=test", "--as", "eve")
    (item,) = line.waiting(id)
    assert (item["step"], item["options"], item["approvers"]) == ("ask", ["red", "blue"], ["role:ops", "ada"])
    shown = fine(line("approvals"))
    assert "Which one?" in shown and "1. red" in shown and f"aslant answer {id[:8]} ask CHOICE" in shown
    running = line.json("show", id[:8])
    assert (running["status"], running["substate"], running["labels"], running["user"]) == (
        "running", "waiting_approval", {"for": "test"}, "eve",
    )  # fmt: skip

    # Who is not asked may not answer; a text that is no option is none.
    assert line.json("approvals", "--as", "bob") == []
    assert "not among those who are asked" in refused(line("answer", id, "red", "--as", "bob"))
    assert "one of: red, blue" in refused(line("answer", id, "green", "--as", "ada"))
    assert line.json("answer", id, "ask", "2", "--as", "bob", "--role", "ops")["answer"] == "blue"

    failed = line.status(id, "failed")
    assert failed["error"]["step"] == "pack" and failed["error"]["message"].endswith("not yet")
    code, _, err = line("watch", id)
    assert code == 3 and "pack: RuntimeError" in err
    text = fine(line("show", id))
    assert "✓ order" in text and "✗ pack" in text and "on AWS this costs about $" in text and "█" in text

    (tmp_path / "packed").touch()
    plan = line.json("retry", id, "--plan")
    assert {step["step"]: step["action"] for step in plan["steps"]} == {"order": "kept", "ask": "kept", "pack": "re-runs"}
    code, out, err = line("retry", id)
    assert code == 0 and "goes on with run 2" in out and "kept     order" in err and "re-runs  pack" in err
    assert line.status(id, "completed")["output"] == {"n": 3, "text": "it's", "answer": "blue"}
    assert line.notes() == ["order", "pack", "pack"]
    assert json.loads(fine(line("watch", id))) == {"n": 3, "text": "it's", "answer": "blue"}
    assert [one["after"] for one in line.json("transitions", id)] == ["running", "failed", "running", "completed"]

    # Back to what had completed when `order` had.
    found = line.until(lambda: line.json("checkpoints", id), lambda rows: len(rows) >= 2)
    assert found[0]["steps"] == ["order"]
    code, _, err = line("restore", id, str(found[0]["number"]))
    assert code == 2 and "only with --yes" in err
    fine(line("restore", id, str(found[0]["number"]), "--yes"))
    line.waiting(id)
    fine(line("answer", id, "red"))
    assert line.status(id, "completed")["output"]["answer"] == "red"
    assert line.notes() == ["order", "pack", "pack", "pack"]
    fine(line("rerun", id, "pack", "--yes"))
    line.until(line.notes, lambda notes: len(notes) == 5)
    line.status(id, "completed")
    types = {one["event_type"] for one in line.json("events", id)}
    assert {"workflow_started", "node_completed", "node_failed", "approval_granted", "checkpoint_created"} <= types


def test_pause_cancel_and_rollback(shop: Dev, line: Line) -> None:
    id = line.start("shop", "-i", "n=1")
    line.waiting(id)
    fine(line("pause", id, "--reason", "lunch"))
    fine(line("pause", id))
    assert "reason: lunch" in fine(line("show", id))
    assert "paused" in refused(line("retry", id)) and "paused" in refused(line("retry", id, "--plan"))
    fine(line("checkpoints", id, "create", "--label", "mine"))
    mine = [one for one in line.json("checkpoints", id) if one["label"] == "mine"]
    assert len(mine) == 1 and mine[0]["reason"] == "manual"
    fine(line("checkpoints", id, "delete", str(mine[0]["number"])))
    assert "no checkpoint" in refused(line("checkpoints", id, "show", str(mine[0]["number"])))
    fine(line("resume", id))
    line.waiting(id)
    fine(line("reject", id, "ask", "--comment", "not today"))
    failed = line.status(id, "failed")
    assert failed["error"]["error"] == "ApprovalRejected" and failed["error"]["message"].endswith(": not today")
    assert "undone: order" in fine(line("rollback", id, "--wait"))
    assert line.status(id, "rolled_back")["undone"] == ["order"]
    assert "rolled_back" in refused(line("resume", id, "--plan"))
    assert line.notes() == ["order", "undo-order"]
    id = line.start("shop", "-i", "n=1")
    line.waiting(id)
    fine(line("cancel", id, "--compensate"))
    assert line.status(id, "rolled_back")["undone"] == ["order"]
    assert line.json("approvals") == []
    assert "nothing of the execution" in refused(line("approve", id))


def test_a_definition_that_changed_gets_a_version_of_its_own(shop: Dev, line: Line, tmp_path: Path) -> None:
    id = line.start("shop", "-i", "n=1")
    line.waiting(id)
    fine(line("pause", id))
    assert "(unchanged)" in fine(line("push", "shop.yaml"))
    (tmp_path / "shop.yaml").write_text(SHOP.replace("name: order}", "name: ordered}"), encoding="utf-8")
    (made,) = line.json("push", "shop.yaml")
    assert (made["version"], made["written"], made["state"]) == ("1.2.1", "1.2.0", "changed")
    assert line.json("push", "shop.yaml")[0]["state"] == "unchanged"
    plan = line.json("resume", id, "--version", "1.2.1", "--plan")
    assert {step["step"]: step["action"] for step in plan["steps"]}["order"] == "re-runs"
    code, out, err = line("resume", id, "--version", "1.2.1", "--yes")
    assert code == 0 and "re-runs  order" in err and "done again" in err
    line.until(line.notes, lambda notes: notes == ["order", "ordered"])
    assert line.json("show", id)["version"] == "1.2.1"
    assert line.json("show", line.start("shop", "-i", "n=1", "--version", "1.2.0"))["version"] == "1.2.0"


def test_what_is_wrong_is_told_in_one_line(shop: Dev, line: Line) -> None:
    assert "there is no execution nothing" in refused(line("show", "nothing"))
    assert "there is no workflow other" in refused(line("start", "other"))
    assert "/n" in refused(line("start", "shop", "-i", "n=0"))
    assert "n is required" in refused(line("start", "shop"))
    assert "NAME=VALUE" in refused(line("start", "shop", "-i", "n=1", "--label", "x"))
    assert "cursor" in refused(line("list", "--cursor", "x"))
    assert "is no address" in refused(line("list", "--endpoint", "http://"))
    assert "does not answer" in refused(line("list", "--endpoint", "http://127.0.0.1:1"))
    code, _, err = line("list", "--status", "odd")
    assert code == 2 and "odd" in err


def test_a_key_starts_one_execution_and_lists_have_pages(shop: Dev, line: Line) -> None:
    ids = {line.start("shop", "-i", "n=1", "--key", "k") for _ in range(2)}
    assert len(ids) == 1
    assert "was used for another start" in refused(line("start", "shop", "-i", "n=2", "--key", "k"))
    ids |= {line.start("shop", "-i", "n=1") for _ in range(2)}
    seen: list[str] = []
    cursor: list[str] = []
    while True:
        page = line.json("list", "--limit", "2", *cursor)
        seen += [one["id"] for one in page["executions"]]
        if page["next"] is None:
            break
        cursor = ["--cursor", page["next"]]
    assert sorted(seen) == sorted(ids)
    text = fine(line("list", "--workflow", "shop", "--status", "running"))
    assert all(id[:8] in text for id in ids) and "waiting approval" in text
    assert max(map(len, text.splitlines())) <= 80
    assert fine(line("list", "--workflow", "other")) == ""


def test_large_inputs_and_any_client_of_aws(shop: Dev, line: Line, tmp_path: Path) -> None:
    (tmp_path / "input.json").write_text(json.dumps({"n": 1, "text": "ü" * 60_000}), encoding="utf-8")
    id = line.start("shop", "--input", "@input.json")
    assert line.json("show", id)["input"]["text"] == "ü" * 60_000
    session: Any = boto3.session.Session()
    client = session.client(
        "stepfunctions", endpoint_url=shop.document["url"], region_name="us-east-1", aws_access_key_id="x",
        aws_secret_access_key="x",
    )  # fmt: skip
    machine = line.json("show", id)["machine"]
    assert id in [one["name"] for one in client.list_executions(stateMachineArn=machine)["executions"]]
    # From another folder, by its address or its directory.
    (tmp_path / "inner").mkdir()
    os.chdir(tmp_path / "inner")
    assert line.json("show", id)["id"] == id
    os.chdir("/")
    assert line.json("show", id, "--endpoint", shop.document["url"])["id"] == id
    assert line.json("show", id, "--data", str(tmp_path / ".aslant"))["id"] == id


def test_waiting_for_the_end_in_a_process(shop: Dev, line: Line, tmp_path: Path) -> None:
    (tmp_path / "packed").touch()
    process = subprocess.Popen(
        [sys.executable, "-m", "infra.cli.main", "start", "shop", "-i", "n=7", "--wait"], cwd=tmp_path, env=environment(),
        text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
    )
    (item,) = line.until(lambda: line.json("approvals"))
    fine(line("answer", item["execution"], "red"))
    out, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 0 and json.loads(out)["answer"] == "red"
    assert "waiting approval" in err and "completed" in err
    id = line.json("list")["executions"][0]["id"]
    followed = fine(line("events", id, "--follow"))
    assert followed.splitlines()[0].split()[1] == "workflow_started" and "workflow_completed" in followed


def test_on_a_terminal_it_is_drawn_and_asked(shop: Dev, line: Line, tmp_path: Path) -> None:
    (tmp_path / "packed").touch()
    id = line.start("shop", "-i", "n=7")
    line.waiting(id)
    terminal = Terminal(["watch", id], tmp_path)
    terminal.read_until("waits for an answer")
    fine(line("answer", id, "red"))
    assert "✓ pack" in terminal.read_until(None)
    assert terminal.process.wait(LIMIT) == 0
    asked = Terminal(["rerun", id, "pack"], tmp_path)
    assert "re-runs" in asked.read_until("go on? [y/n]")
    asked.write("n\n")
    assert "nothing was done" in asked.read_until(None)
    assert asked.process.wait(LIMIT) == 2
    assert line.json("show", id)["run"] == 1
