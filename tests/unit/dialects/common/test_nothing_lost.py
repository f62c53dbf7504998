"""What is said twice, or where its type has no use for it, is never lost silently: in every dialect."""

from __future__ import annotations

import pytest

from translator.diagnostics import Severity
from translator.pipeline import Source, check_sources

STEPS = "name: a\nsteps:\n  - "
STAGES = "workflow:\n  name: a\n  stages:\n    - name: one\n      steps:\n        - "
GRAPH = "name: a\nnodes:\n  - "
TASKS = "id: a\nname: a\ntasks:\n  - "
AGENTS = "metadata: {id: a, name: a}\nedges: []\nnodes:\n  - "


@pytest.mark.parametrize(("text", "code", "place"), [
    # one thing, two places
    (STEPS + "{id: s, type: http, config: {url: 'https://x.org'}, retry: {max_attempts: 2, ^max_retries: 3}}", "D010", 0),
    (STEPS + "{id: s, type: conditional, ^default: x, config: {condition: input.a}}", "D033", 0),
    (STEPS + "{id: s, type: conditional, config: {condition: input.a, ^when: input.b}}", "D033", 0),
    (STEPS + "{id: s, type: conditional, config: {branches: [{condition: input.a, target_step: t, ^target: u}]}}\n"
        "  - {id: t, type: delay, config: {seconds: 3}}\n  - {id: u, type: delay, config: {seconds: 3}}", "D033", 0),
    (STEPS + "{id: s, type: approval, timeout: 60s, config: {message: a, timeout: ^30}}", "D033", 0),
    (STAGES + "{id: s, type: http, ^skill: x, parameters: {url: 'https://x.org'}}", "D010", 0),
    (STAGES + "{id: s, type: mine, ^skill: x}", "D033", 0),
    (STAGES + "{id: s, type: foreach, items: [1], parameters: {^items: [2]}, steps: [{id: t, skill: x}]}", "D033", 0),
    (STAGES + "{id: s, type: wait, seconds: 4, parameters: {^duration: 5}}", "D033", 0),
    (STAGES + "{id: s, skill: x, pure: true, ^has_side_effects: true}", "D033", 0),
    (STAGES + "{id: s, skill: x, parameters: {a: 1}, config: {^parameters: {b: 1}}}", "D033", 1),
    (GRAPH + "{id: s, type: http, properties: {url: 'https://x.org'}, config: {^url: 'https://y.org'}}", "D033", 0),
    (GRAPH + "{id: s, type: foreach, properties: {items: [1], nodes: [{id: t, type: wait, properties: {seconds: 1}}]},"
        " ^items: [2]}", "D033", 0),
    (GRAPH + "{id: s, type: schedule, properties: {cron: '0 9 * * *'}, ^retry: {max_retries: 1}}\n"
        "  - {id: t, type: wait, properties: {seconds: 1}}\nconnections: [{source: s, target: t}]", "D010", 0),
    (TASKS + "{id: s, type: {type: wait, seconds: 4}, ^seconds: 5}", "D033", 0),
    (TASKS + "{id: s, type: {type: wait, seconds: 4}, ^task_type: {type: wait, seconds: 5}}", "D033", 0),
    (TASKS + "{id: s, type: {type: Subworkflow, workflow_id: x}, ^workflow: y}", "D033", 0),
    (AGENTS + "{id: s, agent: wait, parameters: {seconds: 4}, ^seconds: 5}", "D033", 0),
    (AGENTS + "{id: s, agent: llm, role: reduce, ^pattern: map, parameters: {prompt: a}}", "D033", 0),
    (AGENTS + "{id: s, agent: llm, parameters: {prompt: a}, config: {^prompt: b}}", "D033", 0),
    # settings of other types, or in the wrong place
    (STEPS + "{id: s, type: http, config: {url: 'https://x.org'}, ^items: [1]}", "G027", 0),
    (STAGES + "{id: s, type: parallel, branches: [{steps: [{id: t, skill: x}]}], ^steps: [{id: u, skill: x}]}", "G027", 0),
    (STAGES + "{id: s, type: parallel, ^steps: [{id: u, skill: x}]}", "G027", 0),
    (GRAPH + "{id: s, type: foreach, config: {^items: [1]}, steps: [{id: t, type: wait, properties: {seconds: 1}}]}", "G027", 0),
    (TASKS + "{id: s, type: {type: wait, seconds: 4}, ^cases: [{name: a, when: 'true'}]}", "G027", 0),
    (AGENTS + "{id: s, agent: router, parameters: {condition: input.a}, config: {^x: 1}}", "G027", 0),
    ("dialect: canonical\nsteps:\n  - {id: s, type: parallel, config: {^branches: [{steps: []}]}}", "G027", 0),
])
def test_what_would_be_lost_is_an_error(text: str, code: str, place: int) -> None:
    before = text[: text.index("^")]
    found = check_sources([Source(text.replace("^", ""), "a.yaml")])
    errors = [one for one in found if one.severity is Severity.ERROR]
    assert code in [one.code for one in errors]
    at = next(one for one in errors if one.code == code).position
    if place == 0:
        assert (at.line, at.column) == (before.count("\n") + 1, len(before) - before.rfind("\n"))


