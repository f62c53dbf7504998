"""functions/README.md says what the models say, and its examples compile in every dialect."""

from __future__ import annotations

import pytest

from tests.golden.step_types import DIALECTS, STRUCTURE, TARGET, TYPES, WORDS, document, spelled
from translator.passes.check_unused import OWN
from translator.pipeline import Source, compile_sources


def test_the_document_is_up_to_date() -> None:
    assert TARGET.read_text(encoding="utf-8") == document(), "run python -m tests.golden.step_types"


def test_words_are_about_types() -> None:
    assert set(WORDS) <= set(TYPES)
    assert {name: {field[0] for field in words["fields"]} for name, words in STRUCTURE.items()} == {
        name: {*keys} for name, keys in OWN.items()}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_examples_compile(dialect: str) -> None:
    for name in STRUCTURE:
        (compiled,) = compile_sources([Source(spelled(name, dialect), f"{name}.yaml")])
        assert name in [step.type for step in compiled.workflow.steps]
    for name in WORDS:
        (compiled,) = compile_sources([Source(spelled(name, dialect), f"{name}.yaml")])
        steps = {step.id: step.type for step in compiled.workflow.all_steps()}
        assert steps == {WORDS[name]["example"]["id"]: name}
