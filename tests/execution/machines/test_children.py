"""Workflows that call workflows."""

from __future__ import annotations

import pytest

from tests.execution.support import Skills, compile_text, run_text
from translator.diagnostics import TranslatorError

KID = """
    id: kid
    inputs:
      x: {type: number, required: true}
      y: {type: number, default: 7}
    steps: [{id: add, type: skill, config: {skill: echo, parameters: {value: "{{ input.x * 10 + input.y }}"}}}]
"""


def test_a_child_gets_its_input_and_gives_its_output(skills: Skills) -> None:
    result = run_text("""
        id: par
        steps: [{id: call, type: workflow, workflow: kid, input: {x: 2}}]
    """, KID)
    assert result.output == {"call": {"add": 27}}


def test_children_in_a_loop_are_executions_of_their_own(skills: Skills) -> None:
    result = run_text("""
        id: par
        steps:
          - {id: each, type: foreach, items: [1, 1, 2], steps: [{id: call, type: workflow, workflow: kid, input: {x: "{{ item }}"}}]}
          - {id: again, type: workflow, depends_on: [each], workflow: kid, input: {x: 1}}
    """, KID)
    assert result.status == "completed"
    assert skills.count("echo") == 4


def test_a_failing_child_fails_its_parent(skills: Skills) -> None:
    result = run_text("""
        id: par
        steps: [{id: call, type: workflow, workflow: kid}]
    """, """
        id: kid
        steps: [{id: f, type: skill, config: {skill: fail}}]
    """)
    assert result.status == "failed"
    assert result.error is not None
    assert (result.error.path, result.error.step, result.error.workflow) == (("call",), "f", "kid")


def test_each_attempt_is_an_execution_of_its_own(skills: Skills) -> None:
    result = run_text("""
        id: par
        steps: [{id: call, type: workflow, workflow: kid, retry: {max_attempts: 3, delay: 1, on: ['*']}}]
    """, """
        id: kid
        steps: [{id: f, type: skill, config: {skill: flaky, parameters: {name: f, times: 2}}}]
    """)
    assert (result.status, result.output) == ("completed", {"call": {"f": 3}})


def test_fire_and_forget(skills: Skills) -> None:
    result = run_text("""
        id: par
        steps:
          - {id: call, type: workflow, workflow: kid, wait_for_completion: false, input: {x: 1}}
          - {id: after, type: skill, depends_on: [call], config: {skill: echo, parameters: {name: after}}}
    """, KID)
    assert result.status == "completed"
    assert result.output == {"after": None}


@pytest.mark.parametrize(("texts", "code"), [
    (["id: a\nsteps: [{id: s, type: workflow, workflow: a}]"], "G018"),
    (["id: a\nsteps: [{id: s, type: workflow, workflow: b}]", "id: b\nsteps: [{id: s, type: workflow, workflow: a}]"], "G018"),
    (["id: a\nsteps: [{id: s, type: workflow, workflow: kid, input: {x: 1, z: 2}}]", KID], "G023"),
    (["id: a\nsteps: [{id: s, type: workflow, workflow: kid}]", KID], "G024"),
    ([KID, KID], "G020"),
])
def test_calls_that_cannot_work_are_refused(texts: list[str], code: str) -> None:
    with pytest.raises(TranslatorError) as caught:
        compile_text(*texts)
    assert code in {found.code for found in caught.value.diagnostics}


def test_the_circle_of_calls_is_shown() -> None:
    with pytest.raises(TranslatorError) as caught:
        compile_text(
            "id: a\nsteps: [{id: s, type: workflow, workflow: b}]", "id: b\nsteps: [{id: s, type: workflow, workflow: a}]"
        )
    assert "a → b → a" in {found.message.split(": ")[-1] for found in caught.value.diagnostics}


@pytest.mark.parametrize(("given", "says"), [
    ("{x: '{{ input.v }}'}", "x: a number is wanted"), ("{x: 1, y: '{{ input.v }}'}", "y: a number is wanted"),
    ("'{{ input }}'", "x: a number is wanted"),
])
def test_a_child_refuses_what_it_does_not_take(skills: Skills, given: str, says: str) -> None:
    result = run_text(f"""
        id: par
        steps: [{{id: call, type: workflow, workflow: kid, input: {given}}}]
    """, KID, input={"v": "text"})
    assert result.status == "failed"
    assert result.error is not None
    assert says in result.error.message
    assert skills.count("echo") == 0


def test_a_computed_input_is_taken_with_the_childs_defaults(skills: Skills) -> None:
    result = run_text("""
        id: par
        steps: [{id: call, type: workflow, workflow: kid, input: "{{ input }}"}]
    """, KID, input={"x": 2})
    assert result.output == {"call": {"add": 27}}


