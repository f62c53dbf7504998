"""Backslashes, braces, quotes and dollar signs mean the same after a conversion, in texts and in expressions."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.unit.dialects.common.test_round_trip import converted
from translator.diagnostics import NOWHERE, Findings
from translator.dialects.convert import dump
from translator.dialects.registry import read
from translator.expressions.parser import parse
from translator.expressions.template import parse_template
from translator.expressions.tree import Binary, Literal, Template
from translator.expressions.unparse import unparse
from translator.source import load, plain

PIECES = [
    "\\", "{", "}", "$", "'", '"', "{{", "}}", "${", "${{", "{{ input.x }}", "${{ input.x }}", "{input.x}", "${input.x}", "C:", " ",
    "\n", "{{ '}}' }}", '{{ "\\\\" }}', "{{ '${' ~ input.x }}", "{{ {'a': 1} }}", "{{ '\\{{' }}",
]
KNOWN = [
    "C:\\\\{{ input.x }}", "C:\\{{ input.x }}", "$${{ input.x }}", "\\${{ input.x }}", "{\\{{${{ input.x }}", "\\\\${{{input.x}",
]


def _texts(chance: random.Random, count: int) -> list[str]:
    return ["".join(chance.choices(PIECES, k=chance.randint(1, 5))) for _ in range(count)]


def _expression(text: str) -> str:
    """An expression for a text that is put before the input, without a hole in it."""
    quote = "'" if '"' in text else '"'
    for char in ("\\", quote):
        text = text.replace(char, "\\" + char)
    text = text.replace("\n", "\\n").replace("{{", "\\{{")
    return f"{quote}{text}{quote} ~ input.x"


def _of_text(text: str) -> list[str | tuple[str]] | None:
    """Text and expressions one after the other; None for what cannot be read."""
    findings = Findings()
    node = parse_template(text, NOWHERE, findings)
    if findings.has_errors:
        return None
    found: list[str | tuple[str]] = []
    for part in node.parts if isinstance(node, Template) else (node,):
        piece = part.value if isinstance(part, Literal) else part
        if not isinstance(piece, str):
            found.append((str(piece) if isinstance(part, (str, Literal)) else unparse(part),))
        elif found and isinstance(found[-1], str):
            found[-1] += piece
        else:
            found.append(piece)
    return [piece for piece in found if piece] or [""]


def _of_expression(expression: str) -> Any:
    """The text that `_expression` was given."""
    node = parse(expression, NOWHERE, Findings())
    assert isinstance(node, Binary) and isinstance(node.left, Literal)
    return node.left.value


def _literals() -> list[str]:
    return KNOWN + _texts(random.Random(7), 40)


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    chance = random.Random(6)
    texts = [text for text in KNOWN + _texts(chance, 90) if _of_text(text) is not None]
    literals = _literals()
    assert len(texts) > 50
    return {
        "dialect": "canonical", "name": "n", "inputs": {"x": {"type": "string"}},
        "outputs": {f"o{number}": text for number, text in enumerate(texts)},
        "steps": [
            {"id": "s", "type": "skill", "config": {"skill": "k", "parameters": {f"p{n}": text for n, text in enumerate(texts)}}},
            *({"id": f"e{number}", "type": "transform", "when": f"{_expression(text)} == 'a'",
                "config": {"expression": _expression(text)}} for number, text in enumerate(literals)),
        ],
    }


@pytest.mark.parametrize("dialect", ["canonical", "steps", "stages", "graph", "tasks", "agents"])
def test_texts_and_expressions_mean_the_same(dialect: str, document: dict[str, Any]) -> None:
    findings = Findings()
    loaded = load(converted(dump(document), dialect), findings)
    assert loaded is not None
    found = read(loaded, findings)
    assert found is not None
    assert not findings.has_errors, findings.items
    back = plain(found[1])
    given = {step["id"]: step for step in back["steps"]}
    for key, text in document["outputs"].items():
        assert _of_text(back["outputs"][key]) == _of_text(text), text
    for key, text in document["steps"][0]["config"]["parameters"].items():
        assert _of_text(given["s"]["config"]["parameters"][key]) == _of_text(text), text
    for number, text in enumerate(_literals()):
        step = given[f"e{number}"]
        assert _of_expression(step["config"]["expression"]) == text
        assert _of_expression(step["when"].rpartition(" == ")[0]) == text
