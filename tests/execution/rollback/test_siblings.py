"""What goes on beside a step whose failure is undone: functions that are not stopped, children that are."""

from __future__ import annotations

from tests.execution.rollback.test_children import CHILD
from tests.execution.rollback.world import TENANT, world
from tests.execution.support import Skills

BESIDE = """
    id: beside
    settings: {on_error: compensate}
    steps:
      - id: both
        type: parallel
        wait_for_all: false
        branches:
          - steps:
              - id: slow
                type: skill
                config: {skill: sleep, parameters: {seconds: 1.5, name: slow}}
                compensation: {id: c, type: skill, config: {skill: echo, parameters: {name: undo slow}}}
              - {id: never, type: skill, depends_on: [slow], config: {skill: echo, parameters: {name: never}}}
          - steps: [{id: kid, type: workflow, workflow: child, input: {who: cy}}]
          - steps:
              - {id: nap, type: wait, seconds: 20}
              - {id: bad, type: skill, depends_on: [nap], config: {skill: fail, parameters: {name: bad}}}
"""
WAITS = CHILD.replace(
    "{id: break, type: skill,", "{id: stay, type: wait, seconds: 36000, depends_on: [book]}\n      - {id: break, type: skill,"
)


def test_what_was_still_done_when_a_step_failed_is_undone_too(skills: Skills) -> None:
    with world(BESIDE, WAITS) as made:
        ended = made.run("beside", "failed", "rolled_back")
        (child,) = made.executions.children(TENANT, ended.id)
        assert made.passed(ended.id) == ["running", "rolling_back", "rolled_back"]
    called = [name for name, _ in skills.calls]
    assert "never" not in called and called.index("slow") < called.index("undo slow")
    assert sorted(name for name in called if name.startswith("undo")) == ["undo book", "undo slow"]
    assert (ended.status, sorted(ended.undone), ended.not_undone) == ("rolled_back", ["kid", "slow"], ())
    assert ended.error is not None and ended.error.step == "bad"
    assert (child.status, child.undone) == ("cancelled", ("book",))
