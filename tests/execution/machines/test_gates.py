"""Branches that wait for each other, run for real: order, values, loops, failures, and later runs."""

from __future__ import annotations

import threading

from aslant.skills import register
from infra.local.runner import run
from tests.execution.durable.control import TENANT, world
from tests.execution.support import Skills, compile_text, run_text

N = """
    steps:
      - {id: a, type: skill, config: {skill: echo, parameters: {name: a, value: 1}}}
      - {id: b, type: skill, config: {skill: sleep, parameters: {name: b, seconds: 0.8, value: 2}}}
      - {id: c, type: skill, depends_on: [a], config: {skill: sleep, parameters: {name: c, seconds: 0, value: "{{ steps.a.output * 10 }}"}}}
      - {id: d, type: skill, depends_on: [a, b], config: {skill: sleep, parameters: {name: d, seconds: 0, value: "{{ steps.a.output + steps.b.output }}"}}}
      - {id: e, type: skill, depends_on: [b, c], config: {skill: sleep, parameters: {name: e, seconds: 0, value: "{{ steps.b.output + steps.c.output }}"}}}
"""


def test_a_step_does_not_wait_for_what_it_does_not_depend_on(skills: Skills) -> None:
    result = run_text(N, time_scale=1)
    assert result.output == {"d": 3, "e": 12}
    assert skills.spans["c"][0] < skills.spans["b"][1], "c needs a only"
    assert all(skills.spans[step][0] >= skills.spans["b"][1] for step in "de")
    levels = compile_text(N)[0]
    assert [(one.strategy, one.added) for one in levels.arrangements] == [("exact", False)]


def test_at_most_so_many_steps_run_at_once_whatever_their_order_is(skills: Skills) -> None:
    """Nobody waits for a level to end: what depends on `a` alone is over while `slow`, of the first level, runs."""
    over = threading.Event()

    def slow() -> int:
        assert over.wait(30), "d waits for a step that it does not depend on"
        return skills.sleep(0, "slow", 1)

    def last(value: int) -> int:
        over.set()
        return skills.sleep(0, "d", value)

    register("slow", slow)
    register("last", last)
    result = run_text("""
        settings: {max_parallel: 2}
        steps:
          - {id: slow, type: skill, config: {skill: slow}}
          - {id: a, type: skill, config: {skill: sleep, parameters: {name: a, seconds: 0.05, value: 2}}}
          - {id: b, type: skill, depends_on: [a], config: {skill: sleep, parameters: {name: b, seconds: 0.05, value: "{{ steps.a.output }}"}}}
          - {id: c, type: skill, depends_on: [a], on_failure: continue, config: {skill: fail}}
          - {id: skipped, type: skill, depends_on: [a], when: "false", config: {skill: fail}}
          - {id: d, type: skill, depends_on: [b, c, skipped], config: {skill: last, parameters: {value: "{{ steps.b.output }}"}}}
          - {id: e, type: skill, depends_on: [slow, b], config: {skill: sleep, parameters: {name: e, seconds: 0.05, value: "{{ steps.slow.output + steps.b.output }}"}}}
    """)
    assert (result.status, result.output) == ("completed", {"d": 2, "e": 3})
    assert skills.most <= 2
    assert skills.spans["b"][1] <= skills.spans["d"][0] <= skills.spans["slow"][1] <= skills.spans["e"][0]


