"""Executions whose machines are cut into parts, or whose loops are Distributed Maps, are controlled like any other."""

from __future__ import annotations

from collections.abc import Mapping

from functions.publish_definition.logic import publish
from tests.execution.durable.control import TENANT, World, world
from translator.asl.limits import measures
from translator.pipeline import Compilation, Source, compile_sources

LIMIT = 9_000  # bytes of a definition in place of a mebibyte


def line(count: int, *, gate: int, child: bool = False) -> str:
    steps = []
    for number in range(count):
        before = f"depends_on: [s{number - 1}], " if number else ""
        value = f"{{{{ steps.s{number - 1}.output + 1 }}}}" if number else "{{ input.n }}"
        if number == gate:
            steps.append(f"- {{id: s{number}, type: skill, {before}config: {{skill: hold, parameters: {{name: s{number}, value: \"{value}\"}}}}}}")
        else:
            steps.append(f"- {{id: s{number}, type: skill, {before}config: {{skill: effect, parameters: {{name: s{number}, value: \"{value}\"}}}}}}")
    ask = [f"- {{id: ask, type: approval, depends_on: [s{count - 1}], config: {{message: go, approvers: [ann]}}}}"] if child else []
    return "id: long\nsteps:\n" + "\n".join(steps + ask) + f"\noutputs: {{first: \"{{{{ steps.s1.output }}}}\", last: \"{{{{ steps.s{count - 1}.output }}}}\"}}"


def hold(there: World) -> None:
    """A skill that counts and then waits for the gate."""
    from aslant import skills

    def held(name: str, value: int) -> int:
        there.effects.gate(name)
        return value

    skills.register("hold", held)


def steps_of(there: World, id: str) -> dict[str, str]:
    return {one.label: one.status for one in there.store.steps(TENANT, id)}


def test_a_long_line_is_cut_and_runs_as_one_execution() -> None:
    with world(line(40, gate=22), limit=LIMIT) as there:
        (compiled,) = there.compilations
        assert len(compiled.parts) >= 3
        assert all(one.limit != "bytes of the definition" for part in compiled.parts.values() for one in measures(part))
        hold(there)
        id = there.start("long", n=1)
        there.reached("s22")
        there.service.pause(TENANT, id, by="bob")
        there.effects.open.set()
        there.until(lambda: steps_of(there, id).get("s22") == "completed", "the held step does not end")
        assert there.service.get(TENANT, id).status == "paused"
        assert "s23" not in steps_of(there, id)
        there.service.resume(TENANT, id, by="bob")
        done = there.status(id, "completed", "failed")
        assert (done.status, done.run) == ("completed", 2)
        assert there.service.output(TENANT, id) == {"first": 2, "last": 40}
        assert there.effects.count() == {f"s{number}": 1 for number in range(40)}
        assert steps_of(there, id) == {f"s{number}": "completed" for number in range(40)}


def test_a_failure_in_a_part_names_its_step_and_can_be_tried_again() -> None:
    with world(line(40, gate=-1), limit=LIMIT) as there:
        there.effects.failing.add("s25")
        id = there.start("long", n=1)
        failed = there.status(id, "failed", "completed")
        assert failed.error is not None and (failed.status, failed.error.step, failed.error.error) == ("failed", "s25", "RuntimeError")
        assert failed.error.message == "step s25: s25 is to fail"
        there.effects.failing.clear()
        there.service.retry(TENANT, id, by="bob")
        assert there.status(id, "completed").run == 2
        assert there.effects.count() == {f"s{number}": 1 + (number == 25) for number in range(40)}


def test_a_cancel_ends_the_parts_too() -> None:
    with world(line(40, gate=22), limit=LIMIT) as there:
        hold(there)
        id = there.start("long", n=1)
        there.reached("s22")
        there.service.cancel(TENANT, id, by="bob")
        there.effects.open.set()
        assert there.status(id, "cancelled").status == "cancelled"
        machines = {arn: one.status for arn, one in there.cloud._runtime.executions.items()}
        assert len(machines) > 2 and "RUNNING" not in machines.values()
        assert "s23" not in there.effects.count()


def test_parts_are_published_with_their_workflow() -> None:
    with world(EACH) as there:
        def compile(versions: Mapping[str, str]) -> list[Compilation]:
            return compile_sources([Source("dialect: canonical\n" + line(40, gate=-1))], versions=versions, limit=LIMIT)

        for state in ("new", "unchanged"):
            (published,) = publish(compile, there.settings, TENANT, role="local")
            assert published.state == state
        parts = there.catalog.get(TENANT, "long")["parts"]
        assert len(parts) == len(set(parts)) == len(compile({})[0].parts) >= 3
        id = there.start("long", n=1)
        assert there.status(id, "completed", "failed").status == "completed"
        assert there.service.output(TENANT, id) == {"first": 2, "last": 40}
        ran = {one.state_machine.arn for one in there.cloud._runtime.executions.values()}
        assert ran == {published.machine, *parts}


EACH = """
    id: each
    inputs: {n: {type: integer}}
    steps:
      - {id: before, type: skill, config: {skill: effect, parameters: {name: before}}}
      - id: many
        type: foreach
        items: "{{ range(0, input.n) }}"
        max_parallel: 50
        depends_on: [before]
        steps:
          - {id: one, type: skill, config: {skill: effect, parameters: {name: "one {{ item }}"}}}
          - {id: hold, type: skill, depends_on: [one], when: "item == 3", config: {skill: gate, parameters: {name: held}}}
          - {id: two, type: skill, depends_on: [hold], config: {skill: effect, parameters: {name: "two {{ item }} {{ steps.before.output }}"}}}
      - {id: after, type: skill, depends_on: [many], config: {skill: effect, parameters: {name: after, value: "{{ len(steps.many.output) }}"}}}
"""


def test_a_distributed_loop_is_paused_and_goes_on() -> None:
    with world(EACH) as there:
        id = there.start("each", n=8)
        there.reached("held", *(f"one {number}" for number in range(8)))
        there.service.pause(TENANT, id, by="bob")
        there.effects.open.set()
        there.service.resume(TENANT, id, by="bob")
        assert there.status(id, "completed", "failed").status == "completed"
        assert there.service.output(TENANT, id) == {"after": 8}
        names = ["after", "before", "held", *(f"one {n}" for n in range(8)), *(f"two {n} before" for n in range(8))]
        assert there.effects.count() == dict.fromkeys(sorted(names), 1)
        done = steps_of(there, id)
        assert {done[f"one[{number}]"] for number in range(8)} == {done["many"], done["before"], done["after"]} == {"completed"}
