"""What the README shows, done."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from infra.cli.main import main

README = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```yaml\n(.*?)```", README, re.DOTALL)
DEFINITIONS = [text for text in BLOCKS if text.startswith("# ")]
PARTS = [text for text in BLOCKS if not text.startswith("# ")]


def test_there_is_one_definition_for_each_dialect() -> None:
    assert [re.match(r"# (\w+):", text)[1] for text in DEFINITIONS] == ["steps", "stages", "tasks", "graph", "agents"]  # type: ignore[index]


@pytest.mark.parametrize("text", DEFINITIONS, ids=lambda text: text[2:8])
def test_the_definitions_run(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "order.yaml"
    path.write_text(text, encoding="utf-8")
    prices = json.dumps({"prices": [60, 70]})
    assert main(["run", str(path), "--input", prices, "--approve", "*", "--time-scale", "50", "--json"]) == 0
    done = json.loads(capsys.readouterr().out)
    assert done["status"] == "completed"
    assert [one["outcome"] for one in done["approvals"]] == ["approved"]


@pytest.mark.parametrize("command", re.findall(r"^aslant (\w+)", README, re.MULTILINE))
def test_the_commands_exist(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", command]) == 0
    assert "usage: aslant" in capsys.readouterr().out


@pytest.mark.parametrize("text", PARTS, ids=lambda text: text[:8])
def test_parts_of_definitions_are_what_they_say(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "part.yaml"
    rest = "" if "steps:" in text else "steps: [{id: one, type: skill, config: {skill: any}}]\n"
    path.write_text(f"name: part\ndialect: steps\n{text}{rest}", encoding="utf-8")
    child = tmp_path / "child.yaml"
    child.write_text(
        "dialect: canonical\nid: shop-shelves\ninputs: {goods: {type: array}}\nsteps: [{id: one, type: wait, seconds: 1}]\n",
        encoding="utf-8",
    )
    assert main(["validate", str(path), str(child)]) == 0, capsys.readouterr()
