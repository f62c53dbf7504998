"""A definition with what another environment has otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Json = Any

_NAMES = ("id", "name")


def merged(base: Json, over: Json) -> Json:
    """`base` with `over` on top: objects key by key, lists of things with an `id` or `name` thing by thing; null takes out.

    Any other list is replaced. Raises ValueError for a thing that the base does not have: an override is no place for new ones.
    """
    if isinstance(base, Mapping) and isinstance(over, Mapping):
        result = dict(base)
        for key, value in over.items():
            if value is None:
                result.pop(key, None)
            else:
                result[key] = merged(base[key], value) if key in base else value
        return result
    name = _name_of(base, over)
    if name is None:
        return over
    by_name = {one[name]: one for one in over}
    unknown = [str(each) for each in by_name if each not in {one[name] for one in base}]
    if unknown:
        raise ValueError(f"the definition has no {name}: {', '.join(unknown)}")
    return [merged(one, by_name[one[name]]) if one[name] in by_name else one for one in base]


def _name_of(base: Json, over: Json) -> str | None:
    """What tells the things of two lists apart."""
    if not (isinstance(base, list) and isinstance(over, list) and base and over):
        return None
    for name in _NAMES:
        if all(isinstance(one, Mapping) and isinstance(one.get(name), str) for one in (*base, *over)):
            return name
    return None
