"""YAML or JSON text -> plain JSON data that knows where each of its values was written.

`load` reads strictly: YAML 1.2 scalars only (true/false/null and JSON's numbers; `on`, `no`, `010`, `12:30` and
dates stay text), no tags, no merge keys, no duplicate keys, one document, and budgets on size, depth and nodes.
The result is made of `Map` (a dict) and `Seq` (a list), which carry positions, and of JSON scalars.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

import yaml
from yaml.events import (
    AliasEvent,
    MappingEndEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from translator import yaml_errors
from translator.diagnostics import NOWHERE, Findings, Position
from translator.findings import source as rules

MAX_BYTES = 1024 * 1024
MAX_DEPTH = 64
MAX_NODES = 250_000
MAX_SAFE_INTEGER = 2**53

_INT = re.compile(r"-?(?:0|[1-9][0-9]*)\Z")
_FLOAT = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?\Z")
_CONSTANTS = {
    "": None, "~": None, "null": None, "Null": None, "NULL": None,
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False,
}
_FORBIDDEN = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# Line breaks in YAML 1.1, which libyaml reads; ordinary characters in YAML 1.2 and JSON, and for editors that count lines.
_OLD_BREAKS = "\x85\u2028\u2029"
# JSON writes a character beyond the basic plane as two escapes, which YAML does not know.
_ESCAPED_PAIR = re.compile(
    r"(?<!\\)((?:\\\\)*)\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})"
)


class Map(dict[str, Any]):
    """A mapping with the position of itself, of each key and of each value."""

    __slots__ = ("key_at", "pos", "value_at")

    def __init__(self, pos: Position = NOWHERE) -> None:
        self.pos = pos
        self.key_at: dict[str, Position] = {}
        self.value_at: dict[str, Position] = {}

    def put(self, key: str, value: Any, at: Position | None = None, key_at: Position | None = None) -> None:
        """Set `key`, written at `at` (by default where this mapping stands)."""
        if at is None:
            at = getattr(value, "pos", None) or self.pos
        self[key] = value
        self.value_at[key] = at
        self.key_at[key] = key_at or at

    def move(self, key: str, other: Map, other_key: str | None = None) -> None:
        """Take over a value with its position from another mapping, if it is there."""
        name = key if other_key is None else other_key
        if name in other:
            self.put(key, other[name], other.at(name), other.at_key(name))

    def at(self, key: str) -> Position:
        """Where the value of `key` was written; where this mapping was, if it has no such key."""
        return self.value_at.get(key, self.pos)

    def at_key(self, key: str) -> Position:
        return self.key_at.get(key, self.pos)


class Seq(list[Any]):
    """A list with the position of itself and of each item."""

    __slots__ = ("item_at", "pos")

    def __init__(self, pos: Position = NOWHERE) -> None:
        self.pos = pos
        self.item_at: list[Position] = []

    def add(self, value: Any, at: Position | None = None) -> None:
        self.append(value)
        self.item_at.append(at or getattr(value, "pos", None) or self.pos)

    def at(self, index: int) -> Position:
        return self.item_at[index] if index < len(self.item_at) else self.pos

    def remove_at(self, index: int) -> None:
        del self[index], self.item_at[index]

    def pairs(self) -> Iterator[tuple[Any, Position]]:
        return zip(self, self.item_at, strict=True)


def position_of(root: Any, path: tuple[str | int, ...]) -> Position:
    """The position of the value at `path` (keys and indexes), or of the nearest one that exists."""
    here: Any = root
    found: Position = getattr(root, "pos", NOWHERE)
    for part in path:
        if isinstance(here, Map) and part in here:
            found, here = here.at(str(part)), here[str(part)]
        elif isinstance(here, Seq) and isinstance(part, int) and part < len(here):
            found, here = here.at(part), here[part]
        else:
            break
    return found


def value_at(root: Any, path: tuple[str | int, ...]) -> Any:
    """The value at `path`, None when there is none."""
    for part in path:
        try:
            root = root[part]
        except (KeyError, IndexError, TypeError):
            return None
    return root


def plain(value: Any) -> Any:
    """The same data as ordinary dicts and lists."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


