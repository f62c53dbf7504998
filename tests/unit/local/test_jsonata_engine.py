"""The evaluator by itself: bounds, kinds of values, and that it leaves its variables alone."""

from __future__ import annotations

import contextlib
import copy
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.local.jsonata_engine import MISSING, JsonataError, NotJson, Undefined, evaluate, to_engine
from tests.examples import few

DATA = {"l": [3, 1, None, 2], "o": {"a": {"b": [1, 2]}, "n": None, "s": "text"}, "rows": [{"k": 2}, {"k": 1}], "n": None}


def value(expression, data=None, **options):
    data = DATA if data is None else data
    converted = {name: to_engine(item) for name, item in data.items()}
    return evaluate(expression, lambda name: converted.get(name, MISSING), millis=0, **options)


@pytest.mark.parametrize(
    "expression",
    [
        "$sort($rows, function($a, $b) { $a.k > $b.k })",
        "$rows^(k)",
        "$reverse($l)",
        "$append($l, $l)",
        "$shuffle($l)",
        "$distinct($l)",
        "$merge([$o, {'s': 1}])",
        "$o ~> |$|{'s': 1, 'new': 2}|",
        "$o ~> |a|{'b': 0}, 's'|",
        "$spread($o)",
        "$each($o, function($v) { $v })",
        "$map($l, function($v, $i, $a) { $a[$i] })",
        "$zip($l, $l)",
        "$rows{$string(k): k}",
        "$sift($o, function($v) { true })",
        "$o.**",
        "$filter($l, function($v) { $v > 1 or $v = null })",
        "$reduce($l, $append)",
        "$partition($l, 2)",
        "$l",
        "$o",
        "$lookup($o, 'a')",
        "($x := $l; $append($x, 9))",
    ],
)
def test_variables_stay_as_they_are(expression):
    before = copy.deepcopy(DATA)
    shared = {name: to_engine(item) for name, item in DATA.items()}
    as_engine = copy.deepcopy(repr(shared))
    try:
        result = evaluate(expression, lambda name: shared.get(name, MISSING), millis=0)
        if isinstance(result, list):
            result.append("changed")
        elif isinstance(result, dict):
            result["changed"] = True
    except JsonataError:
        pass
    assert before == DATA and repr(shared) == as_engine


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.text()
    | st.floats(allow_nan=False, allow_infinity=False, width=32),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@few(60)
@given(JSON)
def test_any_value_comes_back_as_it_went_in(data):
    assert value("$v", {"v": data}) == data
    assert value("{'x': $v}", {"v": data}) == {"x": data}


def test_null_undefined_and_no_json_are_told_apart():
    assert value("$n") is None
    assert value("$l[2]") is None
    for expression in ("$missing", "$o.missing", "()", "$l[9]"):
        with pytest.raises(Undefined):
            value(expression)
    for expression in ("$sum", "function() { 1 }", "{'f': $sum}", "[function() { 1 }]"):
        with pytest.raises(NotJson):
            value(expression)


@pytest.mark.parametrize(
    "expression",
    [
        "($f := function($n) { $f($n + 1) }; $f(0))",
        "($f := function($n) { 1 + $f($n + 1) }; $f(0))",
        "$sum($map([1..9999999], function($v) { $v }))",
        "$match('" + "a" * 40 + "!', /(a+)+$/)",
        "(" * 5_000 + "1" + ")" * 5_000,
        "[" * 5_000,
    ],
)
def test_no_expression_runs_for_ever(expression):
    started = time.monotonic()
    with contextlib.suppress(JsonataError):
        value(expression, time_limit=0.5)
    assert time.monotonic() - started < 30


def test_a_number_is_whole_when_javascript_writes_it_so():
    assert repr(value("[4 / 2, 1.5 + 1.5, 10 % 4, 1e3, 0.1]")) == "[2, 3, 2, 1000, 0.1]"


def test_the_time_is_the_one_given():
    assert evaluate("[$millis(), $now()]", lambda name: MISSING, millis=1_000) == [1000, "1970-01-01T00:00:01.000Z"]


def test_threads_evaluate_the_same_expression_at_once():
    wrong, go = [], threading.Barrier(8)

    def work(number):
        go.wait(5)
        for count in range(40):
            data = {"v": [{"k": number}, {"k": count}]}
            got = value("($double := function($x) { $x * 2 }; $map($v.k, $double))", data)
            if got != [number * 2, count * 2]:
                wrong.append(got)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert wrong == []


@pytest.mark.parametrize("expression", ["1 / 0", "0 / 0"])
def test_a_division_by_zero_is_out_of_range_as_on_aws(expression):
    with pytest.raises(JsonataError, match="D1001: Number out of range"):
        value(expression)


@pytest.mark.parametrize("name", ["abs", "ceil", "floor", "sqrt", "lowercase"])
@pytest.mark.parametrize(("given", "shown"), [("$n", "null"), ("true", "true"), ("$o.a.b", "[1, 2]")])
def test_a_value_of_another_kind_is_refused_as_on_aws(name, given, shown):
    with pytest.raises(JsonataError, match="T0410") as refused:
        value(f"${name}({given})")
    assert refused.value.code == "T0410" and f'"{name}"' in str(refused.value) and shown in str(refused.value)


def test_functions_of_one_value_give_it():
    assert value("[$abs(-2), $ceil(1.2), $floor(1.8), $sqrt(9), $lowercase('Ab'), $count($ceil($undefined))]") == [2, 2, 1, 3, "ab", 0]
