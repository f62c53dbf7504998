"""The Lambda function that the bus gives our own events to: it keeps each, and sends it to those who follow its execution."""

from __future__ import annotations

import json
from typing import Any

from aslant import clock, observability, serving
from aslant.errors import StepError
from aslant.event_log import KEEP, Connections, Sender, place_of
from aslant.settings import Settings

Json = Any


def handler(event: Any, context: Any) -> None:
    """`event` is an event of EventBridge. Whoever is not reached goes on from its cursor; only keeping is tried again."""
    observability.listen()
    settings, now = Settings.read(), int(clock.now())
    detail: dict[str, Json] = event["detail"]
    serving.event_log(settings).put(detail, now + KEEP)
    if detail.get("execution_id"):
        push(serving.connections(settings), serving.sender(settings), detail, now)


def push(connections: Connections, sender: Sender, detail: dict[str, Json], now: int) -> int:
    """Sends an event to everybody who follows its execution; gives to how many. Those who are gone are forgotten."""
    told = 0
    try:
        found = connections.of(str(detail["tenant_id"]), str(detail["execution_id"]))
    except StepError as error:
        observability.log("ERROR", f"nobody was told: {error}", {"execution": detail["execution_id"]})
        return 0
    data = json.dumps({"type": "event", "cursor": place_of(detail), "event": detail}, ensure_ascii=False).encode()
    for one in found:
        try:
            if one.expires <= now:
                connections.remove(one.id)
                sender.close(one.id)
            elif sender.send(one.id, data):
                told += 1
            else:
                connections.remove(one.id)
        except StepError as error:
            observability.log("ERROR", f"a connection was not told: {error}", {"execution": one.execution})
    return told
