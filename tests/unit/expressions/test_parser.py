from __future__ import annotations

import pytest

from tests.unit.expressions.reading import START, problems, tree, value
from translator.diagnostics import Findings, Position
from translator.expressions.parser import parse
from translator.expressions.tree import (
    Attribute,
    Binary,
    Call,
    Compare,
    Conditional,
    Index,
    ListOf,
    Literal,
    Logic,
    Name,
    Unary,
    walk,
)

A, B, C = Name("a"), Name("b"), Name("c")


@pytest.mark.parametrize(("text", "expected"), [
    ("1", Literal(1)), ("1.50", Literal(1.5)), ("2e3", Literal(2000.0)), ("-7", Literal(-7)),
    ("'x'", Literal("x")), ('"x"', Literal("x")), (r"'it\'s\n\t\\'", Literal("it's\n\t\\")),
    (r"'\u00e9\x41'", Literal("éA")), (r"'\ud83d\ude80'", Literal("🚀")), (r"'\d+'", Literal(r"\d+")),
    ("true", Literal(True)), ("True", Literal(True)), ("False", Literal(False)), ("null", Literal(None)),
    ("None", Literal(None)), ("[]", ListOf(())), ("[1, 2,]", ListOf((Literal(1), Literal(2)))),
    ("é.ß", Attribute(Name("é"), "ß")),
])
def test_literals(text: str, expected: object) -> None:
    assert tree(text) == expected


@pytest.mark.parametrize(("text", "expected"), [
    ("a || b && !c", Logic("or", (A, Logic("and", (B, Unary("not", C)))))),
    ("(a || b) && !c", Logic("and", (Logic("or", (A, B)), Unary("not", C)))),
    ("not a and b or c", Logic("or", (Logic("and", (Unary("not", A), B)), C))),
    ("!a == b", Compare(Unary("not", A), (("==", B),))),
    ("not a == b", Unary("not", Compare(A, (("==", B),)))),
    ("a + b * c", Binary("+", A, Binary("*", B, C))),
    ("a - b - c", Binary("-", Binary("-", A, B), C)),
    ("a ** b ** c", Binary("**", A, Binary("**", B, C))),
    ("-a ** b", Unary("-", Binary("**", A, B))),
    ("a < b <= c", Compare(A, (("<", B), ("<=", C)))),
    ("a in b", Compare(A, (("in", B),))),
    ("a not in b", Compare(A, (("not in", B),))),
    ("a if b else c", Conditional(B, A, C)),
    ("b ? a : c", Conditional(B, A, C)),
    ("a ? b : c ? a : b", Conditional(A, B, Conditional(C, A, B))),
    ("a ?? b ?? c", Binary("??", A, Binary("??", B, C))),
    ("a === b", Compare(A, (("==", B),))),
    ("a ~ b + c", Binary("+", Binary("~", A, B), C)),
    ("a | length", Call("length", (A,))),
    ("a.x | join(', ') == b", Compare(Call("join", (Attribute(A, "x"), Literal(", "))), (("==", B),))),
    ("a matches 'x'", Compare(A, (("matches", Literal("x")),))),
    ("a contains b", Call("contains", (A, B))),
    ("a starts with b", Call("startswith", (A, B))),
    ("a[0].b", Attribute(Index(A, Literal(0)), "b")),
    ("a.0.b", Attribute(Index(A, Literal(0)), "b")),
    ("a.and.in", Attribute(Attribute(A, "and"), "in")),
    ("{{ a }} != ''", Compare(A, (("!=", Literal("")),))),
    ("${{ a }} && {{ b }}", Logic("and", (A, B))),
])
def test_operators_and_their_precedence(text: str, expected: object) -> None:
    assert tree(text) == expected


def test_dotted_names_with_a_hyphen_are_ids_only_where_such_an_id_exists() -> None:
    assert tree("steps.flip-coin.output", ("flip-coin",)) == Attribute(Attribute(Name("steps"), "flip-coin"), "output")
    assert tree("steps.a-b-c", ("a-b", "a")) == Binary("-", Attribute(Name("steps"), "a-b"), Name("c"))
    assert tree("steps.a-b-c", ("a-b", "a-b-c")) == Attribute(Name("steps"), "a-b-c")
    assert tree("x.a-b") == Binary("-", Attribute(Name("x"), "a"), Name("b"))
    assert tree("steps.2nd-try.output", ("2nd-try",)) == Attribute(Attribute(Name("steps"), "2nd-try"), "output")
    assert tree("up-check.code", ("up-check",)) == Attribute(Name("up-check"), "code")


