"""The function that collects what the items of a Distributed Map gave."""

from __future__ import annotations

import json

import pytest

from aslant import bootstrap
from functions.loops.handler import handler


@pytest.fixture
def bucket(stored, monkeypatch):
    monkeypatch.setattr(bootstrap, "artifacts", lambda settings: stored)
    return stored


def manifest(store, *files):
    rows = []
    for number, file in enumerate(files):
        store.objects[f"acme/r/{number}"] = json.dumps(file).encode()
        rows.append({"Key": f"acme/r/{number}", "Size": 1})
    store.objects["acme/r/manifest"] = json.dumps({"ResultFiles": {"SUCCEEDED": rows, "FAILED": [], "PENDING": []}}).encode()
    return "acme/r/manifest"


def collect(invocation, key, iteration=(), **more):
    event = invocation("loop", {"action": "collect", "results": key, "wanted": True, **more}, iteration=list(iteration))
    return handler(event, None)["output"]


def test_results_are_in_the_order_of_the_items_however_they_are_written(bucket, invocation):
    compact = [{"index": 2, "output": "c"}, {"index": 0, "output": None}]
    as_text = [json.dumps({"index": 1, "output": {"Output": 1}})]
    described = [{"ExecutionArn": "x", "Output": json.dumps({"index": 3, "output": [4]}), "Status": "SUCCEEDED"}]
    assert collect(invocation, manifest(bucket, compact, as_text, described)) == [None, {"Output": 1}, "c", [4]]
    assert collect(invocation, manifest(bucket)) == []
    assert collect(invocation, manifest(bucket, compact), wanted=False) is None


def test_the_first_failure_that_was_noted_is_raised_as_it_was(bucket, invocation):
    for index, text in ((4, "step a[1][4]: first"), (2, "later")):
        event = invocation("loop", {"action": "note", "error": {"error": "Own", "message": text}}, iteration=[1, index])
        assert handler(event, None) == {"output": None}
    ended = {"error": "States.ExceedToleratedFailureThreshold", "message": "too many"}
    with pytest.raises(Exception) as raised:
        collect(invocation, None, [1], error=ended)
    assert (type(raised.value).__name__, str(raised.value)) == ("Own", "step a[1][4]: first")
    with pytest.raises(Exception) as raised:
        collect(invocation, None, [0], error=ended)  # of another iteration of the loop around
    assert (type(raised.value).__name__, str(raised.value)) == (ended["error"], "too many")
