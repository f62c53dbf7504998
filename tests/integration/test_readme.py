"""What the README and the pages for users show, done."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from infra.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("README.md", "functions/SERVICE.md", "translator/LANGUAGE.md")
README = "\n".join((ROOT / page).read_text(encoding="utf-8") for page in PAGES)
BLOCKS = re.findall(r"```yaml\n(.*?)```", README, re.DOTALL)
DEFINITIONS = [text for text in BLOCKS if text.startswith("# ")]
OTHERS = sorted({text for text in BLOCKS if not text.startswith("# ")})


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


@pytest.mark.parametrize("command", sorted({*re.findall(r"^aslant (\w+)", README, re.MULTILINE)}))
def test_the_commands_exist(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", command]) == 0
    assert "usage: aslant" in capsys.readouterr().out


@pytest.mark.parametrize("text", OTHERS, ids=lambda text: text.splitlines()[0])
def test_what_else_it_shows_can_be_pasted_and_run(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "pasted.yaml"
    path.write_text(text, encoding="utf-8")
    given = ["-i", "region=eu"] if "region" in text else []
    assert main(["run", str(path), "--simulate", "--json", *given]) == 0
    done = json.loads(capsys.readouterr().out)
    assert done["status"] == "completed" and done["output"]


def test_no_other_readme_shows_a_whole_definition() -> None:
    """Those of the step types are lists of steps, which `tests/golden/test_step_types.py` compiles."""
    for path in ROOT.glob("**/README.md"):
        if path.parent != ROOT and not {"node_modules", ".venv"} & {*path.parts}:
            for text in re.findall(r"```ya?ml\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL):
                assert path.parent.name == "functions" and re.match(r"# \w+\n(?:\w+:\n)?- (?:id|name): ", text), path
