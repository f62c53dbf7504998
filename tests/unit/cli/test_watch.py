"""Progress of a run, as a tree and as lines."""

from __future__ import annotations

import io
from datetime import UTC, datetime, timedelta

import pytest
from rich.console import Console

from infra.cli.watch import Lines, Tree, duration
from infra.local.progress import Child, Progress, Status, nested
from translator.model.workflow import Edge, Step, Workflow

START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def progress() -> Progress:
    return Progress(Workflow("w", "Nightly", (
        Step("fetch", "http", name="Fetch all"),
        Step("each", "foreach", depends_on=(Edge("fetch"),), steps=(
            Step("part", "skill"), Step("deep", "foreach", steps=(Step("leaf", "skill"),)),
        )),
        Step("both", "parallel", branches=((Step("left", "skill"),), (Step("right", "skill"),))),
    ), finally_=(Step("tidy", "skill"),)))


def settle(board: Progress, step: str, iteration: tuple[int, ...], status: Status, start: float, end: float) -> None:
    run = board.run(step, iteration)
    run.status, run.started, run.ended, run.attempts = status, at(start), at(end), 1


def test_a_step_has_as_many_indexes_as_loops_around_it() -> None:
    board = progress()
    assert board.run("part", (3,)).label == "part[3]"
    assert board.run("leaf", (3, 1)).label == "leaf[3][1]"
    assert board.run("fetch", (3, 1)) is board.run("fetch")
    board.run("part", (1,))
    assert board.iterations("each", ()) == [1, 3]
    assert board.iterations("deep", (3,)) == [1]
    assert board.iterations("deep", (1,)) == []


def test_steps_are_listed_in_the_order_of_the_definition_and_iterations_by_index() -> None:
    board = progress()
    for step, iteration in (("tidy", ()), ("part", (10,)), ("part", (2,)), ("fetch", ())):
        board.run(step, iteration)
    assert [run.label for run in board.ordered()] == ["fetch", "part[2]", "part[10]", "tidy"]


@pytest.mark.parametrize(("completed", "open_", "untouched"), [
    (True, Status.COMPLETED, Status.SKIPPED), (False, Status.CANCELLED, Status.NOT_STARTED),
])
def test_the_end_settles_what_is_open(completed: bool, open_: Status, untouched: Status) -> None:
    board = progress()
    board.run("fetch").status = Status.RUNNING
    board.run("left").status = Status.WAITING
    board.finish(completed=completed, now=at(9))
    states = {run.label: run.status for run in board.ordered()}
    assert states["fetch"] is open_ and states["left"] is open_
    assert states["right"] is untouched and states["tidy"] is untouched


def test_lines_tell_each_change_once_in_the_order_of_time() -> None:
    board, stream = progress(), io.StringIO()
    lines = Lines(stream)
    lines.start(board, START)
    settle(board, "right", (), Status.FAILED, 1, 62)
    board.run("right").error = "NetworkError"
    settle(board, "fetch", (), Status.COMPLETED, 0, 0.5)
    lines.update(at(62))
    lines.update(at(63))
    board.run("part", (0,)).attempts = 2
    board.run("part", (0,)).status = Status.RUNNING
    board.run("part", (0,)).started = at(63)
    lines.update(at(64))
    assert [line.split() for line in stream.getvalue().splitlines()] == [
        ["0:00.5", "completed", "fetch", "(0.5", "s)"],
        ["1:02.0", "failed", "right", "(1", "min", "01", "s,", "NetworkError)"],
        ["1:03.0", "running", "part[0]"],
        ["1:04.0", "retrying", "part[0]", "(attempt", "2)"],
    ]


def test_a_retry_says_why_the_attempt_before_it_failed() -> None:
    board, stream = progress(), io.StringIO()
    lines = Lines(stream)
    lines.start(board, START)
    run = board.run("fetch")
    run.status, run.started, run.attempts, run.before = Status.RUNNING, at(0), 2, ("RateLimited", "step fetch: too many\ncalls")
    lines.update(at(1))
    assert "retrying" in stream.getvalue()
    assert "fetch (attempt 2, after RateLimited: too many calls)" in stream.getvalue()


def test_what_happened_in_one_instant_is_told_as_it_began_and_the_inner_before_the_outer() -> None:
    board, stream = progress(), io.StringIO()
    lines = Lines(stream)
    lines.start(board, START)
    settle(board, "both", (), Status.COMPLETED, 1, 3)
    settle(board, "right", (), Status.COMPLETED, 1.5, 3)
    settle(board, "left", (), Status.COMPLETED, 2, 3)
    settle(board, "fetch", (), Status.COMPLETED, 3, 3)
    lines.update(at(4))
    assert [line.split()[2] for line in stream.getvalue().splitlines()] == ["right", "left", "fetch", "both"]


def test_a_retry_is_told_before_the_end_of_its_attempt_and_lines_never_go_back_in_time() -> None:
    board, stream = progress(), io.StringIO()
    lines = Lines(stream)
    lines.start(board, START)
    settle(board, "fetch", (), Status.COMPLETED, 0, 3)
    board.run("fetch").attempts, board.run("fetch").retried = 2, at(1)
    settle(board, "left", (), Status.FAILED, 1, 2)
    board.run("left").attempts, board.run("left").retried = 3, None  # nobody knows when
    lines.update(at(4))
    lines.note("asked")
    settle(board, "right", (), Status.COMPLETED, 2, 3.5)
    lines.update(at(5))
    assert [line.split()[:3] for line in stream.getvalue().splitlines()] == [
        ["0:01.0", "retrying", "fetch"], ["0:02.0", "failed", "left"], ["0:03.0", "completed", "fetch"],
        ["0:04.0", "note", "asked"], ["0:04.0", "completed", "right"],
    ]


