"""A bounded sample of bad definitions; `python -m tests.fuzz.definitions` runs more of them."""

from __future__ import annotations

import json

import pytest

from tests.fuzz import good
from tests.fuzz.definitions import case, problem
from tests.fuzz.mutations import KINDS
from tests.fuzz.shrink import shrink
from translator.diagnostics import Severity
from translator.pipeline import Source, check_sources

CASES = 700
PARTS = 5


@pytest.mark.parametrize("name", sorted(good.texts()))
def test_the_definitions_that_are_edited_have_no_errors(name: str) -> None:
    found = check_sources([Source(good.texts()[name], name)])
    assert [one.message for one in found if one.severity is Severity.ERROR] == []


@pytest.mark.parametrize("part", range(PARTS))
def test_bad_definitions_give_findings_or_a_machine(part: int) -> None:
    documents = good.documents()
    bad = {}
    for number in range(part, CASES, PARTS):
        one = case(20_260_131, number, documents)
        if what := problem(one.text):
            bad[one.seed] = what
    assert bad == {}


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_makes_the_same_case_again(kind: str) -> None:
    documents = good.documents()
    number = sorted(KINDS).index(kind)
    one = case(3, number, documents)
    assert one.kind == kind
    assert case(3, number, good.documents()) == one


def test_what_the_compiler_raises_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(sources: object) -> object:
        raise KeyError("x")

    monkeypatch.setattr("tests.fuzz.definitions.check_sources", broken)
    assert problem("name: a").startswith("traceback: KeyError in broken")


def test_a_case_is_made_smaller_while_it_shows_the_same() -> None:
    text = '\n{"steps": [{"id": "one", "type": "wait", "x": {"bad": 1}}, {"id": "two"}], "name": "n"}'
    assert json.loads(shrink(text, lambda one: "bad" in str(one))) == {"steps": [{"x": {"bad": 1}}]}
    assert shrink("some text with bad in it", lambda one: "bad" in str(one)) == "bad"
