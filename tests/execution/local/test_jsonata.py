"""Expressions see values as they are, and their errors can be caught."""

from __future__ import annotations

import json

import pytest


def test_values_keep_their_text_and_their_kind(run):
    value = {
        "q": 'a "quoted" \\ text',
        "t": "see {% $states %}",
        "n": None,
        "u": "\u754c\U0001f600/\n",
        "l": [None, {"x": None}],
    }
    states = {
        "set": {"Type": "Pass", "Assign": {"v": "{% $states.input %}", "lit": value}, "Next": "get"},
        "get": {"Type": "Pass", "Output": {"v": "{% $v %}", "lit": "{% $lit %}", "q": "{% $v.q %}"}, "End": True},
    }
    assert run(states, value).output == {"v": value, "lit": value, "q": value["q"]}


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("$partition([1,2,3,4,5], 2)", [[1, 2], [3, 4], [5]]),
        ("$range(0, 10, 5)", [0, 5, 10]),
        ("$range(3, 1, -1)", [3, 2, 1]),
        ("$hash('abc', 'SHA-1')", "a9993e364706816aba3e25717850c26c9cd0d89d"),
        ("$parse('{\"a\": null}')", {"a": None}),
        ("$length($uuid())", 36),
        ("$random(7) = $random(7)", True),
        ("$random() < 1", True),
        ("$type($states.input.nothing)", "null"),
        ("$exists($states.input.missing)", False),
        ("$states.context.Execution.Input.text", "it's"),
        ("[1..3]", [1, 2, 3]),
        ("4 / 2", 2),
    ],
)
def test_expressions(run, expression, expected):
    state = {"Type": "Pass", "Output": {"value": "{% " + expression + " %}"}, "End": True}
    assert run({"only": state}, {"nothing": None, "text": "it's"}).output == {"value": expected}


@pytest.mark.parametrize(
    "expression",
    [
        "$states.input.missing",
        "$missing",
        "1 + 'a'",
        "$eval('1')",
        "function($x){$x}",
        "1 / 0",
        "(",
        "($f := function($n) { $f($n + 1) + 1 }; $f(0))",
        "$match('a', /(/)",
    ],
)
@pytest.mark.parametrize("place", [lambda text: text, lambda text: {"inner": [text]}])
def test_a_failed_expression_is_a_query_evaluation_error_that_a_catch_sees(cloud, run, call, expression, place):
    cloud.function("echo", lambda event, context: event)
    caught = {"ErrorEquals": ["States.QueryEvaluationError"], "Output": "{% $states.errorOutput.Error %}", "Next": "end"}
    states = {
        "task": call("echo", place("{% " + expression + " %}"), Catch=[caught]),
        "end": {"Type": "Pass", "Output": {"caught": "{% $states.input %}"}, "End": True},
    }
    assert run(states).output == {"caught": "States.QueryEvaluationError"}


def test_an_expression_outside_of_a_task_fails_the_execution(run):
    result = run({"only": {"Type": "Pass", "Output": {"a": {"b": "{% $nothing %}"}}, "End": True}})
    assert (result.status, result.error) == ("FAILED", "States.QueryEvaluationError")
    assert "$nothing" in result.cause and "undefined" in result.cause


def test_assign_and_output_see_the_values_from_before_the_state(run):
    states = {
        "one": {"Type": "Pass", "Assign": {"x": 1}, "Next": "two"},
        "two": {"Type": "Pass", "Assign": {"x": "{% $x + 1 %}", "y": "{% $x %}"}, "Output": {"was": "{% $x %}"}, "Next": "end"},
        "end": {"Type": "Pass", "Output": {"was": "{% $states.input.was %}", "x": "{% $x %}", "y": "{% $y %}"}, "End": True},
    }
    assert run(states).output == {"was": 1, "x": 2, "y": 1}


