"""Retries, failure policies, error handlers, collected errors, finally and notifications."""

from __future__ import annotations

import json
from typing import Any

import pytest

from infra.local.runner import run
from tests.execution.support import Skills, compile_text, run_text, status_of
from translator.asl.limits import MAX_BYTES

FAILING = "{skill: fail, parameters: {name: f}}"


def test_a_failure_ends_the_execution_with_its_name_and_place(skills: Skills) -> None:
    result = run_text(f"""
        steps:
          - {{id: f, type: skill, config: {FAILING}}}
          - {{id: after, type: skill, depends_on: [f], config: {{skill: echo}}}}
    """)
    assert result.status == "failed"
    assert result.error is not None
    assert (result.error.error, result.error.step) == ("NoisyError", "f")
    assert "as asked" in result.error.message
    assert result.error.position.line == 4
    assert skills.count("echo") == 0


def test_continue_records_the_error_and_goes_on(skills: Skills) -> None:
    result = run_text(f"""
        steps:
          - {{id: f, type: skill, on_failure: continue, config: {FAILING}}}
          - id: after
            type: transform
            depends_on: [f]
            config: {{data: {{o: "{{{{ steps.f.output }}}}", e: "{{{{ errors.f.error }}}}", m: "{{{{ errors.f.message }}}}", st: "{{{{ steps.f.status }}}}"}}}}
    """)
    assert result.status == "completed"
    assert result.output["after"] == {"o": None, "e": "NoisyError", "m": result.output["after"]["m"], "st": "failed"}
    assert "as asked" in result.output["after"]["m"]
    assert status_of(result, "f") == "failed"


def test_a_completed_step_has_no_error(skills: Skills) -> None:
    result = run_text("""
        steps:
          - {id: f, type: skill, on_failure: continue, config: {skill: echo, parameters: {value: 1}}}
          - {id: after, type: transform, depends_on: [f], config: {data: ["{{ errors.f }}", "{{ steps.f.status }}"]}}
    """)
    assert result.output == {"after": [None, "completed"]}


def test_a_retry_counts_the_first_attempt(skills: Skills) -> None:
    result = run_text("""
        steps:
          - {id: a, type: skill, retry: {max_attempts: 3, delay: 1, on: [NoisyError]}, config: {skill: flaky, parameters: {name: a, times: 2}}}
    """)
    assert (result.status, result.output, skills.count("a")) == ("completed", {"a": 3}, 3)


def test_an_error_that_is_not_listed_is_not_retried(skills: Skills) -> None:
    result = run_text("""
        steps:
          - {id: a, type: skill, retry: {max_attempts: 3, on: [Transient]}, config: {skill: flaky, parameters: {name: a, times: 2}}}
    """)
    assert (result.status, skills.count("a")) == ("failed", 1)


def test_the_rule_of_an_exponential_retry() -> None:
    (compiled,) = compile_text("""
        steps:
          - {id: a, type: skill, retry: {max_attempts: 6, delay: 1, multiplier: 2, max_delay: 3, on: [Transient]}, config: {skill: x}}
    """)
    rules = [rule for rule in compiled.definition["States"]["a"]["Retry"] if "Transient" in rule["ErrorEquals"]]
    assert rules == [
        {"ErrorEquals": ["Transient"], "IntervalSeconds": 1, "MaxAttempts": 5, "BackoffRate": 2, "MaxDelaySeconds": 3}
    ]


