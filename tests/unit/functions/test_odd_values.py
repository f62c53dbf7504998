"""Values at the edge of JSON, through skills' results and through configurations."""

from __future__ import annotations

import asyncio
import json
from typing import Any, NamedTuple

import pytest

from aslant import bootstrap, errors, skills
from aslant.configs.agent import AgentConfig
from aslant.contracts import CLAIM_THRESHOLD
from aslant.model_ports import ModelAnswer
from aslant.tabular import read_csv
from aslant.values import MAX_DEPTH, read_json, well_formed
from functions.steps.agent.logic import answered
from functions.steps.aggregate.handler import handler as aggregate
from functions.steps.email.message import mailbox
from functions.steps.skill.handler import handler as skill
from functions.steps.transform.handler import handler as transform


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.fixture
def returning(invocation):
    """What a skill step gives whose skill returns, or raises, a value."""

    def run(value: Any) -> Any:
        def target() -> Any:
            if isinstance(value, BaseException):
                raise value
            return value

        skills.register("odd", target)
        try:
            return skill(invocation("skill", {"skill": "odd"}), None)["output"]
        finally:
            skills.unregister("odd")

    return run


class Pair(NamedTuple):
    a: int
    b: str


@pytest.mark.parametrize(("value", "output"), [
    ("\ud83d\ude00", "😀"), ("\ufffd", "\ufffd"), ({True: 1, None: 2, 3: 4}, {"true": 1, "null": 2, "3": 4}),
    (2**53 + 1, "9007199254740993"), ([-(10**18)], ["-1000000000000000000"]), ({"": {"__proto__": {"constructor": None}}}, None),
    (Pair(1, "x"), [1, "x"]), ((1, ("a",)), [1, ["a"]]), (-0.0, -0.0), (5e-324, 5e-324), (1.7976931348623157e308, None),
    (nested(MAX_DEPTH - 2), None), ("x" * (CLAIM_THRESHOLD - 2), None),
])
def test_what_comes_through(value, output, returning):
    expected = value if output is None else output
    assert returning(value) == expected
    json.dumps(returning(value), ensure_ascii=False).encode()


@pytest.mark.parametrize(("value", "kind"), [
    ("\ud800a\udfff", errors.ValidationError), ({"\ud800": 1}, errors.ValidationError), ({True: 1, "true": 2}, errors.ValidationError),
    (float("nan"), errors.ValidationError), ({"a": [float("-inf")]}, errors.ValidationError), (nested(MAX_DEPTH + 1), errors.ValidationError),
    (nested(1000), errors.ValidationError), (nested(100_000), errors.ValidationError), ({1, 2}, errors.ValidationError),
    (b"x", errors.ValidationError), ({(1,): 1}, errors.ValidationError), pytest.param(10**5000, errors.ValidationError, id="long"), (iter([1]), errors.ValidationError),
    (object(), errors.ValidationError),
])
def test_what_does_not(value, kind, returning):
    with pytest.raises(kind, match=r"^step s: "):
        returning(value)


class Mute(Exception):
    def __str__(self) -> str:
        raise KeyError("no text")


@pytest.mark.parametrize(("error", "name"), [
    (Mute(), "Mute"), (SystemExit(3), "Runtime.ExitError"), (asyncio.CancelledError(), "CancelledError"), (GeneratorExit(), "GeneratorExit"),
    (RecursionError("deep"), "RecursionError"), (UnicodeEncodeError("utf-8", "\ud800", 0, 1, "no"), "UnicodeEncodeError"),
    (ValueError("\ud800"), "ValueError"), (BaseExceptionGroup("g", [KeyboardInterrupt()]), "BaseExceptionGroup"),
])
def test_errors_of_skills_that_are_no_common_ones_have_a_name_too(error, name, returning):
    with pytest.raises(Exception) as caught:
        returning(error)
    assert type(caught.value).__name__ == name and isinstance(caught.value, errors.StepError)
    assert str(caught.value).startswith("step s: ")
    str(caught.value).encode()


@pytest.mark.parametrize("config", [
    {"data": nested(MAX_DEPTH)}, {"data": [float("nan")]}, {"data": float("inf")}, {"": 1}, {"__proto__": {}}, {"data": nested(900)},
    {"data": "[1, 2", "output_format": "csv", "input_format": "csv", "expression": "x" * 3000},
])
def test_configurations_that_cannot_be_used(config, invocation):
    with pytest.raises((errors.ValidationError, errors.ExpressionError)):
        transform(invocation("transform", config), None)


@pytest.mark.parametrize("text", ["[1e400]", "NaN", "[" * 900 + "]" * 900, "9" * 5000, '["\\ud800"]'])
def test_texts_that_look_like_json(text, invocation):
    output = transform(invocation("transform", {"data": text, "output_format": "text"}), None)["output"]
    assert output == ("\ufffd" if "ud800" in text else text)