def load(text: str | bytes, findings: Findings, file: str = "") -> Map | None:
    """Read one definition. Gives None when there is an error that leaves nothing to work on.

    `text` is at most 1 MiB. Every problem is a finding with a position in `file`.
    """
    origin = Position(1, 1, 1, file)
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    if len(raw) > MAX_BYTES:
        findings.add(rules.TOO_LARGE, f"the definition has {len(raw):,} bytes; the limit is {MAX_BYTES:,}", origin)
        return None
    try:
        decoded = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode("utf-8", "replace")
        findings.add(rules.ENCODING, f"the byte 0x{raw[error.start]:02x} is not UTF-8", _place_at_end(before, file),
            hint="save the file as UTF-8")
        return None
    forbidden = _FORBIDDEN.search(decoded)
    if forbidden is not None:
        code = ord(forbidden[0])
        findings.add(rules.ENCODING, f"the control character U+{code:04X} is not allowed",
            _place_at_end(decoded[: forbidden.start()], file),
            hint=f'inside of double quotes write "\\u{code:04x}"' if code < 0x10000 else "remove it")
        return None
    reader = _Reader(findings, file)
    value = reader.read(decoded)
    if reader.failed:
        return None
    if not isinstance(value, Map):
        findings.add(rules.NOT_A_MAPPING, f"a definition is a mapping, not {_kind(value)}", origin,
            hint="start with `name:` and `steps:`")
        return None
    return value


def _kind(value: Any) -> str:
    if value is None:
        return "an empty file"
    return {list: "a list", Seq: "a list", bool: "true or false", str: "a text"}.get(type(value), "a number")


