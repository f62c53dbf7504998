"""Definitions with one random edit: findings or a machine, never a fault of the command."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from infra.cli.main import main
from tests.examples import few

ROOT = Path(__file__).parents[3] / "infra"
FILES = sorted([*(ROOT / "cli/templates").glob("*.yaml"), *(ROOT / "workflows").glob("*.yaml")])
TEXTS = [file.read_text(encoding="utf-8") for file in FILES]
PIECES = st.sampled_from([
    "", " ", "\n", "\t", ":", "- ", "{", "}", "[", "]", '"', "'", "{{", "}}", "${", "&a ", "*a", "!!x ", "null", "true",
    "1e999", "99999999999999999999", "\ud800", "\u202e", "👍", "{%", "a" * 300, "steps", "depends_on: [x]",
    "when: 1/0",
])


@few(25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.sampled_from(TEXTS), place=st.floats(0, 1), cut=st.integers(0, 12), piece=PIECES)
def test_one_edit_gives_findings_or_a_machine(
    text: str, place: float, cut: int, piece: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    at = int(place * len(text))
    file = tmp_path / "edited.yaml"
    file.write_bytes((text[:at] + piece + text[at + cut:]).encode("utf-8", "surrogatepass"))
    capsys.readouterr()
    code = main(["validate", str(file)])
    captured = capsys.readouterr()
    assert code in (0, 1), captured.err
    assert captured.err == "" and (code == 0 or " error " in captured.out)
    if code == 0:
        assert main(["compile", str(file), "-o", str(tmp_path / "machine.json")]) == 0
        assert main(["graph", str(file), "-o", str(tmp_path / "graph.svg")]) == 0
