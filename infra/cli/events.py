"""Shows the events of an execution, as they went over the bus."""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Any

from aslant.executions.states import ACTIVE
from infra.cli import pictures
from infra.cli.errors import FINE
from infra.cli.executions import add_id
from infra.cli.output import put_json
from infra.cli.target import TENANT, add_json, add_target, connected
from translator.reporting import visible

EXAMPLES = """\
examples:
  aslant events 3f2a
  aslant events 3f2a --follow
  aslant events 3f2a --json
"""
_PAUSE = 0.4   # seconds between looks
_AFTER = 2.0   # seconds that events may take after the execution has ended
_SHOWN = ("step", "iteration", "attempt", "run", "status", "error", "message", "reason", "duration_ms", "number", "by")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_id(parser)
    parser.add_argument("--follow", action="store_true", help="go on until the execution has ended (with --json a line each)")
    add_json(parser)
    add_target(parser)


def execute(args: argparse.Namespace) -> int:
    from aslant import serving

    with connected(args) as target:
        id = target.execution(args.id).id
        log = serving.event_log(target.settings)
        after, ended, shown = "", 0.0, ""
        details: list[dict[str, Any]] = []
        while True:
            over = target.executions.get(TENANT, id).status not in (*ACTIVE, "paused")
            found = list(log.read(TENANT, id, after))
            after = found[-1][0] if found else after
            if not args.json:  # what the state machine did is told late: people read by time, machines by cursor
                found.sort(key=lambda one: one[1]["timestamp"])
            for _, detail in found:
                if args.json and not args.follow:
                    details.append(detail)
                elif args.json:
                    print(json.dumps(detail, ensure_ascii=False), flush=True)
                else:
                    shown = max(shown, detail["timestamp"])
                    pictures.put([_line(detail, shown)], sys.stdout)
            sys.stdout.flush()
            if over and not ended:
                ended = time.monotonic()
            if not args.follow or (over and not found and time.monotonic() - ended > _AFTER):
                break
            time.sleep(_PAUSE)
    if args.json and not args.follow:
        put_json(details)
    return FINE


def _line(detail: dict[str, Any], now: str) -> pictures.Line:
    """`now` is the time up to which was told: what comes to light later says itself when it was."""
    payload, at = detail["payload"], detail["timestamp"]
    parts = [f"{name}={_text(payload[name])}" for name in _SHOWN if payload.get(name) not in (None, "", [])]
    parts += [f"at={at}"] if at < now else []
    style = "red" if detail["event_type"].endswith(("_failed", "_timed_out")) else ""
    return [(f"{now}  ", "dim"), (f"{detail['event_type']:<22} ", style), (visible(" ".join(parts)), "")]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