def test_inner_scopes_read_outer_variables_and_keep_their_own(run):
    branch = {
        "StartAt": "in",
        "States": {
            "in": {"Type": "Pass", "Assign": {"inner": "{% $outer & '!' %}"}, "Next": "out"},
            "out": {"Type": "Pass", "Output": "{% $inner %}", "End": True},
        },
    }
    loop = {
        "Type": "Map",
        "Items": [1, 2],
        "ItemProcessor": branch,
        "Assign": {"looped": "{% $states.result %}"},
        "Next": "end",
    }
    states = {
        "set": {"Type": "Pass", "Assign": {"outer": 'say "hi"'}, "Next": "both"},
        "both": {"Type": "Parallel", "Branches": [branch, branch], "Assign": {"got": "{% $states.result %}"}, "Next": "loop"},
        "loop": loop,
        "end": {
            "Type": "Pass",
            "Output": {"got": "{% $got %}", "looped": "{% $looped %}", "in": "{% $exists($inner) %}"},
            "End": True,
        },
    }
    both = ['say "hi"!'] * 2
    assert run(states).output == {"got": both, "looped": both, "in": False}


def test_names_of_states_and_errors_may_hold_any_text(cloud, run, call):
    cloud.function("fail", lambda event, context: (_ for _ in ()).throw(ValueError("x")))
    name = 'Prüfung "A" \\ \U0001f600'
    states = {
        "first": call("fail", Catch=[{"ErrorEquals": ["ValueError"], "Next": name}]),
        name: {"Type": "Pass", "Output": {"at": "{% $states.context.State.Name %}"}, "End": True},
    }
    assert run(states).output == {"at": name}


def test_choice_rules_have_their_own_assign_and_output(run):
    def states(default_next: str):
        rule = {"Condition": "{% $states.input.n > 1 %}", "Assign": {"v": "rule"}, "Output": {"o": "rule"}, "Next": "end"}
        return {
            "choose": {
                "Type": "Choice",
                "Choices": [rule],
                "Default": default_next,
                "Assign": {"v": "default"},
                "Output": {"o": "default"},
            },
            "end": {"Type": "Pass", "Output": {"v": "{% $v %}", "o": "{% $states.input.o %}"}, "End": True},
        }

    assert run(states("end"), {"n": 2}).output == {"v": "rule", "o": "rule"}
    assert run(states("end"), {"n": 0}).output == {"v": "default", "o": "default"}


def test_a_choice_without_a_match_and_one_that_is_no_boolean(run):
    def states(condition: str):
        return {"choose": {"Type": "Choice", "Choices": [{"Condition": condition, "Next": "end"}]}, "end": {"Type": "Succeed"}}

    assert run(states("{% false %}")).error == "States.NoChoiceMatched"
    assert run(states("{% 'yes' %}")).error == "States.QueryEvaluationError"


def test_fail_with_expressions(run):
    state = {"Type": "Fail", "Error": "{% 'My' & 'Error' %}", "Cause": "{% 'because ' & $states.input.why %}"}
    result = run({"only": state}, {"why": '"so"'})
    assert (result.status, result.error, result.cause) == ("FAILED", "MyError", 'because "so"')


@pytest.mark.parametrize("value", ["done", 7, None, [1, None], {"a": 1}, True])
def test_any_output_is_described_as_json(cloud, run, value):
    arn = cloud.state_machine(
        "scalar", {"QueryLanguage": "JSONata", "StartAt": "A", "States": {"A": {"Type": "Pass", "Output": value, "End": True}}}
    )
    execution = cloud.start(arn, {})
    assert execution.wait(10).output == value
    described = cloud.client("stepfunctions").describe_execution(executionArn=execution.arn)
    assert json.loads(described["output"]) == value


def test_a_result_is_measured_in_bytes_of_utf8(cloud, run, call):
    cloud.function("blob", lambda event, context: event["char"] * event["count"])
    states = {
        "task": call(
            "blob",
            "{% $states.input %}",
            Catch=[{"ErrorEquals": ["States.DataLimitExceeded"], "Output": {"big": True}, "Next": "end"}],
            Output={"big": False},
        ),
        "end": {"Type": "Succeed"},
    }
    assert run(states, {"char": "\u754c", "count": 80_000}).output == {"big": False}
    assert run(states, {"char": "\u754c", "count": 90_000}).output == {"big": True}
    assert run(states, {"char": "x", "count": 300_000}).output == {"big": True}


def test_an_input_over_the_limit_is_refused(cloud):
    arn = cloud.state_machine("m", {"StartAt": "A", "States": {"A": {"Type": "Succeed"}}})
    client = cloud.client("stepfunctions")
    with pytest.raises(client.exceptions.InvalidExecutionInput):
        client.start_execution(stateMachineArn=arn, input=json.dumps("x" * 262_144))
    assert client.list_executions(stateMachineArn=arn)["executions"] == []
