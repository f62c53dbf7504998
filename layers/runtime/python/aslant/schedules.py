"""Schedules: what people write, as the expression that EventBridge Scheduler takes, and the moments that it means.

Cron expressions have five fields (Sunday is 0 or 7) or AWS's six (Sunday is 1, the last is the year). Times are those of
the schedule's time zone. As AWS has it, a time that a clock skips in spring is skipped, and one that comes twice in autumn
counts once; what comes in every hour goes on through both:
https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

from aslant.errors import ValidationError

Kind = Literal["cron", "rate", "at"]
_UNITS = {"minute": 60, "hour": 3600, "day": 86_400}
_DAYS = {name: number for number, name in enumerate(
    ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"), 1)}  # fmt: skip
_GROUPS = {"weekday": "MON-FRI", "weekdays": "MON-FRI", "weekend": "SAT,SUN", "weekends": "SAT,SUN", "day": "*"}
_NAMES = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_FORMS = (
    'write "daily at 9am", "every monday at 14:00", "every 15 minutes", "monthly on the 1st at 6:30am" or a cron expression'
)
_HORIZON = timedelta(days=366 * 8 + 10)  # a leap day comes within eight years


@dataclass(frozen=True, slots=True)
class Schedule:
    """`expression` is AWS's: cron(...) of six fields, rate(...) or at(...). `notes` say what was guessed."""

    kind: Kind
    expression: str
    timezone: str = "UTC"
    notes: tuple[str, ...] = ()


def read(text: str, timezone: str = "UTC") -> Schedule:
    """The schedule that a text means. Raises ValidationError for one that means none."""
    zone(timezone)
    plain = " ".join(text.split())
    if wrapped := re.fullmatch(r"(cron|rate|at) ?\((.*)\)", plain, re.IGNORECASE):
        kind, inner = wrapped[1].lower(), wrapped[2].strip()
        return {"cron": _cron, "rate": _rate, "at": _at}[kind](inner, timezone)
    fields = plain.split(" ")
    if len(fields) in (5, 6) and re.match(r"[\d*]", plain) and all(re.fullmatch(r"[\dA-Za-z*?,/#-]+", each) for each in fields):
        return _cron(plain, timezone)
    return _natural(plain.lower(), timezone)


def zone(name: str) -> ZoneInfo:
    """The time zone of an IANA name. Raises ValidationError."""
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, LookupError):
        raise ValidationError(f"{name!r} is no time zone; write an IANA name such as Europe/Berlin or UTC") from None


