"""Patterns of EventBridge: what they match, as its documentation has it, and what is none."""

from __future__ import annotations

from typing import Any

import pytest

from aslant.event_patterns import check_pattern, matches, wildcard

EVENT = {"state": "paid", "total": 150, "text": "150", "yes": True, "none": None, "tags": ["a", "b"], "user": {"name": "Ann"},
    "items": [{"sku": "A-1", "n": 2}, {"sku": "B-2", "n": 5}]}


@pytest.mark.parametrize(("pattern", "expected"), [
    ({}, True), ({"state": ["paid"]}, True), ({"state": ["sent", "paid"]}, True), ({"state": ["Paid"]}, False),
    ({"state": ["paid"], "total": [1]}, False), ({"total": [150]}, True), ({"total": [150.0]}, True), ({"total": ["150"]}, False),
    ({"text": [150]}, False), ({"yes": [True]}, True), ({"yes": [1]}, False), ({"none": [None]}, True), ({"gone": [None]}, False),
    ({"tags": ["b"]}, True), ({"tags": ["c"]}, False), ({"user": {"name": ["Ann"]}}, True), ({"user": {"age": [1]}}, False),
    ({"state": {"x": ["paid"]}}, False), ({"items": {"sku": [{"prefix": "B-"}]}}, True),
    ({"total": [{"numeric": [">", 100]}]}, True), ({"total": [{"numeric": [">", 100, "<=", 149]}]}, False),
    ({"total": [{"numeric": ["=", 150]}]}, True), ({"total": [{"numeric": [">=", 150, "<", 151]}]}, True),
    ({"text": [{"numeric": [">", 100]}]}, False), ({"yes": [{"numeric": ["=", 1]}]}, False),
    ({"gone": [{"numeric": ["<", 1]}]}, False), ({"gone": [{"exists": False}]}, True), ({"state": [{"exists": True}]}, True),
    ({"none": [{"exists": False}]}, False), ({"state": [{"prefix": "pa"}]}, True), ({"state": [{"suffix": "id"}]}, True),
    ({"total": [{"prefix": "1"}]}, False), ({"state": [{"equals-ignore-case": "PAID"}]}, True),
    ({"state": [{"anything-but": "sent"}]}, True), ({"state": [{"anything-but": ["sent", "paid"]}]}, False),
    ({"gone": [{"anything-but": "x"}]}, False), ({"state": [{"anything-but": {"prefix": "pa"}}]}, False),
    ({"state": [{"wildcard": "p*d"}]}, True),
])  # fmt: skip
def test_matches(pattern: Any, expected: bool) -> None:
    assert matches(check_pattern(pattern), EVENT) is expected


@pytest.mark.parametrize("wrong", [
    [], {"a": "b"}, {"a": []}, {"a": [["b"]]}, {"a": [{"like": "b"}]}, {"a": [{"prefix": 1}]}, {"a": [{"exists": "yes"}]},
    {"a": [{"numeric": [">"]}]}, {"a": [{"numeric": ["~", 1]}]}, {"a": [{"numeric": []}]}, {"a": [{"prefix": "x", "suffix": "y"}]},
    {"a": {"b": 1}}, {"a": [{}]}, {"a": [{"numeric": [">", True]}]},
])  # fmt: skip
def test_what_is_no_pattern(wrong: Any) -> None:
    with pytest.raises(ValueError):
        check_pattern(wrong)


@pytest.mark.parametrize(("pattern", "text", "expected"), [
    ("order.*", "order.paid", True), ("order.*", "order.", True), ("order.*", "ORDER.PAID", False), ("order.*", "orderXpaid", False),
    ("*", "", True), ("a*a", "a", False), ("a*a", "aa", True), ("*b*", "abc", True), ("a*b*c", "a-c-b-c", True),
    ("a*b*c", "acb", False), ("order.paid", "order.paid", True), ("", "x", False), ("**", "x", True), ("*ab*ab", "xab", False),
])  # fmt: skip
def test_wildcards(pattern: str, text: str, expected: bool) -> None:
    assert wildcard(pattern, text) is expected


def test_wildcards_take_no_long_time() -> None:
    assert not wildcard("*a" * 200 + "b", "a" * 100_000)
