"""Expressions that are too long only once they are put together, or whose values several states read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from translator.diagnostics import TranslatorError
from translator.expressions.jsonata import MAX_CODE
from translator.pipeline import Compilation, compile_source


def compiled(**data: Any) -> Compilation:
    return compile_source(json.dumps({"dialect": "canonical", "id": "w", **data}))


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for item in value.values():
            yield from texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from texts(item)
    elif isinstance(value, str):
        yield value


def unassigned(machine: Any) -> set[str]:
    """Variables for values of the evaluator function that are read, and assigned nowhere."""
    text = json.dumps(machine)
    read = set(re.findall(r"\$([A-Za-z0-9_]+)\.e[0-9]+\b", text))
    return read - set(re.findall(r'"([A-Za-z0-9_]+)": "\{% \$states\.result\.Payload\.output %\}"', text))


def long(letter: str = "x") -> str:
    """An expression of about 15,000 characters."""
    return "{{ [" + ",".join(f"'{number}{letter * 1400}' ~ input.a" for number in range(10)) + "] }}"


LISTS = [long(letter) for letter in "abcde"]
SKILL = {"id": "s", "type": "skill", "config": {"skill": "x"}}
FLAGS = {"id": "c", "type": "choice", "mode": "all", "default": "d",
         "cases": [{"name": f"n{number}", "when": f"input.x{number:04} < {number}"} for number in range(1500)]}
MATCHES = {"message": "{{ input.x matches 'a+' }}", "on_timeout": "escalate", "escalate_to": ["x@y.example"]}
CASES: dict[str, dict[str, Any]] = {
    "the items of a loop": {"steps": [{"id": "l", "type": "foreach", "items": LISTS, "steps": [SKILL]}]},
    "items in batches": {"steps": [{"id": "l", "type": "foreach", "batch_size": 2, "items": LISTS, "steps": [SKILL]}]},
    "outputs under keys that are no plain ones": {"steps": [SKILL], "outputs": {"{% " + letter: long(letter) for letter in "abc"}},
    "an own result that the output repeats": {
        "steps": [{"id": "t", "type": "transform", "config": {"data": long()}}],
        "outputs": {"a": "{{ [steps.t.output, steps.t.output, steps.t.output] }}"}},
    "many flags": {"steps": [FLAGS], "outputs": {"c": "{{ steps.c.output }}"}},
    "many flags that nobody reads": {"steps": [FLAGS]},
    "an approval's two questions": {"steps": [{"id": "ap", "type": "approval", "timeout": 5, "config": MATCHES}]},
    "an approval's two questions in a loop": {"steps": [{"id": "l", "type": "foreach", "items": [1], "steps": [
        {"id": "ap", "type": "approval", "timeout": 5, "config": MATCHES | {"message": "{{ item matches 'a+' }}"}}]}]},
    "the input of a child": {"steps": [{"id": "k", "type": "workflow", "workflow": "w2", "input": {"{% a": LISTS}}]},
}


@pytest.mark.parametrize("case", CASES)
def test_every_value_of_the_evaluator_is_evaluated(case: str) -> None:
    if case == "the input of a child":
        from translator.pipeline import Source, compile_sources

        child = json.dumps({"dialect": "canonical", "id": "w2", "steps": [SKILL]})
        definition = compile_sources([Source(json.dumps({"dialect": "canonical", "id": "w", **CASES[case]})), Source(child)])[0].definition
    else:
        definition = compiled(**CASES[case]).definition
    assert unassigned(definition) == set()
    assert max(map(len, texts(definition))) < MAX_CODE + 200


def test_a_result_of_many_last_steps_is_put_together_field_by_field() -> None:
    many = [{**SKILL, "id": f"step_{number:04}_{'x' * 60}"} for number in range(400)]
    definition = compiled(steps=[{"id": "l", "type": "foreach", "items": [1], "steps": many}],
                          outputs={"l": "{{ steps.l.output }}"}).definition
    assert max(map(len, texts(definition))) < MAX_CODE


def test_a_result_that_cannot_be_put_together_is_a_finding() -> None:
    many: list[dict[str, Any]] = [{"id": "c", "type": "choice", "default": "other", "cases": [
        {"name": f"n{number}", "when": f"input.x == {number}"} for number in range(240)]}]
    many += [{**SKILL, "id": f"step_{number:04}_{'x' * 105}", "depends_on": [{"step": "c", "on": [f"n{number}"]}]} for number in range(240)]
    with pytest.raises(TranslatorError) as caught:
        compiled(steps=[{"id": "l", "type": "foreach", "items": [1], "steps": many}], outputs={"l": "{{ steps.l.output }}"})
    assert "A022" in {found.code for found in caught.value.diagnostics}


def test_the_second_question_reads_the_item_as_the_first_does() -> None:
    definition = compiled(steps=[{"id": "l", "type": "foreach", "items": [1], "steps": [
        {"id": "ap", "type": "approval", "timeout": 5, "config": MATCHES | {"message": "{{ item }}"}}]}]).definition
    (first,) = [state for name, state in definition["States"]["l"]["ItemProcessor"]["States"].items() if name == "ap"]
    (expired,) = [rule for rule in first["Catch"] if rule["ErrorEquals"] == ["States.Timeout"]]
    assert expired["Output"] == "{% $states.input %}"
