"""Pairs of files: a definition and the machine (or the findings) that it becomes. Machines are run as well."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from aslant import skills as registry
from infra.local.runner import run
from tests.execution.support import Skills
from tests.golden.update import HERE, golden
from translator.pipeline import Source, compile_sources

DEFINITIONS = sorted(HERE.glob("*.yaml"))
RUNS = [
    (path, case)
    for path in DEFINITIONS
    for case in (json.loads(path.with_suffix(".run.json").read_text()) if path.with_suffix(".run.json").exists() else ())
]


@pytest.fixture
def skills() -> Iterator[Skills]:
    made = Skills()
    made.register()
    yield made
    registry.unregister()


@pytest.mark.parametrize("definition", DEFINITIONS, ids=lambda path: path.stem)
def test_the_compiler_makes_what_is_written_down(definition: Path) -> None:
    ending, text = golden(definition)
    assert text == definition.with_suffix(ending).read_text(encoding="utf-8")


@pytest.mark.parametrize(("definition", "case"), RUNS, ids=lambda part: part.stem if isinstance(part, Path) else None)
def test_the_machine_gives_what_it_should(definition: Path, case: dict[str, Any], skills: Skills) -> None:
    (compiled,) = compile_sources([Source(definition.read_text(encoding="utf-8"), definition.name)])
    result = run([compiled], case["input"], time_scale=20, timeout=60)
    assert (result.status, result.output) == ("completed", case["output"])


def test_there_are_pairs_of_both_kinds() -> None:
    assert len(RUNS) >= 6
    assert list(HERE.glob("*.findings.txt"))