@pytest.mark.parametrize(("strategy", "gaps"), [
    ("exponential", [1, 2, 3, 3]), ("linear", [1, 2, 3, 3]), ("fibonacci", [1, 1, 2, 3]), ("fixed", [1, 1, 1, 1]),
    ("immediate", [1, 1, 1, 1]),
])
def test_the_gaps_between_attempts(skills: Skills, strategy: str, gaps: list[int]) -> None:
    scale = 10
    result = run_text(f"""
        steps:
          - {{id: a, type: skill, retry: {{max_attempts: 5, strategy: {strategy}, delay: 1, max_delay: 3, on: [NoisyError]}},
             config: {{skill: flaky, parameters: {{name: a, times: 4}}}}}}
    """, time_scale=scale)
    assert result.status == "completed"
    times = [at for name, at in skills.calls if name == "a"]
    measured = [(later - earlier) * scale for earlier, later in zip(times, times[1:], strict=False)]
    assert len(measured) == 4
    # Never earlier; how much later is a matter of the machine that the tests run on (a second of it is ten here).
    assert all(wanted - 0.1 <= gap <= wanted + scale for gap, wanted in zip(measured, gaps, strict=True)), measured


def test_a_time_limit_counts_for_each_attempt(skills: Skills) -> None:
    calls: list[int] = []

    def hang_first(times: int) -> int:
        import time

        calls.append(1)
        if len(calls) <= times:
            time.sleep(3)
        return len(calls)

    from aslant import skills as registry

    registry.register("hang_first", hang_first)
    text = """
        steps:
          - {{id: a, type: skill, timeout: 2, retry: {{max_attempts: 2, delay: 1, on: [timeout]}},
             config: {{skill: hang_first, parameters: {{times: {times}}}}}}}
    """
    result = run_text(text.format(times=1), time_scale=20)
    assert (result.status, result.output, len(calls)) == ("completed", {"a": 2}, 2)
    calls.clear()
    result = run_text(text.format(times=9), time_scale=20)
    assert (result.status, len(calls)) == ("failed", 2)
    assert result.error is not None
    assert result.error.error in ("States.Timeout", "StepTimeout")


@pytest.mark.parametrize(("handlers", "status"), [
    ("[{errors: [NoisyError], action: continue}]", "completed"),
    ("[{errors: ['*'], action: continue}]", "completed"),
    ("[{errors: [OtherError], action: continue}]", "failed"),
    ("[{errors: [NoisyError], action: fail}, {errors: ['*'], action: continue}]", "failed"),
    ("[{errors: [OtherError], action: fail}, {errors: ['*'], action: continue}]", "completed"),
])
def test_the_first_matching_error_handler_decides(skills: Skills, handlers: str, status: str) -> None:
    result = run_text(f"""
        error_handlers: {handlers}
        steps:
          - {{id: f, type: skill, config: {FAILING}}}
    """)
    assert result.status == status
    if status == "failed":
        assert result.error is not None
        assert result.error.error == "NoisyError"


def test_a_steps_own_policy_goes_before_the_handlers(skills: Skills) -> None:
    result = run_text(f"""
        error_handlers: [{{errors: ['*'], action: continue}}]
        steps: [{{id: f, type: skill, on_failure: fail, config: {FAILING}}}]
    """)
    assert result.status == "failed"


def test_a_handler_that_retries(skills: Skills) -> None:
    result = run_text("""
        error_handlers: [{errors: [NoisyError], action: retry, max_retries: 2, then: continue}]
        steps:
          - {id: a, type: skill, config: {skill: flaky, parameters: {name: a, times: 2}}}
          - {id: b, type: skill, depends_on: [a], config: {skill: flaky, parameters: {name: b, times: 9}}}
    """)
    assert result.status == "completed"
    assert (skills.count("a"), skills.count("b")) == (3, 3)
    assert status_of(result, "b") == "failed"


@pytest.mark.parametrize("wait", [True, False])
def test_a_failing_branch_and_its_siblings(skills: Skills, wait: bool) -> None:
    result = run_text(f"""
        steps:
          - id: p
            type: parallel
            wait_for_all: {str(wait).lower()}
            branches:
              - steps: [{{id: bad, type: skill, config: {FAILING}}}]
              - steps:
                  - {{id: slow, type: skill, config: {{skill: sleep, parameters: {{seconds: 0.5, name: slow}}}}}}
                  - {{id: later, type: skill, depends_on: [slow], config: {{skill: echo, parameters: {{name: later}}}}}}
    """)
    assert result.status == "failed"
    assert result.error is not None
    assert result.error.error == "NoisyError"
    assert skills.count("later") == (1 if wait else 0)


