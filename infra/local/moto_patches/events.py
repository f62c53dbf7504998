"""EventBridge: rules call functions and queues with events as they are on AWS; schedules are told to who fires them."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from infra.local.clock import iso
from infra.local.functions import ACCOUNT
from infra.local.moto_patches.registry import patch
from infra.local.runtime import current

_MODELS = "moto.events.models:"
_FIELDS = ("version", "id", "detail-type", "source", "account", "time", "region", "resources", "detail")


@patch(
    _MODELS + "Rule.send_to_targets",
    gap="functions are not called; disabled rules deliver; events have no account, and a time that is a number",
    fingerprint="472e002e2dab",
    wraps=True,
)
def send_to_targets(original: Callable[..., None]) -> Callable[..., None]:
    def send(self: Any, original_event: dict[str, Any], transform_input: bool = True) -> None:
        event = as_delivered(original_event)
        if self.state != "ENABLED" or not self.event_pattern.matches_event(event):
            return
        others = []
        for target in self.targets:
            service = target["Arn"].split(":")[2]
            if service == "lambda":
                invoke_later(target["Arn"], _text(target, event))
            elif service == "sqs":
                _to_queue(target, _text(target, event))
            else:
                others.append(target)
        if others:
            rest = copy.copy(self)
            rest.targets = others
            original(rest, original_event, transform_input)

    return send


def as_delivered(event: dict[str, Any]) -> dict[str, Any]:
    """An event with the fields and the time that targets see."""
    moment = event.get("time")
    if not isinstance(moment, str):
        moment = iso(datetime.fromtimestamp(float(moment or 0), UTC))[:19] + "Z"
    return {name: event[name] for name in _FIELDS if name in event} | {"time": moment}


def invoke_later(function: str, payload: str) -> None:
    """Queues an invocation, in the journal first."""
    runtime = current()
    row = runtime.journal.queue(function, payload) if runtime.journal is not None else 0
    if runtime.delivery is not None:
        runtime.delivery.invoke(function, payload, row=row)


def publish(make: Callable[[], dict[str, Any]]) -> None:
    """Gives an event of a service to the rules of the default bus; it is only made when there are some."""
    from moto.events.models import events_backends

    rules: list[Any] = list(events_backends[ACCOUNT][current().region].event_buses["default"].rules.values())
    if rules:
        event = make()
        for rule in rules:
            rule.send_to_targets(event)


def _text(target: dict[str, Any], event: dict[str, Any]) -> str:
    """What a target is given: the event, a part of it, a constant, or a text made of parts."""
    if "Input" in target:
        return str(target["Input"])
    if "InputPath" in target:
        import jsonpath_ng.ext as jsonpath

        found = jsonpath.parse(target["InputPath"]).find(event)  # type: ignore[attr-defined]
        return json.dumps(found[0].value if found else {})
    if "InputTransformer" in target:
        from moto.events.utils import EventTemplateParser

        maker: Any = EventTemplateParser
        transformer = target["InputTransformer"]
        given = event | {"ingestion-time": event["time"]}
        return json.dumps(maker.parse(transformer["InputTemplate"], transformer.get("InputPathsMap") or {}, given))
    return json.dumps(event)


def _to_queue(target: dict[str, Any], text: str) -> None:
    from moto.sqs.models import sqs_backends

    backend: Any = sqs_backends[ACCOUNT][current().region]
    group = (target.get("SqsParameters") or {}).get("MessageGroupId")
    name = target["Arn"].rsplit(":", 1)[1]
    if name in backend.queues:  # an event for a queue that is gone is dropped, as on AWS without a dead-letter queue
        backend.send_message(queue_name=name, message_body=text, group_id=group)


@patch(
    _MODELS + "EventPattern._does_item_match_filters",
    gap="true matches 1 and 1 matches true",
    fingerprint="9bad5e597eee",
    wraps=True,
)
def match_filters(original: Callable[..., bool]) -> Callable[..., bool]:
    def matches(self: Any, item: Any, filters: list[Any]) -> bool:
        # What Python takes for equal although JSON does not is kept apart by marking true and false.
        return original(self, _marked(item), [each if isinstance(each, dict) else _marked(each) for each in filters])

    return matches


class _Truth(str):
    """True or false, equal to nothing else."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Truth) and str.__eq__(self, other)


def _marked(value: Any) -> Any:
    if isinstance(value, bool):
        return _Truth(value)
    return [_marked(each) for each in value] if isinstance(value, list) else value


@patch(
    _MODELS + "EventPattern._flatten_dict",
    gap="a pattern does not look into lists of objects",
    fingerprint="26dca5bdb273",
)
def flatten(node: Any, prefix: str = "", result: dict[str, Any] | None = None) -> dict[str, Any]:
    found: dict[str, Any] = {} if result is None else result
    for name, value in node.items():
        _collect(value, f"{prefix}.{name}" if prefix else name, found, inside=False)
    return found


def _collect(value: Any, name: str, found: dict[str, Any], *, inside: bool) -> None:
    if isinstance(value, dict) and value:
        for key, part in value.items():
            _collect(part, f"{name}.{key}", found, inside=inside)
    elif isinstance(value, list) and any(isinstance(part, dict) for part in value):
        for part in value:
            _collect(part, name, found, inside=True)
    elif inside and name in found:
        before = found[name] if isinstance(found[name], list) else [found[name]]
        found[name] = before + (value if isinstance(value, list) else [value])
    else:
        found[name] = value


_SCHEDULER = "moto.scheduler.models:EventBridgeSchedulerBackend."


def _told(schedule: Any) -> Any:
    runtime = current()
    schedule.fired, schedule.since = "", runtime.clock.now().timestamp()
    schedule.state = schedule.state or "ENABLED"  # what a change does not name has its default again
    if runtime.journal is not None:
        runtime.journal.keep("schedule", f"{schedule.group_name}/{schedule.name}", vars(schedule))
    if runtime.schedules is not None:
        runtime.schedules.changed(schedule)
    return schedule


@patch(_SCHEDULER + "create_schedule", gap="nothing fires schedules", fingerprint="513099380dbd", wraps=True)
def create_schedule(original: Callable[..., Any]) -> Callable[..., Any]:
    def create(self: Any, **kwargs: Any) -> Any:
        return _told(original(self, **kwargs))

    return create


@patch(_SCHEDULER + "update_schedule", gap="nothing fires schedules", fingerprint="15f9bd86f239", wraps=True)
def update_schedule(original: Callable[..., Any]) -> Callable[..., Any]:
    def update(self: Any, **kwargs: Any) -> Any:
        return _told(original(self, **kwargs))

    return update


@patch(_SCHEDULER + "delete_schedule", gap="nothing fires schedules", fingerprint="4569544648c9", wraps=True)
def delete_schedule(original: Callable[..., None]) -> Callable[..., None]:
    def delete(self: Any, group_name: str | None, name: str) -> None:
        original(self, group_name, name)
        if (journal := current().journal) is not None:
            journal.drop("schedule", f"{group_name or 'default'}/{name}")

    return delete
