"""What two definitions differ in, by what they say and not by how it is written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Json = Any


@dataclass(frozen=True, slots=True)
class Difference:
    """`path` leads through names, and ids of what has one: `steps/build/config/url`. `step` is the innermost step on it."""

    kind: Literal["added", "removed", "changed"]
    path: tuple[str, ...]
    step: str
    before: Json = None
    after: Json = None


def differences(before: Mapping[str, Json], after: Mapping[str, Json]) -> list[Difference]:
    """From one definition in the canonical spelling to another. The order of steps does not count."""
    return list(_maps(before, after, (), ""))


def _maps(before: Mapping[str, Json], after: Mapping[str, Json], path: tuple[str, ...], step: str) -> Iterator[Difference]:
    for key in [*before, *(key for key in after if key not in before)]:
        place = (*path, key)
        inner = key if path and path[-1] in ("steps", "rollback", "finally") else step
        if key not in after:
            yield Difference("removed", place, inner, before=before[key])
        elif key not in before:
            yield Difference("added", place, inner, after=after[key])
        else:
            yield from _values(before[key], after[key], place, inner)


def _values(before: Json, after: Json, path: tuple[str, ...], step: str) -> Iterator[Difference]:
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        yield from _maps(before, after, path, step)
    elif (old := _by_id(before)) is not None and (new := _by_id(after)) is not None:
        yield from _maps(old, new, path, step)
    elif type(before) is not type(after) or before != after:
        yield Difference("changed", path, step, before, after)


def _by_id(value: Json) -> dict[str, Json] | None:
    """A list of things that have an id or a name, each once, by it; None for anything else."""
    if not isinstance(value, Sequence) or isinstance(value, str) or not all(isinstance(one, Mapping) for one in value):
        return None
    for key in ("id", "name"):
        found = {one[key]: one for one in value if isinstance(one.get(key), str)}
        if len(found) == len(value):
            return found
    return None