INSIDE = """
    inputs: {bad: {type: integer, default: 9}}
    outputs: {loop: "{{ steps.each.output }}", both: "{{ steps.both.output }}", why: "{{ errors.both.error }}"}
    steps:
      - id: each
        type: foreach
        items: [1, 2, 3]
        max_parallel: 3
        steps:
          - {id: a, type: skill, config: {skill: echo, parameters: {value: "{{ item }}"}}}
          - {id: b, type: skill, config: {skill: echo, parameters: {value: "{{ item * 10 }}"}}}
          - {id: c, type: skill, depends_on: [a], config: {skill: echo, parameters: {value: "{{ steps.a.output + 100 }}"}}}
          - {id: d, type: skill, depends_on: [a, b], config: {skill: echo, parameters: {value: "{{ steps.a.output + steps.b.output }}"}}}
          - {id: e, type: skill, depends_on: [b, c], config: {skill: echo, parameters: {value: "{{ steps.b.output + steps.c.output }}"}}}
          - {id: f, type: transform, depends_on: [d, e], config: {expression: "[steps.d.output, steps.e.output]"}}
      - id: both
        type: parallel
        depends_on: [each]
        wait_for_all: true
        on_failure: continue
        branches:
          - steps:
            - {id: k, type: skill, config: {skill: echo, parameters: {value: 7}}}
            - {id: l, type: skill, depends_on: [], config: {skill: fail_if, parameters: {n: 5, bad: "{{ input.bad }}"}}}
            - {id: m, type: skill, depends_on: [k], config: {skill: echo, parameters: {value: "{{ steps.k.output }}"}}}
            - {id: n, type: skill, depends_on: [k, l], config: {skill: echo, parameters: {value: "{{ steps.l.output }}"}}}
            - {id: o, type: skill, depends_on: [l, m], config: {skill: echo, parameters: {name: o, value: "{{ steps.l.output + steps.m.output }}"}}}
          - steps:
            - {id: z, type: skill, config: {skill: echo, parameters: {name: z, value: 1}}}
"""


def test_gates_inside_of_loops_and_of_parallels_that_wait_for_all(skills: Skills) -> None:
    compiled = compile_text(INSIDE)
    assert {one.scope: one.tokens > 0 for one in compiled[0].arrangements} == {"each/0": True, "both/0": True}
    result = run(compiled, {}, time_scale=60, timeout=60)
    assert result.status == "completed"
    assert result.output["loop"] == [[11 * item, 11 * item + 100] for item in (1, 2, 3)]
    assert result.output["why"] is None


def test_a_failed_predecessor_fails_those_that_wait_for_it(skills: Skills) -> None:
    result = run_text(INSIDE, input={"bad": 5})
    assert (result.status, result.output["why"]) == ("completed", "NoisyError")
    assert skills.count("z") == 1 and skills.count("o") == 0


def test_a_skipped_or_failed_predecessor_that_the_workflow_goes_on_after_lets_the_others_run(skills: Skills) -> None:
    result = run_text("""
        steps:
          - {id: a, type: skill, when: "false", config: {skill: echo}}
          - {id: b, type: skill, on_failure: continue, config: {skill: fail}}
          - {id: c, type: skill, depends_on: [a], config: {skill: echo, parameters: {value: 1}}}
          - {id: d, type: transform, depends_on: [a, b], config: {expression: "[steps.a.status, steps.b.status]"}}
          - {id: e, type: transform, depends_on: [b, c], config: {expression: "[errors.b.error, steps.c.output]"}}
    """)
    assert result.output == {"d": ["skipped", "failed"], "e": ["NoisyError", 1]}


AGAIN = """
    id: again
    steps:
      - {id: a, type: skill, config: {skill: effect, parameters: {name: a}}}
      - {id: b, type: skill, config: {skill: gate, parameters: {name: b}}}
      - {id: c, type: skill, depends_on: [a], config: {skill: effect, parameters: {name: c, value: "{{ steps.a.output }}"}}}
      - {id: d, type: skill, depends_on: [a, b], config: {skill: effect, parameters: {name: d, value: "{{ steps.a.output ~ steps.b.output }}"}}}
      - {id: e, type: skill, depends_on: [b, c], config: {skill: effect, parameters: {name: e, value: "{{ steps.b.output ~ steps.c.output }}"}}}
"""


def test_later_runs_have_gates_of_their_own() -> None:
    """Paused while branches wait for b, resumed, failed at e, retried: each step happens once, and e gets its values."""
    with world(AGAIN, scale=30) as there:
        id = there.start("again")
        there.reached("b", "c")
        there.service.pause(TENANT, id, by="bob")
        there.effects.failing.add("e")
        there.service.resume(TENANT, id, by="bob")
        there.effects.open.set()
        assert there.status(id, "completed", "failed").status == "failed"
        there.effects.failing.clear()
        there.service.retry(TENANT, id, by="bob")
        done = there.status(id, "completed", "failed")
        assert (done.status, done.run) == ("completed", 3)
        counts = there.effects.count()
        assert {step: counts[step] for step in "abcd"} == dict.fromkeys("abcd", 1)
        assert there.service.output(TENANT, id) == {"d": "ab", "e": "ba"}
