"""Child workflows: every call is an execution of its own, traceable to its parent, also when parents run side by side."""

from __future__ import annotations

import re
import threading

import pytest

from aslant import skills as registry
from infra.local.approvals import Decision, Request
from tests.execution.cases.deployment import deployed
from tests.execution.cases.spelling import errors_of, in_every_dialect, start_as
from tests.execution.support import Skills

PARENT = """
    id: par
    inputs: {tag: {type: string, required: true}}
    steps:
      - {id: each, type: foreach, items: [1, 1, 2], steps: [{id: call, type: workflow, workflow: kid, input: {x: "{{ item }}"}}]}
      - {id: again, type: workflow, depends_on: [each], workflow: kid, retry: {max_attempts: 2, delay: 1, on: ["*"]}, input: {x: 1, tag: "{{ input.tag }}"}}
"""
KID = """
    id: kid
    inputs: {x: {type: integer, required: true}, tag: {type: string, default: ""}}
    steps: [{id: work, type: skill, config: {skill: work, parameters: {x: "{{ input.x }}", tag: "{{ input.tag }}"}}}]
"""


@pytest.fixture
def work(skills: Skills) -> Skills:
    """A skill whose first call with a tag fails."""
    lock = threading.Lock()
    seen: set[str] = set()

    def work(x: int, tag: str) -> int:
        with lock:
            skills.calls.append(("work", x))
            if tag and tag not in seen:
                seen.add(tag)
                raise ValueError("first time")
        return x * 10

    registry.register("work", work)
    return skills


def test_children_of_equal_calls_never_meet(work: Skills) -> None:
    with deployed(PARENT, KID) as cloud:
        handles = [cloud.start(name, {"tag": name}) for name in ("first", "second")]
        ended = [handle.wait(30) for handle in handles]
        handles.append(cloud.start("third", {"tag": "third"}))
        ended.append(handles[-1].wait(30))
        names = [arn.rsplit(":", 1)[1] for handle in handles for arn in cloud.cloud.children(handle.arn)]
        identities = [event["execution"] for event in cloud.events]

    assert [result.output for result in ended] == [{"again": {"work": 10}}] * 3
    assert len(names) == work.count("work") == len(set(names)) == 15
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,80}", name) for name in names)
    # Each one says whose it is, and has an id of its own for requests and idempotency keys.
    assert sorted(info["id"] for info in identities) == sorted(names)
    assert {(info["tenant"], info["user"], info["workflow"], info["version"]) for info in identities} == {("acme", "ann", "kid", "1.0.0")}
    for parent in ("first", "second", "third"):
        own = [info["parent"] for info in identities if info["parent"]["execution"] == parent]
        assert sorted((one["step"], one["iteration"], one["attempt"]) for one in own) == [
            ("again", [], 0), ("again", [], 1), ("call", [0], 0), ("call", [1], 0), ("call", [2], 0)
        ]


def test_long_and_foreign_ids_give_legal_names(skills: Skills) -> None:
    step = "🚀 " + "é" * 150
    with deployed(
        f"id: par\nsteps: [{{id: '{step}', type: workflow, workflow: kid}}]",
        "id: kid\nsteps: [{id: a, type: transform, config: {expression: '1'}}]",
    ) as cloud:
        handle = cloud.start("one")
        assert handle.wait(30).status == "SUCCEEDED"
        (child,) = cloud.cloud.children(handle.arn)
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,80}", child.rsplit(":", 1)[1])


