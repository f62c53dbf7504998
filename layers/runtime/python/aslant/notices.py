"""Notices of Step Functions that an execution has another status: `Step Functions Execution Status Change` of EventBridge.

Shape: docs.aws.amazon.com/step-functions/latest/dg/eventbridge-integration.html. They are delivered at least once mostly,
sometimes late, sometimes in another order. Moments are epoch milliseconds.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from aslant.errors import ValidationError
from aslant.ports import Machines

Json = Any

DETAIL_TYPE = "Step Functions Execution Status Change"
ENDED = frozenset({"SUCCEEDED", "FAILED", "TIMED_OUT", "ABORTED"})
STATUSES = ENDED | {"RUNNING"}


@dataclass(frozen=True, slots=True)
class Notice:
    """`input` and `output` are JSON texts; None where they were left out for their size, or there is none."""

    arn: str
    machine: str
    name: str
    status: str
    started_at: int
    stopped_at: int | None = None
    input: str | None = None
    output: str | None = None
    error: str = ""
    cause: str = ""

    @property
    def ended(self) -> bool:
        return self.status in ENDED


def read_notice(event: Any) -> Notice:
    """The notice in an event. Raises ValidationError for any other event, and a status that is not known."""
    detail = event.get("detail") if isinstance(event, Mapping) else None
    if not isinstance(detail, Mapping) or event.get("source") != "aws.states" or event.get("detail-type") != DETAIL_TYPE:
        raise ValidationError(f"this is not a notice of {DETAIL_TYPE}")
    texts = {name: detail.get(name) for name in ("executionArn", "stateMachineArn", "name", "status")}
    if not all(isinstance(text, str) and text for text in texts.values()) or texts["status"] not in STATUSES:
        raise ValidationError("a notice needs executionArn, stateMachineArn, name and a known status")
    started, stopped = detail.get("startDate"), detail.get("stopDate")
    return Notice(
        arn=str(texts["executionArn"]), machine=str(texts["stateMachineArn"]), name=str(texts["name"]),
        status=str(texts["status"]), started_at=int(started or 0), stopped_at=None if stopped is None else int(stopped),
        input=_text(detail, "input"), output=_text(detail, "output"), error=str(detail.get("error") or ""),
        cause=str(detail.get("cause") or ""),
    )


def complete(notice: Notice, machines: Machines, *, with_output: bool) -> Notice:
    """The notice with what was left out of it for its size, looked up. Raises NotFoundError when it is gone there too."""
    lacks_output = with_output and notice.status == "SUCCEEDED" and notice.output is None
    if notice.input is not None and not lacks_output:
        return notice
    found = machines.describe(notice.arn)
    return Notice(
        notice.arn, notice.machine, notice.name, notice.status, notice.started_at, notice.stopped_at,
        notice.input if notice.input is not None else found.get("input"),
        notice.output if notice.output is not None else found.get("output"),
        notice.error or str(found.get("error") or ""), notice.cause or str(found.get("cause") or ""),
    )


def notice_of(arn: str, described: Mapping[str, Json]) -> Notice:
    """The notice that DescribeExecution's answer amounts to, for when none came."""
    started, stopped = described.get("startDate"), described.get("stopDate")
    return Notice(
        arn=arn, machine=_machine_of(arn), name=arn.rpartition(":")[2], status=str(described["status"]),
        started_at=_millis(started) or 0, stopped_at=_millis(stopped), input=described.get("input"),
        output=described.get("output"), error=str(described.get("error") or ""), cause=str(described.get("cause") or ""),
    )


def parsed(text: str | None) -> Json:
    """The value of a JSON text; None for no text, and for one that is no JSON."""
    try:
        return json.loads(text) if text is not None else None
    except (ValueError, RecursionError):
        return None


def same_machine(one: str, other: str) -> bool:
    """Whether two ARNs name one state machine, whatever version or alias."""
    return bool(one) and one.split(":")[:7] == other.split(":")[:7]


def _machine_of(arn: str) -> str:
    parts = arn.split(":")[:7]
    return ":".join([*parts[:5], "stateMachine", *parts[6:]])


def _millis(moment: Any) -> int | None:
    return round(moment.timestamp() * 1000) if isinstance(moment, datetime) else None


def _text(detail: Mapping[str, Any], name: str) -> str | None:
    about = detail.get(f"{name}Details")
    included = not isinstance(about, Mapping) or about.get("included") is not False
    value = detail.get(name)
    return value if isinstance(value, str) and included else None