def test_all_errors_of_a_parallel_are_collected(skills: Skills) -> None:
    result = run_text("""
        steps:
          - id: p
            type: parallel
            on_failure: continue
            branches:
              - steps: [{id: one, type: skill, config: {skill: fail, parameters: {message: first}}}]
              - steps: [{id: two, type: skill, config: {skill: fail, parameters: {message: second}}}]
              - steps: [{id: ok, type: skill, config: {skill: echo, parameters: {value: 3}}}]
          - {id: after, type: transform, depends_on: [p], config: {data: {st: "{{ steps.p.status }}", m: "{{ errors.p.message }}", ok: "{{ steps.ok.output }}"}}}
    """)
    assert result.status == "completed"
    output = result.output["after"]
    assert output["st"] == "failed"
    assert "first" in output["m"] and "second" in output["m"]


def test_an_expression_that_fails_in_a_branch_waits_for_the_siblings(skills: Skills) -> None:
    result = run_text("""
        steps:
          - id: p
            type: parallel
            branches:
              - steps:
                  - {id: z, type: transform, config: {expression: "null"}}
                  - {id: bad, type: transform, depends_on: [z], config: {expression: "steps.z.output < 1"}}
              - steps:
                  - {id: slow, type: skill, config: {skill: sleep, parameters: {seconds: 0.3}}}
                  - {id: later, type: skill, depends_on: [slow], config: {skill: echo, parameters: {name: later}}}
    """)
    assert result.status == "failed"
    assert skills.count("later") == 1


def test_a_transform_that_may_fail_and_go_on(skills: Skills) -> None:
    result = run_text("""
        steps:
          - {id: z, type: transform, config: {expression: "null"}}
          - {id: bad, type: transform, depends_on: [z], on_failure: continue, config: {expression: "steps.z.output < 1"}}
          - {id: after, type: transform, depends_on: [bad], config: {expression: "errors.bad.error"}}
    """)
    assert result.output == {"after": "ExpressionError"}


@pytest.mark.parametrize("fails", [True, False])
def test_finally_runs_once_whatever_happened(skills: Skills, fails: bool) -> None:
    skill = "fail" if fails else "echo"
    result = run_text(f"""
        steps: [{{id: body, type: skill, config: {{skill: {skill}, parameters: {{name: body}}}}}}]
        finally:
          - {{id: tidy, type: skill, config: {{skill: echo, parameters: {{name: tidy, value: "{{{{ execution.status }}}} {{{{ execution.error.error }}}}"}}}}}}
    """)
    assert result.status == ("failed" if fails else "completed")
    assert skills.calls[-1] == ("tidy", "failed NoisyError" if fails else "completed ")
    assert skills.count("tidy") == 1
    if fails:
        assert result.error is not None
        assert result.error.error == "NoisyError"
    else:
        assert result.output == {"body": None}


def test_finally_reads_what_the_body_gave(skills: Skills) -> None:
    result = run_text("""
        outputs: {x: "{{ steps.body.output }}", t: "{{ steps.tidy.output }}"}
        steps: [{id: body, type: skill, config: {skill: echo, parameters: {value: 5}}}]
        finally: [{id: tidy, type: transform, config: {expression: "steps.body.output + 1"}}]
    """)
    assert result.output == {"x": 5, "t": 6}


@pytest.mark.parametrize(("fails", "sent"), [(True, ["failed", "both"]), (False, ["completed", "both"])])
def test_notifications_are_sent_for_their_outcome_and_never_fail_the_execution(
    skills: Skills, fails: bool, sent: list[str]
) -> None:
    skill = "fail" if fails else "echo"
    result = run_text(f"""
        notifications:
          - {{on: [failed], config: {{channel: event, message: failed}}}}
          - {{on: [completed], config: {{channel: event, message: completed}}}}
          - {{on: [completed, failed], config: {{channel: webhook, url: "https://127.0.0.1:9/x", message: both}}}}
        steps: [{{id: body, type: skill, config: {{skill: {skill}}}}}]
    """)
    assert result.status == ("failed" if fails else "completed")


