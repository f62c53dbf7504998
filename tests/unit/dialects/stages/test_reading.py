"""What each field of the dialect means in canonical data."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.unit.dialects.common.reading import canonical, edges, problems, read_all, steps_by_id

EXHIBITION = """
workflow:
  name: "Open an exhibition"
  version: "1.0.0"
  description: "Hang the pictures, check the rooms, open the doors"
  metadata:
    author: curators
    tags: ["museum", "spring"]
    timeout: 3600
    retry_policy:
      max_attempts: 3
      backoff: exponential
  parameters:
    - name: hall
      type: string
      required: true
      description: "Which hall"
    - name: lighting
      type: string
      required: true
      enum: ["day", "evening"]
    - name: rehearse
      type: boolean
      default: true
  stages:
    - name: planning
      parallel: false
      steps:
        - id: check_list
          type: skill
          skill: list_checker
          parameters:
            hall: ${{ parameters.hall }}
          on_failure: abort
        - id: keep_old
          type: workflow
          workflow: archive_hall
          parameters:
            hall: ${{ parameters.hall }}
          timeout: 600
    - name: hanging
      parallel: true
      max_parallel: 3
      steps:
        - {id: hang, type: skill, skill: hanger, parameters: {hall: "${{ parameters.hall }}", level: true}}
        - id: light
          type: skill
          skill: lighter
          when: ${{ parameters.rehearse }}
          parameters: {scene: "${{ parameters.lighting }}", lux: 80}
        - {id: label, type: skill, skill: labeller, when: "${{ parameters.rehearse }}", parameters: {font: serif}}
    - name: opening
      parallel: false
      steps:
        - id: open
          type: skill
          skill: opener
          parameters:
            plan: ${{ steps.hang.output.plan }}
          retry: {max_attempts: 2, delay: 30}
        - id: look
          type: skill
          skill: inspector
          parameters:
            room: ${{ steps.open.output.room }}
            checks:
              - {type: door, expected: 200}
              - {type: alarm, wait: 5}
          on_failure: rollback
  error_handlers:
    - error: ValidationError
      action: abort
      notify: true
    - error: [HangingError, LampError]
      action: rollback
      steps: [take_down]
    - error: LookFailed
      action: retry
      max_retries: 3
      then: rollback
  rollback:
    steps:
      - id: take_down
        type: skill
        skill: taker
        parameters: {plan: "${{ steps.keep_old.output.plan }}"}
      - {id: look_again, type: skill, skill: inspector, parameters: {room: "${{ context.room }}"}}
