"""The same rollback in each spelling, and the spellings' own words for it."""

from __future__ import annotations

import pytest

from infra.local.runner import run
from tests.execution.rollback.test_saga import undone
from tests.execution.support import Skills
from translator.diagnostics import Findings
from translator.dialects.convert import convert
from translator.pipeline import Source, compile_sources
from translator.source import load

SAME = """
dialect: canonical
id: same
name: same
settings: {on_error: rollback}
steps:
  - id: a
    type: skill
    config: {skill: echo, parameters: {name: a, value: {ref: 5}}}
    compensation: {id: ca, type: skill, config: {skill: echo, parameters: {name: undo a, value: "{{ steps.a.output.ref }}"}}}
  - id: b
    type: skill
    depends_on: [a]
    undo_failed: true
    config: {skill: fail}
    compensation: {id: cb, type: skill, config: {skill: echo, parameters: {name: undo b}}}
rollback:
  - {id: r, type: skill, config: {skill: echo, parameters: {name: undo r, value: "{{ steps.a.output.ref }}"}}}
"""


def started(text: str, name: str = "own.yaml") -> list[str]:
    """Runs a definition; gives its status and the codes of findings that something does not work."""
    (compiled,) = compile_sources([Source(text, name)])
    result = run([compiled], {}, time_scale=20, timeout=60)
    return [result.status, *(item.code for item in compiled.diagnostics if item.severity.value == "unsupported")]


@pytest.mark.parametrize("dialect", ["canonical", "steps", "stages", "graph", "tasks", "agents"])
def test_compensations_and_rollback_steps_run_in_every_spelling(skills: Skills, dialect: str) -> None:
    findings = Findings()
    document = load(SAME, findings, "same.yaml")
    assert document is not None
    text = convert(document, dialect, findings)
    assert text is not None and not findings.has_errors
    assert started(text) == ["failed"]
    assert undone(skills) == ["undo b", "undo a", "undo r"]
    assert ("undo a", 5) in skills.calls and ("undo r", 5) in skills.calls


def test_stages_with_handlers_compensations_by_name_and_a_rollback_section(skills: Skills) -> None:
    found = started("""
workflow:
  name: deployment
  stages:
    - name: prepare
      steps:
        - {id: backup, skill: echo, parameters: {name: backup, value: {id: b-1}}}
        - id: deploy
          skill: echo
          parameters: {name: deploy}
          compensation_on_failure: {skill: echo, parameters: {name: undo deploy}}
    - name: check
      steps:
        - {id: health, skill: flaky, parameters: {name: health, times: 9}}
  error_handlers:
    - {error: ValidationError, action: abort}
    - {error: NoisyError, action: retry, max_retries: 1, then: rollback}
  rollback:
    steps:
      - {id: restore, skill: echo, parameters: {name: undo restore, value: "${{ steps.backup.output.id }}"}}
""")
    assert found == ["failed"]
    assert skills.count("health") == 2
    assert undone(skills) == ["undo deploy", "undo restore"]
    assert ("undo restore", "b-1") in skills.calls


@pytest.mark.parametrize("enabled", [True, False])
def test_tasks_roll_back_unless_it_is_switched_off(skills: Skills, enabled: bool) -> None:
    text = f"""
dialect: tasks
id: release
name: release
config: {{enable_rollback: {str(enabled).lower()}}}
tasks:
  - id: push
    type: {{type: skill, skill: echo, parameters: {{name: push}}}}
    compensation: {{id: unpush, type: {{type: skill, skill: echo, parameters: {{name: undo push}}}}}}
  - id: deploy
    type: {{type: skill, skill: fail}}
    depends_on: [push]
    config: {{on_failure: Rollback}}
"""
    assert started(text)[0] == "failed"
    assert undone(skills) == (["undo push"] if enabled else [])


def test_agents_say_it_in_their_settings(skills: Skills) -> None:
    found = started("""
metadata: {name: leads, version: "1.0.0"}
nodes:
  - id: reserve
    agent: skill
    config: {skill: echo, parameters: {name: reserve}}
    compensation: {id: free, agent: skill, config: {skill: echo, parameters: {name: undo reserve}}}
  - {id: send, agent: skill, config: {skill: fail}}
edges:
  - {from: reserve, to: send}
settings:
  error_handling: {on_failure: rollback}
""")
    assert found[0] == "failed"
    assert undone(skills) == ["undo reserve"]
