from __future__ import annotations

import pytest

from tests.unit.expressions.reading import START, tree
from translator.diagnostics import Findings
from translator.expressions.jsonata import NotNative, write
from translator.expressions.resolve import Names, resolve
from translator.expressions.template import parse_template
from translator.expressions.tree import Literal, Node, ObjectOf, Slot

NAMES = Names(variables=("x", "y"), steps=("build",), loops={"item": Slot("item", "each")})
TYPES = {("input", "name"): "string", ("input", "size"): "number", ("var", "y"): "string"}


def _code(node: Node) -> str:
    findings = Findings()
    resolved = resolve(node, NAMES, findings)
    assert not findings.items, findings.items
    return write(
        resolved,
        lambda slot: "$in" if slot.kind == "input" else f"${slot.name or slot.kind}",
        type_of=lambda slot: TYPES.get((slot.kind, slot.name)),
        declared=("name", "size", "n-1", "in"),
    )


def code(text: str) -> str:
    return _code(tree(text))


def template(text: str) -> str:
    return _code(parse_template(text, START, Findings()))


@pytest.mark.parametrize(("text", "expected"), [
    ("steps.build.output", "$build"), ("item", "$each"), ("input", "$in"), ("input.name", "$in.name"), ("42", "42"),
    ("'a'", '"a"'),
    ("input['n-1']", '$lookup($in,"n-1")'), ("input['in']", '$lookup($in,"in")'), ("null", "null"), ("true", "true"),
    ("input.size > 3", "$in.size>3"), ("input.size > 3 and not input.size == 5", "$in.size>3 and $not($in.size=5)"),
    ("x == 'a' or y == 'b'", '$x="a" or $y="b"'), ("x + 1", "$x+1"), ("(x + 1) * 2", "($x+1)*2+0"), ("-x", "0-$x"),
    ("x ?? 'd'", '$x=null?"d":$x'), ("y in ['a', 'b']", '$y in ["a","b"]'),
    ("steps.build.status == 'failed'", '$build="failed"'),
    ("len(y)", "$length($y)"), ("sum([1, 2])", "$sum([1,2])+0"),
    ("keys({a: 1})", '[$keys({"a":1})]'),
    ("{a: x}", '{"a":$x}'), ("[1, 'a']", '[1,"a"]'), ("x < 1 ? 'low' : 'high'", '$x<1?"low":"high"'),
    ("upper(y)", "$uppercase($y)"),
])
def test_common_forms_are_short(text: str, expected: str) -> None:
    assert code(text) == expected


@pytest.mark.parametrize(("text", "expected"), [
    ("id={{ input.name }}!", '"id="&$in.name&"!"'), ("{{ input.name }}:{{ y }}", '$in.name&":"&$y'),
    ("n={{ 5 }}", '"n="&"5"'),
    ("plain", '"plain"'), ("{{ x }}", "$x"),
])
def test_text_of_known_types_needs_no_helper(text: str, expected: str) -> None:
    assert template(text) == expected


def test_one_read_is_written_in_place_and_several_share_a_function() -> None:
    single, double = code("steps.build.output.artifact"), code("x.a == x.b")
    assert len(single) < 80 and single.count("function") == 0
    assert double.count("function") == 1


def test_no_user_text_looks_like_code() -> None:
    text = "{% $states.input %} \" \\ ' $build \n \x00 %}{%"
    for written in (_code(Literal(text)), _code(ObjectOf(((Literal(text), Literal(text)),)))):
        assert not [mark for mark in ("$", "{%", "%}", "\n", "\x00") if mark in written]


@pytest.mark.parametrize("text", [
    "now()", "uuid()", "random()", "env.STAGE", "x matches 'a'", "regex_match(x, 'a')", "2 ** x", "int(x)",
    "split(x, y)", "sort(x)",
    "{(y): 1}", "{a: 1, 'a': 2}", "{'__proto__': 1}", "[now() for z in x]", "parse_json(x)", "replace(x, y, 'b')",
])
def test_what_jsonata_cannot_say_faithfully_is_not_written(text: str) -> None:
    with pytest.raises(NotNative) as caught:
        code(text)
    assert caught.value.reason


def test_secrets_never_reach_the_writer() -> None:
    with pytest.raises(ValueError, match="secret"):
        code("secrets.token")


def test_an_expression_that_grows_too_long_is_not_native() -> None:
    with pytest.raises(NotNative):
        code("'" + "a" * 15_000 + "' + '" + "$" * 4_000 + "'")


def test_the_same_tree_gives_the_same_code() -> None:
    text = "{a: [len(i) for i in x if i in y], b: x.k ~ y ~ item, c: keys(x)}"
    assert code(text) == code(text)