def test_a_failure_says_why_in_one_line() -> None:
    board, stream = progress(), io.StringIO()
    lines = Lines(stream)
    lines.start(board, START)
    settle(board, "part", (3,), Status.FAILED, 0, 1)
    board.run("part", (3,)).error, board.run("part", (3,)).message = "Odd", "step part[3]: first\nsecond " + "x" * 500
    lines.update(at(1))
    (line,) = stream.getvalue().splitlines()
    assert "Odd: first second xxx" in line and line.endswith("…)") and len(line) < 250


def test_a_step_is_skipped_once_one_that_waits_for_it_runs() -> None:
    board = Progress(Workflow("w", "W", (
        Step("a", "skill"), Step("b", "skill", depends_on=(Edge("a"),)), Step("c", "skill", depends_on=(Edge("b"),)),
        Step("d", "skill"),
    )))
    settle(board, "a", (), Status.COMPLETED, 0, 1)
    board.run("c").status, board.run("c").started = Status.RUNNING, at(1)
    board.skip_before(board.run("c"))
    assert {run.step: run.status for run in board.ordered()} == {
        "a": Status.COMPLETED, "b": Status.SKIPPED, "c": Status.RUNNING}
    assert board.run("b").ended == at(1)


def test_the_tree_shows_states_iterations_and_branches() -> None:
    board, stream = progress(), io.StringIO()
    tree = Tree(Console(file=stream, width=100, force_terminal=True, color_system=None))
    tree.start(board, START)
    settle(board, "fetch", (), Status.COMPLETED, 0, 0.5)
    for index in range(20):
        settle(board, "part", (index,), Status.FAILED if index == 3 else Status.COMPLETED, 1, 2)
    board.run("left").status, board.run("left").simulated = Status.RUNNING, True
    board.run("left").started = at(2)
    tree.update(at(4))
    tree.stop()
    shown = stream.getvalue().rsplit("Nightly", 1)[1]
    assert "✓ fetch  Fetch all  0.5 s" in shown
    assert "✗ part" in shown and "[3]" in shown and "[19]" in shown and "[10]" not in shown
    assert "20 iterations so far" in shown
    assert "▶ left  2.0 s  simulated" in shown
    assert "· right" in shown and "· tidy" in shown


def test_names_cannot_steer_the_terminal() -> None:
    board, stream = Progress(Workflow("w", "a\x1b[2J", (Step("b\x1b[1m", "skill", name="c\x07"),))), io.StringIO()
    lines = Lines(stream)
    lines.start(board, START)
    board.run("b\x1b[1m").status = Status.RUNNING
    lines.update(START)
    tree = Tree(Console(file=stream, width=80, force_terminal=False))
    tree.start(board, START)
    tree.stop()
    assert "\x1b" not in stream.getvalue() and "\x07" not in stream.getvalue()


def family() -> tuple[Progress, Progress]:
    """A step that calls a workflow for the second time, and the steps of that second attempt."""
    board = Progress(Workflow("w", "Parent", (Step("call", "workflow", workflow="kid"),)))
    call = board.run("call")
    call.status, call.started, call.attempts = Status.RUNNING, START, 2
    for attempt, path in ((1, "call"), (2, "call (attempt 2)")):
        kid = Progress(Workflow("kid", "Kid", (Step("work", "skill"),), finally_=(Step("tidy", "skill"),)), (path,))
        call.children.append(Child(f"arn:{attempt}", "kid", attempt, started=at(attempt), progress=kid))
        settle(kid, "work", (), Status.FAILED, attempt, attempt + 1)
    kid.run("work").children.append(Child("arn:3", "elsewhere"))
    return board, kid


def test_steps_of_a_child_follow_the_step_that_called_it() -> None:
    board, kid = family()
    kid.run("tidy")
    assert [run.place for run in nested(board.ordered())] == [
        "call", "call > work", "call (attempt 2) > work", "call (attempt 2) > tidy"]


def test_lines_tell_the_steps_of_each_attempt_apart() -> None:
    board, kid = family()
    stream = io.StringIO()
    lines = Lines(stream)
    lines.start(board, START)
    lines.update(at(3))
    kid.run("tidy").status, kid.run("tidy").started = Status.RUNNING, at(4)
    lines.update(at(4))
    told = [line.split(maxsplit=1)[1] for line in stream.getvalue().splitlines()]
    assert [" ".join(line.split()) for line in told] == [
        "running call", "failed call > work (1.0 s)", "retrying call (attempt 2)", "failed call (attempt 2) > work (1.0 s)",
        "running call (attempt 2) > tidy",
    ]


def test_the_tree_has_a_branch_for_each_attempt() -> None:
    board, _ = family()
    stream = io.StringIO()
    tree = Tree(Console(file=stream, width=100, force_terminal=True, color_system=None))
    tree.start(board, START)
    tree.update(at(5))
    tree.stop()
    shown = [line.strip("\r│ └├─") for line in stream.getvalue().rsplit("Parent", 1)[1].splitlines()[1:8]]
    assert [line.split("  ")[0] for line in shown] == [
        "▶ call", "attempt 1", "✗ work", "finally", "· tidy", "attempt 2", "✗ work"]
    del board.run("call").children[0]
    stream.truncate(0)
    tree.start(board, START)
    tree.stop()
    assert "✗ work" in stream.getvalue() and "attempt 1" not in stream.getvalue()


@pytest.mark.parametrize(("seconds", "text"), [
    (None, ""), (0, "0.0 s"), (59.94, "59.9 s"), (60, "1 min 00 s"), (125.4, "2 min 05 s"), (3720, "1 h 02 min"),
])
def test_durations(seconds: float | None, text: str) -> None:
    assert duration(seconds) == text