def test_an_integer_is_a_whole_number(skills: Skills) -> None:
    kid = KID.replace("{type: number, required: true}", "{type: integer, required: true}")
    parent = "id: par\nsteps: [{id: call, type: workflow, workflow: kid, input: {x: '{{ input.v }}'}}]"
    assert run_text(parent, kid, input={"v": 2}).output == {"call": {"add": 27}}
    assert run_text(parent, kid, input={"v": 2.5}).status == "failed"


def test_the_error_of_a_child_is_readable(skills: Skills) -> None:
    result = run_text("""
        id: par
        steps:
          - {id: call, type: workflow, workflow: kid, on_failure: continue}
          - {id: after, type: transform, depends_on: [call], config: {expression: "errors.call.message"}}
    """, """
        id: kid
        steps: [{id: f, type: skill, config: {skill: fail, parameters: {message: "a \\"quoted\\" word"}}}]
    """)
    assert result.output == {"after": 'step f: a "quoted" word'}


FAILING_KID = """
    id: kid
    steps: [{id: f, type: skill, config: {skill: fail}}]
"""
MIDDLE = """
    id: mid
    steps: [{id: call, type: workflow, workflow: kid}]
"""


@pytest.mark.parametrize("between", [False, True])
@pytest.mark.parametrize(("handlers", "status"), [
    ("[{errors: ['*'], action: continue}]", "completed"),
    ("[{errors: [NoisyError], action: continue}]", "completed"),
    ("[{errors: [OtherError], action: continue}]", "failed"),
    ("[{errors: [OtherError], action: fail}, {errors: ['*'], action: continue}]", "completed"),
    ("[{errors: [NoisyError], action: fail}, {errors: ['*'], action: continue}]", "failed"),
    ("[{errors: [States.TaskFailed], action: continue}]", "completed"),
])
def test_handlers_name_the_error_of_a_child(skills: Skills, handlers: str, status: str, between: bool) -> None:
    result = run_text(f"""
        id: par
        error_handlers: {handlers}
        steps:
          - {{id: call, type: workflow, workflow: {"mid" if between else "kid"}}}
          - {{id: after, type: transform, depends_on: [call], config: {{expression: "errors.call"}}}}
    """, *([MIDDLE] if between else []), FAILING_KID)
    assert result.status == status
    if status == "completed":
        error = result.output["after"]
        assert (error["error"], error["message"], error["step"]) == ("NoisyError", "step f: as asked", "call")
        assert error["execution"].startswith("call-")
    else:
        assert result.error is not None
        assert result.error.error == "NoisyError"


def test_a_child_costs_no_state_more_where_no_error_is_named() -> None:
    (compiled, _) = compile_text("""
        id: par
        error_handlers: [{errors: ['*'], action: continue}]
        steps: [{id: call, type: workflow, workflow: kid}, {id: after, type: wait, seconds: 1, depends_on: [call]}]
    """, FAILING_KID)
    assert sorted(compiled.definition["States"]) == ["after", "call"]


@pytest.mark.parametrize(("retry", "calls", "status"), [
    ("{max_attempts: 3, delay: 1, on: [NoisyError]}", 3, "completed"),
    ("{max_attempts: 2, delay: 1, on: [NoisyError]}", 2, "failed"),
    ("{max_attempts: 3, delay: 1, on: [OtherError]}", 1, "failed"),
    ("{max_attempts: 3, delay: 1}", 1, "failed"),
    ("{max_attempts: 3, delay: 1, on: [ValidationError]}", 1, "failed"),
])
def test_a_child_is_retried_for_the_errors_that_are_listed(skills: Skills, retry: str, calls: int, status: str) -> None:
    result = run_text(f"""
        id: par
        steps: [{{id: call, type: workflow, workflow: kid, retry: {retry}}}]
    """, """
        id: kid
        steps: [{id: f, type: skill, config: {skill: flaky, parameters: {name: f, times: 2}}}]
    """)
    assert (result.status, skills.count("f")) == (status, calls)


def test_a_handler_retries_a_child_for_its_error(skills: Skills) -> None:
    result = run_text("""
        id: par
        error_handlers: [{errors: [NoisyError], action: retry, max_retries: 1, then: continue}]
        steps:
          - {id: call, type: workflow, workflow: kid}
          - {id: after, type: transform, depends_on: [call], config: {expression: "errors.call.message"}}
    """, """
        id: kid
        steps: [{id: f, type: skill, on_failure: fail, config: {skill: flaky, parameters: {name: f, times: 5}}}]
    """)
    assert (result.status, result.output, skills.count("f")) == ("completed", {"after": "step f: call 2"}, 2)


def test_finally_reads_the_error_of_a_child(skills: Skills) -> None:
    run_text("""
        id: par
        steps: [{id: call, type: workflow, workflow: kid}]
        finally:
          - {id: tidy, type: skill, config: {skill: echo, parameters: {value: "{{ execution.error.error }}: {{ execution.error.message }}"}}}
    """, FAILING_KID)
    assert skills.calls[-1] == ("echo", "NoisyError: step f: as asked")
