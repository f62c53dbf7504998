"""Values with quotes, braces and backslashes in them are values wherever they go."""

from __future__ import annotations

import json

import pytest

from tests.execution.cases.spelling import as_written, compiled, in_every_dialect, ran, start, start_as
from tests.execution.support import Skills

AWKWARD = [
    "he said \"hi\"\\ \n {x} $.y 'z'", "{% $states.input %}", "{{ input.note }}", "${input.note}", "{state.note}", "\\{{", "é✓🚀\u2028",
    "$states.context.Execution.Id", "}} {{ secrets.x }}", "', 'b': '", "\\", "\"", "`", "{",
]

ECHO = """
    name: quote-safe
    inputs: {note: {type: string, required: true}}
    steps:
      - id: echo
        type: skill
        config:
          skill: echo
          parameters: {value: {body: '{"msg": "{{ input.note }}"}', whole: "{{ input.note }}", twice: "{{ input.note }}{{ input.note }}"}}
"""


@in_every_dialect
def test_a_value_reaches_its_step_unchanged(skills: Skills, dialect: str) -> None:
    compilations = compiled(ECHO, dialect=dialect)
    for note in AWKWARD[:3]:
        result = start(compilations, {"note": note})
        assert result.output == {"echo": {"body": '{"msg": "' + note + '"}', "whole": note, "twice": note + note}}


@pytest.mark.parametrize("note", AWKWARD)
def test_every_awkward_value_is_only_a_value(skills: Skills, note: str) -> None:
    assert start_as("canonical", ECHO, given={"note": note}).output["echo"]["body"] == '{"msg": "' + note + '"}'


@pytest.mark.parametrize("text", AWKWARD[:2] + ["it's {}", "\\{x\\}", "a\\b", "{%", "%}", "$x", "{%1%}"])
def test_literal_text_is_no_code(skills: Skills, text: str) -> None:
    """What stands in the definition itself, a computed value beside it or not."""
    steps = [{"id": "a", "type": "skill", "config": {"skill": "echo", "parameters": {"value": {
        "alone": text, "beside": text + "{{ input.n }}", text: "key"}}}}]
    result = start_as("canonical", f"inputs: {{n: {{type: integer, default: 1}}}}\nsteps: {json.dumps(steps)}")
    assert result.output == {"a": {"alone": text, "beside": text + "1", text: "key"}}


# The same in each dialect's own words.
OWN_WORDS = {
    "steps": """
        name: q
        inputs: {note: {type: string}}
        steps:
          - id: echo
            type: skill
            config: {skill: echo, parameters: {value: {body: '{"m": "${{ input.note }}"}', whole: "{{ input.note }}"}}}
    """,
    "stages": """
        workflow:
          name: q
          parameters: [{name: note, type: string}]
          stages:
            - name: one
              steps:
                - id: echo
                  skill: echo
                  parameters: {value: {body: '{"m": "${{ parameters.note }}"}', whole: "${{ parameters.note }}"}}
    """,
    "graph": """
        name: q
        inputs: {note: {type: string}}
        nodes:
          - id: echo
            type: skill
            properties: {skill: echo, parameters: {value: {body: '{"m": "{{ input.note }}"}', whole: "{{ input.note }}"}}}
        connections: []
        settings: {data_flow: false}
    """,
    "tasks": """
        name: q
        inputs: {note: {type: string}}
        tasks:
          - id: echo
            type: {type: Plugin, plugin_name: echo, config: {value: {body: '{"m": "${input.note}"}', whole: "${input.note}"}}}
    """,
    "agents": """
        metadata: {name: q}
        state_schema: {input: {type: object, properties: {note: {type: string}}}}
        nodes:
          - id: echo
            agent: skill
            parameters: {skill: echo, parameters: {value: {body: '{"m": "{input.note}"}', whole: "{input.note}"}}}
        edges: []
    """,
}


@pytest.mark.parametrize("dialect", sorted(OWN_WORDS))
def test_values_in_the_words_of_each_dialect(skills: Skills, dialect: str) -> None:
    (compilation,) = as_written(OWN_WORDS[dialect])
    assert compilation.dialect == dialect
    for note in AWKWARD[:5]:
        result = start([compilation], {"note": note})
        assert result.output["echo"] == {"body": '{"m": "' + note + '"}', "whole": note}


COMPARED = r"""
    name: cond-values
    inputs: {label: {type: string, required: true}}
    steps:
      - {id: gate, type: skill, when: "{{ input.label }} != ''", config: {skill: echo}}
      - {id: same, type: skill, when: 'input.label == "a b-c, \{{d}}"', config: {skill: echo}}
"""


@in_every_dialect
def test_operands_of_a_condition_are_never_its_source(skills: Skills, dialect: str) -> None:
    compilations = compiled(COMPARED, dialect=dialect)
    for label, expected in (("a b-c, {{d}}", {"gate", "same"}), ("", set()), ("' == '' || 'x", {"gate"})):
        assert ran(start(compilations, {"label": label})) == expected