def test_composed_and_decomposed_spellings_are_one_name() -> None:
    composed, decomposed = "\u00e9tape-1", "e\u0301tape-1"
    assert tree(f"steps.{decomposed}", (composed,)) == tree(f"steps.{composed}", (decomposed,))
    assert tree("cafe\u0301") == Name("caf\u00e9")


def test_every_node_knows_where_it_was_written() -> None:
    findings = Findings()
    node = parse("aa +\n  bb.cc", Position(10, 5, file="w.yaml"), findings)  # the lines of a block text are indented alike
    places = {(type(n).__name__, n.at.line, n.at.column) for n in walk(node)}  # type: ignore[arg-type]
    assert places == {("Binary", 10, 5), ("Name", 10, 5), ("Attribute", 11, 7), ("Name", 11, 7)}
    assert all(n.at.file == "w.yaml" for n in walk(node))  # type: ignore[arg-type]


@pytest.mark.parametrize(("text", "code", "column"), [
    ("a ||", "E001", 4), ("a = b", "E002", 3), ("a == 'x", "E003", 6), ("(a", "E001", 1), ("a b", "E001", 3),
    ("", "E001", 1),
    ("[1, 2", "E001", 1), ("a &  b", "E001", 3), ("f(a", "E001", 2), ("a.", "E001", 3), ("010", "E001", 1),
    ("a.b(1)", "E014", 4),
    ("1 +* 2", "E001", 4), ("9007199254740993", "E007", 1), ("1e999", "E007", 1), ("a == “x”", "E001", 6),
    ("if", "E001", 1),
    ("{a 1}", "E001", 4), ("[x for in y]", "E001", 8), (r"'\u12'", "E001", 2), ("a not b", "E001", 7),
    ("a ? b", "E001", 5),
])
def test_what_cannot_be_read_is_a_finding_at_its_place(text: str, code: str, column: int) -> None:
    found = problems(text, at=Position(7, 1))
    assert [(d.code, d.position.line, d.position.column) for d in found] == [(code, 7, column)]


def test_a_single_equals_sign_is_told_how_to_compare() -> None:
    (found,) = problems("status = 'up'")
    assert found.hint == "write =="


def test_long_chains_are_read_up_to_the_limit_and_refused_beyond() -> None:
    assert value(" + ".join(["1"] * 90)) == 90
    assert value(" or ".join(["false"] * 900)) is False
    assert [d.code for d in problems(" + ".join(["1"] * 200))] == ["E006"]
    assert [d.code for d in problems("[" + ",".join(["1"] * 2_100) + "]")] == ["E005"]
    assert [d.code for d in problems("1" + " " * 20_000)] == ["E005"]
    assert parse("(" * 90 + "1" + ")" * 90, START, Findings()) == Literal(1)


@pytest.mark.parametrize("text", ["a", "a.b.c", " steps.flip-coin.output ", "x-y.z", "a.in.true", "a1_.b_2", "a.x-y-z"])
def test_the_short_way_for_paths_reads_what_the_parser_reads(text: str) -> None:
    ids = ("flip-coin", "x-y", "b")
    at = Position(4, 9)
    quick = parse(text, at, Findings(), ids)
    # Parentheses keep the short way out, and move everything by one column.
    full = parse(f"({text})", at._replace(column=8), Findings(), ids)
    assert quick == full
    assert quick is not None and full is not None
    assert [here.at for here in walk(quick)] == [here.at for here in walk(full)]


@pytest.mark.parametrize(("text", "column", "length", "message", "hint"), [
    ("hello world", 7, 5, "an operator or a comma is missing", "quote it if it is text: 'hello world'"),
    ("[1 2]", 4, 1, "an operator or a comma is missing", ""), ("f(a)(b", 5, 1, "an operator or a comma is missing", ""),
    ("input.x if input.x > 2", 9, 2, "the condition has no else", "a if condition else b"),
    ("(a if b)", 4, 2, "the condition has no else", "a if condition else b"),
    ("f'{input.x}'", 1, 1, "no prefix", "~"), ("[lambda x: x]", 2, 6, "functions", "for x in"),
    ("input.s[0:2]", 10, 1, "one index", "write slice(input.s, 0, 2)"), ("s[:-1]", 3, 1, "one index", "slice(s, 0, -1)"),
    ("s[2:]", 4, 1, "one index", "write slice(s, 2)"), ("$sum(input.x)", 1, 1, "'$'", "write sum(…)"),
    ("1 + $total", 5, 1, "'$'", "write total, without"), ("{'a' 1}", 6, 1, "expected :", ""),
])
def test_what_other_languages_write_is_told_what_to_write_here(
    text: str, column: int, length: int, message: str, hint: str
) -> None:
    (found,) = problems(text)
    assert (found.code, found.position.column, found.position.length) == ("E001", column, length)
    assert message in found.message
    assert hint in found.hint
