"""Schedules of EventBridge Scheduler that fire once, at the clock of the cloud."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from botocore.exceptions import ClientError

from infra.local.schedules import next_time

NEVER = datetime(2100, 1, 1, tzinfo=UTC)


class Target:
    def __init__(self):
        self.events = []
        self._changed = threading.Condition()

    def __call__(self, event, context):
        with self._changed:
            self.events.append(event)
            self._changed.notify_all()

    def wait(self, count):
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.events) >= count, 20)
        return self.events


@pytest.fixture
def target(cloud):
    handler = Target()
    handler.arn = cloud.function("target", handler)
    return handler


def create(cloud, target, name, at, call="create_schedule", **more):
    arguments = {
        "Name": name, "ScheduleExpression": f"at({at.strftime('%Y-%m-%dT%H:%M:%S')})", "FlexibleTimeWindow": {"Mode": "OFF"},
        "ActionAfterCompletion": "DELETE",
        "Target": {"Arn": target.arn, "RoleArn": "arn:aws:iam::123456789012:role/r", "Input": f'{{"name": "{name}"}}'},
    }
    return getattr(cloud.client("scheduler"), call)(**{**arguments, **more})


def exists(cloud, name):
    try:
        cloud.client("scheduler").get_schedule(Name=name)
    except ClientError as error:
        assert error.response["Error"]["Code"] == "ResourceNotFoundException"
        return False
    return True


def test_schedules_fire_in_order_at_the_clock_of_the_cloud_and_are_gone(cloud, target):
    now = cloud.clock.now()
    create(cloud, target, "third", now + timedelta(seconds=120))
    create(cloud, target, "first", now + timedelta(seconds=30))
    create(cloud, target, "second", now + timedelta(seconds=60))
    create(cloud, target, "never", NEVER)
    target.wait(3)
    assert [event["name"] for event in target.events] == ["first", "second", "third"]
    assert cloud.clock.now() >= now + timedelta(seconds=119)
    assert cloud.settle()
    assert [exists(cloud, name) for name in ("first", "second", "third", "never")] == [False, False, False, True]


def test_a_schedule_that_is_deleted_disabled_or_moved_does_not_fire_at_its_old_time(cloud, target):
    soon = cloud.clock.now() + timedelta(seconds=150)
    for name in ("deleted", "disabled", "moved", "stays"):
        create(cloud, target, name, soon)
    cloud.client("scheduler").delete_schedule(Name="deleted")
    create(cloud, target, "disabled", soon, "update_schedule", State="DISABLED")
    create(cloud, target, "moved", soon + timedelta(seconds=40), "update_schedule")
    create(cloud, target, "last", soon + timedelta(seconds=80))
    assert [event["name"] for event in target.wait(3)] == ["stays", "moved", "last"]


def test_a_time_that_has_passed_fires_at_once_and_one_that_is_kept_fires_once(cloud, target):
    create(cloud, target, "past", cloud.clock.now() - timedelta(hours=1), ActionAfterCompletion="NONE")
    target.wait(1)
    create(cloud, target, "after", cloud.clock.now() + timedelta(seconds=20))
    target.wait(2)
    assert [event["name"] for event in target.events] == ["past", "after"] and exists(cloud, "past")


def test_time_zones():
    after = datetime(2026, 1, 1, tzinfo=UTC)
    assert next_time("at(2026-07-01T12:00:00)", "Europe/Berlin", after) == datetime(2026, 7, 1, 10, tzinfo=UTC)
    assert next_time("at(2026-07-01T12:00:00)", "", after) == datetime(2026, 7, 1, 12, tzinfo=ZoneInfo("UTC"))
    assert next_time("rate(5 minutes)", "UTC", after) == datetime(2026, 1, 1, 0, 5, tzinfo=UTC)
    assert next_time("cron(0 12 * * ? *)", "Europe/Berlin", after) == datetime(2026, 1, 1, 11, tzinfo=UTC)
    assert next_time("nonsense", "UTC", after) is None


def test_a_recurring_schedule_fires_again_and_again_and_says_when_it_was_due(cloud, target):
    began = cloud.clock.now()
    create(cloud, target, "often", began, ScheduleExpression="rate(1 minute)", ActionAfterCompletion="NONE", Target={
        "Arn": target.arn, "RoleArn": "arn:aws:iam::123456789012:role/r", "Input": '{"at": "<aws.scheduler.scheduled-time>"}',
    })
    create(cloud, target, "often", began, "update_schedule", ScheduleExpression="rate(1 minute)", ActionAfterCompletion="NONE", Target={
        "Arn": target.arn, "RoleArn": "arn:aws:iam::123456789012:role/r", "Input": '{"at": "<aws.scheduler.scheduled-time>"}',
    })
    target.wait(3)
    cloud.client("scheduler").delete_schedule(Name="often")
    moments = [datetime.fromisoformat(event["at"]) for event in target.events[:3]]
    assert [later - earlier for earlier, later in zip(moments, moments[1:], strict=False)] == [timedelta(minutes=1)] * 2
    assert began < moments[0] <= began + timedelta(minutes=2)
