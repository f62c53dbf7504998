"""What waits may undo, too: its label tells the iterations of the step that it undoes apart."""

from __future__ import annotations

import json

import pytest

from translator.pipeline import compile_source

BOOK = """
dialect: canonical
settings: {on_error: compensate}
steps:
  - id: all
    type: foreach
    items: [1, 2]
    steps:
      - {id: book, type: skill, config: {skill: book}, compensation: %s}
  - {id: pay, type: skill, config: {skill: pay}, depends_on: [all]}
"""


@pytest.mark.parametrize("undo", [
    "{id: pause, type: wait, seconds: 5}",
    "{id: ask, type: approval, config: {message: Cancelled?}}",
    "{id: cancel, type: skill, config: {skill: cancel}, on_failure: {action: escalate, approvers: [ann]}}",
])
def test_a_compensation_that_waits(undo: str) -> None:
    compiled = compile_source(BOOK % undo)
    assert compiled.rollback is not None
    assert ".iteration.(" in json.dumps(compiled.rollback.definition)
