"""Texts that are made to take long: each is refused or read in little time. The bounds are wide, other tests run beside."""

from __future__ import annotations

import time

import pytest

from translator.diagnostics import Findings
from translator.source import MAX_DEPTH, MAX_NODES, load, plain


def nested_aliases(width: int, levels: int) -> str:
    text = "a0: &a0 [" + ",".join("x" * width) + "]\n"
    for level in range(1, levels):
        text += f"a{level}: &a{level} [" + ",".join([f"*a{level - 1}"] * width) + "]\n"
    return text


def deep_aliases(depth: int, levels: int) -> str:
    text = "a0: &a0 " + "[" * depth + "1" + "]" * depth + "\n"
    for level in range(1, levels):
        text += f"a{level}: &a{level} " + "[" * depth + f"*a{level - 1}" + "]" * depth + "\n"
    return text


BOMBS = {
    "aliases of aliases": (nested_aliases(9, 12), "S004"),
    "two aliases of two": (nested_aliases(2, 60), "S004"),
    "aliases that nest": (deep_aliases(60, 40), "S003"),
    "lists": ("a: " + "[" * 500_000, "S001"),
    "mappings": ('{"a":' * 150_000, "S003"),
    "closed lists": ("a: " + "[" * 900 + "]" * 900, "S003"),
    "keys": ("? " * 400_000, "S010"),
    "backslashes": ('{"a": "' + "\\" * 900_001 + '"}', "S001"),
    "half pairs": ('{"a": "' + "\\ud83d" * 150_000 + '"}', "S001"),
    "quote": ('a: "' + "x" * 1_000_000, "S001"),
    "spaces": ('a: "' + " " * 1_000_000 + '"', ""),
    "comments": ("#\n" * 500_000, "S012"),
    "folded": ("a: >\n" + " x\n" * 300_000, ""),
    "separators": ('a: ["' + "\u2028" * 300_000 + '"]', ""),
    "anchors": ("a: [" + "".join(f"&x{number} 1," for number in range(60_000)) + "]", ""),
    "digits": ("a: " + "9" * 1_000_000, "S011"),
    "digits of a fraction": ("a: 0." + "9" * 1_000_000, "S013"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_bomb(name: str) -> None:
    text, code = BOMBS[name]
    findings = Findings()
    started = time.process_time()
    data = load(text, findings)
    assert time.process_time() - started < 5
    assert [one.code for one in findings][:1] == ([code] if code else [])
    assert (data is None) == bool(code)


def test_depth_up_to_the_bound_is_read() -> None:
    levels = MAX_DEPTH - 1
    data = load("a: " + "[" * levels + "1" + "]" * levels, Findings())
    assert plain(data) is not None
    here, found = data["a"] if data else None, 0
    while isinstance(here, list):
        here, found = here[0], found + 1
    assert found == levels


def test_nodes_of_aliases_count() -> None:
    few = MAX_NODES // 1000 - 10
    text = "a: &a [" + "1," * 998 + "]\nb: [" + "*a," * few + "]\n"
    findings = Findings()
    assert load(text, findings) is not None
    assert load(text.replace("*a,", "*a,*a,"), findings) is None
    assert [one.code for one in findings] == ["S004"]


def test_depth_of_aliases_counts() -> None:
    findings = Findings()
    assert load(deep_aliases(20, 3), findings) is not None
    assert load(deep_aliases(20, 4), findings) is None
    assert [one.code for one in findings] == ["S003"]