def test_a_failure_of_finally_fails_the_execution(skills: Skills) -> None:
    result = run_text(f"""
        steps: [{{id: body, type: skill, config: {{skill: echo}}}}]
        finally: [{{id: tidy, type: skill, config: {FAILING}}}]
    """)
    assert result.status == "failed"


def test_the_workflows_policy_is_the_default(skills: Skills) -> None:
    result = run_text(f"""
        settings: {{on_error: continue}}
        steps:
          - {{id: f, type: skill, config: {FAILING}}}
          - {{id: g, type: skill, depends_on: [f], config: {{skill: echo, parameters: {{value: 1}}}}}}
    """)
    assert (result.status, result.output) == ("completed", {"g": 1})


def test_unsupported_actions_are_said(skills: Skills) -> None:
    (compiled,) = compile_text("""
        error_handlers: [{errors: ["*"], action: fail, steps: [undo]}]
        rollback: [{id: undo, type: skill, config: {skill: echo}}]
        steps: [{id: f, type: skill, config: {skill: echo}}]
    """)
    found = [(item.severity.value, item.code) for item in compiled.diagnostics]
    assert ("unsupported", "A007") in found


@pytest.mark.parametrize("before", ["{id: a, type: skill, config: {skill: echo}}", "{id: a, type: transform, config: {expression: '1'}}"])
@pytest.mark.parametrize("order", ["", "depends_on: [a], "])
def test_the_step_that_failed_is_named_however_its_branch_is_built(skills: Skills, before: str, order: str) -> None:
    result = run_text(f"""
        outputs: {{st: ["{{{{ steps.a.status }}}}", "{{{{ steps.b.status }}}}"], loop: "{{{{ steps.q.output }}}}"}}
        steps:
          - id: p
            type: parallel
            on_failure: continue
            branches:
              - steps:
                  - {before}
                  - {{id: b, type: skill, {order}config: {FAILING}}}
          - id: q
            type: foreach
            items: [1]
            on_item_error: continue
            steps:
              - {before.replace("id: a", "id: c")}
              - {{id: d, type: skill, {order.replace("[a]", "[c]")}config: {FAILING}}}
    """)
    assert result.status == "completed"
    assert result.output["st"][1] == "failed"
    assert result.output["st"][0] != "failed"
    assert [item["error"]["step"] for item in result.output["loop"]] == ["d"]


NATIVE_FAILURES = {
    "transform": "{id: bad, type: transform, depends_on: [z], config: {expression: 'steps.z.output < 1'}}",
    "choice": "{id: bad, type: choice, depends_on: [z], cases: [{name: x, when: 'steps.z.output < 1'}], default: y}",
    "when": "{id: bad, type: skill, depends_on: [z], when: 'steps.z.output < 1', config: {skill: echo}}",
    "wait": "{id: bad, type: wait, depends_on: [z], seconds: '{{ steps.z.output }}'}",
}


@pytest.mark.parametrize("kind", NATIVE_FAILURES)
def test_a_native_failure_names_its_step(skills: Skills, kind: str) -> None:
    failing = NATIVE_FAILURES[kind]
    before = "{id: z, type: transform, config: {expression: 'input.v'}}"
    result = run_text(f"""
        outputs: {{p: "{{{{ steps.p.output.errors }}}}", each: "{{{{ steps.q.output }}}}", st: ["{{{{ steps.z.status }}}}", "{{{{ steps.bad.status }}}}", "{{{{ steps.more.status }}}}"]}}
        steps:
          - id: q
            type: foreach
            items: [1]
            on_item_error: continue
            steps: [{before.replace("id: z", "id: y")}, {failing.replace("id: bad", "id: worse").replace("[z]", "[y]").replace("steps.z", "steps.y")}]
          - id: p
            type: parallel
            depends_on: [q]
            on_failure: continue
            branches:
              - steps:
                  - {before}
                  - {failing}
                  - {{id: more, type: wait, seconds: 1, depends_on: [bad]}}
              - steps: [{{id: beside, type: skill, config: {{skill: echo}}}}]
    """, input={"v": None})
    assert result.status == "completed"
    assert [item["error"]["step"] for item in result.output["each"]] == ["worse"]
    assert [item["error"]["error"] for item in result.output["each"]] == ["ExpressionError"]
    assert result.output["st"] == ["completed", "failed", "skipped"]


