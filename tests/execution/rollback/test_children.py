"""Rollbacks of workflows that call each other."""

from __future__ import annotations

from tests.execution.support import Skills, run_text

CHILD = """
    id: child
    inputs: {who: {type: string}, fail: {type: boolean, default: false}}
    settings: {on_error: compensate}
    steps:
      - id: book
        type: skill
        config: {skill: echo, parameters: {name: book, value: "seat of {{ input.who }}"}}
        compensation:
          {id: c, type: skill, config: {skill: echo, parameters: {name: undo book,
            value: ["{{ steps.book.output }}", "{{ input.who }}"]}}}
      - {id: break, type: skill, when: "input.fail", depends_on: [book], config: {skill: fail}}
"""


def test_a_parent_undoes_a_child_that_had_completed_by_the_childs_own_rollback(skills: Skills) -> None:
    result = run_text("""
        id: parent
        settings: {on_error: compensate}
        steps:
          - id: l
            type: foreach
            items: [ann, bob]
            max_parallel: 1
            steps:
              - {id: k, type: workflow, workflow: child, input: {who: "{{ item }}"}}
          - {id: x, type: skill, depends_on: [l], config: {skill: fail, parameters: {name: x}}}
    """, CHILD)
    assert [value for name, value in skills.calls if name == "undo book"] == [["seat of bob", "bob"], ["seat of ann", "ann"]]
    assert result.error is not None and result.error.step == "x"


def test_a_child_that_fails_undoes_itself_and_its_parent_what_came_before(skills: Skills) -> None:
    result = run_text("""
        id: parent
        settings: {on_error: compensate}
        steps:
          - id: a
            type: skill
            config: {skill: echo, parameters: {name: a}}
            compensation: {id: c, type: skill, config: {skill: echo, parameters: {name: undo a}}}
          - {id: k, type: workflow, workflow: child, depends_on: [a], input: {who: cy, fail: true}}
    """, CHILD)
    assert [name for name, _ in skills.calls if name.startswith("undo")] == ["undo book", "undo a"]
    assert result.error is not None and result.error.error == "NoisyError"