def test_a_start_that_is_refused_is_an_error_that_can_be_handled(skills: Skills) -> None:
    """Somebody else's execution has the name already: the step fails, it does not take that one's result."""
    with deployed("""
        id: par
        steps:
          - {id: call, type: workflow, workflow: kid, on_failure: continue}
          - {id: after, type: transform, depends_on: [call], config: {data: ["{{ steps.call.status }}", "{{ errors.call.error }}", "{{ steps.call.output }}"]}}
    """, "id: kid\nsteps: [{id: a, type: transform, config: {expression: '1'}}]") as cloud:
        first = cloud.start("same")
        assert first.wait(30).output == {"after": ["completed", None, {"a": 1}]}
        (child,) = cloud.cloud.children(first.arn)
        taken = child.rsplit(":", 1)[1]
        real = cloud.cloud._backend().start_execution
        cloud.cloud._backend().start_execution = lambda arn, name, *rest, **more: real(arn, taken if arn.endswith(":kid") else name, *rest, **more)
        try:
            output = cloud.start("other").wait(30).output["after"]
        finally:
            del cloud.cloud._backend().start_execution
    assert output[0] == "failed" and "ExecutionAlreadyExists" in output[1] and output[2] is None


@in_every_dialect
def test_children_in_a_loop_in_every_dialect(skills: Skills, dialect: str) -> None:
    result = start_as(dialect, """
        id: par
        name: par
        steps:
          - {id: each, type: foreach, items: [1, 1, 2], steps: [{id: call, type: workflow, workflow: kid, input: {x: "{{ item }}"}}]}
    """, """
        id: kid
        name: kid
        inputs: {x: {type: integer, required: true}}
        steps: [{id: work, type: skill, config: {skill: echo, parameters: {value: "{{ input.x }}"}}}]
    """)
    assert result.output == {"each": [{"work": 1}, {"work": 1}, {"work": 2}]}
    assert skills.count("echo") == 3


def test_gates_of_children_side_by_side_are_asked_and_answered_each_for_itself(skills: Skills) -> None:
    asked: list[str] = []

    def approver(request: Request) -> Decision:
        asked.append(request.message)
        return Decision("approve", comment=request.message)

    result = start_as("canonical", """
        id: par
        steps:
          - {id: each, type: foreach, items: [a, b, a], steps: [{id: call, type: workflow, workflow: kid, input: {x: "{{ item }}"}}]}
    """, """
        id: kid
        inputs: {x: {type: string, required: true}}
        steps: [{id: ask, type: approval, timeout: 600, config: {message: "go on with {{ input.x }}?"}}]
    """, approver=approver)
    assert result.status == "completed"
    assert sorted(asked) == ["go on with a?", "go on with a?", "go on with b?"]
    assert [one["ask"]["comment"] for one in result.output["each"]] == ["go on with a?", "go on with b?", "go on with a?"]


TAKER = """
    id: kid
    inputs: {x: {type: integer, required: true, maximum: 9}, y: {type: string, default: "{% $x %}"}, z: {type: boolean, default: true}}
    steps: [{id: w, type: transform, config: {data: ["{{ input.x }}", "{{ input.y }}", "{{ input.z }}"]}}]
"""


@pytest.mark.parametrize(("given", "expected"), [
    ("{x: 1}", [1, "{% $x %}", True]), ("{x: 1, z: false, y: ''}", [1, "", False]), ("'{{ input.o }}'", [5, "{% $x %}", False]),
])
def test_only_inputs_that_are_not_given_take_the_childs_defaults(given: str, expected: list[object]) -> None:
    result = start_as("canonical", f"""
        id: par
        inputs: {{o: {{type: object, default: {{x: 5, z: false}}}}}}
        steps: [{{id: call, type: workflow, workflow: kid, input: {given}}}]
    """, TAKER)
    assert result.output == {"call": {"w": expected}}, result.error


@pytest.mark.parametrize("given", ["{x: abc}", "{x: true}", "{x: 10}", "{x: null}", "{x: 1, y: 2}"])
def test_a_value_that_the_child_refuses_is_found_before_anything_runs(given: str) -> None:
    found = errors_of(f"id: par\nsteps: [{{id: call, type: workflow, workflow: kid, input: {given}}}]", TAKER)
    assert [one.code for one in found] == ["G026"]
