"""The entry point: help, usage, exit codes, and the commands that read no definition."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from infra.cli import explain
from infra.cli.errors import INTERNAL
from infra.cli.main import COMMANDS, main
from translator.findings.catalogue import RULES

ROOT = Path(__file__).parents[3]


def test_the_version_is_that_of_the_installed_project(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    try:
        installed = metadata.version("aslant")
    except metadata.PackageNotFoundError:
        installed = "0"
    assert installed in ("0", project["version"])
    assert capsys.readouterr().out == f"aslant {installed}\n"


def test_a_command_that_is_called_otherwise_here_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["logs", "3f2a"]) == 2
    assert "there is no 'logs'; write aslant events ID" in capsys.readouterr().err


def test_an_estimate_is_the_report_of_a_compilation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "one.yaml"
    file.write_text("name: one\nsteps: [{id: a, type: wait, config: {duration: 1s}}]\n", encoding="utf-8")
    assert main(["estimate", str(file)]) == 0
    told = capsys.readouterr().out
    assert main(["compile", str(file), "--report"]) == 0
    assert told and told == capsys.readouterr().out


def test_without_a_command_help_goes_to_standard_error_as_a_usage_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "commands:" in capsys.readouterr().err


@pytest.mark.parametrize("argv", [["--help"], ["help"], *[[name, "--help"] for name in COMMANDS],
    *[["help", name] for name in COMMANDS]])
def test_help_shows_examples(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(argv) == 0
    out = capsys.readouterr().out
    assert "examples:" in out and "aslant " in out


def test_a_misspelled_command_gets_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["valdate", "x.yaml"]) == 2
    assert "did you mean validate?" in capsys.readouterr().err


@pytest.mark.parametrize("argv", [
    ["validate"], ["explain", "--nope"], ["new", "--dialect", "nope"], ["run", "--timeout"],
])
def test_wrong_arguments_are_a_usage_mistake(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(argv) == 2
    assert "usage: aslant" in capsys.readouterr().err


def test_a_fault_of_our_own_is_told_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> int:
        raise ZeroDivisionError("boom")

    monkeypatch.delenv("ASLANT_DEBUG", raising=False)
    monkeypatch.setattr(explain, "execute", broken)
    assert main(["explain"]) == INTERNAL
    err = capsys.readouterr().err
    assert "ZeroDivisionError: boom" in err and "Traceback" not in err
    monkeypatch.setenv("ASLANT_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        main(["explain"])


def test_an_interrupt_ends_with_130(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(explain, "execute", interrupted)
    assert main(["explain"]) == 130
    assert capsys.readouterr().err == "aslant: interrupted\n"


def test_a_closed_pipe_is_no_fault() -> None:
    path = os.pathsep.join([str(ROOT), str(ROOT / "layers/runtime/python")])
    process = subprocess.Popen([sys.executable, "-m", "infra.cli.main", "explain", "--markdown"], cwd=ROOT,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": path})
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(timeout=60) == 141


def test_output_that_the_terminal_cannot_encode_is_escaped() -> None:
    path = os.pathsep.join([str(ROOT), str(ROOT / "layers/runtime/python")])
    done = subprocess.run([sys.executable, "-m", "infra.cli.main", "validate", "grüße→.yaml"], capture_output=True,
        cwd=ROOT, env={**os.environ, "PYTHONPATH": path, "PYTHONIOENCODING": "ascii"}, timeout=60, check=False)
    assert done.returncode == 2
    assert b"there is no such file" in done.stderr and b"Traceback" not in done.stderr


def test_every_code_is_explained_in_every_form(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain"]) == 0
    listed = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert listed == sorted(RULES)
    assert main(["explain", "--json"]) == 0
    assert [row["code"] for row in json.loads(capsys.readouterr().out)] == sorted(RULES)
    assert main(["explain", "--markdown"]) == 0
    page = capsys.readouterr().out
    assert all(f"\n## {code} {rule.title}\n" in page for code, rule in RULES.items())


def test_one_code_is_explained_whatever_its_case(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "s005", "G018"]) == 0
    out = capsys.readouterr().out
    assert RULES["S005"].title in out and RULES["G018"].title in out and RULES["S001"].title not in out


def test_an_unknown_code_gets_suggestions(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "S0005"]) == 2
    assert "did you mean" in capsys.readouterr().err


def test_new_writes_once_and_never_overwrites(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["new", "first"]) == 0
    text = Path("first.yaml").read_text(encoding="utf-8")
    assert "name: first\n" in text and "NAME" not in text
    Path("first.yaml").write_text("mine", encoding="utf-8")
    assert main(["new", "first"]) == 2
    assert Path("first.yaml").read_text(encoding="utf-8") == "mine"
    assert "is there already" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["../up", "a/b", "", "-x", "a\nb", "x" * 81, "ü: {"])
def test_new_takes_names_that_are_safe_as_files_and_in_yaml(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["new", "--", name]) == 2
    assert not list(tmp_path.iterdir())


def test_new_says_where_it_cannot_write(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "x", "-o", str(tmp_path / "no" / "x.yaml")]) == 2
    assert "No such file or directory" in capsys.readouterr().err


@pytest.mark.parametrize(("argv", "text"), [
    (["graph", "{file}", "-o", "{folder}/x.png"], "no drawing as .png"),
    (["graph", "{file}", "-o", "{folder}/x.dot", "--format", "svg"], "the file's name says dot, --format says svg"),
    (["compile", "{file}", "-o", "{folder}/none/x.json"], "there is no folder {folder}/none"),
    (["run", "{file}", "--time-scale", "abc"], "'abc' is not a number"),
    (["run", "{file}", "--timeout", "abc"], "'abc' is not a number"),
    (["run", "{file}", "--skills", "{file}"], "this is no Python module"),
    (["run", "{file}", "-i", "x=1e400"], "'1e400' is out of range"),
    (["explain", "ZZ"], "there is no code ZZ; `aslant explain` lists them all"),
    (["hepl"], "did you mean help?"),
])
def test_what_is_wrong_with_an_argument_is_named(
    argv: list[str], text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "flow.yaml"
    file.write_text("dialect: canonical\nname: f\ninputs: {x: {type: number, default: 1}}\n"
        "steps: [{id: a, type: transform, config: {data: 1}}]\n", encoding="utf-8")
    assert main([word.format(file=file, folder=tmp_path) for word in argv]) == 2
    assert text.format(folder=tmp_path) in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["flow.yaml"]


def test_a_run_that_cannot_be_read_gives_a_document_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "no-such.yaml", "--json"]) == 2
    document = json.loads(capsys.readouterr().out)
    assert document["status"] == "refused" and document["message"] == "no-such.yaml: there is no such file"


def test_a_new_definition_may_be_named_by_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["new", "foo.yaml"]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["foo.yaml"]
    assert "# foo:" in (tmp_path / "foo.yaml").read_text(encoding="utf-8")


def test_help_is_among_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    assert "    help      " in capsys.readouterr().out


def test_an_unknown_argument_shows_the_usage_of_its_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--nowhere"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("usage: aslant list") and "aslant list: error: unrecognized arguments: --nowhere" in error


@pytest.mark.parametrize("command", [*COMMANDS])
def test_help_fits_the_terminal(command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert main([command, "--help"]) == 0
    text, _, examples = capsys.readouterr().out.partition("\nexamples:")
    assert max(map(len, text.splitlines())) <= 60
    assert "\n  aslant" in examples
