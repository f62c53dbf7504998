"""Reads one token at a time where the parser stands. Each character is looked at a bounded number of times."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

from translator.diagnostics import Position, Rule
from translator.findings import expressions as rules

_SPACE = re.compile(r"[\s\ufeff]*")
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_DIGITS = re.compile(r"[0-9]+")
# Letters of every script with their combining marks; quotation marks and the like are left out so that a pasted
# typographic quote is reported where it stands.
_FOREIGN = r"[^\x00-\x7f\s\u00ab\u00bb\u2018-\u201f\u2039\u203a\u2212\u2260\u2264\u2265\ufeff]"
_WORD = re.compile(rf"(?:[A-Za-z_]|{_FOREIGN})(?:[A-Za-z0-9_]|{_FOREIGN})*")
_DASHED = re.compile(rf"(?:[A-Za-z0-9_-]|{_FOREIGN})+")
_OPERATOR = re.compile(
    r"\$\{\{|\{\{|\}\}|===|!==|\*\*|//|==|!=|<=|>=|&&|\|\||\?\?|[-+*/%~<>()\[\]{},.:?!|=]"
)
_PLAIN = {"'": re.compile(r"[^'\\]*"), '"': re.compile(r'[^"\\]*')}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "0": "\0", "\\": "\\", "'": "'", '"': '"', "/": "/"}
_DELIMITER = re.compile(r"\$?\{\{")
_CALLED = re.compile(r"\$([A-Za-z_]\w*)\s*(\()?")
_HEX = re.compile(r"[0-9a-fA-F]+")

LOOK_ALIKES = {"“": '"', "”": '"', "‘": "'", "’": "'", "≠": "!=", "≤": "<=", "≥": ">=", "−": "-"}


class Unreadable(Exception):
    """Reading stops here. Turned into a finding by the caller that holds the collector."""

    def __init__(self, rule: Rule, message: str, offset: int, length: int = 1, hint: str = "") -> None:
        super().__init__(message)
        self.rule, self.message, self.offset, self.length, self.hint = rule, message, offset, length, hint


@dataclass(frozen=True, slots=True)
class Token:
    """`kind` is `word`, `number`, `text`, `op` or `end`; `value` is what it means, `start`/`end` are offsets."""

    kind: str
    value: str | int | float
    start: int
    end: int

    def is_op(self, *values: str) -> bool:
        return self.kind == "op" and self.value in values

    def is_word(self, *values: str) -> bool:
        return self.kind == "word" and self.value in values


def nfc(text: str) -> str:
    """The one spelling of a name that may be composed of letters and marks in more than one way."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


class Ids(NamedTuple):
    """Names that may hold hyphens, in NFC, and how many characters the longest spelling of one may have."""

    names: frozenset[str] = frozenset()
    reach: int = 1


def ids_of(names: Collection[str] | Ids) -> Ids:
    """Prepares ids for any number of texts; what is prepared already costs nothing."""
    if isinstance(names, Ids):
        return names
    # One character is at most three in decomposed form.
    return Ids(frozenset(map(nfc, names)), 3 * max(map(len, names), default=0) + 1)


