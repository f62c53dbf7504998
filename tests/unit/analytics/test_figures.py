"""Figures that are added up at the end of executions, once each, and read at the same cost however many there were."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from aslant import analytics, keys
from aslant.adapters import clients, dynamo_stats
from aslant.adapters.dynamo_stats import DynamoStats
from aslant.errors import ValidationError
from aslant.executions.records import Execution, Failure, StepRecord
from tests.unit.moto_aws import moto_aws

T0 = 1_790_841_600_000  # 2026-10-01T08:00Z


def ended(seconds: float, status: Any = "completed", **more: Any) -> Execution:
    end = T0 + round(seconds * 1000)
    return Execution("acme", "e", "flow", "1.0.0", status, 2, 1, "m", "a", "ann", T0, end, end, usage={"cost_usd": 0.002}, **more)


def step(name: str, status: Any = "completed", millis: int = 500, run: int = 1, **more: Any) -> StepRecord:
    return StepRecord(name, (), status, "http", run, 2, 2, T0 * 1000, T0 * 1000, (T0 + millis) * 1000, **more)


def test_what_an_end_counts_for() -> None:
    error = Failure("HttpError", "no")
    found = analytics.tally(ended(90, "failed", error=error), [
        step("a"), replace(step("a"), iteration=(1,)), step("b", "failed", error=error),
        step("c", "skipped"), step("d", "running"), step("old", run=0),
    ], "failed", 1)  # fmt: skip
    assert found.day == "2026-10-01" and found.workflow["failed"] == 1 and found.workflow["duration"] == 90_000
    assert found.workflow["cost"] == 2000 and found.workflow["e:HttpError"] == 1
    assert set(found.steps) == {"a", "b", "c"}
    assert found.steps["a"]["completed"] == 2 and found.steps["a"]["attempts"] == 4 and found.steps["a"]["duration"] == 1000
    assert found.steps["b"]["e:HttpError"] == 1 and "duration" not in found.steps["c"]


def test_medians_and_percentiles_come_close() -> None:
    draw = random.Random(7)
    lasting = sorted(draw.lognormvariate(2, 1.5) for _ in range(4000))
    made = analytics.summary(analytics.tally(ended(one), [], "completed", 1).workflow for one in lasting)
    assert made.total == 4000 and made.success_rate == 1 and made.cost_usd == pytest.approx(8)
    assert made.mean == pytest.approx(sum(lasting) / 4000, rel=1e-3)
    for found, exact in ((made.median, lasting[1999]), (made.p95, lasting[3799])):
        assert found is not None and abs(math.log(found / exact)) < math.log(1.15)


def test_nothing_has_no_figures() -> None:
    made = analytics.summary([])
    assert (made.total, made.success_rate, made.mean, made.median, made.p95, made.errors) == (0, None, None, None, None, [])


def test_the_errors_that_come_most() -> None:
    rows = [{"failed": 1, f"e:{'E' if number % 3 else 'F'}{number % 20}": 1} for number in range(100)]
    made = analytics.summary(rows)
    assert len(made.errors) == 10 and made.success_rate == 0
    assert [count for _, count in made.errors] == sorted((count for _, count in made.errors), reverse=True)


def test_periods() -> None:
    assert analytics.period(None, None, "2026-03-02") == ("2026-02-24", "2026-03-02")
    assert analytics.period("2026-01-01", "2026-01-01", "2026-03-02") == ("2026-01-01", "2026-01-01")
    for first, last in (("2026-01-02", "2026-01-01"), ("2026-01-01", "2026-12-31"), ("yesterday", None), (None, "2026-13-01")):
        with pytest.raises(ValidationError):
            analytics.period(first, last, "2026-03-02")


@pytest.fixture
def stats(monkeypatch: pytest.MonkeyPatch) -> Iterator[DynamoStats]:
    with moto_aws(monkeypatch):
        clients.client("dynamodb", "us-east-1").create_table(**keys.executions_table("aslant-executions"))
        monkeypatch.setattr(dynamo_stats, "_BATCH", 3)  # steps of one transaction
        yield DynamoStats("us-east-1", "aslant-executions")


def test_each_event_counts_once(stats: DynamoStats) -> None:
    many = [step(f"s{number}") for number in range(8)]
    made = analytics.tally(ended(5), many, "completed", 1)
    assert stats.add("acme", "flow", made, event="e1", shard=1) and not stats.add("acme", "flow", made, event="e1", shard=1)
    assert stats.add("acme", "flow", made, event="e2", shard=2) and stats.add("other", "flow", made, event="e1", shard=2)
    ((day, counts),) = stats.days("acme", "flow", "2026-10-01", "2026-10-31")
    assert day == "2026-10-01" and counts["completed"] == 2 and counts["duration"] == 10_000
    steps = stats.steps("acme", "flow", "2026-10-01", "2026-10-01")
    assert len(steps) == 8 and {counts["completed"] for _, counts in steps} == {2}
    assert stats.days("acme", "flow", "2026-10-02", "2026-10-31") == [] == stats.days("acme", "flo", "2026-10-01", "2026-10-31")
    assert stats.installation()["completed"] == 3


def test_one_that_broke_off_is_completed_by_the_next(stats: DynamoStats, monkeypatch: pytest.MonkeyPatch) -> None:
    made, calls, transact = analytics.tally(ended(5), [step(f"s{number}") for number in range(8)], "completed", 1), [], dynamo_stats.transact

    def breaks(*given: Any) -> None:
        calls.append(1)
        if len(calls) == 2:
            raise ConnectionError
        transact(*given)

    monkeypatch.setattr(dynamo_stats, "transact", breaks)
    with pytest.raises(ConnectionError):
        stats.add("acme", "flow", made, event="e1", shard=0)
    stats.add("acme", "flow", made, event="e1", shard=0)
    assert {counts["completed"] for _, counts in stats.steps("acme", "flow", "2026-10-01", "2026-10-01")} == {1}
    assert len(stats.steps("acme", "flow", "2026-10-01", "2026-10-01")) == 8


def test_reading_costs_the_same_however_many_executions_there_were(stats: DynamoStats) -> None:
    def items_read() -> int:
        dynamodb, read = clients.client("dynamodb", "us-east-1"), 0
        answer = dynamodb.query(
            TableName="aslant-executions", KeyConditionExpression="pk = :pk",
            ExpressionAttributeValues={":pk": {"S": keys.day_stats("acme", "flow", "").pk}}, Select="COUNT",
        )  # fmt: skip
        read += int(answer["ScannedCount"])
        return read

    counts = []
    for number in range(20):
        stats.add("acme", "flow", analytics.tally(ended(number + 1), [step("a"), step("b")], "completed", 1), event=f"e{number}", shard=0)
        counts.append(items_read())
    assert set(counts) == {3}, "a day, and a day of each step"


def test_the_text_of_prometheus() -> None:
    counts: dict[str, int] = {}
    for seconds, status in ((0.5, "completed"), (5, "completed"), (50, "failed")):
        for name, number in analytics.tally(ended(seconds), [], status, 1).workflow.items():
            counts[name] = counts.get(name, 0) + number
    lines = analytics.exposition(counts).splitlines()
    assert 'aslant_executions_total{status="completed"} 2' in lines and 'aslant_executions_total{status="cancelled"} 0' in lines
    assert "aslant_execution_duration_seconds_sum 55.500" in lines and "aslant_cost_dollars_total 0.006000" in lines
    buckets = [line for line in lines if "_bucket" in line]
    assert [int(line.rsplit(" ", 1)[1]) for line in buckets] == [1, 2, 3, 3] and 'le="+Inf"' in buckets[-1]
    bounds = [float(line.split('"')[1]) for line in buckets[:-1]]
    assert all(bound >= seconds > bound / 1.26 for bound, seconds in zip(bounds, (0.5, 5, 50), strict=True))