def moments(schedule: Schedule, after: datetime, *, start: datetime | None = None) -> Iterator[datetime]:
    """The moments (UTC) after `after`, the earliest first. `start` is when a rate begins to count."""
    if schedule.kind == "at":
        moment = _instant(_inner(schedule), schedule.timezone)
        if moment > after:
            yield moment
    elif schedule.kind == "rate":
        number, unit = _inner(schedule).split(" ")
        step = timedelta(seconds=int(number) * _UNITS[unit.rstrip("s")])
        begin = start or after
        moment = begin + step * max(1, (after - begin) // step + 1)
        while True:
            yield moment
            moment += step
    else:
        yield from _cron_moments(_inner(schedule), schedule.timezone, after)


def _inner(schedule: Schedule) -> str:
    return schedule.expression.partition("(")[2].removesuffix(")")


def _cron_moments(fields: str, timezone: str, after: datetime) -> Iterator[datetime]:
    from cronsim import CronSim

    place = zone(timezone)
    minute, hour, day, month, weekday, year = fields.split(" ")
    years = None if year == "*" else _years(year)
    shown = " ".join((minute, hour, _any(day), month, _counted_from(0, _any(weekday))))
    local = after.astimezone(place).replace(tzinfo=None)
    end = local + _HORIZON
    # A wall clock without changes; what the real one does at them is decided here.
    for moment in CronSim(shown, local - timedelta(hours=2)):
        if years is not None and moment.year > max(years) or (years is None and moment > end):
            return
        if years is not None and moment.year not in years:
            continue
        found = moment.replace(tzinfo=place, fold=0)
        exact = found.astimezone(UTC)
        if exact.astimezone(place).replace(tzinfo=None) == moment and exact > after:
            yield exact


def _any(field: str) -> str:
    return "*" if field == "?" else field


def _years(field: str) -> frozenset[int]:
    found: set[int] = set()
    for part in field.split(","):
        if match := re.fullmatch(r"(\d{4})(?:-(\d{4}))?(?:/(\d{1,3}))?", part):
            last = int(match[2] or (2199 if match[3] else match[1]))
            found.update(range(int(match[1]), last + 1, int(match[3] or 1)))
        elif match := re.fullmatch(r"\*/(\d{1,3})", part):
            found.update(range(1970, 2200, int(match[1])))
        else:
            raise ValidationError(f"{field!r} are no years of a cron expression")
    if not found or min(found) < 1970 or max(found) > 2199:
        raise ValidationError("the years of a cron expression are from 1970 to 2199")
    return frozenset(found)


def _counted_from(first: int, field: str) -> str:
    """Days of the week as numbers from 0; in the field Sunday is 1 - `first`, so 0 is for AWS's."""

    def name(match: re.Match[str]) -> str:
        number = int(match[0])
        if not 0 <= number - 1 + first <= 7:
            raise ValidationError(f"{match[0]} is no day of the week")
        return str((number - 1 + first) % 7)

    parts = []
    for part in field.upper().split(","):
        days, slash, step = part.partition("/")
        days, mark, count = days.partition("#")
        for number, word in enumerate(_NAMES):
            days = days.replace(word, str(number + 1 - first))
        parts.append(re.sub(r"\d+", name, days) + mark + count + slash + step)
    return ",".join(parts)


def _whole_hours(timezone: str) -> bool:
    """Whether the clocks of a time zone show the minutes of UTC, all year."""
    place = zone(timezone)
    return not any(
        (datetime(2026, month, 1, tzinfo=place).utcoffset() or timedelta()) % timedelta(hours=1) for month in range(1, 13)
    )


def _cron(text: str, timezone: str) -> Schedule:
    from cronsim import CronSim, CronSimError

    fields = text.upper().split(" ")
    if len(fields) not in (5, 6):
        raise ValidationError(f"a cron expression has five fields, or AWS's six; {text!r} has {len(fields)}")
    if "W" in fields[2].replace("WED", ""):
        raise ValidationError("W (the nearest weekday) is not supported; name the days")
    minute, hour, day, month, weekday = fields[:5]
    year = fields[5] if len(fields) == 6 else "*"
    if year != "*":
        _years(year)
    if len(fields) == 5:
        weekday = _counted_from(1, weekday)  # as numbers from 0
        weekday = re.sub(r"(?<![#/\d])\d", lambda match: str(int(match[0]) + 1), weekday)  # as AWS counts them
    if day not in ("*", "?") and weekday not in ("*", "?"):
        raise ValidationError("a day of the month and a day of the week together are not supported; make two triggers")
    if (hour, month, year) == ("*", "*", "*") and {day, weekday} <= {"*", "?"} and _whole_hours(timezone):
        timezone = "UTC"  # every hour of every day: as UTC it does not leave out the hour that comes twice
    day, weekday = ("?", weekday) if weekday not in ("*", "?") else ("*" if day == "?" else day, "?")
    shown = " ".join((minute, hour, _any(day), month, _counted_from(0, _any(weekday))))
    try:
        CronSim(shown, datetime(2000, 1, 1))
    except (CronSimError, ValueError):
        if month != "*" and _is_cron(" ".join((minute, hour, _any(day), "*", _counted_from(0, _any(weekday))))):
            raise ValidationError(f"{text!r} never comes: there is no such day in that month") from None
        raise ValidationError(f"{text!r} is no cron expression; {_FORMS}") from None
    schedule = Schedule("cron", f"cron({minute} {hour} {day} {month} {weekday} {year})", timezone)
    if next(moments(schedule, datetime(1970 if year != "*" else 2026, 1, 1, tzinfo=UTC)), None) is None:
        raise ValidationError(f"{text!r} never comes")
    return schedule


def _is_cron(fields: str) -> bool:
    from cronsim import CronSim, CronSimError

    try:
        CronSim(fields, datetime(2000, 1, 1))
    except (CronSimError, ValueError):
        return False
    return True


def _rate(text: str, timezone: str) -> Schedule:
    match = re.fullmatch(r"(\d{1,6}) (minute|hour|day)s?", text.lower())
    if match is None or int(match[1]) == 0:
        raise ValidationError(f"{text!r} is no rate; write rate(5 minutes), rate(1 hour) or rate(7 days)")
    number = int(match[1])
    return Schedule("rate", f"rate({number} {match[2]}{'' if number == 1 else 's'})", timezone)


def _at(text: str, timezone: str) -> Schedule:
    moment = _instant(text, timezone).astimezone(zone(timezone))
    return Schedule("at", f"at({moment:%Y-%m-%dT%H:%M:%S})", timezone, _changed_clock(text, moment, timezone))


def _changed_clock(text: str, moment: datetime, timezone: str) -> tuple[str, ...]:
    """What is to be said of a time that the clock of its zone skips, or shows twice."""
    written = datetime.fromisoformat(text)
    if written.tzinfo is not None:
        return ()
    if moment.replace(tzinfo=None) != written:
        means = f"it means {moment:%H:%M}, which is {moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
        return (f"clocks in {timezone} skip {written:%H:%M} on that day; {means}",)
    if moment.replace(fold=1).utcoffset() != moment.replace(fold=0).utcoffset():
        means = f"the first is meant, {moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
        return (f"clocks in {timezone} show {written:%H:%M} twice on that day; {means}",)
    return ()


def _instant(text: str, timezone: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValidationError(f"{text!r} is no moment; write one as 2026-12-24T18:00:00") from None
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=zone(timezone))).astimezone(UTC)


