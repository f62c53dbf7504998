"""What a step says about itself: one line of JSON at its end, which is a log entry and its metrics at once.

CloudWatch reads metrics out of a line in the Embedded Metric Format
(docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html). The line is
written here and not by Powertools: its Logger and Metrics add about 60 ms to a cold start of 275 ms, for one dictionary.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import time
from collections.abc import Mapping
from typing import Any

from aslant.contracts import Json
from aslant.values import compact, map_texts

NAMESPACE = "Aslant"
_TELLING = re.compile(r"passw|pwd|secret|token|api_?key|credential|authori[sz]ation|cookie", re.IGNORECASE)
_COUNTS = frozenset({"tokens", "tokens_in", "tokens_out", "max_tokens"})  # numbers of tokens of a model
_MAX_TEXT = 2_000  # characters of one text in a log line

_logger = logging.getLogger("aslant")
_logger.addHandler(logging.NullHandler())  # nothing is written unless someone listens


def listen() -> None:
    """In Lambda, lines go to standard output as they are; elsewhere to whoever added a handler to the logger `aslant`."""
    if os.environ.get("AWS_LAMBDA_FUNCTION_NAME") and not any(isinstance(each, _Lines) for each in _logger.handlers):
        _logger.addHandler(_Lines(sys.stdout))
        _logger.setLevel(logging.INFO)
        _logger.propagate = False  # Lambda's own handler would write each line once more, with a prefix


class _Lines(logging.StreamHandler):  # type: ignore[type-arg]
    """Writes messages without a prefix."""


def log(level: str, message: str, ids: Mapping[str, Json], **fields: Json) -> None:
    """A line of structured log. `ids` say where it comes from (`step_ids`); values under telling keys are masked."""
    _write(level, {"message": message, **ids, **fields})


def step_ended(
    ids: Mapping[str, Json], *, outcome: str, duration_ms: float, retries: int, error: str = "", message: str = "",
    usage: Mapping[str, float] | None = None,
) -> None:
    """The line at the end of a step's invocation. `outcome` is completed, recorded, failed or in_progress."""
    failed = outcome == "failed"
    line: dict[str, Json] = {
        "message": f"step {outcome}", **ids, "outcome": outcome, "error": error, "cause": message,
        "usage": dict(usage or {}),
    }
    metrics: dict[str, tuple[float, str]] = {}
    if outcome in ("completed", "failed"):  # what was answered from a record did not run
        metrics = {
            "StepDuration": (round(duration_ms, 3), "Milliseconds"), "StepFailures": (int(failed), "Count"),
            "StepRetries": (int(retries > 0), "Count"),
        }
    _write("ERROR" if failed else "INFO", line, metrics, {"workflow": ids["workflow"], "step_type": ids["type"]})


def metric_line(metrics: Mapping[str, tuple[float, str]], dimensions: Mapping[str, str]) -> dict[str, Json]:
    """Metrics (value and unit by name) as the part of a line that CloudWatch takes them from.

    Each is there for every workflow, and for all of them together: an alarm takes no more than one metric of a name.
    """
    if not metrics:
        return {}
    filled = {name: str(value)[:1024] or "-" for name, value in dimensions.items()}  # an empty dimension is refused
    whole = sorted(filled)
    sets = [whole, [name for name in whole if name != "workflow"]] if "workflow" in filled else [whole]
    about = {
        "Timestamp": int(time.time() * 1000),
        "CloudWatchMetrics": [{
            "Namespace": NAMESPACE, "Dimensions": sets,
            "Metrics": [{"Name": name, "Unit": unit} for name, (_, unit) in metrics.items()],
        }],
    }  # fmt: skip
    return {**filled, **{name: value for name, (value, _) in metrics.items()}, "_aws": about}


def emit(metrics: Mapping[str, tuple[float, str]], dimensions: Mapping[str, str], **fields: Json) -> None:
    """A line with metrics of other things than steps."""
    _write("INFO", dict(fields), metrics, dimensions)


def step_ids(
    *, tenant: str, workflow: str, execution: str, run: int, step: str, type: str, iteration: tuple[int, ...], attempt: int
) -> dict[str, Json]:
    """Where a line comes from."""
    trace = os.environ.get("_X_AMZN_TRACE_ID", "")  # Lambda sets it for each invocation
    found = re.search(r"Root=([0-9a-f-]+)", trace)
    return {
        "tenant": tenant, "workflow": workflow, "execution": execution, "run": run, "step": step, "type": type,
        "iteration": list(iteration), "attempt": attempt, "trace_id": found[1] if found else "",
    }


def masked(value: Json, key: str = "") -> Json:
    """The value with `***` in place of what stands under a key that tells of a secret, and with long texts cut."""
    if key and _TELLING.search(key) and key not in _COUNTS and value not in (None, ""):
        return "***"
    if isinstance(value, Mapping):
        return {name: masked(item, str(name)) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [masked(item) for item in value]
    return value[:_MAX_TEXT] if isinstance(value, str) else value


def _write(
    level: str, fields: Mapping[str, Json], metrics: Mapping[str, tuple[float, str]] | None = None,
    dimensions: Mapping[str, str] | None = None,
) -> None:
    number: int = getattr(logging, level)
    if not _logger.isEnabledFor(number):
        return
    line: dict[str, Any] = {"level": level, "time": _moment(), **masked(fields)}
    line |= metric_line(metrics or {}, dimensions or {})
    try:
        text = compact(line)
    except (TypeError, ValueError, RecursionError):  # a log line is never a reason to fail
        text = compact(map_texts(str(line), lambda each: each[:_MAX_TEXT]))
    _logger.log(number, "%s", text)


def _moment() -> str:
    now = time.time()
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now * 1000) % 1000:03d}Z"
