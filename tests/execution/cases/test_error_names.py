"""A failure that nothing catches has one name: in a local run, and in the record of the execution."""

from __future__ import annotations

import pytest

from infra.local.runner import run
from tests.execution.durable.control import world
from tests.execution.support import compile_text

CALL = "id: parent\nsteps: [{id: call, type: workflow, workflow: %s, input: {n: 1}}]"
NATIVE = "id: native\nsteps: [{id: t, type: transform, config: {expression: \"input.missing.more + 1\"}}]"
RAISES = "id: raises\nsteps: [{id: s, type: skill, config: {skill: effect, parameters: {name: bad}}}]"
SLOW = "id: slow\nsettings: {timeout: 1}\nsteps: [{id: w, type: wait, seconds: 60}]"


@pytest.mark.parametrize(("texts", "name", "step"), [
    ((NATIVE,), "ExpressionError", "t"),
    ((CALL % "native", NATIVE), "ExpressionError", "call"),
    ((CALL % "raises", RAISES), "RuntimeError", "call"),
    ((CALL % "slow", SLOW), "States.Timeout", "call"),
    (("id: top\nsteps: [{id: up, type: workflow, workflow: parent}]", CALL % "native", NATIVE), "ExpressionError", "up"),
], ids=["native", "native in a child", "of a child's step", "time limit of a child", "two levels"])
def test_the_name_of_a_failure(texts: tuple[str, ...], name: str, step: str) -> None:
    with world(*texts, scale=10) as there:
        there.effects.failing.add("bad")
        id = there.start(texts[0].split("\n")[0].removeprefix("id: "), n=1)
        recorded = there.status(id, "failed", "timed_out").error
    assert recorded is not None and (recorded.error, recorded.step) == (name, step)

    def effect(name: str) -> None:
        raise RuntimeError(name)

    from aslant import skills

    skills.register("effect", effect)
    try:
        result = run(compile_text(*texts), {"n": 1}, time_scale=10)
    finally:
        skills.unregister()
    assert result.error is not None and result.error.error == name
