"""canonical -> tasks, agents or graph -> canonical gives the same data; and no input whatever makes a reader raise."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from tests.examples import few
from tests.unit.dialects.common.test_round_trip import canonical, converted
from tests.unit.dialects.common.workflows import WORKFLOWS
from translator.diagnostics import Findings
from translator.dialects.convert import convert, dump
from translator.dialects.registry import read
from translator.source import load, plain

DIALECTS = ["tasks", "agents", "graph"]
FOLDER = Path(__file__).parents[1]
EXAMPLES = sorted(FOLDER.glob("*/data/*.*"))
BOUNDED = few(10, derandomize=True, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("dialect", DIALECTS)
@BOUNDED
@given(workflow=WORKFLOWS)
def test_generated_workflows_come_back_the_same(dialect: str, workflow: dict[str, Any]) -> None:
    text = dump({"dialect": "canonical", **workflow})
    assert canonical(converted(text, dialect)) == canonical(text)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_examples_come_back_the_same(dialect: str, example: Path) -> None:
    text = example.read_text("utf-8")
    assert canonical(converted(text, dialect)) == canonical(text)


def test_a_plain_condition_is_written_in_the_words_of_the_dialect() -> None:
    text = """\
dialect: canonical
name: w
steps:
  - {id: c, type: choice, cases: [{name: "true", when: "input.n > 1"}], default: "false"}
  - {id: yes, type: skill, config: {skill: own, parameters: {}}, depends_on: [{step: c, on: ["true"]}]}
"""
    written: dict[str, Any] = {}
    for dialect in DIALECTS:
        data = load(converted(text, dialect), Findings())
        assert data is not None
        written[dialect] = plain(data)
    assert written["tasks"]["tasks"] == [
        {"id": "c", "type": {"type": "Conditional", "condition": "input.n > 1", "true_branch": ["yes"]}},
        {"id": "yes", "type": {"type": "Plugin", "plugin_name": "own", "config": {}}}]
    assert written["agents"]["nodes"][0] == {"id": "c", "agent": "router", "parameters": {"condition": "input.n > 1"}}
    assert written["agents"]["edges"] == [{"from": "c", "to": "yes", "condition": "true"}]
    assert written["graph"]["connections"] == [{"source": "c", "target": "yes", "sourceOutput": "true"}]
    assert written["graph"]["nodes"][1] == {"id": "yes", "type": "own"}


WORDS = st.sampled_from([
    "nodes", "edges", "connections", "tasks", "settings", "workflow_data", "id", "type", "agent", "parameters", "properties",
    "steps", "items", "from", "to", "source", "target", "condition", "a", "b", "Loop", "Conditional", "router", "foreach",
    "task_template", "true_branch", "depends_on", "config", "branches", "cases", "input", "pattern", "map", "{state.x}",
    "${x", "${{", "{{", "{{ data }}", "'", "llm", "wait", "metadata", "retry", "timeout",
])
LEAVES = st.one_of(st.none(), st.booleans(), st.integers(-2, 5), st.floats(allow_nan=False, allow_infinity=False), WORDS)
ANYTHING = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=5),
    max_leaves=25)


def survives(text: str) -> None:
    """Read, and written in every dialect when it can be: findings or a result."""
    findings = Findings()
    document = load(text, findings)
    if document is None or read(document, findings) is None:
        assert findings.has_errors
        return
    for dialect in DIALECTS:
        again = Findings()
        if convert(document, dialect, again) is None:
            assert again.has_errors


@BOUNDED
@given(value=ANYTHING, frame=st.sampled_from([("tasks",), ("nodes", "edges"), ("nodes", "connections")]))
def test_random_json_never_raises(value: Any, frame: tuple[str, ...]) -> None:
    survives(json.dumps({"name": "w", **dict.fromkeys(frame, [value])}))
    survives(json.dumps({"name": "w", **(dict.fromkeys(frame, value))}))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
@few(8, derandomize=True, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_one_random_edit_of_an_example_never_raises(example: Path, data: st.DataObject) -> None:
    document = load(example.read_text("utf-8"), Findings())
    value: Any = copy.deepcopy(plain(document))
    holder = value
    while True:
        keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        key = data.draw(st.sampled_from(keys))
        deeper = isinstance(holder[key], (dict, list)) and len(holder[key]) > 0
        if not deeper or data.draw(st.integers(0, 3)) == 0:
            break
        holder = holder[key]
    edit = data.draw(st.sampled_from(["replace", "remove", "rename", "double"]))
    if edit == "replace":
        holder[key] = data.draw(ANYTHING)
    elif edit == "remove":
        del holder[key]
    elif isinstance(holder, dict):
        holder[data.draw(WORDS)] = copy.deepcopy(holder[key])
        if edit == "rename":
            holder.pop(key, None)
    else:
        holder.append(copy.deepcopy(holder[key]))
    survives(json.dumps(value))
