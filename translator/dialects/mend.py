"""Leaves out what does not fit a schema, so that what else is wrong in a definition can be told at once."""

from __future__ import annotations

from pydantic import BaseModel

from translator.diagnostics import Findings
from translator.dialects.validate import MOST, Path, problem_paths
from translator.source import Map, Seq, position_of, value_at

# Required keys that say nothing to later stages; another takes their place.
_STAND_INS = {"name": "unnamed", "description": "", "version": "1.0.0"}
_ROUNDS = 8  # what is wrong in something that is needed takes away what it stands in


def mend(schema: type[BaseModel], document: Map, findings: Findings) -> bool:
    """Remove from `document` what a check has reported; whether what is left has the shape of `schema`.

    Mappings that lack something now are muted in `findings`: what later stages say about them is not the user's doing.
    """
    for _ in range(_ROUNDS):
        missing, wrong = problem_paths(schema, document)
        if not missing and not wrong:
            return True
        if len(missing) + len(wrong) > MOST:
            return False
        # The last first, so that places in lists stay true.
        for path in sorted({*missing, *wrong}, key=_order, reverse=True):
            place = value_at(document, path[:-1])
            if path in missing and path[-1] in _STAND_INS and isinstance(place, Map):
                place.put(str(path[-1]), _STAND_INS[str(path[-1])])
            elif not _remove(document, path[:-1] if path in missing else path, findings):
                return False
    return False


def _order(path: Path) -> list[tuple[bool, int, str]]:
    return [(isinstance(part, str), part if isinstance(part, int) else 0, str(part)) for part in path]


def _remove(document: Map, path: Path, findings: Findings) -> bool:
    owner = value_at(document, path[:-1])
    if path and isinstance(owner, Seq) and isinstance(path[-1], int):
        if path[-1] < len(owner):
            findings.muted |= {owner.pos, owner.at(path[-1])}
            owner.remove_at(path[-1])
        return True
    if not path or not isinstance(owner, Map):
        return False
    findings.muted |= {owner.pos, owner.at("id"), position_of(document, path[:-1])}
    owner.pop(str(path[-1]), None)
    return True
