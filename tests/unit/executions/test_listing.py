"""Lists of executions: nothing lost, nothing twice, nothing of another tenant."""

from __future__ import annotations

import base64
import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aslant import keys
from aslant.adapters.clients import client
from aslant.adapters.execution_items import columns, indexed, key_of
from aslant.errors import ValidationError
from aslant.executions.listing import listed
from aslant.executions.records import Execution, Run
from tests.examples import few
from tests.unit.executions.conftest import fresh_table
from tests.unit.executions.memory import T0, MemoryExecutions

RUN = Run(1, "arn", "machine", "1", "start", "ann", T0)
BASE = Execution("acme", "x", "flow", "1", "running", 0, 1, "machine", "arn", "ann", T0, T0)


def add(store, id: str, *, at: int = T0, status: str = "running", tenant: str = "acme", workflow: str = "flow") -> Execution:
    made = replace(BASE, tenant=tenant, id=id, started_at=at, status=status, workflow=workflow)  # type: ignore[arg-type]
    return store.create(made, {"input": 1}, RUN)[1]


def walk(store, *, limit: int, tenant: str = "acme", between=lambda: None, **filters):
    """All pages, each as a list of ids."""
    pages, cursor = [], None
    while True:
        page = listed(store, tenant, workflow=filters.get("workflow"), status=filters.get("status"), limit=limit, cursor=cursor)
        pages.append([one.id for one in page.items])
        cursor = page.next
        if cursor is None:
            return pages
        between()


def test_case_of_many_with_the_same_moment(store):
    """37 executions, 25 of them begun in the same millisecond, ten failed ones spread out; five more come meanwhile."""
    order = list(range(37))
    random.Random(55).shuffle(order)
    failed = {f"run-{number:02d}" for number in range(0, 37, 4)}
    moments = {}
    for number in order:
        id = f"run-{number:02d}"
        moments[id] = T0 if number < 25 else T0 + number
        add(store, id, at=moments[id], status="failed" if id in failed else "completed")
    assert len(failed) == 10
    expected = sorted(moments, key=lambda id: (moments[id], id), reverse=True)

    new = iter(range(5))

    def insert() -> None:
        number = next(new, None)
        if number is not None:
            add(store, f"new-{number}", at=T0 + 1000 + number)

    pages = walk(store, limit=10, between=insert)
    assert [len(page) for page in pages] == [10, 10, 10, 7]
    assert sum(pages, []) == expected
    now = [f"new-{number}" for number in (2, 1, 0)] + expected
    assert sum(walk(store, limit=1 if isinstance(store, MemoryExecutions) else 6), []) == now
    assert sum(walk(store, limit=1000), []) == now
    pages = walk(store, limit=3, status="failed")
    assert [len(page) for page in pages] == [3, 3, 3, 1]
    assert sum(pages, []) == [id for id in expected if id in failed]
    assert walk(store, limit=10, status="failed") == [[id for id in expected if id in failed]]
    assert walk(store, limit=4, status="failed", workflow="flow")[0] == [id for id in expected if id in failed][:4]
    assert walk(store, limit=10, workflow="other") == [[]]


@pytest.mark.parametrize("limit", [0, -1, 1001, "abc", "10", 1.5, None, True])
def test_limits_that_are_none(limit):
    with pytest.raises(ValidationError):
        listed(MemoryExecutions(), "acme", workflow=None, status=None, limit=limit, cursor=None)


def test_a_status_that_is_none():
    with pytest.raises(ValidationError):
        listed(MemoryExecutions(), "acme", workflow=None, status="done", limit=1, cursor=None)


def test_cursors_of_something_else():
    store = MemoryExecutions()
    for tenant in ("acme", "other"):
        for number in range(3):
            add(store, f"{number}", tenant=tenant)
    cursor = listed(store, "other", workflow=None, status=None, limit=1, cursor=None).next
    filtered = listed(store, "acme", workflow="flow", status=None, limit=1, cursor=None).next
    assert cursor and filtered
    garbage = ["", "garbage", "=", "ä", "\x00", cursor[:-3], cursor + "A", base64.b64encode(b"[1]").decode(),
               base64.b64encode(b'["x","y"]').decode(), base64.b64encode(b'{"a":1}').decode(), "A" * 10_000, 7, ["x"]]  # fmt: skip
    for wrong in [cursor, filtered, *garbage]:
        with pytest.raises(ValidationError):
            listed(store, "acme", workflow=None, status=None, limit=1, cursor=wrong)


