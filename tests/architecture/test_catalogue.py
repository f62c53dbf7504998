"""The catalogue of findings: complete, unique, and of use to the one who reads it."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

import translator.findings
from translator.diagnostics import Rule
from translator.findings.catalogue import AREAS, RULES

ROOT = Path(__file__).parents[2]
LETTERS = {"source": "S", "dialects": "D", "expressions": "E", "graph": "G", "asl": "A", "triggers": "T", "running": "R"}
ROWS = [(area.__name__.rsplit(".", 1)[-1], name, rule)
    for area in AREAS for name, rule in vars(area).items() if isinstance(rule, Rule)]


def test_every_module_of_rules_is_in_the_catalogue() -> None:
    folder = Path(str(translator.findings.__file__)).parent
    modules = {path.stem for path in folder.glob("*.py")} - {"__init__", "catalogue"}
    assert modules == {area.__name__.rsplit(".", 1)[-1] for area in AREAS} == set(LETTERS)


def test_no_code_is_given_twice() -> None:
    assert [code for code, count in Counter(rule.code for _, _, rule in ROWS).items() if count > 1] == []
    assert len(RULES) == len(ROWS)


@pytest.mark.parametrize(("area", "name", "rule"), ROWS, ids=lambda value: value.code if isinstance(value, Rule) else "")
def test_a_rule_has_a_code_of_its_area_and_says_what_to_do(area: str, name: str, rule: Rule) -> None:
    assert re.fullmatch(LETTERS[area] + r"[0-9]{3}", rule.code)
    assert RULES[rule.code] is rule
    assert rule.title and not rule.title.endswith(".") and len(rule.title) <= 80
    assert len(rule.explanation) > 20 and rule.explanation.endswith((".", "`", ".)"))


def used() -> dict[str, set[str]]:
    """The rules that each module of the product reports: area -> names."""
    found: dict[str, set[str]] = {area: set() for area in LETTERS}
    for path in [*(ROOT / "translator").rglob("*.py"), *(ROOT / "infra").rglob("*.py")]:
        if path.parent.name == "findings" or "node_modules" in path.parts:
            continue
        tree = ast.parse(path.read_text("utf-8"))
        names: dict[str, str] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module == "translator.findings":
                names |= {alias.asname or alias.name: alias.name for alias in node.names}
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in names:
                found.setdefault(names[node.value.id], set()).add(node.attr)
    return found


def test_every_rule_is_reported_by_something() -> None:
    reported = used()
    assert [f"{rule.code} {name}" for area, name, rule in ROWS if name not in reported[area]] == []
