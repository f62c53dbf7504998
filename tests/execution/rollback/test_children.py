"""Rollbacks of workflows that call each other."""

from __future__ import annotations

import pytest

from tests.execution.rollback.world import TENANT, world
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


@pytest.mark.parametrize("how", ["pause", "cancel"])
def test_a_child_that_was_stopped_half_way_undoes_what_it_did_before_its_parent(how: str, skills: Skills) -> None:
    parent = """
        id: parent
        steps:
          - id: a
            type: skill
            config: {skill: echo, parameters: {name: a}}
            compensation: {id: c, type: skill, config: {skill: echo, parameters: {name: undo a}}}
          - {id: k, type: workflow, workflow: child, depends_on: [a], input: {who: cy}}
    """
    waits = CHILD.replace("{id: break, type: skill,", "{id: stay, type: wait, seconds: 36000, depends_on: [book]}\n      - {id: break, type: skill,")
    with world(parent, waits) as made:
        id = made.executions.start(TENANT, "parent", {}, user="ada").id
        made.wait(lambda: any(name == "book" for name, _ in skills.calls))
        made.wait(lambda: any(one.step == "book" and one.status == "completed" for child in made.executions.children(TENANT, id)
                              for one in made.store.steps(TENANT, child.id)))
        if how == "pause":
            made.executions.pause(TENANT, id, by="eve")
            made.executions.rollback(TENANT, id, by="eve")
        else:
            made.executions.cancel(TENANT, id, by="eve", compensate=True)
        ended = made.until(id, "rolled_back", "failed")
        (child,) = made.executions.children(TENANT, id)
    assert [call for call in skills.calls if call[0].startswith("undo")] == [("undo book", ["seat of cy", "cy"]), ("undo a", None)]
    assert (ended.status, ended.undone, ended.not_undone) == ("rolled_back", ("k", "a"), ())
    assert (child.status, child.undone) == ("cancelled", ("book",))
