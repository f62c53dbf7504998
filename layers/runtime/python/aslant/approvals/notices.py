"""Tells people that they are asked: a message over the request's channel, with signed links where there is an address."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from aslant.approvals.links import Link, Links
from aslant.approvals.rules import ROLE, approvers, moment
from aslant.configs.notify import NotifyConfig
from aslant.contracts import Json
from aslant.messages import Ports, send
from aslant.secrets import Redactor
from aslant.settings import Settings

_MAX_DATA = 2000  # characters of the data that a message shows
_SECONDS = 30.0   # for each message
_HEADINGS = {"asked": "Approval needed", "reminder": "Reminder: approval needed", "escalated": "Approval needed (escalated)"}


@dataclass(frozen=True, slots=True)
class _Sender:
    """What a message needs to know of who sends it."""

    settings: Settings
    tenant: str
    execution: str
    workflow: str
    label: str
    idempotency_key: str
    redactor: Redactor = field(default_factory=Redactor)
    end: float = field(default_factory=lambda: time.monotonic() + _SECONDS)

    def remaining(self, limit: float | None = None) -> float:
        left = max(0.001, self.end - time.monotonic())
        return left if limit is None else min(left, limit)


def notify(item: Mapping[str, Json], kind: str, settings: Settings, ports: Ports, links: Callable[[], Links | None]) -> None:
    """Sends a request's notice; does nothing where neither the request nor the installation names a channel.

    Raises the error of the channel that failed.
    """
    wanted = item["config"].get("notify") or _default(settings)
    if not wanted:
        return
    config = {"channel": wanted} if isinstance(wanted, str) else dict(wanted)
    config.setdefault("subject", f"{_HEADINGS[kind]}: {item['workflow']} / {item['step']}")
    made = links()
    people = [person for person in approvers(item["config"]) if not person.casefold().startswith(ROLE)]
    emails = [person for person in people if "@" in person]
    one_by_one = config.get("channel") == "email" and "to" not in config and bool(emails)
    for person in emails if one_by_one else [""]:
        message = dict(config)
        if person:
            message["to"] = [person]
        message["message"] = _text(item, person, made)
        message.setdefault("data", _facts(item))
        key = f"{item['tenant']}\x00{item['approval_id']}\x00{kind}\x00{item.get('reminded', 0)}\x00{person}"
        sender = _Sender(
            settings, item["tenant"], item["execution"], item["workflow"], _label(item),
            str(uuid.uuid5(uuid.NAMESPACE_OID, key)),
        )
        send(NotifyConfig.model_validate(message), sender, ports)


def _default(settings: Settings) -> str:
    return "sns" if settings.notify_topic else "slack" if settings.slack_webhook else ""


def _text(item: Mapping[str, Json], person: str, links: Links | None) -> str:
    config = item["config"]
    lines = [str(config.get("message", "")), ""]
    if config.get("data") is not None:
        lines += [json.dumps(config["data"], ensure_ascii=False, indent=1)[:_MAX_DATA], ""]
    lines.append(f"Workflow {item['workflow']}, step {_label(item)}, execution {item['execution']}")
    lines.append(f"It waits until {moment(item['expires_at'])}.")
    if links is not None and person and config.get("approval_type", "approve_reject") != "text_input":
        lines += ["", *(f"{name}: {links.write(link)}" for name, link in _choices(item, person))]
    else:
        lines += ["", f"Answer with: aslant approve {item['approval_id']} (or: aslant reject, aslant answer)"]
    return "\n".join(lines)


def _choices(item: Mapping[str, Json], person: str) -> list[tuple[str, Link]]:
    def link(decision: Any, answer: str | None = None) -> Link:
        return Link(item["tenant"], item["approval_id"], person, decision, int(item["expires_at"]), answer)

    if item["config"].get("approval_type") == "multiple_choice":
        return [*((option, link("answer", option)) for option in item["config"]["options"]), ("None of these", link("reject"))]
    return [("Approve", link("approve")), ("Reject", link("reject"))]


def _facts(item: Mapping[str, Json]) -> dict[str, Json]:
    return {name: item[name] for name in ("approval_id", "execution", "workflow", "step", "iteration", "expires_at")}


def _label(item: Mapping[str, Json]) -> str:
    return str(item["step"]) + "".join(f"[{index}]" for index in item["iteration"])