class Lexer:
    """Tokens of `text` from `start` on."""

    def __init__(self, text: str, start: int, at: Position, ids: Ids) -> None:
        self.text = text
        self.pos = start
        self.at = at
        self.ids = ids
        self._line_starts = [0, *(m.end() for m in re.finditer("\n", text))] if "\n" in text else [0]

    def place(self, offset: int, length: int = 1) -> Position:
        """The position in the source of a character of the text."""
        low, high = 0, len(self._line_starts)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._line_starts[middle] <= offset else (low, middle)
        if self.at.length > 1:  # all in one line of the source: line breaks are escapes there
            low = 0
        at = self.at
        return Position(at.line + low, at.column + offset - self._line_starts[low], max(length, 1), at.file)

    def next(self) -> Token:
        text = self.text
        start = _SPACE.match(text, self.pos).end()  # type: ignore[union-attr]
        if start >= len(text):
            self.pos = start
            return Token("end", "", start, start)
        char = text[start]
        if char in "'\"":
            return self._text(start)
        if "0" <= char <= "9":
            return self._number(start)
        if match := _WORD.match(text, start):
            return self._taken("word", self._named(match, start), start)
        if match := _OPERATOR.match(text, start):
            self.pos = match.end()
            return self._taken("op", match[0], start)
        hint = f"write {LOOK_ALIKES[char]}" if char in LOOK_ALIKES else ""
        if char == "&":
            hint = "write `and` or `&&`"
        elif char == "$" and (called := _CALLED.match(text, start)):  # as JSONata and shells have it
            hint = f"write {called[1]}{'(…)' if called[2] else ''}, without the dollar sign"
        elif text.startswith("${", start):
            hint = "close it with }, or leave out the ${"
        raise Unreadable(rules.SYNTAX, f"{char!r} has no meaning in an expression", start, 1, hint)

    def member(self) -> Token:
        """What follows a dot: any word, a listed id, or the number of a list's item."""
        start = _SPACE.match(self.text, self.pos).end()  # type: ignore[union-attr]
        if match := _WORD.match(self.text, start):
            return self._taken("word", self._named(match, start), start)
        if (match := _DASHED.match(self.text, start, start + self.ids.reach)) and (name := self._listed(match[0])):
            self.pos = start + len(name)
            return self._taken("word", nfc(name), start)
        if match := _DIGITS.match(self.text, start):
            self.pos = match.end()
            return self._taken("number", int(match[0][:17]), start)
        raise Unreadable(rules.SYNTAX, "a name is missing after the dot", start, 1,
            "names with other characters are written in brackets: ['the name']")

    def _taken(self, kind: str, value: str | float, start: int) -> Token:
        return Token(kind, value, start, self.pos)

    def _named(self, match: re.Match[str], start: int) -> str:
        """The word that was found, or the longer id with hyphens that starts here."""
        word = match[0]
        self.pos = match.end()
        if self.text.startswith("-", self.pos):
            run = _DASHED.match(self.text, start, start + self.ids.reach)
            if run and (listed := self._listed(run[0], len(word))):
                self.pos = start + len(listed)
                return nfc(listed)
        return nfc(word)

    def _listed(self, run: str, longer_than: int = 0) -> str:
        """The longest id that the run starts with and that ends at a hyphen or at the run's end."""
        end = len(run) if self.ids.names else 0
        for _ in range(64):
            if end <= longer_than:
                break
            if nfc(run[:end]) in self.ids.names:
                return run[:end]
            end = run.rfind("-", 0, end)
        return ""

    def _number(self, start: int) -> Token:
        match = _NUMBER.match(self.text, start)
        assert match is not None
        digits = match[0]
        self.pos = match.end()
        shown = digits if len(digits) < 40 else digits[:40] + "..."
        if digits.isdigit():
            if len(digits) > 1 and digits[0] == "0":
                raise Unreadable(rules.SYNTAX, f"{shown} starts with a zero", start, len(digits),
                    "write the number without it, or quote it as a text")
            if len(digits) > 16 or int(digits) > 2**53:
                raise Unreadable(rules.BIG_NUMBER, f"{shown} is beyond 2^53 and would lose digits", start, len(digits),
                    f"write it as a text: '{shown}'")
            return self._taken("number", int(digits), start)
        value = float(digits) if len(digits) <= 400 else float("inf")
        if value == float("inf"):
            raise Unreadable(rules.BIG_NUMBER, f"{shown} does not fit into a double", start, len(digits))
        if re.match(_WORD, self.text[self.pos:self.pos + 1]):
            raise Unreadable(rules.SYNTAX, "a name cannot follow a number directly", self.pos)
        return self._taken("number", value, start)

    def _text(self, start: int) -> Token:
        quote = self.text[start]
        plain = _PLAIN[quote]
        parts: list[str] = []
        pos = start + 1
        while True:
            match = plain.match(self.text, pos)
            assert match is not None
            parts.append(match[0])
            pos = match.end()
            if pos >= len(self.text):
                raise Unreadable(rules.STRING, f"the text that starts here has no closing {quote}", start)
            if self.text[pos] == quote:
                break
            piece, pos = self._escape(pos)
            parts.append(piece)
        self.pos = pos + 1
        value = "".join(parts)
        if any("\ud800" <= c <= "\udfff" for c in value):  # pairs of \u escapes make one character
            value = value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return self._taken("text", value, start)

    def _escape(self, pos: int) -> tuple[str, int]:
        char = self.text[pos + 1:pos + 2]
        if char in _ESCAPES and char:
            return _ESCAPES[char], pos + 2
        if char in ("u", "x"):
            size = 4 if char == "u" else 2
            digits = self.text[pos + 2:pos + 2 + size]
            if len(digits) == size and _HEX.fullmatch(digits):
                return chr(int(digits, 16)), pos + 2 + size
            raise Unreadable(rules.SYNTAX, f"\\{char} needs {size} hexadecimal digits", pos, 2)
        if match := _DELIMITER.match(self.text, pos + 1):  # `\\{{` is the delimiter itself, as in plain text
            return match[0], match.end()
        # As in Python, an unknown escape is no escape: regular expressions keep their backslashes.
        return "\\", pos + 1