IDS = st.sampled_from(["a", "a#", "a%", "a%23", "a#b", "a#b#", "b", "b#execution#a", "é", "日本", "a.", "a~", "%25", "", "a\u0000"])


@few(30)
@given(
    st.lists(st.tuples(IDS, IDS, st.integers(0, 2), st.sampled_from(["failed", "completed"]), IDS), max_size=25),
    st.integers(1, 7), st.data(),
)
def test_every_walk_sees_each_once_in_order(made, limit, data):
    store = MemoryExecutions()
    known: dict[tuple[str, str], Execution] = {}
    for tenant, id, at, status, workflow in made:
        known.setdefault((tenant, id), add(store, id, tenant=tenant, at=T0 + at, status=status, workflow=workflow))
    tenant = data.draw(IDS)
    filters = {"status": data.draw(st.sampled_from([None, "failed"])), "workflow": data.draw(st.one_of(st.none(), IDS))}
    late = iter(range(100))
    seen = sum(walk(store, limit=limit, tenant=tenant, between=lambda: add(store, f"late{next(late)}", tenant=tenant, at=T0 + 9), **filters), [])
    wanted = [
        one for (owner, _), one in known.items()
        if owner == tenant and filters["status"] in (None, one.status) and filters["workflow"] in (None, one.workflow)
    ]
    assert sorted(seen) == sorted(one.id for one in wanted)
    moments = [known[tenant, id].started_at for id in seen]
    assert moments == sorted(moments, reverse=True)


HOSTILE = ["a", "a#", "a%23", "a#execution#b", "é"]


@pytest.fixture(scope="module")
def crowded(shared_aws):
    """A table with the same hostile ids at every one of several hostile tenants."""
    from tests.unit.executions.conftest import fresh_table

    store = fresh_table()
    for number, tenant in enumerate(HOSTILE):
        for id in HOSTILE:
            add(store, id, tenant=tenant, at=T0 + number, workflow=f"of {tenant}")
    return store


@few(8)
@given(st.sampled_from(HOSTILE), st.sampled_from(HOSTILE), st.sampled_from(HOSTILE))
def test_nothing_is_reachable_from_another_tenant(crowded, tenant, id, other):
    """Whatever a tenant reads or changes is its own, though others have the same ids and ids that look like keys."""
    mine = crowded.read(tenant, id)
    assert (mine.tenant, mine.id, mine.workflow) == (tenant, id, f"of {tenant}")
    foreign = [crowded.read(owner, id) for owner in HOSTILE if owner != tenant]
    changed = crowded.amend(mine, replace(mine, usage={"calls": mine.usage.get("calls", 0) + 1}))
    assert crowded.read(tenant, id) == changed
    assert [crowded.read(owner, id) for owner in HOSTILE if owner != tenant] == foreign
    assert crowded.read(f"{tenant}#execution", id) is None
    assert crowded.read(tenant, f"{id}#x") is None
    seen = crowded.page(tenant, workflow=None, status=None, limit=100, before=None)
    assert sorted(one.id for _, one in seen) == sorted(HOSTILE)
    assert {one.tenant for _, one in seen} == {tenant}
    found = crowded.page(tenant, workflow=f"of {other}", status="running", limit=100, before=None)
    assert len(found) == (len(HOSTILE) if other == tenant else 0)


def test_a_rare_status_among_many_is_read_alone(shared_aws):
    store = fresh_table()
    rare = ["run-02", "run-20", "run-39"]
    for number in range(40):  # item by item: a transaction copies the whole table in moto
        id = f"run-{number:02d}"
        made = replace(BASE, id=id, started_at=T0 + number, status="running" if id in rare else "completed", revision=1)
        item = {**columns(made), **indexed(made), **key_of(keys.execution("acme", id))}
        client("dynamodb", "us-east-1").put_item(TableName=store.table, Item=item)
    one = store.read("acme", rare[1])
    store.transition(one, replace(one, status="failed"), by="ann")
    read = []
    client("dynamodb", "us-east-1").meta.events.register(
        "after-call.dynamodb.Query", lambda parsed, **more: read.append(parsed["ScannedCount"]), unique_id="counted"
    )
    assert walk(store, limit=1, status="running", workflow="flow") == [["run-39"], ["run-02"]]
    assert (len(read), sum(read)) == (2, 3), "one request a page, and one execution more than it shows"
    assert walk(store, limit=5, status="failed", workflow="flow") == [["run-20"]] and sum(read) == 4
    assert len(walk(store, limit=20, status="completed", workflow="flow")) == 2 and sum(read) <= 4 + 37 + 2
