"""Braces without quotes are a mapping to YAML; a finding shows the text with the quotes that it needs."""

from __future__ import annotations

import pytest

from translator.pipeline import Source, check_sources


@pytest.mark.parametrize(("when", "shown"), [
    ("{input.topic}", '"{input.topic}"'), ("{'k': input.x, 'n': 1}", "\"{'k': input.x, 'n': 1}\""),
])
def test_a_text_that_was_read_as_a_mapping_is_shown_in_quotes(when: str, shown: str) -> None:
    (found,) = check_sources([Source(f"name: a\nsteps:\n  - id: a\n    type: delay\n    name: {when}\n")])
    assert (found.code, found.position.line) == ("D012", 5)
    assert found.hint == f"write it in quotes: {shown}"


def test_a_mapping_with_lines_of_its_own_was_meant_as_one() -> None:
    (found,) = check_sources([Source("name: a\nsteps:\n  - id: a\n    type: delay\n    name:\n      x: y\n")])
    assert found.hint == ""