def test_equal_defaults_are_no_settings() -> None:
    text = STEPS + "{id: s, type: http, config: {url: 'https://x.org'}, steps: [], wait_for_all: true, mode: first}"
    assert [one for one in check_sources([Source(text, "a.yaml")]) if one.severity is Severity.ERROR] == []


@pytest.mark.parametrize(("step", "key"), [
    ("{id: s, type: delay, config: {seconds: 3}, timeout: 30s}", "timeout"),
    ("{id: s, type: delay, config: {seconds: 3}, heartbeat: 30}", "heartbeat"),
    ("{id: s, type: http, config: {url: 'https://x.org'}, undo_failed: true}", "undo_failed"),
    ("{id: s, type: http, config: {url: 'https://x.org'}, on_failure: {action: continue, approvers: [a]}}", "on_failure.approvers"),
])
def test_what_has_nothing_to_act_on_is_told(step: str, key: str) -> None:
    found = [one.message for one in check_sources([Source(STEPS + step, "a.yaml")]) if one.code == "D040"]
    assert [message.split("`")[1] for message in found] == [key]


@pytest.mark.parametrize(("text", "hint"), [
    (STEPS + "{id: s, type: http, url: 'https://x.org'}", "write it under `config:`"),
    (STEPS + "{id: s, type: conditional, condition: input.a}", "a conditional has `config: {condition: …, branches:"),
    (STEPS + "{id: s, type: parallel, branches: [[{id: t, type: delay, config: {seconds: 3}}]]}", "write `{steps: […]}`"),
    (STEPS + "{id: s, type: nothing, config: {}}", "approval, "),
    (GRAPH + "{id: s, type: http, url: 'https://x.org'}", "write it under `properties:`"),
    (GRAPH + "{id: s, type: http, properties: {url: 'https://x.org'}}\nedges: []", "call them `connections`"),
    (GRAPH + "{id: s, type: parallel, properties: {steps: []}}", "write `branches: [{steps: […]}, …]`"),
    (TASKS + "{id: s, type: Http, url: 'https://x.org'}", "write `type: {type: Http, url: …}`"),
    (TASKS + "{id: s, type: {type: foreach, config: {items: [1]}}}", "its settings stand here, without `config:`"),
    (AGENTS + "{id: s, agent: llm, prompt: a}", "write it under `parameters:`"),
    ("inputs: {n: {type: float}}\n" + STEPS + "{id: s, type: delay, config: {seconds: 3}}", "did you mean `number`?"),
    ("inputs: {n: float}\n" + STEPS + "{id: s, type: delay, config: {seconds: 3}}", "write {type: number}"),
    ("start: s\n" + STEPS + "{id: s, type: delay, config: {seconds: 3}}", "leave it out"),
    (STEPS + "{id: s, type: http, config: {url: {{ input.x }} }}", 'write it in quotes: "{{ input.x }}"'),
    (TASKS + "{id: s, name: s, type: Transform, config: {expression: input.a}}", "write `type: {type: Transform, expression: …}`"),
    (TASKS + "{id: s, name: s, type: http, parameters: {url: 'https://x.org'}}", "`type: {type: http, …}`"),
    (TASKS + "{id: s, name: s, type: transform}", "`type: {type: transform, …}`"),
    (TASKS + "{id: s, name: s, type: {type: Conditional, condition: input.a, if_true: [s]}}", "did you mean `true_branch`?"),
    (TASKS + "{id: s, name: s, type: {type: Conditional, condition: input.a, true_branch: [nope]}}", "there are s"),
    (STAGES + "{id: s, type: transform}", "its settings stand under `parameters:`"),
    (STAGES + "{id: s, parameters: {skill: slow}}", "write `skill: slow` beside `id:`"),
    (STAGES + "{id: s, type: skill, parameters: {skill: slow}}", "write `skill: slow` beside `id:`"),
    (STEPS + "{id: s, type: skill, config: {skill: x}, with: {a: 1}}", "write `config: {skill: …, parameters: …}`"),
    (STEPS + "{id: s, type: http, config: {url: example.com}}", "write the whole address"),
    (STEPS + "{id: s, type: scrape, config: {urls: ['https://x.org', ftp.x.org]}}", "write the whole address"),
    ("settings: {checkpoint: {policy: every_step}}\n" + STEPS + "{id: s, type: delay, config: {seconds: 3}}", "did you mean `every_node`?"),
    (TASKS + "{id: s, name: s, type: {type: delay, seconds: 1}}", "did you mean `wait`?"),
    (TASKS + "{id: s, name: s, type: {type: Command, command: 'echo ${input.x'}}", "add }, or write \\${ for the delimiter itself"),
    (STAGES + "{id: s, skill: k, parameters: {a: '${{ input.x'}}", "add }}, or write \\${{ for the delimiter itself"),
    (STEPS + "{id: s, type: conditional, config: {condition: input.x, if_true: s}}", "write `branches: {true: {target_step: …}"),
    (STEPS + "{id: s, type: conditional, config: {condition: input.x, branches: {if_false: {target_step: s}}}}", "did you mean `false`?"),
    (STEPS + "{id: s, type: delay, depends_on: [{id: t}], config: {seconds: 3}}", "did you mean `step`?"),
    (STAGES + "{id: s, type: http, parameters: {url: ${{ input.x }}/a}}", 'write it in quotes: "${{ input.x }}/a"'),
])
def test_hints_say_what_to_write(text: str, hint: str) -> None:
    assert [one.hint for one in check_sources([Source(text, "a.yaml")]) if hint in one.hint]


