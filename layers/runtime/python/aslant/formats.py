"""What a text has to look like for `format`, in the words of JSON Schema (2020-12, section 7.3)."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from typing import NamedTuple
from urllib.parse import urlsplit


class Format(NamedTuple):
    """`fits` tells whether a text has the format; `example` is one that has."""

    fits: Callable[[str], bool]
    example: str


_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME = r"[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?"
_OFFSET = r"(?:[Zz]|[-+][0-9]{2}:[0-9]{2})"
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|\\^`]+")
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_DURATION = r"P(?=.)(?:\d+W|(?:\d+Y)?(?:\d+M)?(?:\d+D)?(?:T(?=.)(?:\d+H)?(?:\d+M)?(?:\d+(?:\.\d+)?S)?)?)"


def _pattern(pattern: str, read: Callable[[str], object] = str) -> Callable[[str], bool]:
    """Whether a text matches, and `read` takes it."""
    compiled = re.compile(pattern)

    def fits(text: str) -> bool:
        if compiled.fullmatch(text) is None:
            return False
        try:
            read(text)
        except ValueError:
            return False
        return True

    return fits


def _uri(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return _URI.fullmatch(text) is not None and (parts.scheme not in ("http", "https") or bool(parts.hostname))


FORMATS: Mapping[str, Format] = {
    "date": Format(_pattern(_DATE, date.fromisoformat), "2024-05-31"),
    "date-time": Format(_pattern(f"{_DATE}[Tt]{_TIME}{_OFFSET}", datetime.fromisoformat), "2024-05-31T12:30:00Z"),
    "time": Format(_pattern(f"{_TIME}{_OFFSET}?", time.fromisoformat), "12:30:00Z"),
    "duration": Format(_pattern(_DURATION), "PT15M"),
    "email": Format(_pattern(r"[^@\s]{1,64}@[^@\s.]+(?:\.[^@\s.]+)*"), "ada@example.com"),
    "hostname": Format(_pattern(rf"(?=.{{1,253}}$){_LABEL}(?:\.{_LABEL})*"), "example.com"),
    "ipv4": Format(_pattern(r"[0-9.]+", ipaddress.IPv4Address), "192.0.2.1"),
    "ipv6": Format(_pattern(r"[0-9A-Fa-f:.]+", ipaddress.IPv6Address), "2001:db8::1"),
    "uri": Format(_uri, "https://example.com/a"),
    "url": Format(_uri, "https://example.com/a"),
    "uuid": Format(_pattern(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"),
        "123e4567-e89b-12d3-a456-426614174000"),
}
# Words for people and for forms; nothing follows from them.
NOTES = frozenset({
    "binary", "byte", "color", "double", "float", "html", "int32", "int64", "json", "markdown", "multiline", "password",
    "text", "textarea", "yaml",
})
