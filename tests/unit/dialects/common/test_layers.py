"""All that is wrong with a definition is told at once, in our own sentences, with hints that lead to an end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

import pytest
from pydantic import BaseModel, ValidationError
from pydantic_core.core_schema import ErrorType

from aslant.configs.check import config_model, problems
from aslant.configs.triggers import ScheduleTrigger, WebhookTrigger
from aslant.step_types import STEP_TYPES
from translator.diagnostics import Diagnostic, Severity
from translator.dialects.registry import DIALECTS
from translator.pipeline import Source, check_sources

MANY = """
name: layers
steps:
  - id: one
    type: skill
    config: {skill: x}
    retry: {max_attempts: -1, delay: later}
    timeout: soon
    colour: red
  - id: two
    type: approval
    config: {approval_type: maybe, message: Go?}
    when: "steps.one.output =="
  - id: three
    type: http
    config: {urll: "http://example.com"}
    on_failure: {action: explode}
triggers:
  - {type: schedule, config: {timezone: Mars/X, every: 1 day}}
error_handling: {default: no}
"""


def found(text: str) -> list[Diagnostic]:
    return [each for each in check_sources([Source(text)]) if each.severity is not Severity.INFO]


def places(text: str) -> set[tuple[str, int]]:
    return {(each.code, each.position.line) for each in found(text)}


def test_every_layer_is_told_at_once() -> None:
    assert places(MANY) == {
        ("D014", 7), ("D022", 7), ("D022", 8), ("D010", 9), ("G015", 12), ("E001", 13), ("G015", 16), ("D013", 17),
        ("T001", 19), ("D010", 20),
    }


def test_names_and_order_are_checked_when_only_a_time_is_wrong() -> None:
    text = "name: n\nsteps:\n  - {id: a, type: wait, config: {duration: soon}, timeout: never}\n" \
        "  - {id: b, type: skill, config: {skill: x}, depends_on: [aa]}\n"
    assert {("D022", 3), ("G002", 4)} <= places(text)


AT_ONCE = """
name: all
nonsense: 1
version: 1.5
triggers: [{type: nothing}, {type: schedule, config: {cron: x y}}]
outputs: {z: "{{ steps.nowhere.output }}", y: "{{ 1 + }}"}
variables: {v: "{{ input.nope }}"}
inputs: {x: {type: strin}, y: {type: string, default: 5}}
error_handlers: [{errors: ["*"], action: explode}]
steps:
  - {id: a, type: http, config: {url: "https://x.org/{{ steps.nobody.output }}"}}
  - {id: b, type: http, name: B, name: C, config: {methd: GET, url: "https://x.org"}}
  - {id: c, type: transform, config: {expression: "frob(input.x)", output_key: r}}
  - {id: d, type: conditional, config: {condition: "r.x > 1", branches: {true: {target_step: elsewhere}}}}
  - {id: e, type: delay, config: {seconds: ten}}
  - {id: f, type: foreach, items: input.l, steps: [{id: g, type: delay, config: {secnds: 1}}]}
  - {id: h, config: {url: "https://x.org"}}
  - {id: i, type: delay, depends_on: [never], config: {seconds: 1}}
  - {id: j, type: transform, config: {expression: "input.x +"}}
