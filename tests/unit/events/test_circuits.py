"""What a circuit breaker's item says when its state changes."""

from __future__ import annotations

import pytest

from aslant import keys
from aslant.events import events_of
from tests.unit.events.conftest import problems


def item(state, opened=None, failures=0):
    key = {"pk": {"S": keys.circuits("a#b")}, "sk": {"S": keys.circuit("a#b", "http:api.example.com:8443")}}
    times = {} if opened is None else {"opened_at": {"N": str(opened)}}
    return key | {"circuit": {"S": state}, "failure_count": {"N": str(failures)}} | times


@pytest.mark.parametrize(("before", "after", "told"), [
    (None, item("OPEN", 100, 5), [("circuit_opened", {"endpoint": "http:api.example.com:8443", "failures": 5, "again": False})]),
    (item("CLOSED"), item("OPEN", 100, 2), [("circuit_opened", {"endpoint": "http:api.example.com:8443", "failures": 2, "again": False})]),
    (item("OPEN", 100), item("HALF_OPEN", 100), []),
    (item("HALF_OPEN", 100), item("OPEN", 160), [("circuit_opened", {"endpoint": "http:api.example.com:8443", "again": True})]),
    (item("HALF_OPEN", 100), item("CLOSED"), [("circuit_closed", {"endpoint": "http:api.example.com:8443"})]),
    (item("OPEN", 100), item("OPEN", 100), []),
    (item("OPEN", 100), None, []),
])
def test_openings_and_closings_are_told(stream, before, after, told):
    found = events_of(stream(before, after))
    assert [(event.type, event.payload) for event in found] == told
    assert {(event.tenant, event.workflow, event.execution) for event in found} <= {("a#b", "", "")}
    assert [problems(event.detail) for event in found] == [[] for _ in told]


def test_each_opening_is_its_own(stream):
    first, again = (events_of(stream(None, item("OPEN", at, 1)))[0] for at in (100, 200))
    assert first.id != again.id
    assert events_of(stream(None, item("OPEN", 100, 1)))[0].id == first.id
