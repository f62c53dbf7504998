"""Texts that have a format, and texts that nearly have it."""

from __future__ import annotations

import pytest

from aslant.formats import FORMATS, NOTES
from aslant.inputs import declaration, prepare

FIT = {
    "date": ["2024-02-29"], "date-time": ["2024-05-31T12:30:00Z", "2024-05-31T12:30:00.123+02:00"],
    "time": ["12:30:45", "23:59:59.5Z"], "duration": ["PT15M", "P1DT2H", "P2W"],
    "email": ["ada@example.com", "a.b+c@localhost"], "hostname": ["example.com", "a"], "ipv4": ["192.0.2.1"],
    "ipv6": ["::1", "2001:db8::1"], "uri": ["https://example.com/a?b=c#d", "urn:isbn:123", "mailto:a@b.c"],
    "url": ["http://localhost:8080"], "uuid": ["123e4567-E89B-12d3-a456-426614174000"],
}
UNFIT = {
    "date": ["2023-02-29", "20240229", "2024-2-9", ""], "date-time": ["2024-05-31", "2024-05-31T12:30:00", "2024-05-31T25:00:00Z"],
    "time": ["12:30", "24:00:01"], "duration": ["P", "PT", "15m"], "email": ["ada", "a@b@c.d", "a b@c.d", "@c.d"],
    "hostname": ["-a.com", "a..b", "a_b"], "ipv4": ["192.0.2", "256.1.1.1", "::1"], "ipv6": ["192.0.2.1", ":::"],
    "uri": ["example.com", "http://", "http:// a", "https://[::1"], "url": ["/path"], "uuid": ["123e4567", "g" * 36],
}


def test_every_format_is_tried() -> None:
    assert {*FIT} == {*UNFIT} == {*FORMATS}
    assert not NOTES & {*FORMATS}


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_formats(name: str) -> None:
    assert FORMATS[name].fits(FORMATS[name].example)
    assert [text for text in FIT[name] if not FORMATS[name].fits(text)] == []
    assert [text for text in UNFIT[name] if FORMATS[name].fits(text)] == []


def test_inputs_are_checked_by_their_format_at_any_depth() -> None:
    row = {"type": "object", "properties": {"ids": {"type": "array", "items": {"type": "string", "format": "uuid"}}}}
    _, found = prepare({"when": {"type": "string", "format": "date"}, "of": row}, {"when": "today", "of": {"ids": ["x"]}})
    assert [problem.pointer for problem in found] == ["/when", "/of/ids/0"]
    assert found[0].message == 'when is "today", which is no date such as 2024-05-31'


def test_other_formats_and_other_types_are_left_alone() -> None:
    _, found = prepare({"a": {"format": "password"}, "b": {"type": "integer", "format": "date"}}, {"a": "x", "b": 5})
    assert not found


def test_a_default_has_the_format_too() -> None:
    assert len(declaration("a", {"type": "string", "format": "email", "default": "nobody"})) == 1
