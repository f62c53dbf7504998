"""What another environment has otherwise, merged into a definition."""

from __future__ import annotations

from typing import Any

import pytest

from infra.overrides import merged

BASE = {"id": "a", "settings": {"timeout": 5, "retry": {"max": 1}}, "tags": ["x", "y"], "steps": [
    {"id": "one", "config": {"url": "http://test", "n": 1}}, {"id": "two", "steps": [{"id": "in", "config": {"k": 1}}]},
]}  # fmt: skip


@pytest.mark.parametrize(("over", "path", "expected"), [
    ({"settings": {"timeout": 9}}, ["settings"], {"timeout": 9, "retry": {"max": 1}}),
    ({"settings": {"retry": None}}, ["settings"], {"timeout": 5}),
    ({"tags": ["z"]}, ["tags"], ["z"]),
    ({"steps": [{"id": "one", "config": {"url": "https://live"}}]}, ["steps", 0, "config"], {"url": "https://live", "n": 1}),
    ({"steps": [{"id": "two", "steps": [{"id": "in", "config": {"k": 2}}]}]}, ["steps", 1, "steps", 0, "config"], {"k": 2}),
    ({"new": {"a": None}}, ["new"], {"a": None}), ({}, ["id"], "a"), ({"steps": []}, ["steps"], []),
])  # fmt: skip
def test_merged(over: Any, path: list[Any], expected: Any) -> None:
    found: Any = merged(BASE, over)
    for key in path:
        found = found[key]
    assert found == expected
    assert BASE["settings"] == {"timeout": 5, "retry": {"max": 1}}, "the base stays as it is"


def test_an_override_adds_no_steps() -> None:
    with pytest.raises(ValueError, match="three"):
        merged(BASE, {"steps": [{"id": "three"}]})