@pytest.mark.parametrize("numbers", [[10**400, 0.5], [1e308, 1e308], [10**400]])
def test_numbers_beyond_all_bounds(numbers, invocation):
    for aggregation in ("sum", "average", "summarize"):
        try:
            output = aggregate(invocation("aggregate", {"aggregation": aggregation, "results": numbers}), None)["output"]
        except errors.ValidationError:
            continue
        json.dumps(output, allow_nan=False)


@pytest.mark.parametrize("charset", ["punycode", "idna", "undefined", "unicode_escape", "zlib", "x\x00y", "rot13", "utf-16", "nonsense", ""])
def test_bodies_in_no_character_set_of_the_web(charset, invocation, monkeypatch):
    from aslant.http_ports import HttpResponse
    from functions.steps.http.handler import handler

    class Fixed:
        def send(self, request):
            return HttpResponse(200, {"content-type": f"text/plain; charset={charset}"}, b"xn--\xff" * 50_001, "http://example.com/")

    monkeypatch.setattr(bootstrap, "http", lambda settings: Fixed())
    output = handler(invocation("http", {"url": "http://example.com/"}), None)["output"]
    assert output["size"] > 300_000


@pytest.mark.parametrize(("config", "words"), [
    ({"data": ",".join(map(str, range(5000))) + "\n" + "x\n" * 201, "input_format": "csv"}, "more than 1,000,000 cells"),
    ({"data": [{f"k{number}": 1} for number in range(1001)], "output_format": "csv"}, "more than 1,000,000 cells"),
    ({"data": "a,b,a\n1,2,3\n", "input_format": "csv"}, "two columns that are called 'a'"),
])
def test_small_data_that_would_become_a_huge_table(config, words, invocation):
    with pytest.raises(errors.ValidationError, match=words):
        transform(invocation("transform", config), None)


def test_a_report_that_would_be_a_huge_table(invocation):
    rows = [[{f"k{number}": 1} for number in range(1001)]]
    with pytest.raises(errors.ValidationError, match="more than 1,000,000 cells"):
        aggregate(invocation("aggregate", {"results": rows, "format": "markdown_report"}), None)


def test_a_field_of_csv_is_as_long_as_it_is():
    assert read_csv("a\n" + "x" * 200_000 + "\n") == [{"a": "x" * 200_000}]


def test_texts_that_would_take_square_time():
    answer = ModelAnswer("```" + "\n" * 200_000 + "x", 1, 1)
    assert answered(answer, AgentConfig(prompt="x", output_format="json"))[1] == "it cannot be read as JSON"
    for text in ("a@" + "é" * 1_000_000, " " * 1_000_000, "a@" + "é." * 100_000):
        with pytest.raises(errors.ValidationError, match="characters is not an email address"):
            mailbox(text)


def test_reading_and_forming():
    assert read_json('{"a": [1, "\\ud83d\\ude00", null]}') == {"a": [1, "😀", None]}
    for text in ("[1e400]", "[-1e999]", "[Infinity]", "{", "[" * 201 + "]" * 201, "[" * 100_000):
        with pytest.raises(ValueError):
            read_json(text)
    assert well_formed({"a": nested(MAX_DEPTH - 1)}) == {"a": nested(MAX_DEPTH - 1)}
    with pytest.raises(ValueError):
        well_formed(nested(MAX_DEPTH + 1))


@pytest.mark.parametrize("places", [
    {"/data": "x"}, {"/data": [{"secret": 7}]}, {"/data": [{"secret": ["a"]}]}, {"/data": [{"secret": None}]}, [1], "x",
    {"/data/²": [{"secret": "a"}]}, {"/data/" + "9" * 5000: [{"secret": "a"}]}, {"/a" * 5000: [{"secret": "a"}]},
    {"/data/-1": [{"secret": "a"}]}, {"/data/00": [{"secret": "a"}]}, {"/data": [{"secret": "\ud800"}]},
])
def test_places_of_secrets_that_are_none(places, invocation, monkeypatch):
    class Store:
        def get(self, tenant, name):
            return "value"

    monkeypatch.setattr(bootstrap, "secrets", lambda settings: Store())
    with pytest.raises(errors.ValidationError, match=r"^step s: "):
        transform(invocation("transform", {"data": [1]}, secrets=places), None)


def test_a_tenant_with_a_slash_reads_no_secrets(invocation, monkeypatch):
    monkeypatch.setattr(bootstrap, "secrets", lambda settings: None)
    payload = invocation("transform", {"data": [1]}, secrets={"/data/0": [{"secret": "x"}]})
    payload["execution"]["tenant"] = "acme/other"
    with pytest.raises(errors.ValidationError):
        transform(payload, None)
