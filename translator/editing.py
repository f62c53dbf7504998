"""Changes of a definition: steps and connections added, taken out or altered, in whichever dialect it is written.

A definition is rewritten as a whole, so comments are lost, and what its dialect cannot say is an error.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from translator.diagnostics import Findings, TranslatorError
from translator.dialects.convert import convert, tidied
from translator.dialects.registry import read
from translator.nearest import nearest
from translator.source import load, plain

Json = Any
_FIXED = ("id", "steps", "branches")  # of a step that is updated
Change = Callable[[dict[str, Json]], None]


class EditError(ValueError):
    """A change that cannot be made, such as one of a step that is not there."""


def edited(text: str, change: Change, *, dialect: str | None = None) -> str:
    """`text` after `change` has altered its canonical data in place, in the dialect that it was written in.

    Raises TranslatorError for a text that cannot be read, and for what the dialect cannot say; whether the result compiles is
    not looked at.
    """
    name, data = canonical(text, dialect=dialect)
    change(data)
    findings = Findings()
    fresh = load(json.dumps({"dialect": "canonical", **data}), findings)
    written = convert(fresh, name, findings) if fresh is not None else None
    if written is None or findings.has_errors or any(found.severity == "unsupported" for found in findings):
        raise TranslatorError(findings.sorted())
    return written if name != "canonical" or "dialect:" in written.partition("\n")[0] else f"dialect: canonical\n{written}"


def canonical(text: str, *, dialect: str | None = None) -> tuple[str, dict[str, Json]]:
    """The dialect of a definition, and what it says in the canonical spelling. Raises TranslatorError."""
    findings = Findings()
    document = load(text, findings)
    if document is not None and dialect is not None:
        document.put("dialect", dialect)
    found = read(document, findings) if document is not None else None
    if found is None or findings.has_errors:
        raise TranslatorError(findings.sorted())
    data: dict[str, Json] = plain(tidied(found[1]))
    return found[0].name, data


def steps_of(steps: list[dict[str, Json]]) -> Iterator[tuple[list[dict[str, Json]], dict[str, Json]]]:
    """Every step, those inside of others too, with the list that it stands in."""
    for step in steps:
        yield steps, step
        yield from steps_of(step.get("steps") or [])
        for branch in step.get("branches") or []:
            yield from steps_of(branch.get("steps") or [])


def add_step(data: dict[str, Json], step: Mapping[str, Json]) -> None:
    """Puts a step behind the others of the body; what it waits for, it says itself."""
    id = step.get("id")
    if not isinstance(id, str) or not isinstance(step.get("type"), str):
        raise EditError("a step has an `id` and a `type`")
    if any(one["id"] == id for _, one in _everything(data)):
        raise EditError(f"there is a step {id} already")
    data["steps"].append(dict(step))


def remove_step(data: dict[str, Json], id: str) -> None:
    """Takes a step out. What waited for it waits for what it waited for."""
    among, step = _found(data, id)
    among.remove(step)
    before = step.get("depends_on") or []
    for other in among:
        after = other.get("depends_on") or []
        if id in after:
            place = after.index(id)
            rest = [one for one in after if one != id]
            other["depends_on"] = rest[:place] + [one for one in before if one not in rest] + rest[place:]


def update_step(data: dict[str, Json], id: str, values: Mapping[str, Json]) -> None:
    """Fields of a step, merged as RFC 7396 says: null takes one out."""
    for key in _FIXED:
        if key in values:
            raise EditError(f"`{key}` of {id} stays as it is; take the step out and add another one")
    merge(_found(data, id)[1], values)


def connect(data: dict[str, Json], before: str, after: str) -> None:
    """Lets a step wait for another one beside it."""
    among, step = _found(data, after)
    if not any(one["id"] == before for one in among):
        raise EditError(f"there is no step {before} beside {after}{_meant(before, (one['id'] for one in among))}")
    step["depends_on"] = [*(one for one in step.get("depends_on") or [] if one != before), before]


def disconnect(data: dict[str, Json], before: str, after: str) -> None:
    step = _found(data, after)[1]
    waits = step.get("depends_on") or []
    if before not in waits:
        raise EditError(f"{after} does not wait for {before}")
    step["depends_on"] = [one for one in waits if one != before]


def merge(target: dict[str, Json], values: Mapping[str, Json]) -> None:
    """JSON Merge Patch (RFC 7396), in place."""
    for key, value in values.items():
        if value is None:
            target.pop(key, None)
        elif isinstance(value, Mapping):
            kept = target.get(key)
            inner: dict[str, Json] = kept if isinstance(kept, dict) else {}
            target[key] = inner
            merge(inner, value)
        else:
            target[key] = value


def _found(data: dict[str, Json], id: str) -> tuple[list[dict[str, Json]], dict[str, Json]]:
    everything = _everything(data)
    for among, step in everything:
        if step["id"] == id:
            return among, step
    raise EditError(f"there is no step {id}{_meant(id, (step['id'] for _, step in everything))}")


def _everything(data: dict[str, Json]) -> list[tuple[list[dict[str, Json]], dict[str, Json]]]:
    return [pair for key in ("steps", "rollback", "finally") for pair in steps_of(data.get(key) or [])]


def _meant(id: str, known: Iterator[str]) -> str:
    close = nearest(id, known)
    return f"; did you mean {close}?" if close else ""
