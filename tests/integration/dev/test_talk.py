"""What `aslant dev` and the commands on it say."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.integration.dev.running import Dev, Line

PARENT = """\
dialect: canonical
id: parent
steps: [{id: call, type: workflow, workflow: child}]
"""
CHILD = """\
dialect: canonical
id: child
steps:
  - {id: inside, type: skill, config: {skill: note, parameters: {name: inside}}}
  - {id: ask, type: approval, depends_on: [inside], config: {message: "On?", timeout: 3600}}
"""


def test_a_bad_definition_does_not_keep_the_good_ones(dev: Callable[..., Dev], line: Line, tmp_path: Path) -> None:
    folder = tmp_path / "flows"
    folder.mkdir()
    (folder / "bad.yaml").write_text("dialect: canonical\nid: bad\nsteps: [{id: a, type: nothing}]\n", encoding="utf-8")
    (folder / "calls.yaml").write_text(
        "dialect: canonical\nid: calls\nsteps: [{id: a, type: workflow, workflow: nowhere}]\n", encoding="utf-8"
    )
    (folder / "over.yaml").write_text(PARENT.replace("child", "bad").replace("parent", "over"), encoding="utf-8")
    (folder / "child.yaml").write_text(CHILD, encoding="utf-8")
    running = dev("flows")
    assert [one["workflow"] for one in running.document["workflows"]] == ["child"]
    said = running.errors()
    assert "bad.yaml:3" in said and "calls the workflow nowhere" in said and "`aslant push FILE` does it" in said
    assert running.stop() == 0


def test_what_is_said_of_children_reasons_and_follow_ups(dev: Callable[..., Dev], line: Line, tmp_path: Path) -> None:
    for name, text in (("parent", PARENT), ("child", CHILD)):
        (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
    dev("parent.yaml", "--data", "kept")
    id = line.start("parent", "--data", "kept")
    line.until(lambda: line.json("approvals", id, "--data", "kept"))
    code, out, _ = line("approvals", "--data", "kept")
    assert code == 0 and out.rstrip().endswith("ask --data kept")

    code, out, _ = line("list", "--data", "kept")
    head, first, second = out.splitlines()
    assert code == 0 and head.startswith("id") and max(map(len, out.splitlines())) <= 80
    assert first.startswith(id[:8]) and "parent" in first and "running" in first
    assert second.startswith("  ") and "child" in second and "waiting approval" in second

    code, out, err = line("checkpoints", id, "--data", "kept")
    assert code == 0 and out == "" and f"`aslant checkpoints {id} create --data kept`" in err and "every_node" in err
    code, out, _ = line("pause", id, "--comment", "lunch", "--data", "kept")
    assert code == 0 and f"`aslant resume {id} --data kept`" in out
    assert line("cancel", id, "--reason", "no longer wanted", "--data", "kept")[0] == 0
    code, out, _ = line("show", id, "--data", "kept")
    assert code == 0 and "reason: no longer wanted" in out
    bars = [row for row in out.splitlines() if "█" in row]
    assert any(row.startswith("  inside ") for row in bars), out
    code, _, err = line("watch", id, "--data", "kept")
    assert code == 3 and "reason: no longer wanted" in err


def test_it_starts_at_once_and_says_its_address_last(line: Line, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "child.yaml").write_text(CHILD, encoding="utf-8")
    monkeypatch.setattr("infra.cli.dev.threading", SimpleNamespace(Event=_Stopped, Timer=threading.Timer))
    monkeypatch.setattr("infra.cli.dev.leave", lambda code: None)
    code, out, err = line("dev", "child.yaml", "--port", "0", "--data", "kept")
    lines = out.splitlines()
    assert code == 0 and lines[0] == "starting…" and "listens on http://" in lines[-1]
    assert "aslant list --data kept" in out
    assert "for want of a skill, unless --skills MODULE gives it: note (step inside)" in err


class _Stopped:
    def wait(self) -> None:
        raise KeyboardInterrupt
