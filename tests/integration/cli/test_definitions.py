"""validate, compile, graph and convert through the command line."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path

import pytest

from infra.cli.main import main

GOOD = """\
name: greet
inputs:
  who: {type: string, default: world}
steps:
  - id: hello
    type: transform
    config: {expression: "{{ 'Hello, ' + input.who }}"}
outputs:
  text: "{{ steps.hello.output }}"
"""
BAD = """\
name: meet
steps:
  - id: hello
    type: transform
    confg: {expression: "{{ 1 }}"}
"""
TEMPLATES = sorted((Path(__file__).parents[3] / "infra/cli/templates").glob("*.yaml"))
EXAMPLES = sorted((Path(__file__).parents[3] / "infra/workflows").glob("*.yaml"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.yaml").write_text(GOOD, encoding="utf-8")
    (tmp_path / "bad.yaml").write_text(BAD, encoding="utf-8")
    return tmp_path


def test_a_good_definition_has_no_findings(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "good.yaml"]) == 0
    assert capsys.readouterr().out == "no findings\n"


def test_a_finding_is_shown_with_its_line_and_a_caret(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "bad.yaml"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("bad.yaml:5:5: error ")
    assert '    5 |     confg: {expression: "{{ 1 }}"}\n      |     ^^^^^\n' in out
    assert "config" in out.split("hint: ", 1)[1]
    assert out.endswith("1 error\n")


@pytest.mark.parametrize("form", ["json", "sarif", "github"])
def test_other_formats_name_the_same_place(form: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "good.yaml", "bad.yaml", "--format", form]) == 1
    out = capsys.readouterr().out
    if form == "json":
        (found,) = json.loads(out)["findings"]
        assert (found["file"], found["line"], found["column"]) == ("bad.yaml", 5, 5)
    elif form == "sarif":
        (found,) = json.loads(out)["runs"][0]["results"]
        region = found["locations"][0]["physicalLocation"]
        assert region["artifactLocation"]["uri"] == "bad.yaml" and region["region"]["startLine"] == 5
    else:
        assert out.startswith("::error file=bad.yaml,line=5,col=5,") and len(out.splitlines()) == 1


def test_a_folder_stands_for_its_definitions(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nested = folder / "flows" / "deep"
    nested.mkdir(parents=True)
    (nested / "one.json").write_text(json.dumps({"name": "one", "steps": [{"id": "a", "type": "nope"}]}), "utf-8")
    (folder / "flows" / "README.md").write_text("not a definition", "utf-8")
    (folder / "flows" / ".hidden.yaml").write_text("not: one", "utf-8")
    assert main(["validate", "flows"]) == 1
    assert "flows/deep/one.json:1:" in capsys.readouterr().out
    (folder / "empty").mkdir()
    assert main(["validate", "empty"]) == 2
    assert "holds no definition" in capsys.readouterr().err


@pytest.mark.parametrize(("name", "content", "message"), [
    ("missing.yaml", None, "there is no such file"),
    ("binary.yaml", b"\x89PNG\0\0", "is not a text file"),
    ("huge.yaml", b"a" * (16 * 1024 * 1024 + 1), "is larger than"),
])
@pytest.mark.parametrize("command", [["validate"], ["compile"], ["graph"], ["convert", "--to", "canonical"], ["run"]])
def test_what_cannot_be_read_is_told_in_one_line(
    command: list[str], name: str, content: bytes | None, message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if content is not None:
        (folder / name).write_bytes(content)
    assert main([*command, name]) == 2
    err = capsys.readouterr().err
    assert message in err and name in err and len(err.splitlines()) == 1


@pytest.mark.parametrize("command", [["compile"], ["graph"], ["convert", "--to", "canonical"], ["run"]])
def test_a_folder_is_not_one_definition(command: list[str], folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command, str(folder)]) == 2
    assert "is a folder" in capsys.readouterr().err


@pytest.mark.parametrize("raw", [
    b"", b"\xff\xfe", b"- 1\n", b"a: &x [*x]", b"a: 1\na: 2\n", b"{", b"\x1b[31m", b"[" * 500,
])
def test_no_text_leads_to_a_traceback(raw: bytes, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "odd.yaml").write_bytes(raw)
    assert main(["validate", "odd.yaml"]) == 1
    assert main(["convert", "odd.yaml", "--to", "steps"]) == 1
    captured = capsys.readouterr()
    assert "odd.yaml:" in captured.out and "\x1b" not in captured.out + captured.err


def test_standard_input_is_a_definition(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(BAD.encode())))
    assert main(["validate", "-"]) == 1
    assert capsys.readouterr().out.startswith("<stdin>:5:5: error")
    assert main(["validate", "-", "-"]) == 2


def test_the_machine_is_printed_or_written(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", "good.yaml"]) == 0
    machine = json.loads(capsys.readouterr().out)
    assert machine["QueryLanguage"] == "JSONata" and machine["States"]
    assert main(["compile", "good.yaml", "-o", "out/"]) == 0
    assert json.loads((folder / "out/greet.asl.json").read_text("utf-8")) == machine
    assert main(["compile", "good.yaml", "-o", "no/such/folder.json"]) == 2
    assert main(["compile", "bad.yaml"]) == 1
    captured = capsys.readouterr()
    assert captured.out == "" and "bad.yaml:5:5: error" in captured.err


def test_the_report_tells_what_a_run_costs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", "good.yaml", "--report"]) == 0
    out = capsys.readouterr().out
    lines = dict(line.strip().split("  ", 1) for line in out.splitlines()[1:])
    assert lines["Lambda calls"].strip() == "0"
    assert lines["functions"].strip() == "none"
    assert lines["runs as"].strip().startswith("Standard: Express executions cannot be paused")
    assert lines["1,000 executions"].strip() == "$0.0250"  # one transition
    assert main(["compile", "good.yaml", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["workflow"] == "greet" and row["dialect"] == "steps" and row["functions"] == {}
    assert row["type"] == "STANDARD" and row["usd_per_1000"]["STANDARD"] == [0.025, 0.025]


def test_the_drawing_follows_the_name_of_the_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["graph", "good.yaml"]) == 0
    assert "flowchart TD" in capsys.readouterr().out
    assert main(["graph", "good.yaml", "-o", "g.svg"]) == 0
    assert (folder / "g.svg").read_text("utf-8").startswith("<svg ")
    assert main(["graph", "good.yaml", "--format", "dot"]) == 0
    assert capsys.readouterr().out.startswith("digraph {")
    assert main(["graph", "bad.yaml"]) == 1


def test_conversion_keeps_the_machine(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", "good.yaml", "--to", "canonical", "-o", "canonical.yaml"]) == 0
    assert (folder / "canonical.yaml").read_text("utf-8").startswith("dialect: canonical\n")
    machines = []
    for name in ("good.yaml", "canonical.yaml"):
        assert main(["compile", name]) == 0
        machines.append(json.loads(capsys.readouterr().out))
    assert machines[0] == machines[1]


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_starter_definitions_have_no_findings(path: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    template, dialect = path.stem.split("-", 1)
    assert main(["new", "mine", "--template", template, "--dialect", dialect]) == 0
    assert main(["validate", "mine.yaml", "--strict"]) == 0, capsys.readouterr().out
    capsys.readouterr()
    assert main(["compile", "mine.yaml", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["dialect"] == dialect


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_shipped_definitions_are_valid(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", str(path)]) == 0, capsys.readouterr().out
    assert main(["graph", str(path), "--format", "svg", "-o", os.devnull]) == 0
