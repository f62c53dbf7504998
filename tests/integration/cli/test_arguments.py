"""What `aslant run` reads from its arguments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from infra.cli.arguments import Answer, answers, gather
from infra.cli.errors import UsageError

SCHEMA: dict[str, dict[str, Any]] = {
    "n": {"type": "integer", "default": 5}, "s": {"type": "string"}, "flag": {"type": "boolean"},
    "list": {"type": "array"},
}


@pytest.mark.parametrize(("options", "expected"), [
    ([], {"n": 5}),
    (["n=7", "s=7", "flag=false"], {"n": 7, "s": "7", "flag": False}),
    (['{"n": 0, "s": ""}'], {"n": 0, "s": ""}),
    (['{"n": 1, "s": "a"}', "n=2"], {"n": 2, "s": "a"}),
    (["s=a=b=c", "list=[1]"], {"n": 5, "s": "a=b=c", "list": [1]}),
    (["s="], {"n": 5, "s": ""}),
])
def test_inputs_are_read_by_their_declaration(options: list[str], expected: dict[str, Any]) -> None:
    assert gather(SCHEMA, options) == (expected, [])


def test_inputs_come_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "in.json").write_text('\ufeff{"n": 3}', encoding="utf-8")
    assert gather(SCHEMA, [f"@{tmp_path}/in.json"]) == ({"n": 3}, [])
    with pytest.raises(UsageError, match="no such file"):
        gather(SCHEMA, [f"@{tmp_path}/none.json"])


@pytest.mark.parametrize(("options", "pointers"), [
    (["n=seven"], ["/n"]),
    (['{"n": "7", "flag": null, "x": 1}'], ["/n", "/flag", "/x"]),
    (["m=1", "flag=yes"], ["/flag", "/m"]),
    (['{"n": 356686000032329832}'], ["/n"]),
])
def test_every_problem_is_named(options: list[str], pointers: list[str]) -> None:
    assert [problem.pointer for problem in gather(SCHEMA, options)[1]] == pointers


@pytest.mark.parametrize("option", ["n", "{", "[1]", '{"n": NaN}', '{"n": 1, "n": 2}', "{" * 100_000])
def test_what_is_no_input_is_a_usage_mistake(option: str) -> None:
    with pytest.raises(UsageError):
        gather(SCHEMA, [option])


def test_without_declared_inputs_values_are_json_or_text() -> None:
    assert gather(None, ["a=1", "b=x", "c=null", 'd={"e": []}']) == ({"a": 1, "b": "x", "c": None, "d": {"e": []}}, [])


@pytest.mark.parametrize(("option", "answer"), [
    ("ask", Answer("ask", None, "approve")),
    ("ask=reject", Answer("ask", None, "reject")),
    ("ask=a=b", Answer("ask", None, "a=b")),
    ("ask/2=no", Answer("ask", (2,), "no")),
    ("ask/2/0", Answer("ask", (2, 0), "approve")),
    ("a=b", Answer("a=b", None, "approve")),          # an id may hold = and /
    ("a=b=reject", Answer("a=b", None, "reject")),
    ("x/1", Answer("x/1", None, "approve")),
    ("x/1/3=ok", Answer("x/1", (3,), "ok")),
    ("*=approve", Answer("*", None, "approve")),
])
def test_answers_name_their_step(option: str, answer: Answer) -> None:
    assert answers([option], ["ask", "a=b", "x/1"]) == [answer]


def test_an_unknown_approval_step_is_a_usage_mistake() -> None:
    with pytest.raises(UsageError, match="did you mean sign-off"):
        answers(["signoff"], ["sign-off"])
    with pytest.raises(UsageError, match="no approval steps"):
        answers(["x"], [])
