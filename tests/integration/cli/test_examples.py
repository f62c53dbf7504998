"""Every definition that ships with the product runs to its end by the very command that stands in its first comment."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from infra.cli.main import main
from infra.local.progress import Status

ROOT = Path(__file__).parents[3]
EXAMPLES = sorted((ROOT / "infra/workflows").glob("*.yaml"))


def command(path: Path) -> list[str]:
    """The arguments of the `aslant` command in a definition's leading comment."""
    lines = path.read_text(encoding="utf-8").splitlines()
    head = [line.removeprefix("#").strip() for line in lines[: next(i for i, s in enumerate(lines) if s[:1] != "#")]]
    start = next(index for index, line in enumerate(head) if line.startswith("aslant run "))
    text = head[start]
    while text.endswith("\\"):
        start += 1
        text = text[:-1] + head[start]
    return shlex.split(text)[1:]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_by_its_own_command(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    argv = command(path)
    assert argv[:2] == ["run", f"infra/workflows/{path.name}"]
    code = main([*argv, "--json", "--time-scale", "20"])
    captured = capsys.readouterr()
    assert code == 0, captured.out + captured.err
    document = json.loads(captured.out)
    states = [Status(row["status"]) for row in document["steps"]]
    assert all(status.settled for status in states)
    assert Status.COMPLETED in states
    assert bool(document["simulated"]) <= ("--simulate" in argv or document["usage"] != {})


def test_there_are_two_examples_of_each_dialect_at_least() -> None:
    for dialect in ("steps", "stages", "tasks", "graph", "agents"):
        assert len([path for path in EXAMPLES if path.stem.startswith(f"{dialect}-")]) >= 2
