"""Makes a definition smaller for as long as it shows the same problem."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from copy import deepcopy
from typing import Any, TypeVar

SECONDS = 20.0
Test = Callable[[str | bytes], bool]
T = TypeVar("T", str, bytes)


def shrink(text: str | bytes, shows: Test, seconds: float = SECONDS) -> str | bytes:
    """A smaller text for which `shows` still holds; data as JSON, anything else by leaving out pieces."""
    end = time.monotonic() + seconds
    if isinstance(text, str):
        try:
            data = json.loads(text)
        except (ValueError, RecursionError):
            data = None
        if data is not None and shows(_written(data)):
            return _written(_smaller(data, lambda one: shows(_written(one)), end))
        return _shorter(text, shows, end)
    return _shorter(text, shows, end)


def _written(data: Any) -> str:
    return "\n" + json.dumps(data, indent=1, ensure_ascii=False)


def _places(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        found += _places(value, (*path, key))
    return found


def _without(data: Any, path: tuple[Any, ...], by: Any = None, *, drop: bool = True) -> Any:
    copy = deepcopy(data)
    here = copy
    for part in path[:-1]:
        here = here[part]
    if drop:
        del here[path[-1]]
    else:
        here[path[-1]] = by
    return copy


def _smaller(data: Any, shows: Callable[[Any], bool], end: float) -> Any:
    changed = True
    while changed:
        changed = False
        for path in sorted(_places(data), key=len):
            if time.monotonic() > end:
                return data
            try:
                candidate = _without(data, path)
            except (KeyError, IndexError, TypeError):
                continue
            if shows(candidate):
                data, changed = candidate, True
                break
    for path in _places(data):
        value = data
        for part in path:
            value = value[part]
        if isinstance(value, str) and len(value) > 1 and time.monotonic() < end:
            candidate = _without(data, path, "a", drop=False)
            if shows(candidate):
                data = candidate
    return data


def _shorter(text: T, shows: Callable[[T], bool], end: float) -> T:
    size = len(text) // 2
    while size:
        position = 0
        while position < len(text):
            if time.monotonic() > end:
                return text
            candidate = text[:position] + text[position + size:]
            if shows(candidate):
                text = candidate
            else:
                position += size
        size //= 2
    return text
