"""Ids with dashes, quotes, emoji, or the names of built-ins in them, and ids that are used twice."""

from __future__ import annotations

import json
import re
import unicodedata

import pytest

from infra.local.approvals import Decision, Request
from infra.local.provision import machine_name
from tests.execution.cases.spelling import as_written, compiled, errors_of, in_every_dialect, start, start_as
from tests.execution.support import Skills


@in_every_dialect
def test_a_dash_in_an_id_is_no_minus(skills: Skills, dialect: str) -> None:
    result = start_as(dialect, """
        name: hyphen
        steps:
          - {id: flip-coin, type: transform, config: {data: {n-1: 5, result: heads}}}
          - {id: flip, type: transform, config: {expression: "10"}}
          - {id: coin, type: transform, config: {expression: "3"}}
          - id: use
            type: transform
            depends_on: [flip-coin, flip, coin]
            config:
              data:
                a: "{{ steps.flip-coin.output.result }}"
                b: "{{ steps['flip-coin'].output['n-1'] }}"
                c: "{{ steps.flip.output - steps.coin.output }}"
                d: "{{ steps.flip.output-steps.coin.output }}"
    """)
    assert result.output == {"use": {"a": "heads", "b": 5, "c": 7, "d": 7}}


def test_a_dash_in_the_words_of_each_dialect() -> None:
    texts = {
        "steps": """
            name: h
            steps:
              - {id: a-b, type: transform, config: {data: {n: 4}}}
              - {id: use, type: transform, config: {data: ["{{ steps.a-b.output.n }}", "${{ steps['a-b'].output.n - 1 }}"]}}
        """,
        "stages": """
            workflow:
              name: h
              stages:
                - name: s
                  steps:
                    - {id: a-b, type: transform, config: {data: {n: 4}}}
                    - {id: use, type: transform, config: {data: ["${{ steps.a-b.output.n }}", "${{ steps['a-b'].output.n - 1 }}"]}}
        """,
        "graph": """
            name: h
            nodes:
              - {id: a-b, type: transform, properties: {data: {n: 4}}}
              - {id: use, type: transform, properties: {data: ["{{ nodes.a-b.output.n }}", "{{ nodes['a-b'].output.n - 1 }}"]}}
            connections: [{source: a-b, target: use}]
        """,
        "tasks": """
            name: h
            tasks:
              - {id: a-b, type: {type: transform, data: {n: 4}}}
              - {id: use, depends_on: [a-b], type: {type: transform, data: ["${tasks.a-b.output.n}", "${tasks['a-b'].output.n - 1}"]}}
        """,
    }
    for dialect, text in texts.items():
        (compilation,) = as_written(text)
        assert compilation.dialect == dialect
        assert start([compilation]).output == {"use": [4, 3]}, dialect


@in_every_dialect
def test_ids_that_are_names_of_built_ins_or_no_names_at_all(dialect: str) -> None:
    result = start_as(dialect, """
        name: names
        steps:
          - {id: toString, type: transform, config: {expression: "1"}}
          - {id: items, type: transform, config: {expression: "2"}}
          - {id: "It's a.b/c", type: transform, config: {expression: "3"}}
          - {id: __class__, type: transform, config: {expression: "4"}}
          - {id: 'say "hi" {%x%}', type: transform, config: {expression: "5"}}
          - {id: constructor, type: transform, config: {expression: "6"}}
          - {id: "states", type: transform, config: {expression: "7"}}
          - id: total
            type: transform
            depends_on: [toString, items, "It's a.b/c", __class__, 'say "hi" {%x%}', constructor, states]
            config:
              data: "{{ steps['toString'].output }}-{{ steps['items'].output }}-{{ steps[\\"It's a.b/c\\"].output }}-{{ steps['__class__'].output }}-{{ steps['say \\"hi\\" {%x%}'].output }}-{{ steps.constructor.output }}-{{ steps.states.output }}"
    """)
    assert result.output == {"total": "1-2-3-4-5-6-7"}


def test_python_attributes_are_out_of_reach() -> None:
    result = start_as("canonical", """
        steps:
          - {id: a, type: transform, config: {data: {x: 1}}}
          - {id: b, type: transform, depends_on: [a], config: {data: ["{{ steps.a.output.__class__ }}", "{{ steps.a.output.items }}", "{{ steps.a.output['keys'] }}"]}}
    """)
    assert result.output == {"b": [None, None, None]}


