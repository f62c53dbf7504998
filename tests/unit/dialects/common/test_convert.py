"""Writing a definition in another dialect."""

from __future__ import annotations

import pytest
import yaml

from tests.unit.dialects.common.reading import canonical
from translator.diagnostics import Findings
from translator.dialects.convert import convert, dump, tidied
from translator.dialects.registry import read
from translator.source import Map, load, plain

TRICKY = [
    "on", "yes", "no", "y", "null", "~", "010", "0x1F", "1e3", "1_000", "12:30:45", "2024-11-01", "1.0", "-5", "true", "",
    " lead", "trail ", "a: b", "# c", "- d", "'", '"', "{{ x }}", "${{ x }}", "&a", "*a", "!t", "<<", "=", "é✓🚀", "\t",
    "one\ntwo\n", "one\n two\n\n", "\n", "a\u2028b", "a\u0085b", "a\u2029\nb",
    "x" * 300, "@a", "%a", "`a`", "null\n", "0o17", ".5", "+1", "?", "|",
]


@pytest.mark.parametrize("text", TRICKY)
def test_texts_come_back_from_every_reader(text: str) -> None:
    document = Map()
    document.put("steps", text)
    document.put(text or "empty", [text])
    written = dump(document)
    loaded = load(written, Findings())
    assert plain(loaded) == plain(document)
    assert yaml.safe_load(written) == plain(document)


def test_texts_of_several_lines_are_blocks() -> None:
    document = Map()
    document.put("script", "a = 1\nreturn a\n")
    assert dump(document) == "script: |\n  a = 1\n  return a\n"


STEPS = """
name: three
version: 2
steps:
  - {id: a, type: transform, config: {expression: input.n * 2, output_key: twice}, timeout: 5000}
  - id: r
    type: conditional
    config: {condition: steps.a.twice > 10, branches: {true: {target_step: big}, false: {target_step: small}}}
  - {id: big, type: notification, config: {channel: sns, message: "big: ${{ steps.a.twice }}"}}
  - {id: small, type: delay, config: {duration_ms: 1500}}
  - id: both
    type: parallel
    config:
      steps:
        - {name: one, type: skill, config: {skill: x}}
        - {name: two, type: skill, config: {skill: y}}
"""


def converted(text: str, to: str) -> str:
    findings = Findings()
    document = load(text, findings)
    assert document is not None
    written = convert(document, to, findings)
    assert written is not None
    return written


def test_canonical_names_its_spelling_first() -> None:
    assert converted(STEPS, "canonical").startswith("dialect: canonical\nname: three\nversion: 2.0.0\n")


def test_a_dialect_comes_back_in_its_own_words() -> None:
    written = yaml.safe_load(converted(converted(STEPS, "canonical"), "steps"))
    assert written["version"] == 2
    assert [step["type"] for step in written["steps"]] == ["transform", "conditional", "notification", "delay", "parallel"]
    assert [step["id"] for step in written["steps"] if "depends_on" in step] == []
    assert written["steps"][0]["config"] == {"expression": "input.n * 2", "output_key": "twice"}
    assert written["steps"][0]["timeout"] == 5000
    assert written["steps"][1]["config"]["branches"] == {"true": {"target_step": "big"}, "false": {"target_step": "small"}}
    assert written["steps"][4]["config"]["steps"] == [
        {"name": "one", "type": "skill", "config": {"skill": "x"}}, {"name": "two", "type": "skill", "config": {"skill": "y"}}]


def test_stages_follow_the_shape_of_the_graph() -> None:
    text = """
dialect: canonical
name: s
steps:
  - {id: a, type: skill, config: {skill: x}}
  - {id: b, type: skill, config: {skill: x}, depends_on: [a], when: input.b}
  - {id: c, type: skill, config: {skill: x, parameters: {t: "{{ input.c }}"}}, depends_on: [a]}
  - {id: d, type: skill, config: {skill: x}, depends_on: [b, c]}
"""
    stages = yaml.safe_load(converted(text, "stages"))["workflow"]["stages"]
    assert [(stage.get("parallel", False), [step["id"] for step in stage["steps"]]) for stage in stages] == [
        (False, ["a"]), (True, ["b", "c"]), (False, ["d"])]
    assert stages[1]["steps"][0]["when"] == "${{ input.b }}"
    assert stages[1]["steps"][1]["parameters"] == {"t": "${{ input.c }}"}


@pytest.mark.parametrize("to", ["canonical", "steps", "stages"])
def test_a_crossed_graph_keeps_each_edge(to: str) -> None:
    text = "dialect: canonical\nname: n\nsteps:\n" + "".join(
        f"  - {{id: {name}, type: skill, config: {{skill: x}}, depends_on: [{deps}]}}\n"
        for name, deps in (("a", ""), ("b", ""), ("c", "a"), ("d", "a, b"), ("e", "b, c"), ("f", "")))
    assert canonical(converted(text, to)) == canonical(text)


def test_errors_keep_a_definition_from_being_written() -> None:
    findings = Findings()
    document = load("name: x\nsteps: [{id: a, type: htp}]\n", findings)
    assert document is not None
    assert convert(document, "canonical", findings) is None
    assert convert(document, "cannonical", findings) is None
    assert [found.code for found in findings.sorted()] == ["D003", "D030"]


def test_canonical_data_is_not_changed_by_tidying_it_twice() -> None:
    findings = Findings()
    document = load(STEPS, findings)
    assert document is not None
    found = read(document, findings)
    assert found is not None
    once = tidied(found[1])
    assert plain(tidied(once)) == plain(once)
