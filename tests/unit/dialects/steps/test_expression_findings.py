"""Findings speak of the expression that was written, not of what it is wrapped into."""

from __future__ import annotations

import pytest

from translator.pipeline import Source, check_sources


@pytest.mark.parametrize(("text", "column"), [
    ("hello world", 26), ("input.x if input.x > 2", 28), ("(input.x", 20), ("input.x)", 27),
])
def test_no_bracket_is_named_that_nobody_wrote(text: str, column: int) -> None:
    definition = f"name: a\nsteps:\n  - id: a\n    type: transform\n    config:\n      expression: \"{text}\"\n"
    (found,) = check_sources([Source(definition)])
    assert (found.code, found.position.line, found.position.column) == ("E001", 6, column)
    assert "expected )" not in found.message