_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Reader:
    """One pass over the parser's events; no YAML object is ever constructed."""

    def __init__(self, findings: Findings, file: str) -> None:
        self.findings = findings
        self.file = file
        self.failed = False
        self.nodes = 0
        self.anchors: dict[str, Any] = {}
        self.open_anchors: set[str] = set()
        self.sizes: dict[str, int] = {}
        self.heights: dict[str, int] = {}
        self.text = ""
        self.lines: list[str] = []
        self.deepest = 0  # the greatest depth in the value being read
        self.hidden: dict[int, int] = {}
        self.mark = ""  # stands for the backslashes of an escaped pair

    def read(self, text: str) -> Any:
        loader = None
        self.text = text
        last = _place_at_end(text, self.file)
        try:
            loader = _LOADER(self.hide(text))
            self.next = loader.get_event
            self.next()  # stream start
            event = self.next()
            if isinstance(event, StreamEndEvent):
                return None
            event = self.next()
            value = self.value(event, 0, self.place(event))
            self.next()  # document end
            event = self.next()
            if not isinstance(event, StreamEndEvent):
                self.fail(rules.MANY_DOCUMENTS, "the file holds more than one document", event)
            return value
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            at = min(Position(mark.line + 1, mark.column + 1, 1, self.file), last) if mark else last
            self.failed = True
            if (lacking := yaml_errors.missing_colon(error, text, at)) is not None:
                self.findings.add(rules.SYNTAX, lacking.message, lacking.at, hint=lacking.hint)
            else:
                self.findings.add(rules.SYNTAX, yaml_errors.message(error), at, hint=yaml_errors.hint(error, text, at))
        except yaml.reader.ReaderError as error:
            self.failed = True
            self.findings.add(rules.ENCODING, str(error.reason), Position(1, 1, 1, self.file))
        except _Stop:
            self.failed = True
        finally:
            if loader is not None:
                loader.dispose()
        return None

    def hide(self, text: str) -> str:
        """The text, as long as before, with other characters in the place of old line breaks and of the backslashes of
        escaped pairs; `shown` puts back what was meant."""
        used = [old for old in _OLD_BREAKS if old in text]
        free = (code for code in range(0xE000, 0xF8FF) if chr(code) not in text)
        self.hidden = {ord(old): code for old, code in zip(used, free, strict=False)}
        text = text.translate(self.hidden) if self.hidden else text
        self.hidden = {code: old for old, code in self.hidden.items()}
        if "\\u" in text and _ESCAPED_PAIR.search(text):
            self.mark = chr(next(free, 0xF8FF))
            text = _ESCAPED_PAIR.sub(rf"\1{self.mark}u\2{self.mark}u\3", text)
        return text

    def shown(self, event: Any) -> str:
        """The text of a scalar as it was written."""
        text = str(event.value)
        if self.mark and self.mark in text:
            if event.style == '"':
                text = re.sub(f"{self.mark}u(.{{4}}){self.mark}u(.{{4}})", _character, text)
            else:
                text = text.replace(self.mark, "\\")
        return text.translate(self.hidden) if self.hidden else text

    def fail(self, rule: Any, message: str, event: Any, hint: str = "") -> None:
        self.failed = True
        self.findings.add(rule, message, self.place(event), hint=hint)

    def place(self, event: Any) -> Position:
        """Where a value begins; a text begins inside of its quotes, or in the line below its `|` or `>`."""
        start, end = event.start_mark, event.end_mark
        line, column = start.line, start.column
        length = end.column - column if end.line == line else 1
        style = getattr(event, "style", None)
        if style:
            if style in "|>":
                return self.block_place(line + 1, end.line)
            if event.anchor is None and event.tag is None:
                column, length = column + 1, length - 2
        return Position(line + 1, column + 1, length if length > 1 else 1, self.file)

    def block_place(self, first: int, end: int) -> Position:
        """The first line of a block text, at its indentation; lines count from 0 here."""
        if not self.lines:
            self.lines = self.text.split("\n")
        for line in self.lines[first:end + 1]:
            if line.strip():
                return Position(first + 1, len(line) - len(line.lstrip()) + 1, 1, self.file)
        return Position(first, 1, 1, self.file)

    def quotes(self, event: Any) -> str:
        """What to write for `{{ x }}` without quotes, which is a mapping in a mapping to YAML."""
        if not self.lines:
            self.lines = self.text.split("\n")
        line, column = self.lines[event.start_mark.line], event.start_mark.column
        return yaml_errors.bare_hole(line, column)

    def count(self, event: Any, more: int = 1) -> None:
        self.nodes += more
        if self.nodes > MAX_NODES:
            self.fail(rules.TOO_MANY_NODES, f"more than {MAX_NODES:,} values", event)
            raise _Stop

    def value(self, event: Any, depth: int, at: Position) -> Any:
        if depth > MAX_DEPTH:
            self.fail(rules.TOO_DEEP, f"nested more than {MAX_DEPTH} levels deep", event)
            raise _Stop
        kind = type(event)
        if kind is AliasEvent:
            return self.alias(event, depth)
        self.count(event)
        tag = event.tag
        if tag is not None and (tag != "!" or kind is not ScalarEvent):
            self.fail(rules.TAG, f"the tag {tag} is not allowed", event, "write the plain value")
        if event.anchor is not None:
            return self.anchored(event, depth, at)
        if depth > self.deepest:
            self.deepest = depth
        return self.content(event, depth, at)

    def anchored(self, event: Any, depth: int, at: Position) -> Any:
        anchor = event.anchor
        before, around = self.nodes - 1, self.deepest
        self.deepest = depth
        self.open_anchors.add(anchor)
        result = self.content(event, depth, at)
        self.open_anchors.discard(anchor)
        self.anchors[anchor] = result
        self.sizes[anchor] = self.nodes - before
        self.heights[anchor] = self.deepest - depth
        self.deepest = max(around, self.deepest)
        return result

    def content(self, event: Any, depth: int, at: Position) -> Any:
        kind = type(event)
        if kind is ScalarEvent:
            return self.scalar(event)
        return self.sequence(depth, at) if kind is SequenceStartEvent else self.mapping(depth, at)

    def alias(self, event: Any, depth: int) -> Any:
        if event.anchor in self.open_anchors:
            self.fail(rules.SELF_REFERENCE, f"*{event.anchor} stands inside of the value that it names", event)
            raise _Stop
        if event.anchor not in self.anchors:
            self.fail(rules.SYNTAX, f"there is no anchor &{event.anchor} before this place", event,
                "quote a text that begins with *")
            raise _Stop
        self.count(event, self.sizes[event.anchor])
        self.deepest = max(self.deepest, depth + self.heights[event.anchor])
        if self.deepest > MAX_DEPTH:
            self.fail(rules.TOO_DEEP, f"nested more than {MAX_DEPTH} levels deep", event)
            raise _Stop
        return _copied(self.anchors[event.anchor])

    def sequence(self, depth: int, at: Position) -> Seq:
        result = Seq(at)
        while type(item := self.next()) is not SequenceEndEvent:
            at = self.place(item)
            result.append(self.value(item, depth + 1, at))
            result.item_at.append(at)
        return result

    def mapping(self, depth: int, at: Position) -> Map:
        result = Map(at)
        while type(key_event := self.next()) is not MappingEndEvent:
            at_key = self.place(key_event)
            key = self.key(key_event, depth)
            value_event = self.next()
            at = self.place(value_event)
            value = self.value(value_event, depth + 1, at)
            if key is None:
                continue
            if key in result:
                self.findings.add(rules.DUPLICATE_KEY, f"the key {key!r} stands twice in this mapping", at_key,
                    hint="remove one of the two", related=(("first here", result.at_key(key)),))
                continue
            result[key] = value
            result.value_at[key], result.key_at[key] = at, at_key
        return result

    def key(self, event: Any, depth: int) -> str | None:
        if type(event) is not ScalarEvent:
            if type(event) is AliasEvent and isinstance(self.anchors.get(str(event.anchor)), str):
                return str(self.alias(event, depth))
            self.fail(rules.KEY_NOT_TEXT, "a key must be a text", event, self.quotes(event))
            self.value(event, depth + 1, self.place(event))
            return None
        self.count(event)
        text = self.shown(event)
        if event.anchor is not None:
            self.anchors[event.anchor] = text
            self.sizes[event.anchor], self.heights[event.anchor] = 1, 0
        if event.tag is not None and event.tag != "!":
            self.fail(rules.TAG, f"the tag {event.tag} is not allowed", event, "write the plain value")
        if text == "<<" and event.implicit[0]:
            self.fail(rules.MERGE_KEY, "merge keys (<<) are not part of YAML 1.2", event,
                "use an alias for the whole mapping, or write the keys out")
        return text

    def scalar(self, event: Any) -> Any:
        text = self.shown(event)
        if not event.implicit[0] or event.style or event.tag == "!":
            return text
        if text in _CONSTANTS:
            return _CONSTANTS[text]
        if text[0] not in "-0123456789":
            return text
        if _INT.match(text):
            if len(text) > 17 or abs(int(text)) > MAX_SAFE_INTEGER:
                self.fail(rules.BIG_INTEGER, f"{text[:40]} is beyond 2^53 and would lose digits", event,
                    f'write it as a text: "{text[:40]}"')
                return 0
            return int(text)
        if _FLOAT.match(text):
            number = float(text) if len(text) <= 400 else math.inf
            if math.isinf(number):
                self.fail(rules.NUMBER_RANGE, f"{text[:40]} does not fit into a double", event,
                    "write it as a quoted text")
                return 0
            return number
        return text


class _Stop(Exception):
    """Reading cannot go on; the finding is already recorded."""


def _character(match: re.Match[str]) -> str:
    return bytes.fromhex(match[1] + match[2]).decode("utf-16-be")


def _copied(value: Any) -> Any:
    """A deep copy: an alias never shares an object with its anchor."""
    if isinstance(value, Map):
        copy = Map(value.pos)
        for key, item in value.items():
            copy.put(key, _copied(item), value.at(key), value.at_key(key))
        return copy
    if isinstance(value, Seq):
        items = Seq(value.pos)
        for item, at in value.pairs():
            items.add(_copied(item), at)
        return items
    return value


def _place_at_end(text: str, file: str) -> Position:
    """The place behind `text`, which is the beginning of a file."""
    return Position(text.count("\n") + 1, len(text) - text.rfind("\n"), 1, file)
