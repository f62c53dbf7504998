"""Timers as EventBridge Scheduler keeps them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from aslant import bootstrap, clock
from aslant.adapters import clients
from aslant.adapters.aws_scheduler import SchedulerTimers
from aslant.errors import ValidationError
from aslant.settings import Settings
from tests.unit.moto_aws import moto_aws

ROLE = "arn:aws:iam::123456789012:role/timers"
LATER = 4_000_000_000


@pytest.fixture
def scheduler(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    with moto_aws(monkeypatch):
        yield clients.client("scheduler", "us-east-1")


def only(scheduler: Any) -> Any:
    (found,) = scheduler.list_schedules()["Schedules"]
    return scheduler.get_schedule(Name=found["Name"])


def test_a_timer_is_a_schedule_that_fires_once_and_is_gone(scheduler: Any) -> None:
    SchedulerTimers("us-east-1", ROLE).set('["sla", "ä#1"]', LATER, "aslant-watch-sla", {"n": 1})
    made = only(scheduler)
    assert made["ScheduleExpression"] == "at(2096-10-02T07:06:40)" and made["ScheduleExpressionTimezone"] == "UTC"
    assert made["ActionAfterCompletion"] == "DELETE" and made["FlexibleTimeWindow"] == {"Mode": "OFF"}
    assert made["Target"]["Arn"] == "arn:aws:lambda:us-east-1:123456789012:function:aslant-watch-sla"
    assert (made["Target"]["Input"], made["Target"]["RoleArn"]) == ('{"n":1}', ROLE)
    assert len(made["Name"]) <= 64


def test_another_installation_has_functions_and_schedules_of_its_own(scheduler: Any) -> None:
    settings = Settings.read({"ASLANT_NAME": "shop", "ASLANT_SCHEDULER_ROLE": ROLE})
    scheduler.create_schedule_group(Name="shop")
    SchedulerTimers("us-east-1", ROLE).set("a", LATER, "aslant-watch-sla", {})
    bootstrap.timers(settings).set("a", LATER, "aslant-watch-sla", {})
    made = scheduler.get_schedule(Name=scheduler.list_schedules(GroupName="shop")["Schedules"][0]["Name"], GroupName="shop")
    assert made["Target"]["Arn"].endswith(":function:shop-watch-sla") and settings.secret_prefix == "shop/"
    assert len(scheduler.list_schedules(GroupName="default")["Schedules"]) == 1


def test_the_same_name_replaces_and_others_stay(scheduler: Any) -> None:
    timers = SchedulerTimers("us-east-1", ROLE)
    timers.set("a", LATER, "f", {})
    timers.set("a", LATER + 60, "f", {"n": 2})
    assert only(scheduler)["ScheduleExpression"] == "at(2096-10-02T07:07:40)"
    long = "x" * 100
    timers.set(long + "1", LATER, "f", {})
    timers.set(long + "2", LATER, "f", {})
    assert len(scheduler.list_schedules()["Schedules"]) == 3
    timers.cancel(long + "1")
    timers.cancel(long + "1")
    timers.cancel("never was")
    assert len(scheduler.list_schedules()["Schedules"]) == 2


def test_a_moment_that_has_passed_is_put_ahead(scheduler: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "now", lambda: float(LATER))
    SchedulerTimers("us-east-1", ROLE).set("a", 1_000_000_000, "f", {})
    assert only(scheduler)["ScheduleExpression"] == "at(2096-10-02T07:06:45)"


def test_a_role_that_is_missing_is_told(scheduler: Any) -> None:
    with pytest.raises(ValidationError, match="ASLANT_SCHEDULER_ROLE"):
        SchedulerTimers("us-east-1", "").set("a", LATER, "f", {})
