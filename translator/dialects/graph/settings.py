"""The settings of a graph: other names and milliseconds."""

from __future__ import annotations

from translator.diagnostics import Findings
from translator.dialects import common
from translator.dialects.spelling import put
from translator.findings import dialects as rules
from translator.source import Map

RETRY = {"delay": ("delay", 0.001), "max_delay": ("max_delay", 0.001)}  # times of a retry, and the seconds of one of their unit


def lower_settings(written: Map, findings: Findings) -> Map:
    """The canonical settings."""
    result = Map(written.pos)
    for key, value in written.items():
        if value is None or key == "data_flow":
            continue
        at = written.at(key)
        if key == "circuit_breaker":
            put(result, key, _breaker(value, findings), written)
        elif key == "retry":
            put(result, key, common.retry(value, findings, times=RETRY), written)
        elif key == "continue_on_error":
            if written.get("on_error") not in (None, "continue" if value else "fail"):
                findings.add(rules.WRITTEN_TWICE, "`continue_on_error` and `on_error` differ",
                    written.at_key(key), related=(("also here", written.at_key("on_error")),))
            if "on_error" not in written:
                put(result, "on_error", "continue" if value else "fail", written, key)
        elif key == "max_execution_time":
            common.only_one(written, ("sla", key), findings)
            result.put("sla", common.seconds(value, at, findings, 0.001), at, written.at_key(key))
            if written.get("alert_on_sla_breach") is None:
                result.put("alert_on_sla_breach", True, at)
        else:
            result.move(key, written)
    return result


def _breaker(written: Map, findings: Findings) -> Map:
    """A circuit breaker in seconds; it is open for one at least."""
    result = Map(written.pos)
    for key, value in written.items():
        if key == "recovery_timeout" and value is not None:
            seconds = common.seconds(value, written.at(key), findings, 0.001)
            if seconds is not None:
                result.put(key, max(1, seconds), written.at(key), written.at_key(key))
        else:
            result.move(key, written)
    return result