@pytest.mark.parametrize(("text", "places"), [
    (STEPS + "{id: s, type: parallel, branches: [^{id: t, type: delay, config: {seconds: 3}}]}", 1),
    (STAGES + "{id: s, type: parallel, branches: [^{id: t, skill: x}, ^{id: u, skill: x}]}", 2),
    ("name: a\nnodes: [{id: s, type: wait, properties: {seconds: 1}}, {id: t, type: wait, properties: {seconds: 1}}]\n"
        "connections: [{^from: s, ^to: t}]", 2),
    (STEPS + "{id: s, type: delay, depends_on: {^t: success}, config: {seconds: 3}}", 1),
    (STEPS + "{id: s, type: delay, depends_on: [{^t: success}], config: {seconds: 3}}", 1),
    (TASKS + "{id: s, name: s, depends_on: [{^t: success}], type: {type: wait, seconds: 3}}", 1),
    ("metadata: {id: a, name: a}\nnodes: [{id: s, agent: wait, parameters: {seconds: 1}}, {id: t, agent: wait, parameters:"
        " {seconds: 1}}]\nedges: [{^source: s, ^target: t}]", 2),
])
def test_each_mistake_about_keys_is_told_once(text: str, places: int) -> None:
    pieces = text.split("^")
    starts = ["".join(pieces[: number + 1]) for number in range(places)]
    expected = [("D010", start.count("\n") + 1, len(start) - start.rfind("\n")) for start in starts]
    found = check_sources([Source(text.replace("^", ""), "a.yaml")])
    assert [(one.code, one.position.line, one.position.column) for one in found if one.severity is Severity.ERROR] == expected


