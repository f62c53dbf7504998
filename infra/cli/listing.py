"""Executions as a table that fits the terminal: children beneath their parents, ids as short as tells them apart."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime

from aslant.executions.records import Execution
from aslant.executions.states import ACTIVE
from infra.cli import pictures
from infra.cli.watch import duration
from translator.reporting import visible

_SHORT = 8  # characters of an id, at least
_WAITING = "waiting approval"
_HEADS = ("id", "workflow", "version", "status", "started", "for", "error")
_STATUS = 3
_GAP = 2  # between columns
# The columns that give way when the line is too long, in this order, and what is left of them at least. Of a version the
# end is what tells it from others.
_ELASTIC = (("error", 12), ("workflow", 14), ("error", 0), ("workflow", 8))


def lines(executions: Sequence[Execution], waiting: Collection[str], *, now: int, width: int) -> list[pictures.Line]:
    """A head and a row for each. `waiting`: ids of those that wait for an approval. `now`: epoch milliseconds."""
    length = _telling(executions)
    rows = []
    for one, depth in _nested(executions):
        over = one.status not in ACTIVE
        rows.append((
            "  " * depth + visible(one.id)[:length], visible(one.workflow), visible(one.version),
            _WAITING if one.id in waiting and not over else one.status.replace("_", " "), _when(one.started_at, now),
            duration(max(0, (one.changed_at if over else now) - one.started_at) / 1000),
            visible(one.error.error) if one.error is not None else "",
        ))  # fmt: skip
    styles = {status.replace("_", " "): style for status, style in pictures.STYLES.items()}
    return pictures.table(_HEADS, _fitted(rows, width), {_STATUS: styles})


def _telling(executions: Sequence[Execution]) -> int:
    """How many characters of the ids tell these executions apart."""
    ids = {one.id for one in executions}
    longest = max((len(id) for id in ids), default=_SHORT)
    return next((size for size in range(_SHORT, longest) if len({id[:size] for id in ids}) == len(ids)), longest)


def _nested(executions: Sequence[Execution]) -> Iterator[tuple[Execution, int]]:
    """Each with how deep it stands; one whose parent is not among them stands for itself."""
    ids = {one.id for one in executions}
    inner: dict[str, list[Execution]] = {}
    for one in executions:
        parent = one.parent.execution if one.parent is not None else ""
        inner.setdefault(parent if parent in ids else "", []).append(one)
    stack = [(one, 0) for one in reversed(inner.get("", []))]
    while stack:
        one, depth = stack.pop()
        yield one, depth
        stack += [(child, depth + 1) for child in inner.get(one.id, [])]  # the last pushed, the oldest, comes first


def _when(started: int, now: int) -> str:
    """The time of a start today, otherwise its day too."""
    then, today = (datetime.fromtimestamp(at / 1000).astimezone() for at in (started, now))
    return then.strftime("%H:%M:%S" if then.date() == today.date() else "%Y-%m-%d %H:%M")


def _fitted(rows: Sequence[Sequence[str]], width: int) -> list[list[str]]:
    found = [list(row) for row in rows]
    for name, least in _ELASTIC:
        at = _HEADS.index(name)
        sizes = [max(len(head), *(len(row[column]) for row in found), 0) for column, head in enumerate(_HEADS)]
        # The head of the last column may stand out when it has no entries.
        over = sum(sizes) + _GAP * (len(sizes) - 1) - width
        if over > 0:
            room = max(least, sizes[at] - over)
            for row in found:
                row[at] = row[at] if len(row[at]) <= room else row[at][:max(0, room - 1)] + "…" * (room > 0)
    return found
