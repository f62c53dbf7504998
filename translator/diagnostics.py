"""Findings: what the translator has to say about a definition, each with a code and a position.

A finding is never raised and never lost: every stage takes a `Findings` collector, adds what it
sees and goes on as far as it can, so that a user reads all problems at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple


class Severity(StrEnum):
    """How much a finding matters. Only `ERROR` keeps a definition from being compiled."""

    ERROR = "error"
    UNSUPPORTED = "unsupported"  # understood, but not what the machine does; the message says what it does
    WARNING = "warning"
    INFO = "info"


class Position(NamedTuple):
    """A place in a source text. `line` and `column` count from 1; columns count characters."""

    line: int
    column: int
    length: int = 1
    file: str = ""

    def shifted(self, columns: int, length: int = 1) -> Position:
        """The place `columns` characters to the right on the same line."""
        return self._replace(column=self.column + columns, length=length)


NOWHERE = Position(1, 1)
LONGEST = 1000  # characters of a message; names and values in it may be of any length


@dataclass(frozen=True, slots=True)
class Rule:
    """A row of the catalogue: what a code means and how to put it right (`aslant explain CODE`).

    `explanation` says why it matters and shows what to write instead.
    """

    code: str
    severity: Severity
    title: str
    explanation: str


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding. `message` names the thing; `hint` says what to write instead."""

    code: str
    severity: Severity
    message: str
    position: Position = NOWHERE
    hint: str = ""
    related: tuple[tuple[str, Position], ...] = ()  # other places that matter, each with a short text


class TranslatorError(Exception):
    """A definition that cannot be compiled. Carries every finding, errors among them."""

    def __init__(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        self.diagnostics = diagnostics
        first = next((d for d in diagnostics if d.severity is Severity.ERROR), None)
        super().__init__(first.message if first else "the definition has errors")


@dataclass(slots=True)
class Findings:
    """Collects findings of one compilation; the same finding at the same place is kept once."""

    items: list[Diagnostic] = field(default_factory=list)
    muted: set[Position] = field(default_factory=set)  # places of which nothing more is told
    _seen: set[tuple[str, str, Position]] = field(default_factory=set)

    def add(
        self,
        rule: Rule,
        message: str,
        position: Position = NOWHERE,
        *,
        hint: str = "",
        related: tuple[tuple[str, Position], ...] = (),
    ) -> None:
        if len(message) > LONGEST:
            message = message[:LONGEST] + "…"
        key = (rule.code, message, position)
        if key not in self._seen and position not in self.muted:
            self._seen.add(key)
            self.items.append(Diagnostic(rule.code, rule.severity, message, position, hint, related))

    def extend(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        for found in diagnostics:
            key = (found.code, found.message, found.position)
            if key not in self._seen and found.position not in self.muted:
                self._seen.add(key)
                self.items.append(found)

    @property
    def has_errors(self) -> bool:
        return any(d.severity is Severity.ERROR for d in self.items)

    def sorted(self) -> tuple[Diagnostic, ...]:
        """All findings in the order of the source, the same on every run."""
        return tuple(sorted(self.items, key=lambda d: (d.position.file, d.position, d.code, d.message)))

    def __iter__(self) -> Iterator[Diagnostic]:
        return iter(self.items)