def test_what_cannot_be_read_is_told_once() -> None:
    found = check_sources([Source(STEPS + "{id: s, type: http, config: {url: 'https://x.org/{{ input.a }'}}", "a.yaml")])
    assert [one.code for one in found] == ["E004"]


@pytest.mark.parametrize("step", [
    STEPS + "{id: s, type: delay, config: {duration: ^ten}}", STAGES + "{id: s, type: delay, parameters: {duration: ^ten}}",
])
def test_a_time_that_is_none_is_not_missing_too(step: str) -> None:
    found = check_sources([Source(step.replace("^", ""), "a.yaml")])
    assert [(one.code, one.position.column) for one in found] == [("D022", len(step.rpartition("\n")[2].partition("^")[0]) + 1)]


@pytest.mark.parametrize(("declared", "message"), [
    ("type: array, items: {type: ^foo}", "'foo' is no type"), ("enum: ^[]", "no value fits x: its `enum` is empty"),
    ("type: string, enum: [a, ^1]", "an option of x is an integer (1), a text is wanted"),
    ("type: integer, minimum: ^5, maximum: 4", "at least 5 and at most 4 exclude each other"),
])
def test_inputs_that_no_value_fits(declared: str, message: str) -> None:
    text = f"name: a\ninputs: {{x: {{{declared}}}}}\n" + STEPS.partition("\n")[2] + "{id: s, type: delay, config: {seconds: 3}}"
    (found,) = check_sources([Source(text.replace("^", ""), "a.yaml")])
    assert (found.code, found.position.column) == ("G025", text.split("\n")[1].index("^") + 1)
    assert message in found.message


@pytest.mark.parametrize(("declared", "code"), [
    ("{type: [string, ^5]}", "D013"), ("{type: string, required: ^yes}", "D012"), ("'^list['", "D013"),
])
def test_inputs_of_agents_with_a_mistake(declared: str, code: str) -> None:
    text = f"metadata: {{id: a, name: a}}\nstate_schema: {{input: {{type: object, properties: {{x: {declared}}}}}}}\n" \
        "nodes: [{id: s, agent: wait, parameters: {seconds: 1}}]\nedges: []"
    found = [one for one in check_sources([Source(text.replace("^", ""), "a.yaml")]) if one.severity is Severity.ERROR]
    assert [(one.code, one.position.line, one.position.column) for one in found] == [(code, 2, text.split("\n")[1].index("^") + 1)]


def test_a_step_that_a_branch_seems_to_jump_over_is_told() -> None:
    text = "name: a\nsteps:\n  - {id: p, type: conditional, config: {condition: input.x, branches: {true: {target_step: c}}}}\n" \
        "  - {id: b, type: delay, config: {seconds: 1}}\n  - {id: c, type: delay, config: {seconds: 1}}\n"
    (found,) = check_sources([Source(text, "a.yaml")])
    assert (found.code, found.severity, found.position.line) == ("D051", Severity.INFO, 3)
    assert check_sources([Source(text.replace("target_step: c", "target_step: b"), "a.yaml")]) == ()


@pytest.mark.parametrize(("config", "code"), [
    ("{operation: reduce, data: '{{ input.l }}', expression: ^input.k + total}", "E010"),
    ("{operation: map, data: '{{ input.l }}', expression: item + index + ^vars.v}", "E010"),
    ("{operation: reduce, data: '{{ input.l }}', expression: total +^}", "E001"),
    ("{operation: reduce, data: '{{ input.l }}', expression: 'total + sum([state for state in [1]]) + item'}", ""),
])
def test_what_a_function_evaluates_is_checked_too(config: str, code: str) -> None:
    text = STEPS + "{id: s, type: transform, config: " + config + "}"
    found = [one.code for one in check_sources([Source(text.replace("^", ""), "a.yaml")])]
    assert found == ([code] if code else [])


def test_an_object_in_a_hole_of_tasks_is_an_expression() -> None:
    text = TASKS + "{id: s, name: s, type: {type: transform, expression: \"${{'to': input.a}}\"}}"
    assert [one for one in check_sources([Source(text, "a.yaml")]) if one.severity is Severity.ERROR] == []
