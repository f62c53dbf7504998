"""Every finding about steps and edges, and about what a machine can say, at its place."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from translator.diagnostics import Diagnostic, Rule
from translator.findings import asl, graph
from translator.pipeline import Source, check_sources

HEAD = "dialect: canonical\nname: t\n"


def check(*texts: str) -> tuple[Diagnostic, ...]:
    return check_sources([Source(HEAD + text, f"{number}.yaml") for number, text in enumerate(texts)])


def skill(name: str, more: str = "") -> str:
    return f"{{id: {name}, type: skill, config: {{skill: s}}{more}}}"


def transform(name: str, expression: str, more: str = "") -> str:
    return f"{{id: {name}, type: transform, config: {{expression: {expression}}}{more}}}"


FALSE = '"false"'
ROUTE = "{id: r, type: choice, cases: [{name: yes, when: input.a}], default: no}"
LOOP = f"steps:\n- {{id: l, type: foreach, items: [1], steps: [{skill('b')}]}}\n"
# rule, the lines after the head with a § before the place of the finding, a part of its message or hint. Findings about the
# workflow as a whole stand at its beginning.
CASES: list[tuple[Rule, str, str]] = [
    (graph.DUPLICATE_ID, f"steps:\n- {skill('a')}\n- {skill('§a')}", "'a' is used twice"),
    (graph.DUPLICATE_ID, LOOP + f"- {skill('§b')}", "twice"),
    (graph.UNKNOWN_STEP, f"steps:\n- {skill('first')}\n- {skill('b', ', depends_on: [§frist]')}", "did you mean 'first'"),
    (graph.CYCLE, f"steps:\n- {skill('x')}\n- {skill('§a', ', depends_on: [c]')}\n- {skill('b', ', depends_on: [a]')}\n"
        f"- {skill('c', ', depends_on: [b, x]')}", "a → b → c → a"),
    (graph.OTHER_SCOPE, LOOP + f"- {skill('c', ', depends_on: [§b]')}", "depend on 'l'"),
    (graph.UNKNOWN_OUTCOME, f"steps:\n- {ROUTE}\n- {skill('a', ', depends_on: [{step: §r, on: [yess]}]')}", "did you mean 'yes'"),
    (graph.NOT_A_CHOICE, f"steps:\n- {skill('r')}\n- {skill('a', ', depends_on: [{step: §r, on: [x]}]')}", "has no outcomes"),
    (graph.NEVER_RUNS, f"steps:\n- {skill('a')}\n- {skill('§b', ', depends_on: [{step: a, when: ' + FALSE + '}]')}", "'b'"),
    (graph.NOT_RUN_BEFORE, f"steps:\n- {skill('a')}\n- {transform('b', '§steps.a.output')}", "let the step depend on 'a'"),
    (graph.NOT_RUN_BEFORE, f"steps:\n- {transform('b', '§steps.b.output')}", "cannot have run"),
    (graph.NOT_RUN_BEFORE, f"steps:\n- {skill('a', ', output_key: k')}\n- {transform('b', '§state.k')}", "depend on 'a'"),
    (graph.INSIDE_LOOP, LOOP + f"- {transform('c', '§steps.b.output', ', depends_on: [l]')}", "steps.l.output"),
    (graph.WRITTEN_TWICE, f"steps:\n- {skill('a', ', output_key: k')}\n- {skill('§b', ', output_key: k')}", "both write 'k'"),
    (graph.EMPTY, "steps: []", "no steps"),
    (graph.UNKNOWN_TYPE, "steps:\n- {id: a, type: §skil}", "did you mean 'skill'"),
    (graph.MISSING, "steps:\n- {id: §a, type: choice}", "add `cases`"),
    (graph.MISSING, "steps:\n- {id: §a, type: parallel}", "add `branches`"),
    (graph.MISSING, f"steps:\n- {{id: §a, type: foreach, steps: [{skill('b')}]}}", "add `items`"),
    (graph.MISSING, f"steps:\n- {{id: a, type: foreach, items: §text, steps: [{skill('b')}]}}", "in {{ }}"),
    (graph.MISSING, "steps:\n- {id: §a, type: foreach, items: [1]}", "add `steps`"),
    (graph.MISSING, "steps:\n- {id: §a, type: wait}", "`seconds` or `until`"),
    (graph.MISSING, "steps:\n- {id: §a, type: wait, seconds: 1, until: '2030-01-01T00:00:00Z'}", "either"),
    (graph.MISSING, "steps:\n- {id: §a, type: workflow}", "add `workflow`"),
    (graph.CONFIG, "steps:\n- {id: a, type: http, config: {url: 'https://a.example', §methd: GET}}", "did you mean method"),
    (graph.DECLARATION, f"inputs: {{n: {{type: number, default: §x}}}}\nsteps:\n- {skill('a')}", "n"),
    (graph.DUPLICATE_OUTCOME, "steps:\n- {id: §r, type: choice, cases: [{name: x, when: input.a}, {name: x, when: input.b}]}",
        "'x' twice"),
    (graph.OTHER_TYPE, f"steps:\n- {skill('a', ', §seconds: 5')}", "a step of type skill has no `seconds`"),
    (graph.UNKNOWN_WORKFLOW, "steps:\n- {id: §a, type: workflow, workflow: other}", "'other'"),
    (graph.SELF_DEPENDENCY, f"steps:\n- {skill('a', ', depends_on: [§a]')}", "depends on itself"),
    (graph.EMPTY_BRANCH, f"steps:\n- {{id: §p, type: parallel, branches: [{{steps: [{skill('a')}]}}, {{steps: []}}]}}", "no steps"),
    (asl.MAP_CONCURRENCY, f"settings: {{execution: express}}\nsteps:\n- {{id: §l, type: foreach, items: [1], max_parallel: 100, steps: [{skill('b')}]}}", "40"),
    (asl.DISTRIBUTED, f"steps:\n- {{id: §l, type: foreach, items: [1], max_parallel: 100, steps: [{skill('b')}]}}", "100"),
    (asl.BAD_TIME, "steps:\n- {id: a, type: wait, seconds: §ten}", "no number of seconds"),
    (asl.WHOLE_SECONDS, "steps:\n- {id: a, type: wait, seconds: §1.5}", "1.5 s becomes 2 s"),
    (asl.SHORTEST_DELAY, f"steps:\n- {skill('a', ', §retry: {strategy: immediate}')}", "second"),
    (
        asl.FAILURE_ACTION,
        f"error_handlers: [§{{errors: [X], action: fail, steps: [r]}}]\nsteps:\n- {skill('a')}\nrollback:\n- {skill('r')}",
        "action: rollback",
    ),
    (asl.NEVER_RETRIED, f"steps:\n- {skill('a', ', retry: {max_attempts: 2, on: [NetworkError, §ValidationError]}')}", "never retried"),
    (asl.NEVER_RETRIED, f"error_handlers: [§{{errors: [AuthenticationError], action: retry}}]\nsteps:\n- {skill('a')}",
        "no further attempt"),
    (asl.NOTHING_TO_UNDO, f"steps:\n- {skill('a', ', on_failure: §rollback')}", "no step has a compensation"),
    (asl.COMPOSITE_TIMEOUT, f"steps:\n- {{id: §l, type: foreach, items: [1], timeout: 5, steps: [{skill('b')}]}}", "as a whole"),
    (asl.KEPT_ACTION, f"steps:\n- {skill('a', ', cache: §true')}", "pure: true"),
    (asl.KEPT_ACTION, "steps:\n- {id: a, type: agent, config: {prompt: p, tools: [pay]}, cache: §true}", "pure: true"),
    (asl.NOT_CARRIED_OUT, "steps:\n- {id: a, type: wait, seconds: 1, cache: §true}", "not kept"),
    (asl.NOT_CARRIED_OUT, "steps:\n- {id: c, type: choice, cases: [{name: x, when: input.a}]}\n"
        "finally:\n- {id: f, type: skill, config: {skill: x, parameters: {p: '{{ §steps.c.output }}'}}}", "not recorded"),
    (asl.SECRET_PLACE, f"steps:\n- {transform('a', '§secrets.x')}", "configuration of the step"),
    (asl.SECRET_PLACE, f"steps:\n- {transform('a', '§secrets.x', ', retry: {max_attempts: 2}')}", "configuration of the step"),
    (asl.SECRET_PLACE, f"steps:\n- {skill('a', ', when: §secrets.x')}", "configuration of the step"),
    (asl.SECRET_PLACE, "steps:\n- {id: a, type: skill, config: {skill: '{{ §secrets.x + 1 }}'}}", "into a text"),
    (asl.EXPRESS, "settings: {execution: express}\nsteps:\n- {id: §a, type: approval, config: {message: ok?}}", "standard"),
    (asl.EXPRESS, f"settings: {{execution: express, timeout: 301}}\nsteps:\n- {skill('a')}", "300 seconds"),
    (asl.BAD_TIME, "steps:\n- {id: a, type: wait, until: §tomorrow}", "2026-01-31T09:00:00Z"),
    (asl.NATIVE_FAILURE, f"steps:\n- {transform('§a', '1 + input.a', ', on_failure: continue')}", "function"),
    (asl.NO_NOTIFICATION, "error_handlers: [§{errors: ['*'], action: fail, notify: true}]\nsteps:\n- " + skill("a"), "notif"),
]


@pytest.mark.parametrize(("rule", "text", "words"), CASES, ids=lambda value: value.code if isinstance(value, Rule) else "")
def test_rule(rule: Rule, text: str, words: str) -> None:
    before = (HEAD + text).partition("§")[0] if "§" in text else ""
    place = (before.count("\n") + 1, len(before) - before.rfind("\n"))
    everything = check(text.replace("§", ""))
    found = [one for one in everything if one.code == rule.code]
    assert found, [(one.code, one.message) for one in everything]
    assert found[0].position[:2] == place
    assert words in f"{found[0].message} {found[0].hint}"
    assert found[0].position.file == "0.yaml"


def test_a_cycle_tells_all_its_steps() -> None:
    found = check("\n".join(["steps:"] + ["- " + skill(f"s{n}", f", depends_on: [s{(n + 1) % 5}]") for n in range(5)]))
    assert [one.code for one in found] == ["G003"]
    assert found[0].message == "steps wait for each other: s0 → s4 → s3 → s2 → s1 → s0"
    assert [at.line for _, at in found[0].related] == [8, 7, 6, 5]


CALL = "steps:\n- {id: c, type: workflow, workflow: %s, input: {%s}}"


def test_workflows_in_a_circle() -> None:
    found = check("id: a\n" + CALL % ("b", ""), "id: b\n" + CALL % ("c", ""), "id: c\n" + CALL % ("a", ""))
    assert [(one.code, one.position.file, one.position[:2]) for one in found] == [("G018", f"{n}.yaml", (5, 8)) for n in range(3)]
    assert found[0].message == "workflows call each other: a → b → c → a"


def test_a_workflow_that_calls_itself() -> None:
    assert [one.code for one in check("id: a\n" + CALL % ("a", ""))] == ["G018"]


def test_inputs_of_a_child() -> None:
    child = f"id: b\ninputs: {{need: {{type: string, required: true}}, may: {{type: string}}}}\nsteps: [{skill('x')}]"
    call = CALL % ("b", "ned: 1")
    line = call.split("\n")[1]
    found = check("id: a\n" + call, child)
    assert [(one.code, one.position[:2]) for one in found] == [
        ("G024", (5, line.index("{ned") + 1)), ("G023", (5, line.index("ned: ") + len("ned: ") + 1)),
    ]
    assert found[1].hint == "did you mean 'need'?"


def test_an_input_that_a_child_refuses() -> None:
    child = f"id: b\ninputs: {{n: {{type: number, required: true, maximum: 5}}}}\nsteps: [{skill('x')}]"
    call = CALL % ("b", "n: 7")
    found = check("id: a\n" + call, child)
    assert [(one.code, one.position[:2]) for one in found] == [("G026", (5, call.split("\n")[1].index("7") + 1))]
    assert not check("id: a\n" + CALL % ("b", "n: 5"), child)


def test_one_id_for_two_workflows() -> None:
    text = f"id: a\nsteps: [{skill('x')}]"
    found = check(text, text)
    assert [(one.code, one.position.file) for one in found] == [("G020", "1.yaml")]


@pytest.fixture
def plain_stack() -> Iterator[None]:
    """As deep a stack as Python has by itself: property tests before this one may have left a deeper one."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)
    yield
    sys.setrecursionlimit(before)


def test_conditions_upon_conditions_without_end(plain_stack: None) -> None:
    steps = "".join(
        f"- {skill(f's{number}', f', depends_on: [{{step: s{number - 1}, when: steps.s{number - 1}.output.x}}]')}\n"
        for number in range(1, 400))
    assert [one.code for one in check(f"id: a\nsteps:\n- {skill('s0')}\n{steps}")] == ["G028"]


def test_every_rule_of_the_graph_is_tested_or_cannot_be_reached_from_a_definition() -> None:
    here = {"G018", "G020", "G023", "G024", "G026"}  # need several definitions: tested above
    here |= {"G028"}  # a deep one: tested below
    written = {rule.code for rule in vars(graph).values() if isinstance(rule, Rule)}
    assert written == {rule.code for rule, *_ in CASES if rule.code.startswith("G")} | here


def test_every_rule_of_the_machine_is_tested() -> None:
    # Size, history and the check's own failure are tested with the emitter.
    elsewhere = {"A001", "A002", "A003", "A012", "A014", "A015", "A022", "A023"}
    written = {rule.code for rule in vars(asl).values() if isinstance(rule, Rule)}
    assert written == {rule.code for rule, *_ in CASES if rule.code.startswith("A")} | elsewhere