_TIME = r"(?: at (?P<time>noon|midnight|\d{1,2}(?:[:.]\d{2})?(?: ?[ap]\.?m\.?)?))?"
_DAY = "|".join(_DAYS)
_EVERY = re.compile(
    rf"(?:every |on )?(?P<days>(?:{_DAY}|weekday|weekend|day)s?(?:(?:,| and|, and) (?:{_DAY})s?)*){_TIME}"
)
_MONTHLY = re.compile(
    rf"(?:monthly|every month)(?: on(?: the)? (?P<day>\d{{1,2}})(?:st|nd|rd|th)?| on the (?P<last>last) day)?{_TIME}"
)


def _natural(text: str, timezone: str) -> Schedule:
    text = text.removeprefix("run ").removesuffix(".").strip()
    for pattern, make in _NATURAL:
        if match := pattern.fullmatch(text):
            return make(match, timezone)
    raise ValidationError(f"{text!r} is no schedule; {_FORMS}")


def _interval(match: re.Match[str], timezone: str) -> Schedule:
    if match["days"]:
        return _rate(f"{match['days']} days", timezone)
    return _rate(f"{match['n'] or 1} {match['unit']}", timezone)


def _hourly(match: re.Match[str], timezone: str) -> Schedule:
    return _cron("0 * * * ? *", timezone)


def _daily(match: re.Match[str], timezone: str) -> Schedule:
    clock, notes = _time(match["time"])
    return Schedule("cron", f"cron({clock} * * ? *)", timezone, notes)


def _weekly(match: re.Match[str], timezone: str) -> Schedule:
    clock, notes = _time(match["time"])
    if not match["days"]:
        notes = (*notes, "weekly means on Mondays; name the day")
    words = re.split(r",? and |, ?|,", match["days"] or "monday")
    days = [_GROUPS.get(word) or _NAMES[_DAYS[word.rstrip("s")] - 1] for word in words]
    if days == ["*"]:
        return Schedule("cron", f"cron({clock} * * ? *)", timezone, notes)
    return Schedule("cron", f"cron({clock} ? * {','.join(days)} *)", timezone, notes)


def _monthly(match: re.Match[str], timezone: str) -> Schedule:
    clock, notes = _time(match["time"])
    day = "L" if match["last"] else match["day"] or "1"
    if day != "L" and not 1 <= int(day) <= 31:
        raise ValidationError(f"no month has a day {day}")
    if day != "L" and int(day) > 28:
        notes = (*notes, f"months without a day {day} are left out; the last day of each is `monthly on the last day`")
    return Schedule("cron", f"cron({clock} {day} * ? *)", timezone, notes)


_NATURAL: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], str], Schedule]], ...] = (
    (re.compile(r"every (?:(?P<n>\d{1,6}) )?(?P<unit>minute|hour)s?|every (?P<days>\d{1,6}) days?"), _interval),
    (re.compile(r"hourly"), _hourly),
    (re.compile(rf"(?:daily|every day|nightly){_TIME}"), _daily),
    (re.compile(rf"weekly(?: on (?P<days>{_DAY}))?{_TIME}"), _weekly),
    (_EVERY, _weekly),
    (_MONTHLY, _monthly),
)  # fmt: skip


def _time(text: str | None) -> tuple[str, tuple[str, ...]]:
    """`minute hour` of a time of the day, and what was guessed."""
    if text is None:
        return "0 0", ("no time of the day is given, which means midnight; write `at 9am`",)
    if text in ("noon", "midnight"):
        return ("0 12" if text == "noon" else "0 0"), ()
    match = re.fullmatch(r"(\d{1,2})(?:[:.](\d{2}))?(?: ?([ap])\.?m\.?)?", text)
    assert match is not None
    hour, minute, half = int(match[1]), int(match[2] or 0), match[3]
    if minute > 59 or hour > 23 or (half and not 1 <= hour <= 12):
        raise ValidationError(f"{text!r} is no time of the day")
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    unclear = not half and match[2] is None and 1 <= hour <= 12
    notes = (f"`at {text}` means {hour:02}:{minute:02}; write {hour}am or {hour}pm",) if unclear else ()
    return f"{minute} {hour}", notes