@pytest.mark.parametrize("kind", NATIVE_FAILURES)
def test_finally_knows_how_the_steps_ended_when_the_machine_failed(skills: Skills, kind: str) -> None:
    run_text(f"""
        steps:
          - {{id: z, type: transform, config: {{expression: 'input.v'}}}}
          - {NATIVE_FAILURES[kind]}
          - {{id: more, type: skill, depends_on: [bad], config: {{skill: echo, parameters: {{name: more}}}}}}
        finally:
          - {{id: tidy, type: skill, config: {{skill: echo, parameters: {{name: tidy, value: [
              "{{{{ execution.error.error }}}}", "{{{{ execution.error.step }}}}",
              "{{{{ steps.z.status }}}}", "{{{{ steps.bad.status }}}}", "{{{{ steps.more.status }}}}"]}}}}}}
    """, input={"v": None})
    assert skills.calls[-1] == ("tidy", ["ExpressionError", "bad", "completed", "failed", "skipped"])


@pytest.mark.parametrize("wait_for_all", ["true", "false"])
@pytest.mark.parametrize("order", ["one", "beside", "branch", "loop"])
def test_finally_knows_how_the_steps_ended_when_a_step_failed(skills: Skills, order: str, wait_for_all: str) -> None:
    """The failing step follows another one: in the body itself, beside others, in a branch, or in a loop."""
    pair = ["{id: a, type: skill, config: {skill: echo}}", f"{{id: b, type: skill, depends_on: [a], config: {FAILING}}}",
            "{id: c, type: skill, depends_on: [b], config: {skill: echo}}"]
    written = {
        "one": pair,
        "beside": [*pair, "{id: d, type: wait, seconds: 1}"],
        "branch": [f"{{id: p, type: parallel, wait_for_all: {wait_for_all}, branches: [{{steps: [{', '.join(pair)}]}}, "
                   "{steps: [{id: d, type: wait, seconds: 1}]}]}"],
        "loop": ["{id: a, type: skill, config: {skill: echo}}",
                 f"{{id: l, type: foreach, items: [1], depends_on: [a], steps: [{{id: b, type: skill, config: {FAILING}}}]}}",
                 "{id: c, type: skill, depends_on: [l], config: {skill: echo}}"],
    }[order]
    failed = "l" if order == "loop" else "b"
    steps = "".join(f"\n          - {one}" for one in written)
    result = run_text(f"""
        steps: {steps}
        finally:
          - {{id: tidy, type: skill, config: {{skill: echo, parameters: {{name: tidy, value: [
              "{{{{ execution.error.step }}}}", "{{{{ steps.a.status }}}}", "{{{{ steps.{failed}.status }}}}", "{{{{ steps.c.status }}}}"]}}}}}}
    """)
    assert result.status == "failed"
    assert skills.calls[-1] == ("tidy", ["b", "completed", "failed", "skipped"])
    assert result.error is not None
    assert (result.error.error, result.error.step) == ("NoisyError", "b")


def test_a_step_that_was_skipped_before_the_failure_is_told_in_finally(skills: Skills) -> None:
    run_text(f"""
        steps:
          - {{id: no, type: skill, when: 'input.x == 1', config: {{skill: echo}}}}
          - {{id: b, type: skill, depends_on: [no], config: {FAILING}}}
        finally:
          - {{id: tidy, type: skill, config: {{skill: echo, parameters: {{name: tidy, value: ["{{{{ steps.no.status }}}}", "{{{{ steps.b.status }}}}"]}}}}}}
    """)
    assert skills.calls[-1] == ("tidy", ["skipped", "failed"])


