"""Names and descriptions of stages come back when a definition is written as stages again."""

from __future__ import annotations

import pytest
import yaml

from tests.unit.dialects.common.test_round_trip import canonical, converted
from translator import editing

MILL = """
workflow:
  name: mill
  stages:
    - {name: fetch, description: Sacks from the barge, steps: [{id: a, skill: x}, {id: b, skill: x}]}
    - {name: clean, steps: [{id: c, skill: x, labels: {owner: ann}}]}
    - name: grind
      description: Both stones at once
      parallel: true
      steps: [{id: d, skill: x}, {id: e, skill: x}]
    - {name: stage_4, description: Named as by default, steps: [{id: f, skill: x}]}
"""
LISTED = [
    ("fetch", "Sacks from the barge", False, ["a", "b"]), ("clean", "", False, ["c"]),
    ("grind", "Both stones at once", True, ["d", "e"]), ("stage_4", "Named as by default", False, ["f"]),
]


@pytest.mark.parametrize("way", ["canonical", "steps", "stages", "graph", "tasks", "agents"])
def test_stages_come_back_by_way_of_each_dialect(way: str) -> None:
    between = converted(MILL, way)
    written = yaml.safe_load(converted(between, "stages"))
    stages = written["workflow"]["stages"]
    assert [(stage["name"], stage.get("description", ""), stage.get("parallel", False), [step["id"] for step in stage["steps"]])
        for stage in stages] == LISTED
    labels = {step["id"]: step["labels"] for stage in stages for step in stage["steps"] if "labels" in step}
    assert labels == {"c": {"owner": "ann"}}


def test_a_stage_that_is_torn_apart_gives_its_name_once() -> None:
    text = MILL.replace("{id: a, skill: x}, {id: b, skill: x}", "{id: a, skill: x}, {id: b, skill: x, depends_on: []}")
    written = converted(text, "stages")
    names = [stage["name"] for stage in yaml.safe_load(written)["workflow"]["stages"]]
    assert len(names) == len(set(names))
    assert [(step["id"], step.get("depends_on", [])) for step in canonical(written)["steps"]] == [
        (step["id"], step.get("depends_on", [])) for step in canonical(text)["steps"]]


def test_a_label_of_the_step_itself_is_kept() -> None:
    text = "workflow: {name: m, stages: [{name: one, steps: [{id: a, skill: x, labels: {stage: mine}}]}]}"
    assert canonical(text)["steps"][0]["labels"] == {"stage": "mine"}


def test_an_edited_definition_keeps_its_stages() -> None:
    written = editing.edited(MILL, lambda data: editing.update_step(data, "d", {"when": "parameters.wet"}))
    stages = yaml.safe_load(written)["workflow"]["stages"]
    assert [(stage["name"], stage.get("description", ""), stage.get("parallel", False), [step["id"] for step in stage["steps"]])
        for stage in stages] == LISTED
    assert stages[2]["steps"][0]["when"] == "${{ parameters.wet }}"


def test_a_stage_that_runs_few_at_once_keeps_its_name() -> None:
    text = MILL.replace("parallel: true", "parallel: true\n      max_parallel: 1").replace("- name: grind", "- name: Both stones")
    for between in (text, converted(text, "tasks")):
        stage = yaml.safe_load(converted(between, "stages"))["workflow"]["stages"][2]
        assert (stage["name"], stage["description"]) == ("Both stones", "Both stones at once")
        assert [step["type"] for step in stage["steps"]] == ["parallel"]