EMOJI = """
    name: "données 🚀"
    steps:
      - {id: "étape-1", type: transform, config: {data: "é✓🚀"}}
      - {id: "步骤二", type: skill, depends_on: ["étape-1"], config: {skill: echo, parameters: {value: "{{ steps['étape-1'].output }}"}}}
      - {id: "🚦gate", type: skill, depends_on: ["步骤二"], config: {skill: echo, parameters: {name: gate, value: "{{ steps['步骤二'].output }}"}}}
"""


@in_every_dialect
@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_ids_in_any_script(skills: Skills, dialect: str, form: str) -> None:
    """Either way of writing an accent, also a mixture of both, names the same step."""
    text = EMOJI.replace('depends_on: ["étape-1"]', f'depends_on: ["{unicodedata.normalize(form, "étape-1")}"]')
    text = text.replace("steps['étape-1']", f"steps['{unicodedata.normalize(form, 'étape-1')}']")
    result = start_as(dialect, text)
    assert result.output == {"🚦gate": "é✓🚀"}
    assert [name for name, _ in skills.calls] == ["echo", "gate"]


def test_names_of_resources_are_ascii_short_and_different() -> None:
    compilations = [compiled(f"id: {json.dumps(name, ensure_ascii=False)}\nsteps: [{{id: '🚦', type: skill, config: {{skill: x}}}}]")[0]
                    for name in ("données", "donnees", "don-es", "🚀", "🚦", "x" * 150, "x" * 151)]
    names = [machine_name(one.workflow.id) for one in compilations]
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,80}", name) for name in names)
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("second", ["count", "cou\u0301nt"])
def test_an_id_is_used_once_in_a_workflow(second: str) -> None:
    first = unicodedata.normalize("NFC", second)
    found = errors_of(f"""
        steps:
          - id: par
            type: parallel
            branches:
              - steps: [{{id: "{first}", type: transform, config: {{expression: "1"}}}}]
              - steps: [{{id: "{second}", type: transform, config: {{expression: "2"}}}}]
    """)
    assert [one.code for one in found] == ["G001"]
    assert found[0].position.line == 8
    assert [place.line for _, place in found[0].related] == [7]


@pytest.mark.parametrize("outer", [
    "{id: x, type: foreach, items: [1], steps: [{id: x, type: transform, config: {expression: '1'}}]}",
    "{id: l, type: foreach, items: [1], steps: [{id: x, type: transform, config: {expression: '1'}}]}, "
    "{id: x, type: transform, config: {expression: '2'}}",
])
def test_an_id_of_a_loops_body_is_taken_too(outer: str) -> None:
    assert [one.code for one in errors_of(f"steps: [{outer}]")] == ["G001"]


@in_every_dialect
def test_a_childs_gate_waits_for_an_answer_of_its_own(skills: Skills, dialect: str) -> None:
    asked: list[tuple[str, str]] = []

    def approver(request: Request) -> Decision:
        asked.append((request.workflow, request.step))
        return Decision("approve" if request.workflow == "dup" else "reject")

    result = start_as(dialect, """
        id: dup
        name: dup
        steps:
          - {id: review, type: approval, config: {message: one}}
          - {id: child, type: workflow, workflow: child-flow, depends_on: [review]}
    """, """
        id: child-flow
        name: child-flow
        steps:
          - {id: review, type: approval, config: {message: two}}
          - {id: publish, type: skill, depends_on: [review], config: {skill: echo}}
    """, approver=approver)
    assert asked == [("dup", "review"), ("child-flow", "review")]
    assert (result.status, skills.count("echo")) == ("failed", 0)


@pytest.mark.parametrize("other", ["s edges", "s guards", "x s"])
def test_no_id_meets_a_state_that_the_compiler_adds(skills: Skills, other: str) -> None:
    result = start_as("canonical", f"""
        steps:
          - {{id: s, type: transform, config: {{expression: "1"}}}}
          - {{id: "{other}", type: transform, depends_on: [s], config: {{expression: "2"}}}}
          - {{id: t, type: transform, depends_on: [{{step: s, when: "steps.s.output == 1"}}, "{other}"], config: {{expression: "steps['{other}'].output"}}}}
    """)
    assert result.output == {"t": 2}


def test_only_steps_of_the_definition_are_offered() -> None:
    (found,) = errors_of("""
        steps:
          - {id: s, type: wait, seconds: 0}
          - {id: t, type: wait, seconds: 0, depends_on: [{step: s, when: "steps.nope.output == 1"}]}
    """)
    assert found.code == "E011"
    assert found.hint == "known: s, t"
