"""The table of executions."""

from __future__ import annotations

from dataclasses import replace

from aslant.executions.records import Execution, Failure, Parent
from infra.cli import listing

NOW = 1_700_000_000_000


def execution(id: str, *, parent: str = "", workflow: str = "flow", error: str = "", status: str = "running") -> Execution:
    return Execution(
        tenant="default", id=id, workflow=workflow, version="1.0.0", status=status,  # type: ignore[arg-type]
        revision=1, run=1, machine="", arn="", user="ada", started_at=NOW - 5_000, changed_at=NOW,
        parent=Parent(parent, "step", ()) if parent else None, error=Failure(error, "", "", ()) if error else None,
    )


def shown(*executions: Execution, waiting: tuple[str, ...] = (), width: int = 80) -> list[str]:
    lines = listing.lines(executions, waiting, now=NOW, width=width)
    return ["".join(text for text, _ in line).rstrip() for line in lines]


def test_children_stand_beneath_their_parents_at_every_depth() -> None:
    rows = shown(
        execution("cccccccc-3", parent="bbbbbbbb-2"), execution("bbbbbbbb-9", parent="aaaaaaaa-1"),
        execution("bbbbbbbb-2", parent="aaaaaaaa-1"), execution("dddddddd-4", parent="elsewhere"), execution("aaaaaaaa-1"),
    )  # fmt: skip
    assert [row.split("flow")[0].rstrip() for row in rows[1:]] == [
        "dddddddd-4", "aaaaaaaa-1", "  bbbbbbbb-2", "    cccccccc-3", "  bbbbbbbb-9",
    ]


def test_ids_are_as_short_as_tells_them_apart() -> None:
    assert shown(execution("aaaaaaaa-1"), execution("bbbbbbbb-2"))[1].split()[0] == "aaaaaaaa"
    assert [row.split()[0] for row in shown(execution("aaaaaaaa-1x"), execution("aaaaaaaa-2x"))[1:]] == [
        "aaaaaaaa-1", "aaaaaaaa-2",
    ]


def test_long_names_give_way_to_the_width() -> None:
    rows = [
        execution("aaaaaaaa-1", workflow="w" * 60, error="E" * 40, status="failed"),
        execution("bbbbbbbb-2", workflow="short"),
    ]
    for width in (80, 100):
        lines = shown(*rows, waiting=("bbbbbbbb-2",), width=width)
        assert max(map(len, lines)) <= width
        assert "…" in lines[1] and "short" in lines[2] and "waiting approval" in lines[2]
    assert "w" * 60 in shown(*rows, width=200)[1]


def test_a_version_is_told_to_its_end() -> None:
    rows = [replace(execution("aaaaaaaa-1", workflow="w" * 60, error="E" * 40, status="failed"), version="2026.11.28-12")]
    assert "2026.11.28-12" in shown(*rows, width=60)[1]
