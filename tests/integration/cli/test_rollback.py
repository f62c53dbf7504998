"""A local run that undoes what it did: the undos, told beneath `rollback`."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest
from rich.console import Console

from aslant import skills
from infra.cli.gantt import chart
from infra.cli.main import main
from infra.cli.outcome import as_json, as_text
from infra.cli.watch import Lines, Tree
from infra.local.progress import Progress, nested
from infra.local.runner import RunResult, run
from translator.pipeline import Source, compile_sources

SAGA = """\
dialect: canonical
id: saga
name: saga
settings: {on_error: compensate}
steps:
  - id: db
    type: skill
    config: {skill: rb_ok}
    compensation: {id: drop, type: skill, retry: {max_attempts: 1}, config: {skill: UNDO}}
  - id: each
    type: foreach
    depends_on: [db]
    items: [1, 2]
    max_parallel: 1
    steps:
      - {id: bucket, type: skill, config: {skill: rb_ok}, compensation: {id: rm, type: skill, config: {skill: rb_ok}}}
  - {id: bad, type: skill, depends_on: [each], config: {skill: rb_bad}}
"""


class Boom(Exception):
    pass


def bad() -> None:
    raise Boom("boom")


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    skills.register("rb_ok", lambda: 1)
    skills.register("rb_bad", bad)
    yield
    skills.unregister("rb_ok", "rb_bad")


class Both(Lines):
    """Lines, and the tree as it looks at the end."""

    def __init__(self) -> None:
        self.text, self.drawn = io.StringIO(), ""
        super().__init__(self.text)
        self.tree = Tree(Console(file=io.StringIO()))

    def start(self, progress: Progress, started: datetime) -> None:
        super().start(progress, started)
        self.tree._progress, self.tree._started, self.tree._now = progress, started, started

    def stop(self) -> None:
        console = Console(file=io.StringIO(), width=120)
        console.print(self.tree._render())
        self.drawn = console.file.getvalue()  # type: ignore[attr-defined]


def ran(*texts: str, observer: Both | None = None) -> RunResult:
    sources = [Source(text, f"{number}.yaml") for number, text in enumerate(texts)]
    return run(compile_sources(sources), {}, time_scale=10, observer=observer)


def told(result: RunResult) -> list[tuple[str, str]]:
    return [(one.place, one.status.value) for one in nested(result.steps) if "rollback" in one.place]


def test_the_undos_are_shown_in_their_order_with_the_iteration_that_they_undo() -> None:
    seen = Both()
    result = ran(SAGA.replace("UNDO", "rb_ok"), observer=seen)
    places = ["rollback", "rollback > undo bucket[1]", "rollback > undo bucket[0]", "rollback > undo db"]
    assert told(result) == [(place, "completed") for place in places]
    lines = seen.text.getvalue().splitlines()
    assert [line.split()[-5:][-1] for line in lines if "running" in line and "undo" in line] == ["bucket[1]", "bucket[0]", "db"]
    tree = [line.strip("│├└─ ").split("  ")[0] for line in seen.drawn.splitlines()]
    assert tree[-4:] == ["✓ rollback", "✓ undo bucket[1]", "✓ undo bucket[0]", "✓ undo db"]
    rows = [line.split("  ")[1] if line.startswith("  ") else line.split()[0] for line in chart(result).splitlines()[1:]]
    assert rows[-4:] == ["rollback", "undo bucket[1]", "undo bucket[0]", "undo db"]
    assert "rolled back: undone bucket[1], bucket[0], db in " in as_text(result, {})
    document = json.loads(as_json(result))
    assert (document["status"], document["undone"], document["not_undone"]) == (
        "rolled_back", ["bucket[1]", "bucket[0]", "db"], [])
    assert document["error"]["step"] == "bad"


def test_what_cannot_be_undone_is_named_and_the_run_stays_failed() -> None:
    result = ran(SAGA.replace("UNDO", "rb_bad"))
    assert told(result)[0] == ("rollback", "failed") and told(result)[-1] == ("rollback > undo db", "failed")
    text = as_text(result, {})
    assert "failed rollback > undo db: Boom: boom\n" in text and "failed; could not undo db, undone bucket[1], " in text
    document = json.loads(as_json(result))
    assert (document["status"], document["undone"], document["not_undone"]) == (
        "failed", ["bucket[1]", "bucket[0]"], ["db"])


def test_a_run_with_nothing_to_undo_shows_no_rollback() -> None:
    result = ran(SAGA.replace("UNDO", "rb_ok").replace("skill: rb_ok}\n    comp", "skill: rb_bad}\n    comp"))
    document = json.loads(as_json(result))
    assert (document["error"]["step"], document["undone"], document["not_undone"]) == ("db", [], [])
    assert told(result) == []


def test_a_child_is_undone_beneath_the_undo_of_its_step() -> None:
    parent = """\
dialect: canonical
id: parent
name: parent
settings: {on_error: compensate}
steps:
  - {id: call, type: workflow, workflow: kid}
  - {id: bad, type: skill, depends_on: [call], config: {skill: rb_bad}}
"""
    kid = SAGA.replace("UNDO", "rb_ok").replace("saga", "kid").replace("skill: rb_bad", "skill: rb_ok")
    result = ran(parent, kid)
    assert [place for place, _ in told(result)] == ["rollback", "rollback > undo call", *(
        f"rollback > undo call > undo {label}" for label in ("bucket[1]", "bucket[0]", "db"))]
    assert json.loads(as_json(result))["undone"] == ["call"]


def test_a_rolled_back_run_ends_the_command_with_three(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "saga.yaml"
    file.write_text(SAGA.replace("UNDO", "rb_ok"))
    assert main(["run", str(file)]) == 3
    told = capsys.readouterr()
    assert "rollback > undo db" in told.err and "rolled back: undone" in told.err


def test_the_example_of_a_shop_is_undone_with_its_sub_workflow_when_people_give_up(
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = Path(__file__).parents[3] / "infra/workflows"
    assert main(["run", str(folder / "steps-shop.yaml"), "--skills", str(folder / "shop_skills.py"), "-i", "safe=false",
        "--approve", "inspection escalated=abort", "--json", "--watch", "--time-scale", "20"]) == 3
    told = capsys.readouterr()
    lines = [line.split()[1:3] for line in told.err.splitlines()]
    assert [state for state, step in lines if step == "inspection"] == ["running", "waiting_approval", "failed"]
    document = json.loads(told.out)
    assert {step["step"]: step["status"] for step in document["steps"]} == {
        "lease": "completed", "shelves": "completed", "inspection": "failed", "rollback": "completed",
    }
    assert (document["status"], document["error"]["error"]) == ("rolled_back", "NotSafe")
    assert (document["undone"], document["not_undone"]) == (["shelves", "lease"], [])
    (rollback,) = document["steps"][-1]["children"]
    assert [step["step"] for step in rollback["steps"]] == ["undo shelves", "undo lease", "sign"]
    assert [row["step"] for row in document["approvals"]] == ["inspection escalated"]
