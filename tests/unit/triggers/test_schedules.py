"""What schedules mean, and when they come."""

from __future__ import annotations

import itertools
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aslant.errors import ValidationError
from aslant.schedules import moments, read
from infra.local.schedules import last_time

BERLIN = "Europe/Berlin"


def first(text: str, after: str, count: int = 3, zone: str = "UTC") -> list[str]:
    """The next moments, in the schedule's own zone."""
    found = itertools.islice(moments(read(text, zone), datetime.fromisoformat(after).replace(tzinfo=UTC)), count)
    return [one.astimezone(ZoneInfo(zone)).strftime("%a %Y-%m-%d %H:%M") for one in found]


@pytest.mark.parametrize(("text", "expression"), [
    ("daily at 9am", "cron(0 9 * * ? *)"), ("Daily at 9:30 PM", "cron(30 21 * * ? *)"), ("every day at noon", "cron(0 12 * * ? *)"),
    ("daily at 12am", "cron(0 0 * * ? *)"), ("daily at 12pm", "cron(0 12 * * ? *)"), ("Run daily at 9am", "cron(0 9 * * ? *)"),
    ("every monday at 14:00", "cron(0 14 ? * MON *)"), ("mondays at 2pm", "cron(0 14 ? * MON *)"),
    ("every monday, wednesday and friday at 6.15am", "cron(15 6 ? * MON,WED,FRI *)"), ("weekdays at 8:00", "cron(0 8 ? * MON-FRI *)"),
    ("weekly on sunday at 23:59", "cron(59 23 ? * SUN *)"), ("monthly on the 15th at 6am", "cron(0 6 15 * ? *)"),
    ("monthly on the last day at 5pm", "cron(0 17 L * ? *)"), ("hourly", "cron(0 * * * ? *)"), ("every 15 minutes", "rate(15 minutes)"),
    ("every hour", "rate(1 hour)"), ("every 2 days", "rate(2 days)"), ("rate(7 days)", "rate(7 days)"), ("rate(1 days)", "rate(1 day)"),
    ("0 9 * * *", "cron(0 9 * * ? *)"), ("0 9 * * 0", "cron(0 9 ? * 1 *)"), ("0 9 * * 7", "cron(0 9 ? * 1 *)"),
    ("0 9 * * 1-5", "cron(0 9 ? * 2-6 *)"), ("0 9 * * mon,fri", "cron(0 9 ? * 2,6 *)"), ("cron(0 9 ? * 2#1 *)", "cron(0 9 ? * 2#1 *)"),
    ("cron(0 9 ? * 6L 2027-2029)", "cron(0 9 ? * 6L 2027-2029)"), ("at(2026-12-24T18:00:00)", "at(2026-12-24T18:00:00)"),
])  # fmt: skip
def test_what_people_write_is_what_aws_takes(text: str, expression: str) -> None:
    schedule = read(text)
    assert (schedule.expression, schedule.notes) == (expression, ())


@pytest.mark.parametrize(("text", "guess"), [
    ("daily at 9", "means 09:00"), ("daily", "midnight"), ("weekly at 9am", "Mondays"), ("monthly on the 31st at 9am", "without a day 31"),
])  # fmt: skip
def test_what_is_ambiguous_is_said(text: str, guess: str) -> None:
    (note,) = read(text).notes
    assert guess in note


@pytest.mark.parametrize("text", [
    "", "whenever", "daily at 25:00", "daily at 13pm", "every 0 minutes", "rate(0 hours)", "rate(5 weeks)", "61 * * * *", "* * * *",
    "* * * * * * *", "0 9 1 * 1", "0 0 30 2 *", "0 0 15W * ?", "cron(0 9 * * 8)", "cron(0 9 * * ? 1969)", "monthly on the 32nd at 9am",
    "at(tomorrow)", "at(2026-02-30T00:00:00)", "0 9 * * FOO", "cron()", "0 9 ? * 1#9 *",
])  # fmt: skip
def test_what_is_no_schedule_is_refused(text: str) -> None:
    with pytest.raises(ValidationError):
        read(text)


def test_zones_are_those_of_iana() -> None:
    for name in ("Mars/Olympus", "../etc/passwd", "", "Europe"):
        with pytest.raises(ValidationError, match="time zone"):
            read("daily at 9am", name)


def test_a_time_that_the_clock_skips_is_skipped() -> None:
    assert first("30 2 * * *", "2026-03-28T00:00", 3, BERLIN) == ["Sat 2026-03-28 02:30", "Mon 2026-03-30 02:30", "Tue 2026-03-31 02:30"]


def test_a_time_that_comes_twice_counts_once() -> None:
    found = list(itertools.islice(moments(read("30 2 * * *", BERLIN), datetime(2026, 10, 24, tzinfo=UTC)), 3))
    assert found == [datetime(2026, 10, 24, 0, 30, tzinfo=UTC), datetime(2026, 10, 25, 0, 30, tzinfo=UTC),
        datetime(2026, 10, 26, 1, 30, tzinfo=UTC)]  # fmt: skip


def test_the_same_time_of_the_day_all_year() -> None:
    found = itertools.islice(moments(read("daily at 9am", BERLIN), datetime(2026, 1, 1, tzinfo=UTC)), 365)
    assert {one.astimezone(ZoneInfo(BERLIN)).strftime("%H:%M") for one in found} == {"09:00"}