"""


def test_a_whole_definition() -> None:
    data = canonical(EXHIBITION)
    steps = steps_by_id(data)
    assert (data["name"], data["version"]) == ("Open an exhibition", "1.0.0")
    assert data["labels"] == {"author": "curators", "tags": ["museum", "spring"]}
    assert data["settings"] == {"timeout": 3600, "retry": {"max_attempts": 3, "strategy": "exponential"}}
    assert data["inputs"] == {
        "hall": {"type": "string", "required": True, "description": "Which hall"},
        "lighting": {"type": "string", "required": True, "enum": ["day", "evening"]},
        "rehearse": {"type": "boolean", "default": True},
    }
    assert edges(data) == {
        "check_list": [], "keep_old": ["check_list"],
        "hang": ["keep_old"], "light": ["keep_old"], "label": ["keep_old"],
        "open": ["hang", "light", "label"], "look": ["open"],
    }
    assert steps["check_list"] == {"id": "check_list", "type": "skill", "on_failure": "fail", "labels": {"stage": "planning"},
        "config": {"skill": "list_checker", "parameters": {"hall": "{{  parameters.hall }}"}}}
    assert steps["keep_old"]["workflow"] == "archive_hall"
    assert steps["keep_old"]["input"] == {"hall": "{{  parameters.hall }}"}
    assert steps["keep_old"]["timeout"] == 600
    assert steps["light"]["when"] == "parameters.rehearse"
    assert steps["open"]["retry"] == {"max_attempts": 2, "delay": 30}
    assert steps["look"]["on_failure"] == "rollback"
    assert data["error_handlers"] == [
        {"errors": ["ValidationError"], "action": "fail", "notify": True},
        {"errors": ["HangingError", "LampError"], "action": "rollback", "steps": ["take_down"]},
        {"errors": ["LookFailed"], "action": "retry", "max_retries": 3, "then": "rollback"},
    ]
    assert edges(data, "rollback") == {"take_down": [], "look_again": ["take_down"]}


def staged(stages: str, more: str = "") -> str:
    return "workflow:\n  name: x\n" + more + "  stages:\n" + stages


def stage(name: str, *steps: str, more: str = "") -> str:
    return f"    - name: {name}\n" + more + "      steps:\n" + "".join(f"        - {step}\n" for step in steps)


def do(name: str, more: str = "") -> str:
    return f"{{id: {name}, type: skill, skill: x{', ' + more if more else ''}}}"


PARALLEL = "      parallel: true\n"


def test_stages_without_a_word_run_in_order_and_side_by_side() -> None:
    """The shape of a release with a first small part of the traffic."""
    data = canonical(staged(
        stage("checks", do("a"), do("b"), do("c"), more=PARALLEL)
        + stage("first", do("d"), do("e", "on_failure: rollback, parameters: {seconds: 300, of: [errors, delay]}"))
        + stage("more", "{id: f, type: workflow, workflow: grow, parameters: {parts: [10, 25, 50, 100]}}")
        + stage("last", do("g"), do("h"), more=PARALLEL)))
    assert edges(data) == {"a": [], "b": [], "c": [], "d": ["a", "b", "c"], "e": ["d"], "f": ["e"], "g": ["f"], "h": ["f"]}


def test_a_stage_of_more_steps_than_it_may_run_at_once() -> None:
    data = canonical(staged(
        stage("before", do("a")) + stage("many", *(do(f"m{n}") for n in range(6)), more=PARALLEL)
        + stage("few", do("n1"), do("n2", "depends_on: n1"), do("n3"), more=PARALLEL + "      max_parallel: 2\n")
        + stage("end", do("z"))))
    assert edges(data) == {"a": [], "many": ["a"], "few": ["many"], "z": ["few"]}
    many, few = data["steps"][1:3]
    assert (many["type"], many["max_parallel"], len(many["branches"])) == ("parallel", 5, 6)
    assert (few["max_parallel"], [[step["id"] for step in branch["steps"]] for branch in few["branches"]]) == (
        2, [["n1", "n2"], ["n3"]])


def test_edges_to_a_step_of_a_bounded_stage_wait_for_the_stage() -> None:
    data = canonical(staged(
        stage("many", do("a"), do("b"), more=PARALLEL + "      max_parallel: 1\n")
        + stage("after", do("c", "depends_on: [b]"), do("d", "depends_on: [{step: a, when: input.d}]"), more=PARALLEL)))
    assert edges(data) == {"many": [], "c": ["many"], "d": ["many?input.d"]}


def test_a_decision_that_leads_out_of_a_stage_keeps_it_unbounded() -> None:
    text = staged(
        stage("many", do("a"), "{id: r, decision: {condition: input.ok, branches: {true: {target_step: late}}}}",
            more=PARALLEL + "      max_parallel: 1\n")
        + stage("after", do("late"), do("z")))
    assert problems(text) == [("D045", 6, 7)]
    assert edges(canonical(text)) == {"a": [], "r": [], "late": ["r=true", "a?false"], "z": ["a", "late"]}


def test_a_bounded_stage_named_like_a_step() -> None:
    data = canonical(staged(stage("a", do("a"), do("b"), more=PARALLEL + "      max_parallel: 1\n")))
    assert data["steps"][0]["id"] == "a_stage"


def test_the_condition_of_a_stage_counts_for_its_steps() -> None:
    data = canonical(staged(
        stage("maybe", do("a"), do("b", "when: input.b"), more="      when: ${{ parameters.all }}\n")
        + stage("bounded", do("c"), do("d"), more=PARALLEL + "      max_parallel: 1\n      when: input.c\n")))
    steps = steps_by_id(data)
    assert (steps["a"]["when"], steps["b"]["when"]) == ("parameters.all", "(parameters.all) and (input.b)")
    assert steps["bounded"]["when"] == "input.c"
    assert "when" not in steps["bounded"]["branches"][0]["steps"][0]


def test_a_decision_enters_one_of_its_targets() -> None:
    data = canonical(staged(
        stage("choose", do("a"),
            "{id: r, type: decision, decision: {condition: '${{ steps.a.output.ok }}', "
            "branches: {true: {target_step: yes}, false: {target_step: late}}}}", do("yes"), do("c"))
        + stage("later", do("late"), do("z"), more=PARALLEL) + stage("end", do("end"))))
    assert edges(data) == {
        "a": [], "r": ["a"], "yes": ["r=true"], "c": ["r", "yes"],
        "late": ["r=false", "c?false"], "z": ["c"], "end": ["late", "z"],
    }
    assert steps_by_id(data)["r"]["cases"] == [{"name": "true", "when": "steps.a.output.ok"}]


@pytest.mark.parametrize("decision", [
    "type: decision, decision: '${{ input.ok }}'", "decision: input.ok", "type: decision, decision: {condition: input.ok}",
    "type: decision, parameters: {condition: '${{ input.ok }}'}",
])
def test_decisions_can_be_short(decision: str) -> None:
    data = canonical(staged(stage("s", f"{{id: r, {decision}}}", do("a", "depends_on: [{step: r, on: ['true']}]"))))
    assert data["steps"][0]["cases"] == [{"name": "true", "when": "input.ok"}]
    assert edges(data)["a"] == ["r=true"]


def test_an_edge_of_its_own_does_not_break_the_order_of_stages() -> None:
    data = canonical(staged(
        stage("one", do("a"), do("b"), more=PARALLEL) + stage("two", do("c", "depends_on: a"), do("d", "depends_on: c"))))
    assert edges(data) == {"a": [], "b": [], "c": ["a", "b?false"], "d": ["c"]}


@pytest.mark.parametrize(("fields", "expected"), [
    ("on_failure: skip", {"on_failure": "continue"}),
    ("on_failure: escalate", {"on_failure": "escalate"}),
    ("on_failure: {action: retry, max_retries: 2, then: abort}",
        {"on_failure": {"action": "retry", "max_retries": 2, "then": "fail"}}),
    ("retry: {backoff: fibonacci, delay: 2s, max_attempts: 4}",
        {"retry": {"strategy": "fibonacci", "delay": 2, "max_attempts": 4}}),
    ("retry: {backoff: adaptive}", {"retry": {"strategy": "adaptive", "max_attempts": 5, "max_delay": 60}}),
    ("timeout: PT1H30M", {"timeout": 5400}),
    ("caching: {enabled: true, key_pattern: 'k-${{ input.a }}', ttl: 1h}", {"cache": {"key": "k-{{  input.a }}", "ttl": 3600}}),
    ("caching: {enabled: false, ttl: 5}", {"cache": False}),
    ("caching: true", {"cache": True}),
    ("has_side_effects: false", {"pure": True}),
    ("compensation: undo_it", {"compensation": {"id": "s_compensation", "type": "skill", "config": {"skill": "undo_it"}}}),
    ("compensation_on_failure: {skill: undo, parameters: {n: '${{ input.a }}'}}", {"compensation": {
        "id": "s_compensation", "type": "skill", "config": {"skill": "undo", "parameters": {"n": "{{  input.a }}"}}}}),
])
def test_fields_of_a_step(fields: str, expected: dict[str, Any]) -> None:
    step = canonical(staged(stage("one", do("s", fields))))["steps"][0]
    assert {key: step[key] for key in expected} == expected


@pytest.mark.parametrize(("step", "expected"), [
    ("type: approval, parameters: {message: 'Open ${{ input.a }}?'}",
        {"type": "approval", "config": {"message": "Open {{  input.a }}?"}}),
    ("type: delay, parameters: {duration: 2m}", {"type": "wait", "seconds": 120}),
    ("type: foreach, items: '${{ input.rows }}', steps: [{id: i, skill: x}]",
        {"type": "foreach", "items": "{{  input.rows }}", "steps": [{"id": "i", "type": "skill", "config": {"skill": "x"}}]}),
    ("type: transform, config: {expression: '${{ input.a }} + 1'}",
        {"type": "transform", "config": {"expression": "input.a + 1"}}),
    ("type: frobnicate, parameters: {a: 1}", {"type": "skill", "config": {"skill": "frobnicate", "parameters": {"a": 1}}}),
])
def test_other_types(step: str, expected: dict[str, Any]) -> None:
    found = canonical(staged(stage("one", f"{{id: s, {step}}}")))["steps"][0]
    assert found == {"id": "s", "labels": {"stage": "one"}, **expected}


@pytest.mark.parametrize(("more", "codes"), [
    ("  context: {^preserve: true, ^merge_strategy: deep}\n", "D040 D041"),
    ("  context: {^preserve: false}\n", "D041"),
    ("  version: ^1.0\n", "D020"),
    ("  version: ^2024-01-16\n", "D021"),
    ("  paramters: []\n", "D010"),
    ("  metadata: {^autor: me}\n", "D010"),
    ("  metadata: {^timeout: 3}\n  settings: {timeout: 3}\n", "D033"),
    ("  parameters: [{name: a, type: ^strin}]\n", "D013"),
    ("  parameters: [{name: a}, {name: ^a}]\n", "D033"),
    ("  parameters: [^{type: string}]\n", "D011"),
    ("  error_handlers: [^{action: abort}]\n", "D011"),
    ("  error_handlers: [{error: X, action: ^explode}]\n", "D013"),
    ("  error_handlers: [{error: X, action: rollback, steps: [^nobody]}]\n", "D044"),
])
def test_findings_about_the_workflow(more: str, codes: str) -> None:
    """`^` stands before the place; a key at the start of its line needs none."""
    text = staged(stage("one", do("a")), more if "^" in more else "  ^" + more.lstrip())
    assert problems(text.replace("^", "")) == _expected(text, codes)


@pytest.mark.parametrize(("step", "codes"), [
    ("{id: s, type: ^skil, skill: x}", "D030"),
    ("{id: s, type: skill, ^skil: x}", "D010"),
    ("^{id: s}", "D011"),
    ("^{id: s, type: skill}", "D035"),
    ("{id: s, skill: x, parameters: {a: '^{{ parameters.a }}'}}", "D034"),
    ("{id: s, skill: x, timeout: ^soon}", "D022"),
    ("{id: s, skill: x, on_failure: ^explode}", "D013"),
    ("{id: s, skill: x, caching: {^invalidation_rules: [x]}}", "D042"),
    ("{id: s, skill: x, ^compensation: y, compensation_on_failure: z}", "D043"),
    ("{id: s, skill: x, retry: {backoff: fixed, ^strategy: linear}}", "D033"),
    ("{id: s, workflow: w, ^parameters: {a: 1}, input: {a: 2}}", "D033"),
    ("{id: s, type: approval, parameters: ^yes}", "D012"),
    ("{id: s, type: decision, decision: {^conditon: a, condition: b}}", "D010"),
    ("{id: s, type: decision, decision: {condition: a, branches: {true: ^nobody}}}", "D036"),
    ("{id: s, type: ^transfrom}", "D030"),
    ("{id: s, type: frobnicate}", ""),
])
def test_findings_about_a_step(step: str, codes: str) -> None:
    text = staged(stage("one", step))
    assert problems(text.replace("^", "")) == _expected(text, codes)


def _expected(text: str, codes: str) -> list[tuple[str, int, int]]:
    found = []
    for line, content in enumerate(text.split("\n"), 1):
        for number, match in enumerate(re.finditer(r"\^", content)):
            found.append((line, match.start() + 1 - number))
    return [(code, *place) for code, place in zip(codes.split(), found, strict=True)]


def test_findings_about_stages() -> None:
    text = staged(stage("one", do("a"), do("b"), more="      max_parallel: 2\n") + stage("one", do("c")))
    assert problems(text) == [("D040", 5, 7), ("D033", 9, 13)]


def test_braces_without_a_dollar_stay_text() -> None:
    data, found = read_all(staged(stage("one", do("a", "parameters: {a: 'x {{ y }} ${{ input.a }}', b: '\\{{ z }}'}"))))
    assert data is not None
    assert data["steps"][0]["config"]["parameters"] == {"a": "x \\{{ y }} {{  input.a }}", "b": "\\{{ z }}"}
    assert [diagnostic.code for diagnostic in found] == ["D034"]
