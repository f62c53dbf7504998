"""Undoing after a failure: what, in which order, and how the execution ends."""

from __future__ import annotations

from tests.execution.support import Skills, run_text

SAGA = """
    id: saga
    settings: {on_error: compensate}
    steps:
      - id: t1
        type: skill
        config: {skill: echo, parameters: {name: t1, value: {id: booking-1}}}
        compensation:
          {id: c1, type: skill, config: {skill: echo, parameters: {name: undo t1, value: "{{ steps.t1.output.id }}"}}}
      - id: t2
        type: skill
        when: "false"
        depends_on: [t1]
        config: {skill: echo, parameters: {name: t2}}
        compensation: {id: c2, type: skill, config: {skill: echo, parameters: {name: undo t2}}}
      - id: par
        type: parallel
        depends_on: [t2]
        branches:
          - steps:
              - id: t3
                type: skill
                config: {skill: echo, parameters: {name: t3}}
                compensation: {id: c3, type: skill, config: {skill: echo, parameters: {name: undo t3}}}
          - steps:
              - id: t4
                type: skill
                config: {skill: sleep, parameters: {seconds: 0.6, name: t4}}
                compensation: {id: c4, type: skill, config: {skill: echo, parameters: {name: undo t4}}}
      - id: t5
        type: skill
        depends_on: [par]
        config: {skill: echo, parameters: {name: t5}}
        compensation: {id: c5, type: skill, config: {skill: fail, parameters: {name: undo t5}}}
      - id: t6
        type: skill
        depends_on: [t5]
        config: {skill: fail, parameters: {name: t6, message: the first}}
        compensation: {id: c6, type: skill, config: {skill: echo, parameters: {name: undo t6}}}
      - id: t7
        type: skill
        depends_on: [t6]
        config: {skill: echo, parameters: {name: t7}}
        compensation: {id: c7, type: skill, config: {skill: echo, parameters: {name: undo t7}}}
"""


def undone(skills: Skills) -> list[str]:
    return [name for name, _ in skills.calls if name.startswith("undo ")]


def test_undos_run_in_reverse_order_of_completion_and_one_that_fails_stops_no_other(skills: Skills) -> None:
    result = run_text(SAGA)
    assert undone(skills) == ["undo t5", "undo t5", "undo t5", "undo t4", "undo t3", "undo t1"]
    assert ("undo t1", "booking-1") in skills.calls
    assert result.status == "failed"
    assert result.error is not None
    assert (result.error.error, result.error.step) == ("NoisyError", "t6")
    assert "the first" in result.error.message