def test_leap_days_and_ends_of_months() -> None:
    assert first("0 0 29 2 *", "2026-01-01T00:00", 2) == ["Tue 2028-02-29 00:00", "Sun 2032-02-29 00:00"]
    assert first("cron(0 9 L * ? *)", "2028-01-15T00:00") == ["Mon 2028-01-31 09:00", "Tue 2028-02-29 09:00", "Fri 2028-03-31 09:00"]
    assert first("0 9 31 * *", "2026-03-31T09:00", 2) == ["Sun 2026-05-31 09:00", "Fri 2026-07-31 09:00"]


def test_days_of_the_week_are_counted_as_each_kind_counts_them() -> None:
    assert first("0 9 * * 1", "2026-11-25T00:00", 1) == ["Mon 2026-11-30 09:00"], "Sunday is 0"
    assert first("cron(0 9 ? * 1 *)", "2026-11-25T00:00", 1) == ["Sun 2026-11-29 09:00"], "Sunday is 1"
    assert first("cron(0 9 ? * 3#1 *)", "2026-11-25T00:00", 2) == ["Tue 2026-12-01 09:00", "Tue 2027-01-05 09:00"]
    assert first("cron(0 9 ? * 6L *)", "2026-11-25T00:00", 2) == ["Fri 2026-11-27 09:00", "Fri 2026-12-25 09:00"]


def test_years_end() -> None:
    assert first("cron(0 0 1 1 ? 2027,2029)", "2026-01-01T00:00", 9) == ["Fri 2027-01-01 00:00", "Mon 2029-01-01 00:00"]


def test_a_moment_that_has_passed_does_not_come() -> None:
    assert first("at(2026-12-24T18:00:00)", "2026-12-24T16:59", 2, BERLIN) == ["Thu 2026-12-24 18:00"]
    assert first("at(2026-12-24T18:00:00)", "2026-12-24T17:00", 2, BERLIN) == []


def test_a_rate_counts_from_its_start() -> None:
    start = datetime(2026, 1, 1, 0, 7, tzinfo=UTC)
    found = itertools.islice(moments(read("every 20 minutes"), datetime(2026, 1, 1, 1, tzinfo=UTC), start=start), 2)
    assert [one.strftime("%H:%M") for one in found] == ["01:07", "01:27"]


@settings(max_examples=60, deadline=None)
@given(
    hour=st.integers(0, 23), minute=st.integers(0, 59), day=st.dates(date(2026, 1, 1), date(2030, 12, 31)),
    zone=st.sampled_from(["UTC", BERLIN, "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "America/St_Johns"]),
)
def test_a_daily_schedule_comes_on_every_day_that_has_its_time(hour: int, minute: int, day: date, zone: str) -> None:
    place = ZoneInfo(zone)
    start = datetime(day.year, day.month, day.day, tzinfo=place)
    end = start + timedelta(days=200)
    expected = []
    for number in range(-1, 202):
        local = datetime(day.year, day.month, day.day, hour, minute) + timedelta(days=number)
        exact = local.replace(tzinfo=place).astimezone(UTC)
        if exact.astimezone(place).replace(tzinfo=None) == local and start.astimezone(UTC) < exact <= end.astimezone(UTC):
            expected.append(exact)
    schedule = read(f"{minute} {hour} * * *", zone)
    found = list(itertools.takewhile(lambda one: one <= end, moments(schedule, start.astimezone(UTC))))
    assert found == expected


@pytest.mark.parametrize(("cron", "zone", "start", "count", "expected"), [
    ("30 2 * * *", "America/New_York", "2026-03-07T12:00Z", 1, ["2026-03-09T06:30Z"]),  # skipped on the 8th: never two
    ("30 1 * * *", "America/New_York", "2026-11-01T00:00Z", 2, ["2026-11-01T05:30Z", "2026-11-02T06:30Z"]),
    ("0 9 * * *", "America/New_York", "2026-03-07T00:00Z", 2, ["2026-03-07T14:00Z", "2026-03-08T13:00Z"]),
    ("45 1 * * *", "Australia/Lord_Howe", "2026-04-04T00:00Z", 2, ["2026-04-04T14:45Z", "2026-04-05T15:15Z"]),
])  # fmt: skip
def test_the_case_of_changing_clocks(cron: str, zone: str, start: str, count: int, expected: list[str]) -> None:
    found = itertools.islice(moments(read(cron, zone), datetime.fromisoformat(start)), count)
    assert [f"{one.astimezone(UTC):%Y-%m-%dT%H:%MZ}" for one in found] == expected


def test_intervals_go_on_through_the_hour_that_comes_twice() -> None:
    """A local day of 25 hours; what is written as an interval is counted in elapsed time."""
    start, end = datetime.fromisoformat("2026-10-24T22:00Z"), datetime.fromisoformat("2026-10-25T23:00Z")
    found = list(itertools.takewhile(lambda one: one < end, moments(read("*/15 * * * *", "Europe/Copenhagen"), start - timedelta(minutes=1))))
    assert len(found) == 100 and len({*found}) == 100
    assert {second - first for first, second in zip(found, found[1:], strict=False)} == {timedelta(minutes=15)}


def test_the_moment_that_was_missed_last() -> None:
    """Down from 10:30 to 14:10: the last hour of it, and nothing when it is too old."""
    down, back = datetime(2026, 5, 1, 10, 30, tzinfo=UTC), datetime(2026, 5, 1, 14, 10, tzinfo=UTC)
    assert last_time("cron(0 * * * ? *)", "UTC", down.timestamp(), back) == datetime(2026, 5, 1, 14, tzinfo=UTC)
    assert last_time("cron(0 * * * ? *)", "UTC", back.timestamp() - 60, back) is None
