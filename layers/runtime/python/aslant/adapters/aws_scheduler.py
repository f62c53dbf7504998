"""Timers and schedules on EventBridge Scheduler; timers are one-off schedules that delete themselves.

https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html#one-time: the precision is a minute, and a
schedule whose moment has passed when it is made never fires, so a late one is put a little ahead.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from aslant import clock
from aslant.adapters.aws_errors import calling
from aslant.adapters.clients import client, error_code
from aslant.contracts import Json
from aslant.errors import ValidationError
from aslant.installation import NAME, installed
from aslant.values import compact

_AHEAD = 5        # seconds
_RETRIES = 10     # of a call that failed
_MAX_AGE = 86400  # seconds that a call is retried for


@dataclass(frozen=True, slots=True)
class SchedulerTimers:
    """`role` is the ARN of the role that Scheduler calls functions with; functions are of its account.

    `group` is the schedule group, so that nothing else's schedules are touched; `name` is the installation's.
    """

    region: str
    role: str
    group: str = "default"
    name: str = NAME

    def set(self, name: str, at: int, function: str, payload: Mapping[str, Json]) -> None:
        moment = datetime.fromtimestamp(max(at, int(clock.now()) + _AHEAD), UTC)
        self._write(name, f"at({moment:%Y-%m-%dT%H:%M:%S})", "UTC", function, payload, "DELETE", _MAX_AGE, 0)

    def put(
        self, name: str, expression: str, timezone: str, function: str, payload: Mapping[str, Json], *, age: int, window: int
    ) -> None:
        self._write(name, expression, timezone, function, payload, "NONE", age, window)

    def _write(
        self, name: str, expression: str, timezone: str, function: str, payload: Mapping[str, Json], after: str, age: int,
        window: int,
    ) -> None:
        from botocore.exceptions import ClientError

        arguments = {
            "Name": _legal(name), "GroupName": self.group, "ScheduleExpression": expression,
            "ScheduleExpressionTimezone": timezone, "ActionAfterCompletion": after,
            "FlexibleTimeWindow": {"Mode": "FLEXIBLE", "MaximumWindowInMinutes": window} if window else {"Mode": "OFF"},
            "Target": {
                "Arn": self._function(function), "RoleArn": self.role, "Input": compact(dict(payload)),
                "RetryPolicy": {"MaximumRetryAttempts": _RETRIES, "MaximumEventAgeInSeconds": age},
            },
        }
        with calling("writing a schedule"):
            for _ in range(3):  # one that fires in between is gone when it is to be changed
                try:
                    self._client.create_schedule(**arguments)
                    return
                except ClientError as error:
                    if error_code(error) != "ConflictException":
                        raise
                try:
                    self._client.update_schedule(**arguments)
                    return
                except ClientError as error:
                    if error_code(error) != "ResourceNotFoundException":
                        raise
            self._client.create_schedule(**arguments)

    def cancel(self, name: str) -> None:
        from botocore.exceptions import ClientError

        with calling("cancelling a timer"):
            try:
                self._client.delete_schedule(Name=_legal(name), GroupName=self.group)
            except ClientError as error:
                if error_code(error) != "ResourceNotFoundException":
                    raise

    def _function(self, name: str) -> str:
        if name.startswith("arn:"):
            return name
        parts = self.role.split(":")
        if len(parts) < 6:
            raise ValidationError("timers need the ARN of a role (ASLANT_SCHEDULER_ROLE)")
        return f"arn:{parts[1]}:lambda:{self.region}:{parts[4]}:function:{installed(name, self.name)}"

    @property
    def _client(self) -> Any:
        return client("scheduler", self.region)


def _legal(name: str) -> str:
    """A schedule's name: 64 letters, digits, `-`, `_` and `.` at most. Different names stay different."""
    start = "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "-" for c in name)[:31]
    return f"{start}-{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"
