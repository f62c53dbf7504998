"""Names in a state machine: readable, unique in the whole machine, and inside of AWS's limits."""

from __future__ import annotations

import hashlib
import re
import unicodedata

MAX_LENGTH = 80  # of a state name and of a variable name, in characters


class StateNames:
    """Gives state names. A name is the step's id as far as it fits, with what the state does behind it."""

    def __init__(self) -> None:
        self.taken: set[str] = set()

    def new(self, base: str, role: str = "") -> str:
        suffix = f" {role}" if role else ""
        text = "".join(c if c.isprintable() else " " for c in base).strip() or "step"
        name = text + suffix
        if len(name) > MAX_LENGTH or name in self.taken:
            mark = "~" + hashlib.sha256(base.encode()).hexdigest()[:6]
            name = text[: MAX_LENGTH - len(mark) - len(suffix)] + mark + suffix
        number = 2
        while name in self.taken:
            tail = f"{suffix} {number}"
            name = text[: MAX_LENGTH - len(tail) - 8] + tail
            number += 1
        self.taken.add(name)
        return name


# Names that expressions of the emitter use for themselves.
RESERVED = frozenset({"states", "each", "cause", "list", "given"})


class VariableNames:
    """Gives variable names: ASCII identifiers, no two alike, since inner frames may not repeat an outer name."""

    def __init__(self) -> None:
        self.taken: set[str] = set(RESERVED)

    def new(self, base: str) -> str:
        text = unicodedata.normalize("NFKD", base).encode("ascii", "ignore").decode()
        text = re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_")[:60]
        if not text or not text[0].isalpha():
            text = f"s{'_' if text else ''}{text}"
        name, number = text, 2
        while name in self.taken:
            name = f"{text}_{number}"
            number += 1
        self.taken.add(name)
        return name
