"""`aslant graph --format svg` as Chromium shows it: nothing overflows, overlaps or is missing."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from infra.cli.main import main
from tests.services.browser import measured, screenshot

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "infra" / "workflows").glob("*.yaml"))
_SIZE = re.compile(r'<svg [^>]*width="(\d+)" height="(\d+)"')

HARD = """\
dialect: canonical
name: "<b>&\\"' hard to draw"
inputs: {n: {type: number, default: 1}}
steps:
  - {id: wide, name: WWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWW, type: transform, config: {expression: "1"}}
  - {id: cases, name: MOVE ALL OF THE @@@@ TO WAREHOUSE %%%%, type: transform, config: {expression: "1"}}
  - {id: far, name: 倉庫の棚をすべて数えてから報告書をまとめて送る, type: transform, config: {expression: "1"}}
  - {id: back, name: احسب كل الرفوف ثم أرسل التقرير, type: transform, depends_on: [far], config: {expression: "1"}}
  - {id: script, name: "</text></g><script>alert(1)</script>", type: transform, depends_on: [wide], config: {expression: "1"}}
  - {id: faces, name: "👩‍👩‍👧‍👦 📦📦📦📦📦📦📦📦 ready", type: wait, depends_on: [wide], seconds: 1}
  - id: pick
    name: WHICH WAREHOUSE?
    type: choice
    depends_on: [cases]
    cases:
      - {name: WWWWWWWWWWWWWWWWWWWWWWWW, when: input.n > 7}
      - {name: the same again but a little longer than that, when: input.n > 3}
    default: three
  - {id: one, type: transform, depends_on: [{step: pick, on: [WWWWWWWWWWWWWWWWWWWWWWWW]}], config: {expression: "1"}}
  - id: two
    type: transform
    depends_on: [{step: pick, on: [the same again but a little longer than that]}]
    config: {expression: "1"}
  - {id: three, type: transform, depends_on: [{step: pick, on: [three]}], config: {expression: "1"}}
"""


def draw(definition: Path, target: Path) -> Path:
    assert main(["graph", str(definition), "--format", "svg", "-o", str(target)]) == 0
    return target


@pytest.fixture(scope="module")
def drawings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The drawings of all examples, and of a definition that is hard to draw, by name."""
    folder = tmp_path_factory.mktemp("drawings")
    hard = folder / "hard.yaml"
    hard.write_text(HARD, encoding="utf-8")
    return {path.stem: draw(path, folder / f"{path.stem}.svg") for path in [*EXAMPLES, hard]}


@pytest.fixture(scope="module")
def measures(drawings: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What Chromium measures in each drawing (see measure.js), all on one page."""
    page = tmp_path_factory.mktemp("page") / "all.html"
    sections = (f'<section id="{name}">{path.read_text(encoding="utf-8")}</section>' for name, path in drawings.items())
    script = (Path(__file__).parent / "measure.js").read_text(encoding="utf-8")
    page.write_text(f'<!doctype html><meta charset="utf-8">{"".join(sections)}<script>{script}</script>', encoding="utf-8")
    found = measured(page)
    assert isinstance(found, dict)
    return found


NAMES = [*(path.stem for path in EXAMPLES), "hard"]


@pytest.mark.parametrize("name", NAMES)
def test_everything_has_its_place(measures: dict[str, Any], name: str) -> None:
    assert measures[name]["wrong"] == []
    assert measures[name]["nodes"] and measures[name]["texts"]


def test_names_are_shown_as_they_are_written(measures: dict[str, Any]) -> None:
    hard = measures["hard"]
    assert hard["scripts"] == 0
    assert {"<b>&\"' hard to draw", "</text></g><script>alert(1)</script>", "倉庫の棚をすべて数えてから報告書をまとめて送る"} <= {*hard["texts"]}


@pytest.mark.parametrize("name", NAMES)
def test_the_picture_shows_every_node_in_its_colour(
    drawings: dict[str, Path], measures: dict[str, Any], tmp_path: Path, name: str
) -> None:
    size = _SIZE.search(drawings[name].read_text(encoding="utf-8"))
    assert size is not None
    width, height = int(size[1]), int(size[2])
    picture = screenshot(drawings[name], tmp_path / f"{name}.png", width, height)
    assert (picture.width, picture.height) == (width, height)
    nodes = measures[name]["nodes"]
    # Near the bottom edge, below the text, and where hexagons and rounded ends are filled too.
    wanted = {node["name"]: node["fill"] for node in nodes}
    assert {node["name"]: picture.pixel(node["x"] + 18, node["bottom"] - 3) for node in nodes} == wanted
    colours = picture.colours()
    assert len(colours) > 20, "anti-aliased text and lines have many shades"
    dark = sum(count for colour, count in colours.items() if max(bytes.fromhex(colour[1:])) < 128)
    assert dark > 20 * len(nodes), "letters are dark"
