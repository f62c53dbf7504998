"""What is said of keys and values that stand where another dialect, or another type, would have them."""

from __future__ import annotations

import pytest

from translator.pipeline import Source, check_sources

STEPS = "name: w\nsteps:\n  - {{id: a, type: {type}, config: {config}}}\n"
TASKS = 'id: w\nname: w\nversion: "1.0.0"\ntasks:\n  - {{id: a, name: A, {more}}}\n'
GRAPH = """\
name: w
nodes:
  - {id: t, type: transform, properties: {expression: data.x}}
  - {id: hot, type: if, config: {condition: data > 1}}
  - {id: ask, type: approval, properties: {message: Pay?}}
connections: [{source: t, target: hot}, {source: hot, target: ask, sourceOutput: 'true'}]
"""


@pytest.mark.parametrize(("text", "told"), [
    (STEPS.format(type="transform", config="{expression: '1'}") + "output: {a: 1}\n", [("D010", "did you mean `outputs`?")]),
    (STEPS.format(type="transform", config="{expression: '1', outputkey: x}"), [("G015", "`output_key`")]),
    (STEPS.format(type="approval", config="{message: m, timeout: 2h}"), [("G015", "write 7200")]),
    (STEPS.format(type="approval", config="{message: m, timeout: long}"), [("G015", "a number of seconds")]),
    (GRAPH, [("D010", "under `properties:`")]),
    (TASKS.format(more="type: {type: Approval, approvers: [a], timeout: 1h}"), [("G015", "write 3600")]),
    (TASKS.format(more="type: {type: Plugin}, plugin_name: p").replace("{type: Plugin}", "{type: Plugin, plugin_name: q}"),
        [("D010", "write `type: {type: Plugin, plugin_name: …")]),
    (TASKS.format(more="type: {type: Plugin, plugin_name: p}, rollback: {type: x}"), [("D010", "did you mean `compensation`?")]),
    (TASKS.format(more="type: {type: Plugin, plugin_name: p}, compensation: {id: u, name: U, type: {type: Plugin, plugin_name: u},"
        " config: {room: 1}}"), [("D010", "plugin_name: …, config: {room: …}}`")]),
    ('workflow:\n  name: w\n  version: "1.0.0"\n  stages:\n    - name: s\n      steps: [{id: a, type: skill, skill: k, input: {n: 1}}]\n',
        [("G027", "under `parameters:`")]),
])
def test_the_hint_says_what_to_write(text: str, told: list[tuple[str, str]]) -> None:
    found = [(one.code, one.hint) for one in check_sources([Source(text)]) if one.severity == "error"]
    assert [code for code, _ in found] == [code for code, _ in told]
    assert all(part in hint for (_, hint), (_, part) in zip(found, told, strict=True)), found


def test_no_key_is_offered_that_people_do_not_write() -> None:
    (found,) = check_sources([Source(STEPS.format(type="transform", config="{expression: '1', zzz: 1}"))])
    assert "known keys" in found.message and "evaluate" not in found.message


def test_an_approval_of_agents_takes_a_duration() -> None:
    text = "metadata: {name: w}\nnodes:\n  - {id: a, agent: human_loop, parameters: {message: Pay?, approvers: [c], timeout: T}}\nedges: []\n"
    assert check_sources([Source(text.replace("T}", "2h}"))]) == ()
    (found,) = check_sources([Source(text.replace("T}", "long}"))])
    assert found.code == "D022" and "`2h`" in found.hint


@pytest.mark.parametrize(("branches", "between", "told"), [
    ("{true: {target_step: ask}, false: {target_step: pay}}", "", ["pay"]), ("{true: {target_step: ask}}", "", []),
    ("{true: {target_step: note}, false: {target_step: pay}}", "  - {id: note, type: transform, config: {data: 1}}\n", ["pay"]),
    ("{true: {target_step: pay}, false: {target_step: end}}", "", []),
])
def test_a_branch_that_ends_with_an_approval_before_the_other_branch(branches: str, between: str, told: list[str]) -> None:
    text = f"""\
name: w
inputs: {{x: {{type: number, required: true}}}}
steps:
  - {{id: a, type: conditional, config: {{condition: input.x > 1, branches: {branches}}}}}
{between}  - {{id: ask, type: approval, config: {{message: m}}}}
  - {{id: pay, type: transform, config: {{data: 1}}}}
  - {{id: end, type: transform, config: {{data: 1}}}}
"""
    found = [one for one in check_sources([Source(text)]) if one.code == "D125"]
    assert [one.message.split("'")[1] for one in found] == told and {one.severity for one in found} <= {"info"}
