"""Parents and children through several runs: what is undone, and what is done again."""

from __future__ import annotations

from aslant import skills
from tests.execution.durable.control import TENANT, world

PARENT = """
    id: parent
    steps:
      - id: a
        type: skill
        config: {skill: effect, parameters: {name: a}}
        compensation: {id: c, type: skill, config: {skill: effect, parameters: {name: undo a}}}
      - {id: kid, type: workflow, workflow: child, depends_on: [a]}
      - {id: z, type: skill, depends_on: [kid], config: {skill: gate, parameters: {name: z}}}
"""
CHILD = """
    id: child
    steps:
      - id: k1
        type: skill
        config: {skill: effect, parameters: {name: k1}}
        compensation: {id: c, type: skill, config: {skill: effect, parameters: {name: undo k1}}}
      - {id: k2, type: skill, depends_on: [k1], config: {skill: gate, parameters: {name: k2}}}
"""


def test_a_child_that_was_replayed_is_undone_with_its_parent() -> None:
    with world(PARENT, CHILD) as there:
        there.effects.open.set()
        id = there.start("parent")
        assert there.status(id, "completed", "failed").status == "completed"
        there.effects.open.clear()
        there.service.rerun(TENANT, id, "z", by="bob")
        there.until(lambda: there.effects.count()["z"] == 2, "z does not run again")
        there.service.cancel(TENANT, id, by="bob")
        there.service.rollback(TENANT, id, by="bob")
        ended = there.status(id, "rolled_back", "failed")
        assert (ended.status, ended.undone, ended.not_undone) == ("rolled_back", ("kid", "a"), ())
        assert there.effects.done[-2:] == ["undo k1", "undo a"]


def test_what_a_child_does_again_after_it_was_undone_is_done_once() -> None:
    with world(PARENT, CHILD) as there:
        id = there.start("parent")
        there.reached("k2")
        there.service.cancel(TENANT, id, by="bob")
        there.service.rollback(TENANT, id, by="bob")
        assert there.status(id, "rolled_back", "failed").status == "rolled_back"
        there.service.retry(TENANT, id, by="bob")
        there.until(lambda: there.effects.count()["k2"] == 2, "the child does not come to k2 again")
        (child,) = there.service.children(TENANT, id)
        assert child.undone == ()
        for _ in range(2):
            there.service.pause(TENANT, id, by="bob")
            there.service.resume(TENANT, id, by="bob")
        there.effects.open.set()
        assert there.status(id, "completed", "failed").status == "completed"
        counted = there.effects.count()
        assert {name: counted[name] for name in ("a", "k1", "undo a", "undo k1")} == {"a": 2, "k1": 2, "undo a": 1, "undo k1": 1}


def test_what_is_meant_to_act_again_has_another_idempotency_key() -> None:
    keys: list[tuple[str, str]] = []

    def keyed(name: str, idempotency_key: str) -> None:
        keys.append((name, idempotency_key))

    text = """
        id: keyed
        steps:
          - id: a
            type: skill
            config: {skill: keyed, parameters: {name: a}}
            compensation: {id: c, type: skill, config: {skill: keyed, parameters: {name: undo a}}}
          - {id: b, type: skill, depends_on: [a], config: {skill: keyed, parameters: {name: b}}}
    """
    with world(text) as there:
        skills.register("keyed", keyed)
        id = there.start("keyed")
        there.status(id, "completed")
        there.service.rerun(TENANT, id, "b", by="bob")
        there.until(lambda: len(keys) == 3, "b does not run again")
        there.status(id, "completed")
        for _ in range(2):
            there.service.rerun(TENANT, id, "b", by="bob")
            there.service.cancel(TENANT, id, by="bob")
            there.service.rollback(TENANT, id, by="bob")
            there.status(id, "rolled_back")
            there.service.retry(TENANT, id, by="bob")
            there.status(id, "completed")
    of = {name: [key for each, key in keys if each == name] for name in ("a", "undo a", "b")}
    assert len(of["a"]) == 3 and len(of["undo a"]) == 2 and len(of["b"]) >= 4
    assert all(len(set(found)) == len(found) for found in of.values()), of