def test_all_errors_as_an_object(skills: Skills) -> None:
    result = run_text(f"""
        steps:
          - {{id: a, type: skill, on_failure: continue, config: {FAILING}}}
          - {{id: ok, type: skill, on_failure: continue, depends_on: [a], config: {{skill: echo}}}}
          - {{id: seen, type: transform, depends_on: [ok], config: {{expression: "keys(errors)"}}}}
          - {{id: first, type: transform, depends_on: [seen], config: {{data: "{{{{ errors }}}}"}}}}
          - {{id: some, type: transform, when: "errors", depends_on: [first], config: {{expression: "errors.a.error"}}}}
        outputs: {{seen: "{{{{ steps.seen.output }}}}", all: "{{{{ steps.first.output }}}}", some: "{{{{ steps.some.output }}}}"}}
    """)
    assert result.output["seen"] == ["a"]
    assert result.output["all"] == {"a": {"error": "NoisyError", "message": "step a: as asked", "step": "a"}}
    assert result.output["some"] == "NoisyError"


def test_no_errors_are_an_empty_object(skills: Skills) -> None:
    result = run_text("""
        steps:
          - {id: a, type: skill, config: {skill: echo}}
          - {id: b, type: transform, depends_on: [a], config: {data: "{{ errors }}"}}
    """)
    assert result.output == {"b": {}}


def test_all_errors_in_finally_hold_what_the_body_failed_with(skills: Skills) -> None:
    run_text(f"""
        steps:
          - {{id: a, type: skill, on_failure: continue, config: {FAILING}}}
          - {{id: b, type: skill, depends_on: [a], config: {FAILING}}}
        finally:
          - {{id: tidy, type: skill, config: {{skill: echo, parameters: {{name: tidy, value: ["{{{{ keys(errors) }}}}", "{{{{ errors.b.error }}}}", "{{{{ errors.a.error }}}}"]}}}}}}
    """)
    assert skills.calls[-1] == ("tidy", [["a", "b"], "NoisyError", "NoisyError"])


@pytest.mark.parametrize("strategy", ["linear", "adaptive", "fixed"])
def test_attempts_of_a_reaction_come_after_those_of_every_strategy(skills: Skills, strategy: str) -> None:
    result = run_text(f"""
        error_handlers: [{{errors: ["*"], action: retry, max_retries: 2}}]
        steps:
          - {{id: a, type: skill, retry: {{max_attempts: 2, strategy: {strategy}, delay: 1, on: ["*"]}},
             config: {{skill: flaky, parameters: {{name: a, times: 3}}}}}}
    """)
    assert (result.status, result.output) == ("completed", {"a": 4})
    assert skills.count("a") == 4


def test_what_a_failure_leaves_does_not_depend_on_how_a_definition_is_cut(skills: Skills) -> None:
    def line(*names: str) -> list[dict[str, Any]]:
        return [
            {"id": name, "type": "skill", "config": {"skill": "echo", "parameters": {"value": name}}, "depends_on": [*before]}
            for name, before in zip(names, ((), *((name,) for name in names)), strict=False)
        ]

    branch, body = line("s0", "s1", "s2", "bad", "s4"), line("first", "call", "then", "last")
    branch[0] |= {"type": "transform", "config": {"data": {"zero": 0}}}
    branch[3]["config"] = {"skill": "fail"}
    body[1] = {"id": "call", "type": "workflow", "workflow": "kid", "depends_on": ["first"]}
    text = json.dumps({
        "dialect": "canonical", "id": "w",
        "steps": [
            {"id": "p", "type": "parallel", "on_failure": "continue", "branches": [{"steps": branch}]},
            {"id": "l", "type": "foreach", "items": [1, 2], "on_item_error": "continue", "steps": body},
        ],
        "outputs": {
            "left": [f"{{{{ steps.{name}.output }}}}" for name in ("s0", "s1", "s2", "s4")],
            "ended": [f"{{{{ steps.{name}.status }}}}" for name in ("s2", "bad", "s4")],
            "error": "{{ errors.bad.message }}", "items": "{{ steps.l.output }}",
        },
    })  # fmt: skip
    for limit, cut in ((MAX_BYTES, False), (4_000, True), (9_000, True)):
        compilations = compile_text(text, "id: kid\nsteps: [{id: f, type: skill, config: {skill: fail}}]", limit=limit)
        assert bool(compilations[0].parts) is cut
        result = run(compilations, {}, time_scale=60, timeout=60)
        assert result.status == "completed"
        assert result.output["left"] == [{"zero": 0}, "s1", "s2", None]
        assert result.output["ended"] == ["completed", "failed", "skipped"]
        assert result.output["error"] == "step bad: as asked"
        for item in result.output["items"]:
            assert item["status"] == "failed" and item["error"].pop("execution").startswith("call-")
            assert item["error"] == {"error": "NoisyError", "message": "step f: as asked", "step": "call"}