"""


def test_independent_mistakes_are_told_at_once() -> None:
    expected = {
        "D010": {3, 16}, "D020": {4}, "D013": {5, 8, 9}, "T001": {5}, "E001": {6, 19}, "E011": {6, 11}, "E012": {7}, "G025": {8},
        "S005": {12}, "G015": {12}, "E014": {13}, "D036": {14}, "A013": {15}, "G014": {16}, "D011": {17}, "G002": {18},
    }
    assert places(AT_ONCE) == {(code, line) for code, lines in expected.items() for line in lines}


@pytest.mark.parametrize(("wrong", "reads"), [
    ("{id: a, type: http, ouput_key: r, config: {url: 'https://x.org'}}", "{{ r.x }}"),
    ("{id: a, type: http, output_key: [r], config: {url: 'https://x.org'}}", "{{ state.r }}"),
    ("{id: a, config: {url: 'https://x.org'}}", "{{ steps.a.output }}"),
    ("{id: a, type: foreach, items: '{{ input.l }}', steps: [{id: b, config: {url: x}}]}", "{{ steps.a.output }}"),
    ("{id: a, type: parallel, config: {branches: [{steps: [{id: b, type: delay, config: {seconds: 1}, name: []}], of: 1}]}}",
        "{{ steps.b.output }}"),
    ("{id: a, type: conditional, config: {condition: 'true', branches: {yes: {target_step: t}}}}", "{{ steps.a.output.branch }}"),
])
def test_nothing_follows_from_what_could_not_be_read(wrong: str, reads: str) -> None:
    text = f"name: n\nsteps:\n  - {wrong}\n  - {{id: t, type: http, config: {{url: 'https://x.org/{reads}'}}}}\n"
    assert {line for _, line in places(text)} == {3}


def test_what_was_left_out_is_not_said_to_be_missing() -> None:
    assert places("name: n\nsteps:\n  - {id: a, type: http, config: 5}\n") == {("D012", 3)}
    assert places("name: n\nsteps:\n  - {id: a, type: http, config: {url: 'https://x.org'}, depends_on: 5}\n"
        "  - {id: b, type: http, config: {url: '{{ steps.a.output }}'}}\n") == {("D012", 3)}


STEP = {
    "steps": "name: n\nsteps:\n  - {id: a, type: skill, config: {skill: x}, %s}\n",
    "canonical": "dialect: canonical\nname: n\nsteps:\n  - {id: a, type: skill, config: {skill: x}, %s}\n",
    "stages": "workflow:\n  name: n\n  stages:\n    - {name: s, steps: [{id: a, type: skill, skill: x, %s}]}\n",
    "tasks": "id: n\nname: n\ntasks:\n  - {id: a, name: A, type: {type: skill, skill: x}, %s}\n",
    "graph": "name: n\nnodes:\n  - {id: a, type: skill, properties: {skill: x}, %s}\nconnections: []\n",
    "agents": "metadata: {id: n, name: n}\nnodes:\n  - {id: a, agent: skill, parameters: {skill: x}, %s}\nedges: []\n",
}


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(("written", "hint", "then"), [
    ("retry: {on: 429}", 'write a list of texts: ["429"]', 'retry: {on: ["429"]}'),
    ("retry: {on: {Timeout: 1}}", 'write a list of texts: ["Timeout"]', 'retry: {on: ["Timeout"]}'),
    ("retry: {on: [429]}", 'quote it: "429"', 'retry: {on: ["429"]}'),
    ("retry: {on: null}", "write `[]`, or leave the key out", "retry: {on: []}"),
    ("retry: {on: [ValidationError, Timeout]}", "leave it out", "retry: {on: [Timeout]}"),
    ("retry: {retry_on: [Timeout]}", "did you mean `on`?", "retry: {on: [Timeout]}"),
    ("retry_on: [Timeout]", "write `retry: {on: […]}`", "retry: {on: [Timeout]}"),
    ("retry: [Timeout]", "the names of errors stand under `on`: {on: [Timeout]}", "retry: {on: [Timeout]}"),
    ("retry: 3", "write {max_attempts: 3}", "retry: {max_attempts: 3}"),
])  # fmt: skip
def test_a_hint_about_retries_leads_to_an_end(dialect: str, written: str, hint: str, then: str) -> None:
    (one,) = found(STEP[dialect] % written)
    assert one.hint == hint
    assert found(STEP[dialect] % then) == []


ODD: tuple[Any, ...] = (None, "", "x", "x" * 5000, -1, 0, 10**9, 1.5, float("inf"), True, [], {}, [1], [""], [None], {"a": 1},
    [{}], [{"a": 1}], ["x"] * 2000, "{{")
PYDANTICS = frozenset(get_args(ErrorType)) - {"value_error"}


def fields(model: type[BaseModel]) -> Iterator[str]:
    for name, field in model.model_fields.items():
        yield field.alias or name


@pytest.mark.parametrize("model", [
    *(model for kind in STEP_TYPES if (model := config_model(kind)) is not None), ScheduleTrigger, WebhookTrigger,
])
def test_no_sentence_is_pydantics(model: Any) -> None:
    for field in fields(model):
        for value in ODD:
            try:
                model.model_validate({field: value})
            except ValidationError as error:
                theirs = {each["msg"] for each in error.errors() if each["type"] in PYDANTICS}
                ours = " ".join(message for _, message in problems(model, {field: value}))
                assert "Value error" not in ours
                assert not [text for text in theirs if text in ours]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_no_sentence_about_a_dialect_is_pydantics(dialect: str) -> None:
    for key in ("retry", "timeout", "on_failure", "depends_on", "when", "cache", "labels", "id", "compensation", "name"):
        for value in ("[]", "{}", "-1", "[1]", "1.5", "'" + "x" * 5000 + "'", "''", "null", "{a: b}"):
            for one in found(STEP[dialect] % f"{key}: {value}"):
                assert "Value error" not in one.message and "Input should" not in one.message and "at least 1 item" not in one.message


@pytest.mark.parametrize(("step", "codes"), [
    ("{id: a, type: wait, seconds: '{{ input.n }}', on_failure: continue}", ["A007"]),
    ("{id: a, type: wait, seconds: 1, retry: {max_attempts: 2}}", ["A007"]),
    ("{id: a, type: choice, cases: [{name: x, when: input.n > 1}], on_failure: {action: retry, then: continue}}", ["A007"]),
    ("{id: a, type: choice, cases: [{name: x, when: input.n > 1}], on_failure: fail}", []),
    ("{id: a, type: transform, config: {expression: input.n + 1}, on_failure: continue}", []),
])  # fmt: skip
def test_what_is_written_for_the_failure_of_a_step_that_nothing_can_catch_is_told(step: str, codes: list[str]) -> None:
    text = f"dialect: canonical\nname: n\ninputs: {{n: {{type: number}}}}\nsteps:\n  - {step}\n"
    assert [each.code for each in found(text)] == codes
