"""What a call reads does not depend on how much is stored; `make bench` counts it up to 100,000 executions."""

from __future__ import annotations

from tests.bench.calls import measure


def test_calls_read_as_much_whatever_is_stored() -> None:
    found = measure((120, 240), times=1)
    counted = {size: {kind: (row.requests, row.items) for kind, row in rows.items()} for size, rows in found.items()}
    by_status = {size: rows.pop("list by status") for size, rows in counted.items()}
    rare = [rows.pop("the same of a workflow") for rows in counted.values()]
    assert counted[120] == counted[240]
    assert counted[120]["start"][0] <= [5] and counted[120]["status"][0] <= [7] and counted[120]["list of a workflow"] == ([2], [21])
    assert all(requests == [2] and items <= [21] for requests, items in rare), "of an index, and the figures of the last days"
    assert all(requests == [4] and items <= [84] for requests, items in by_status.values()), "a page of each shard at most"
