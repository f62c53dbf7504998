"""Telling the dialects apart."""

from __future__ import annotations

import pytest

from tests.unit.dialects.common.reading import problems, read_all
from translator.diagnostics import Findings
from translator.dialects.registry import DIALECTS, detect
from translator.source import load


@pytest.mark.parametrize(("text", "expected"), [
    ("{name: x, steps: []}", "steps"),
    ("{name: x, steps: [3]}", "steps"),
    ("{workflow: {name: x, stages: 3}}", "stages"),
    ("{tasks: [{id: a, type: {type: Command}}]}", "tasks"),
    ("{nodes: [{id: a, type: http, properties: {}}], connections: []}", "graph"),
    ("{workflow_data: {nodes: [], connections: []}}", "graph"),
    ("{nodes: [{id: a, type: http}]}", "graph"),
    ("{metadata: {id: x}, nodes: [{id: a, agent: llm}], edges: []}", "agents"),
    ("{nodes: [{id: a, agent: llm}]}", "agents"),
    ("{dialect: canonical, steps: []}", "canonical"),
    ("{dialect: tasks, steps: [], tasks: []}", "tasks"),
])
def test_told_by_shape_or_by_name(text: str, expected: str) -> None:
    findings = Findings()
    document = load(text, findings)
    assert document is not None
    found = detect(document, findings)
    assert found is DIALECTS[expected]
    assert not findings.items


@pytest.mark.parametrize(("text", "code", "says"), [
    ("name: x\n", "D001", "stages"),
    ("name: x\nstages: []\n", "D001", "under `workflow:`"),
    ("workflow: {name: x}\n", "D001", "no `stages`"),
    ("name: x\nstpes: []\n", "D001", "`steps`"),
    ("steps: {}\n", "D001", "must be a list"),
    ("steps: []\ntasks: []\n", "D002", "dialect: steps"),
    ("nodes: []\nedges: []\nconnections: []\n", "D002", "keep one"),
    ("dialect: step\nsteps: []\n", "D003", "`steps`"),
    ("dialect: 3\nsteps: []\n", "D003", "canonical"),
])
def test_what_fits_none_or_several_is_an_error(text: str, code: str, says: str) -> None:
    data, found = read_all(text)
    assert data is None
    assert [diagnostic.code for diagnostic in found] == [code]
    assert says in found[0].message + found[0].hint


def test_the_name_of_the_dialect_is_no_key_of_it() -> None:
    assert problems("dialect: steps\nname: x\nsteps:\n  - {id: s, type: skill, config: {skill: x}}\n") == []
