"""JSON that somebody sends to the service. What JSON's readers understand differently, or lose, is refused and not mended."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from aslant.contracts import Json
from aslant.errors import InvalidInput, ValidationError
from aslant.values import MAX_DEPTH, finite, no_constant

_MOST = 10  # mistakes that are told
_HALF = re.compile("[\ud800-\udfff]")
_DEEP = f"nested more than {MAX_DEPTH} levels deep"


class NotJson(ValidationError):
    """A text that is no JSON."""


class _Doubled(dict[str, Any]):
    """An object in which a key stands twice."""

    key = ""


def read_body(text: str | bytes) -> Json:
    """The value of a body. Raises NotJson for what is none (NaN, infinities and numbers such as 1e400 too), InvalidInput with
    the places for keys that stand twice, halves of surrogate pairs (no UTF-8 can say them) and more than MAX_DEPTH levels.
    """
    try:
        value = json.loads(text, parse_constant=no_constant, parse_float=finite, object_pairs_hook=_object)
    except RecursionError:
        raise InvalidInput([("", f"the body is {_DEEP}")]) from None
    except json.JSONDecodeError as error:
        raise NotJson(f"the body is no JSON: {error.msg} in line {error.lineno}, column {error.colno}") from None
    except UnicodeDecodeError:
        raise NotJson("the body is no UTF-8 text") from None
    except ValueError as error:
        raise NotJson(f"the body is no JSON: {error}") from None
    found = []
    for problem in _problems(value):
        found.append(problem)
        if len(found) == _MOST:
            break
    if found:
        raise InvalidInput(found)
    return value


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) == len(pairs):
        return made
    seen: set[str] = set()
    marked = _Doubled(made)
    marked.key = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
    return marked


def _problems(value: Json) -> Iterator[tuple[str, str]]:
    stack: list[tuple[Json, str, int]] = [(value, "", 0)]
    while stack:
        item, place, depth = stack.pop()
        if isinstance(item, str):
            if _HALF.search(item) is not None:
                yield place, "has half of a surrogate pair in it, which is no character"
        elif isinstance(item, dict | list):
            if depth >= MAX_DEPTH:
                yield place, _DEEP
                continue
            if isinstance(item, _Doubled):
                yield place, f"has the key {_shown(item.key)} twice"
            if isinstance(item, list):
                stack += [(each, f"{place}/{number}", depth + 1) for number, each in enumerate(item)]
                continue
            for key, each in item.items():
                if _HALF.search(key) is not None:
                    yield place, f"has a key with half of a surrogate pair in it, which is no character: {_shown(key)}"
                stack.append((each, f"{place}/{_escaped(key)}", depth + 1))


def _shown(key: str) -> str:
    return json.dumps(key[:200], ensure_ascii=_HALF.search(key) is not None)


def _escaped(key: str) -> str:
    return _HALF.sub("\ufffd", key).replace("~", "~0").replace("/", "~1")
