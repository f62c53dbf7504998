"""A `format` that nothing checks is said to be none, in every place of a declaration."""

from __future__ import annotations

import pytest

from translator.pipeline import Source, check_sources

TEXT = "dialect: canonical\nname: w\nsteps: [{id: a, type: wait, seconds: 1}]\ninputs:\n  x: ROW\n"


@pytest.mark.parametrize(("row", "code", "hint"), [
    ("{type: string, format: emial}", "D046", "did you mean `email`?"), ("{format: password}", "D047", ""),
    ("{type: array, items: {type: string, format: zip}}", "D046", "known: date, "),
    ("{type: object, properties: {a: {type: string, format: zip}}}", "D046", "known: date, "),
])
def test_formats_that_are_not_checked(row: str, code: str, hint: str) -> None:
    (found,) = check_sources([Source(TEXT.replace("ROW", row))])
    assert (found.code, found.position.line) == (code, 5)
    assert found.hint.startswith(hint)


def test_known_formats_need_no_finding() -> None:
    assert not check_sources([Source(TEXT.replace("ROW", "{type: string, format: date-time}"))])


def test_the_input_of_agents_is_looked_at_too() -> None:
    text = ("metadata: {name: w}\nstate_schema: {input: {type: object, properties: {a: {type: string, format: zip}}}}\n"
        "nodes: [{id: a, agent: wait, parameters: {seconds: 1}}]\nedges: []\n")
    assert [found.code for found in check_sources([Source(text)])] == ["D046"]
