from __future__ import annotations

import pytest

from translator.diagnostics import Position
from translator.dialects.holes import hole_end
from translator.dialects.templates import (
    expression,
    from_canonical_holes,
    splice_holes,
    strip_delimiters,
    tidy_holes,
    to_canonical_holes,
)


@pytest.mark.parametrize(("text", "expected"), [
    ("plain { } }}", "plain { } }}"),
    ("${{ a }}", "{{  a }}"),
    ("x ${{ a }} y ${{ b }}", "x {{  a }} y {{  b }}"),
    ("{{ a }}", "\\{{ a }}"),
    ("\\${{ a }}", "$\\{{ a }}"),
    ("\\{{ a }}", "\\{{ a }}"),
    ("${{ '}}' }}", "{{  '}}' }}"),
    ("${{ {'a': {'b': 1}} }}", "{{  {'a': {'b': 1}} }}"),
    ("${{ open", "{{  open"),
])
def test_holes_of_stages(text: str, expected: str) -> None:
    assert to_canonical_holes(text, "${{") == expected


def test_holes_of_steps_have_two_spellings() -> None:
    assert to_canonical_holes("{{ a }} ${{ b }} \\{{ c }}", "${{", "{{") == "{{ a }} {{  b }} \\{{ c }}"


@pytest.mark.parametrize(("text", "expected"), [
    ("${a}/${b.c}", "{{a}}/{{b.c}}"), ("$a {{ b }}", "$a \\{{ b }}"), ("\\${a}", "${a}"),
    ("${ {'x': '}'} }", "{{ {'x': '}'} }}"),
])
def test_holes_in_single_braces(text: str, expected: str) -> None:
    assert to_canonical_holes(text, "${") == expected


@pytest.mark.parametrize("text", ["${{ a }}", "x {{ y }} z", "\\${{ a }}", "cost: $5 ${{ a }}", "a } b { c"])
def test_back_to_the_dialect(text: str) -> None:
    canonical = tidy_holes(to_canonical_holes(text, "${{"))
    assert tidy_holes(to_canonical_holes(from_canonical_holes(canonical), "${{")) == canonical


@pytest.mark.parametrize(("text", "expected"), [
    ("{{a}}${{  b}}", "{{ a }}{{ b }}"), ("\\{{ a }}", "\\{{ a }}"), ("{{ '}}' }}", "{{ '}}' }}"), ("{{ open", "{{ open"),
])
def test_tidy(text: str, expected: str) -> None:
    assert tidy_holes(text) == expected


@pytest.mark.parametrize(("text", "expected"), [
    ("a.b == 1", "a.b == 1"), ("{{ a.b }}", "a.b"), ("${{ a }}", "a"), (" {{ a }} ", "a"),
    ("{{ a }} and {{ b }}", "{{ a }} and {{ b }}"),
])
def test_strip_delimiters(text: str, expected: str) -> None:
    assert strip_delimiters(text) == expected


@pytest.mark.parametrize(("text", "expected"), [
    ("{{ a }} == 'x'", "a == 'x'"),
    ("{{ a + 1 }} > {{ b }}", "(a + 1) > b"),
    ("'v{{ a }}' == b", "('v' ~ a) == b"),
    ("'{{ a }}' == 'x'", "('' ~ a) == 'x'"),
    ("\"{{ a }}-{{ b }}\"", '("" ~ a ~ "-" ~ b)'),
    ("a == 'it\\'s {{'", "a == 'it\\'s {{'"),
])
def test_holes_inside_of_expressions(text: str, expected: str) -> None:
    assert splice_holes(text) == expected


def test_an_expression_keeps_its_place() -> None:
    assert expression("${{  a.b }}", Position(3, 10, 11)) == ("a.b", Position(3, 15, 3))
    assert expression("{{ a }}", Position(3, 10, 7)) == ("a", Position(3, 13, 1))
    assert expression("a.b", Position(3, 10, 3)) == ("a.b", Position(3, 10, 3))
    assert expression("a", Position(3, 10, 1)) == ("a", Position(3, 10, 1))


def test_the_end_of_a_hole() -> None:
    assert hole_end("a }} b", 0) == 2
    assert hole_end("it's }} b", 0) == 5
    assert hole_end("a", 0) is None
