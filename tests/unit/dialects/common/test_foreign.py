"""Holes of another dialect stay text, and that is said when they read something that is known."""

from __future__ import annotations

import pytest

from translator.pipeline import Source, check_sources

DEFINITIONS = {
    "canonical": "dialect: canonical\nname: w\ninputs: {x: {}}\nsteps:\n  - {id: a, type: command, config: {command: 'TEXT'}}\n",
    "steps": "name: w\nsteps:\n  - {id: a, type: command, config: {command: 'TEXT'}}\n",
    "stages": "workflow:\n  name: w\n  stages:\n    - name: s\n      steps:\n"
    "        - {id: a, type: command, parameters: {command: 'TEXT'}}\n",
    "graph": "name: w\nnodes:\n  - {id: a, type: command, properties: {command: 'TEXT'}}\nconnections: []\n",
    "tasks": "name: w\ntasks:\n  - {id: a, type: {type: Command, command: 'TEXT'}}\n",
    "agents": "name: w\nnodes:\n  - {id: a, agent: command, parameters: {command: 'TEXT'}}\nedges: []\n",
}


def found(dialect: str, text: str) -> list[tuple[str, str, int]]:
    return [(each.code, each.hint, each.position.length) for each in check_sources(
        [Source(DEFINITIONS[dialect].replace("TEXT", text))]) if each.code in ("D034", "D048")]


@pytest.mark.parametrize(("dialect", "text", "hint"), [
    ("canonical", "${input.x}", "{{ input.x }}"), ("canonical", "a ${x} b", "{{ x }}"), ("steps", "{input.x}", "{{ input.x }}"),
    ("steps", "${input.x + 1}", "{{ input.x + 1 }}"), ("graph", "${input.x}", "{{ input.x }}"),
    ("graph", "{secrets.token}", "{{ secrets.token }}"), ("stages", "${parameters.x}", "${{ parameters.x }}"),
    ("stages", "{input.x}", "${{ input.x }}"), ("tasks", "{{ input.x }}", "${input.x}"), ("tasks", "{input.x}", "${input.x}"),
    ("agents", "{{ input.x | upper }}", "${{ input.x | upper }}"),
])
def test_holes_of_other_dialects_are_warned_of(dialect: str, text: str, hint: str) -> None:
    ((code, said, length),) = found(dialect, text)
    assert code == "D048"
    assert said == f"write `{hint}` for the value"
    assert length == len(text.removeprefix("a ").removesuffix(" b"))


@pytest.mark.parametrize(("dialect", "text"), [
    ("canonical", "${HOME}/bin"), ("steps", "{{ input.x }}"), ("steps", "{{ ''${input.x}'' }}"), ("steps", "{a.b}"),
    ("steps", "{input}"), ("graph", "a {1} ${} {x y}"), ("stages", "${{ parameters.x }}"), ("tasks", "${input.x}"),
    ("tasks", "\\{{ input.x }}"), ("tasks", "{{ user.name }}"), ("tasks", "${{ input.x }}"), ("agents", "{input.x}"),
    ("agents", "${{ input.x }}"), ("agents", "{{ customer }}"),
])
def test_other_braces_are_left_alone(dialect: str, text: str) -> None:
    assert found(dialect, text) == []


def test_scripts_and_descriptions_are_no_texts_with_holes() -> None:
    text = "name: w\ndescription: '${input.x}'\nsteps:\n  - {id: a, type: transform, config: {script: 'x = \"{input.x}\"'}}\n"
    assert "D048" not in [each.code for each in check_sources([Source(text)])]