def test_finally_reads_what_completed_before_the_body_failed(skills: Skills) -> None:
    text = """
        id: w
        steps:
          - {id: made, type: skill, config: {skill: echo, parameters: {value: {key: 5}}}}
          - {id: sum, type: transform, depends_on: [made], config: {expression: "steps.made.output.key + 1"}}
          - {id: both, type: parallel, depends_on: [sum], branches: [{steps: [{id: inner, type: skill, config: {skill: echo, parameters: {value: 7}}}]}]}
          - {id: each, type: foreach, depends_on: [both], items: [1, 2], steps: [{id: one, type: skill, config: {skill: echo, parameters: {value: "{{ item }}"}}}]}
          - {id: call, type: workflow, depends_on: [each], workflow: kid}
          - {id: native, type: transform, depends_on: [call], when: "input.how == 'native'", config: {expression: "1 / input.zero"}}
          - {id: bad, type: skill, depends_on: [native], config: {skill: fail}}
          - {id: never, type: skill, depends_on: [bad], config: {skill: echo, parameters: {value: 9}}}
        finally:
          - {id: tidy, type: skill, config: {skill: echo, parameters: {name: tidy, value: [READS]}}}
    """  # noqa: E501
    places = ["made.output", "made.output.key + 1", "sum.output", "both.output.results[0].output", "inner.output", "each.output",
        "call.output", "never.output"]
    compiled = {
        limit: compile_text(
            text.replace("READS", ", ".join(f'"{{{{ steps.{place} }}}}"' for place in places)),
            "id: kid\nsteps: [{id: k, type: skill, config: {skill: echo, parameters: {value: 11}}}]", limit=limit,
        )
        for limit in (MAX_BYTES, 8_000)
    }  # fmt: skip
    assert [bool(compilations[0].parts) for compilations in compiled.values()] == [False, True]
    for how, limit, error in (("task", MAX_BYTES, "NoisyError"), ("native", MAX_BYTES, "ExpressionError"), ("task", 8_000, "NoisyError")):
        skills.calls.clear()
        result = run(compiled[limit], {"how": how, "zero": 0}, time_scale=60, timeout=60)
        assert result.error is not None and (result.status, result.error.error) == ("failed", error)
        (read,) = (value for name, value in skills.calls if name == "tidy")
        assert read == [{"key": 5}, 6, 6, 7, 7, [1, 2], {"k": 11}, None]


def test_what_finally_reads_costs_a_success_nothing_where_functions_record_it() -> None:
    def states(reads: str) -> set[str]:
        (compiled,) = compile_text(f"""
            id: w
            steps: [{{id: made, type: skill, config: {{skill: echo}}}}]
            finally: [{{id: tidy, type: skill, config: {{skill: echo, parameters: {{value: "{reads}"}}}}}}]
        """)
        return set(compiled.definition["States"])

    assert states("{{ steps.made.output }}") - states("x") == {"w values"}
