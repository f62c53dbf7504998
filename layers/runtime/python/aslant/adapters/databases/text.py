"""The text of a statement: where its placeholders are, and what kind of statement it is. Values never become part of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from aslant.contracts import Json
from aslant.database_ports import QueryRequest
from aslant.errors import AuthorizationError, ValidationError

Dialect = Literal["postgresql", "mysql", "plain"]
Style = Literal["$1", "?", ":p1"]

MAX_VALUES = 1_000
_COMMON = r"""
    (?P<cast>::|:=) | (?P<number>\$[0-9]+) | (?P<name>:[A-Za-z_][A-Za-z0-9_]*) | (?P<mark>\?) | (?P<end>;)
  | (?P<word>[^\W\d][\w$]*|\d[\w.]*(?::[A-Za-z_]\w*)?)
"""
_TOKENS: dict[Dialect, re.Pattern[str]] = {
    "postgresql": re.compile(
        r"(?P<text>[eE]'(?:[^'\\]|\\.|'')*'|'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|\$(?P<tag>(?:[^\W\d]\w*)?)\$.*?\$(?P=tag)\$)"
        r"|(?P<comment>--[^\n]*|/\*)|" + _COMMON, re.VERBOSE | re.DOTALL),
    "mysql": re.compile(
        r"(?P<text>'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.|\"\")*\"|`(?:[^`]|``)*`)"
        r"|(?P<comment>--(?=\s|$)[^\n]*|\#[^\n]*|/\*)|" + _COMMON, re.VERBOSE | re.DOTALL),
    "plain": re.compile(
        r"(?P<text>'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\")|(?P<comment>--[^\n]*|/\*)|" + _COMMON, re.VERBOSE | re.DOTALL),
}
_READING = frozenset({"SELECT", "VALUES", "TABLE", "WITH", "SHOW", "EXPLAIN", "DESCRIBE", "DESC"})
# What ends the step's own transaction, changes the session, or moves files between the server and us.
_REFUSED = frozenset({"BEGIN", "START", "COMMIT", "ROLLBACK", "END", "ABORT", "SAVEPOINT", "RELEASE", "SET", "RESET", "XA",
                      "COPY", "LOAD", "PREPARE", "EXECUTE", "DEALLOCATE", "DECLARE", "FETCH", "HANDLER", "LISTEN", "USE"})


class Token(NamedTuple):
    kind: str
    text: str
    start: int
    end: int


class Bound(NamedTuple):
    """A statement as a database takes it: `verb` is its first word, `values` belong to its placeholders in order."""

    text: str
    values: list[Json]
    verb: str


def bind(text: str, given: Sequence[Json] | Mapping[str, Json], dialect: Dialect, style: Style) -> Bound:
    """Writes placeholders in a database's own style: `$1` and `?` of a list, `:name` of a mapping.

    Raises ValidationError for several statements, for values that fit no placeholder, and the other way round.
    """
    if "\0" in text:
        raise ValidationError("the query holds a null character")
    tokens = list(_tokens(text, dialect))
    text, tokens = _single(text, tokens)
    named = isinstance(given, Mapping)
    numbered = not named and any(token.kind == "number" for token in tokens)
    wanted = "name" if named else "number" if numbered else "mark"
    places = [token for token in tokens if token.kind == wanted] if given else []
    if given and not places and not named:
        raise ValidationError(f"the query has no placeholder for its {len(given)} parameters")
    order: list[Json] = []
    known: dict[str, int] = {}
    pieces, at = [], 0
    for index, token in enumerate(places):
        value = _value(token, given, index)
        if style == "?" or wanted == "mark":
            order.append(value)
            number = len(order)
        else:
            if token.text not in known:
                order.append(value)
                known[token.text] = len(order)
            number = known[token.text]
        pieces += [text[at:token.start], "?" if style == "?" else f"${number}" if style == "$1" else f":p{number}"]
        at = token.end
    if not named and (len(known) if numbered and style != "?" else len({token.text for token in places})
                      if numbered else len(places)) != len(given):
        raise ValidationError(f"the query has other placeholders than its {len(given)} parameters")
    if len(order) > MAX_VALUES:
        raise ValidationError(f"a query has at most {MAX_VALUES:,} values")
    return Bound("".join([*pieces, text[at:]]), order, _verb(tokens))


def check(statement: Bound, read_only: bool) -> None:
    """Refuses what a step may not send. Raises ValidationError, or AuthorizationError for writing where it only reads."""
    if statement.verb in _REFUSED:
        raise ValidationError(f"{statement.verb} is no statement of a query step: it begins and ends its transaction itself")
    if read_only and statement.verb not in _READING:
        raise AuthorizationError(f"{statement.verb or 'this'} is not among the statements that only read")


def prepared(request: QueryRequest, dialect: Dialect, style: Style) -> list[Bound]:
    """All statements of a request, bound and checked before the first is sent."""
    statements = [bind(each.text, each.values, dialect, style) for each in request.statements]
    for each in statements:
        check(each, request.read_only)
    return statements


def words(text: str, dialect: Dialect) -> list[Token]:
    """The words and quoted texts of a statement, without comments."""
    return [token for token in _tokens(text, dialect) if token.kind != "comment"]


def _value(token: Token, given: Sequence[Json] | Mapping[str, Json], index: int) -> Json:
    if isinstance(given, Mapping):
        if token.text[1:] not in given:
            raise ValidationError(f"the query's placeholder {token.text[:60]} has no parameter")
        return given[token.text[1:]]
    number = int(token.text[1:12]) if token.kind == "number" else index + 1
    if not 1 <= number <= len(given):
        raise ValidationError(f"the query's placeholder {token.text[:12]} has no parameter: there are {len(given)}")
    return given[number - 1]


def _single(text: str, tokens: list[Token]) -> tuple[str, list[Token]]:
    ends = [index for index, token in enumerate(tokens) if token.kind == "end"]
    if not ends:
        return text, tokens
    first = ends[0]
    if any(token.kind not in ("end", "comment") for token in tokens[first:]):
        raise ValidationError("a query is one statement; several are written as `statements`")
    return text[: tokens[first].start], tokens[:first]


def _verb(tokens: list[Token]) -> str:
    return next((token.text.upper() for token in tokens if token.kind == "word"), "")


def _tokens(text: str, dialect: Dialect) -> Iterator[Token]:
    pattern, at = _TOKENS[dialect], 0
    while match := pattern.search(text, at):
        kind, end = match.lastgroup or "", match.end()
        if kind == "tag":
            kind = "text"
        if kind == "comment" and match[0] == "/*":
            end = _comment_end(text, match.start(), dialect)
        yield Token(kind, match[0], match.start(), end)
        at = max(end, match.start() + 1)


def _comment_end(text: str, start: int, dialect: Dialect) -> int:
    """Where a comment ends; PostgreSQL nests them, and MySQL runs what is in some of them."""
    if dialect == "mysql" and re.match(r"/\*M?!", text[start:start + 4]):
        raise ValidationError("a query has no comments that MySQL runs")
    depth, at = 0, start
    while found := re.compile(r"/\*|\*/").search(text, at):
        at = found.end()
        if found[0] == "/*":
            depth += 1 if dialect == "postgresql" or depth == 0 else 0
        else:
            depth -= 1
        if depth == 0:
            return at
    return len(text)
