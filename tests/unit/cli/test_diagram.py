"""Drawings: every step and edge is there, boxes do not overlap, and no text breaks out of its place."""

from __future__ import annotations

import random
import re
import xml.etree.ElementTree as ET

import pytest

from translator.diagnostics import Position
from translator.diagram import FORMATS, draw
from translator.diagram.layout import GAP_X, place
from translator.diagram.scene import Node, Scope, scene
from translator.expressions.tree import Name, Slot
from translator.model.workflow import Edge, Step, Workflow

NASTY = '"<&>`{{x}}`\\"; end\n]%% --> \0 名前'


def release() -> Workflow:
    return Workflow("release", "Release train", (
        Step("build", "skill", name="Build it"),
        Step("tests", "parallel", depends_on=(Edge("build"),), branches=(
            (Step("unit", "skill"),), (Step("api", "http"), Step("report", "transform", depends_on=(Edge("api"),))),
        )),
        Step("route", "choice", depends_on=(Edge("tests"),)),
        Step("ask", "approval", depends_on=(Edge("route", ("production",)),)),
        Step("tell", "notify", depends_on=(Edge("route", ("otherwise",)),)),
        Step("each", "foreach", depends_on=(Edge("ask"),), steps=(
            Step("roll", "skill"), Step("settle", "wait", depends_on=(Edge("roll"), Edge("unit"))),
        )),
        Step("done", "agent", depends_on=(Edge("each"), Edge("tell"), Edge("build"), Edge("report"))),
    ), finally_=(Step("tidy", "skill"),))


def test_scopes_hold_their_steps_and_edges_end_at_members_of_one_scope() -> None:
    root = scene(release())
    body, tidy = root.items
    assert isinstance(body, Scope) and isinstance(tidy, Scope)
    arrows = {(link.source, link.target): link.label for link in body.links}
    assert arrows == {
        ("build", "tests"): "", ("tests", "route"): "", ("route", "ask"): "production", ("route", "tell"): "otherwise",
        ("ask", "each"): "", ("each", "done"): "", ("tell", "done"): "",
    }  # what a longer way says already, such as build -> done, is not drawn
    each = next(item for item in body.items if item.id == "each")
    assert isinstance(each, Scope)
    assert [(link.source, link.target) for link in each.links] == [("roll", "settle")]


def test_conditions_are_shown_as_far_as_they_fit() -> None:
    def name(text: str) -> Name:
        return Name(text, Position(1, 1))

    root = scene(Workflow("w", "w", (
        Step("a", "skill", when=name("ready")),
        Step("b", "skill", depends_on=(Edge("a", when=name("x" * 100)),)),
        Step("c", "skill", when=Slot("output", "a", Position(1, 1))),
    )))
    assert [item.detail for item in root.items if isinstance(item, Node)] == [
        "skill · when ready", "skill", "skill · when …"]
    assert root.links[0].label == "x" * 35 + "…"


@pytest.mark.parametrize("form", FORMATS)
def test_every_step_and_outcome_is_in_the_drawing_and_drawing_is_repeatable(form: str) -> None:
    text = draw(release(), form)
    for word in ("Build it", "unit", "api", "report", "route", "ask", "tell", "each", "roll", "settle", "done", "tidy",
            "production", "otherwise", "Release train"):
        assert word in text
    assert text == draw(release(), form)


def test_svg_is_well_formed_with_one_path_per_arrow_and_one_group_per_step() -> None:
    root = ET.fromstring(draw(release(), "svg"))
    space = "{http://www.w3.org/2000/svg}"
    arrows = [path for path in root.iter(f"{space}path") if path.get("marker-end")]
    assert len(arrows) == 7 + 1 + 1 + 1  # the body's, the branch's, the loop's, and the one to finally
    assert len(root.findall(f"{space}g")) == 11  # the thirteen steps without the two that are boxes
    assert root.get("role") == "img"


@pytest.mark.parametrize("form", FORMATS)
def test_no_text_breaks_out(form: str) -> None:
    steps = (Step(NASTY, "skill", name=NASTY), Step("b", "choice", depends_on=(Edge(NASTY, (NASTY,)),)))
    text = draw(Workflow(NASTY, NASTY, steps), form)
    if form == "svg":
        assert len([*ET.fromstring(text).iter("{http://www.w3.org/2000/svg}g")]) == 2
    elif form == "mermaid":
        drawn = text.split("---\n")[2]
        assert len(drawn.splitlines()) == 8 and "`" not in drawn and "{{" not in drawn and "%%" not in drawn
    else:
        without = re.sub(r'"(?:[^"\\]|\\.)*"', "", text)
        assert without.count("->") == 1 and "end" not in without and "<" not in without


@pytest.mark.parametrize("seed", range(8))
def test_boxes_of_a_layer_keep_their_distance_and_arrows_run_down(seed: int) -> None:
    chance = random.Random(seed)
    count = chance.randrange(2, 40)
    sizes = [(chance.uniform(20, 300), chance.uniform(20, 200)) for _ in range(count)]
    links = sorted({(a, b) for a, b in ((chance.randrange(count), chance.randrange(count)) for _ in range(count * 2))
        if a < b})
    placed = place(sizes, links)
    boxes = [(x, y, x + w, y + h) for (x, y), (w, h) in zip(placed.boxes, sizes, strict=True)]
    for at, one in enumerate(boxes):
        assert one[0] >= -0.01 and one[1] >= -0.01
        assert one[2] <= placed.width + 0.01 and one[3] <= placed.height + 0.01
        for two in boxes[at + 1:]:
            apart = (two[0] - one[2], one[0] - two[2], two[1] - one[3], one[1] - two[3])
            assert max(apart) >= GAP_X - 0.01
    for (source, target), points in zip(links, placed.arrows, strict=True):
        assert points[0][1] == pytest.approx(boxes[source][3]) and points[-1][1] == pytest.approx(boxes[target][1])
        heights = [y for _, y in points]
        assert heights == sorted(heights)


def test_an_empty_scope_and_a_single_step_are_drawn() -> None:
    for form in FORMATS:
        assert "only" in draw(Workflow("w", "", (Step("only", "skill"),)), form)
        assert draw(Workflow("w", "w", (Step("loop", "foreach"),)), form)
