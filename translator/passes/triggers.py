"""What starts executions of a workflow: checked, and as facts for whoever publishes it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from typing import Any

from aslant.configs.base import Config
from aslant.configs.check import problems
from aslant.configs.triggers import EventTrigger, ScheduleTrigger, WebhookTrigger, WorkflowTrigger
from aslant.errors import ValidationError
from aslant.inputs import prepare
from aslant.releases import EventFacts, TriggerFacts, TriggerName, WebhookFacts
from aslant.schedules import moments
from translator.diagnostics import NOWHERE, Findings, Position
from translator.expressions.parser import parse
from translator.expressions.resolve import Names, resolve
from translator.expressions.serialize import dump
from translator.expressions.tree import Node, Slot
from translator.findings import triggers as rules
from translator.model.workflow import Workflow
from translator.nearest import nearest
from translator.source import plain, position_of

_MODELS: Mapping[str, type[Config]] = {
    "schedule": ScheduleTrigger, "webhook": WebhookTrigger, "event": EventTrigger, "workflow": WorkflowTrigger,
}  # fmt: skip
_NAMES = Names(inputs={}, bare={"event": Slot("local", "event")})  # what a trigger's condition may name


def check_triggers(workflow: Workflow, findings: Findings, now: datetime | None = None) -> None:
    """Findings for triggers that cannot be, or that say less than they need to; with `now` for those whose time is over."""
    for index, trigger in enumerate(workflow.triggers):
        model = _MODELS.get(str(trigger.get("type")))
        if model is None:
            continue
        config = plain(trigger.get("config") or {})
        wrong = problems(model, config)
        for path, message in wrong:
            key = ".".join(map(str, path))
            findings.add(rules.TRIGGER_CONFIG, f"{key}: {message}" if key else message, _at(workflow, index, path))
        if model is WebhookTrigger and not wrong and not config.get("secret"):
            message = "a webhook without a `secret` is called by nobody: name the secret that callers sign with"
            findings.add(rules.NO_SECRET, message, _at(workflow, index, ()))
        if not wrong:
            _check_input(workflow, index, config, findings, alone=model is ScheduleTrigger)
        if wrong or model is WebhookTrigger:
            continue
        if model is not ScheduleTrigger:
            _check_event(workflow, index, config, findings)
            continue
        when = next((key for key in ("schedule", "cron", "every", "at") if key in config), "schedule")
        try:
            schedule = ScheduleTrigger.model_validate(config).read()
        except ValidationError as error:
            findings.add(rules.TRIGGER_CONFIG, str(error), _at(workflow, index, (when,)))
            continue
        for note in schedule.notes:
            findings.add(rules.TRIGGER_GUESSED, note, _at(workflow, index, (when,)))
        if now is not None and next(moments(schedule, now), None) is None:
            findings.add(rules.NEVER_AGAIN, "every moment of the schedule is over", _at(workflow, index, (when,)))


def check_awaited(workflow: Workflow, known: Callable[[], Collection[str]], findings: Findings) -> None:
    """A warning for each trigger by the end of a workflow that is not among `known`, which is only asked when there is one."""
    for index, trigger in enumerate(workflow.triggers):
        config = trigger.get("config")
        if trigger.get("type") != "workflow" or not isinstance(config, Mapping):
            continue
        awaited, names = config.get("workflow"), known()
        if isinstance(awaited, str) and awaited not in {*names, workflow.id}:
            meant = nearest(awaited, names)
            findings.add(rules.AWAITED, f"there is no workflow {awaited!r} whose end could start this one",
                _at(workflow, index, ("workflow",)), hint=f"did you mean {meant}?" if meant else "")


def trigger_names(workflow: Workflow) -> list[TriggerName]:
    """The ids of all triggers: the type and the number among those of that type. Publishing carries on what they had before."""
    found: list[TriggerName] = []
    numbers: dict[str, int] = {}
    for trigger in workflow.triggers:
        kind = str(trigger.get("type"))
        numbers[kind] = numbers.get(kind, 0) + 1
        said = json.dumps(plain(trigger), sort_keys=True, default=str)
        found.append({
            "id": f"{kind}-{numbers[kind]}" if kind in _MODELS else "", "type": kind,
            "hash": hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:16],
        })  # fmt: skip
    return found


def trigger_facts(workflow: Workflow) -> list[TriggerFacts]:
    """The schedules of a checked workflow, by the ids that `trigger_names` gives."""
    facts: list[TriggerFacts] = []
    for trigger in workflow.triggers:
        if trigger.get("type") != "schedule":
            continue
        config = ScheduleTrigger.model_validate(plain(trigger.get("config") or {}))
        schedule = config.read()
        facts.append({
            "id": f"schedule-{len(facts) + 1}", "type": "schedule", "expression": schedule.expression,
            "timezone": schedule.timezone, "input": config.input, "overlap": config.overlap, "enabled": config.enabled,
            "catch_up": config.catch_up, "window": config.window,
        })  # fmt: skip
    return facts


def webhook_facts(workflow: Workflow) -> list[WebhookFacts]:
    """The webhooks of a checked workflow that can be called."""
    facts: list[WebhookFacts] = []
    number = 0
    for trigger in workflow.triggers:
        if trigger.get("type") != "webhook":
            continue
        number += 1
        config = WebhookTrigger.model_validate(plain(trigger.get("config") or {}))
        if config.secret and config.enabled:
            facts.append({
                "id": f"webhook-{number}", "secret": config.secret, "header": config.header, "timestamp": config.timestamp,
                "window": config.window, "input": config.input,
                "fields": {key: str(value) for key, value in config.fields.items()},
            })  # fmt: skip
    return facts


def event_facts(workflow: Workflow) -> list[EventFacts]:
    """The events that start a checked workflow, endings of other workflows among them."""
    facts: list[EventFacts] = []
    numbers = {"event": 0, "workflow": 0}
    for trigger in workflow.triggers:
        kind = str(trigger.get("type"))
        if kind not in numbers:
            continue
        numbers[kind] += 1
        data = plain(trigger.get("config") or {})
        config = (EventTrigger if kind == "event" else WorkflowTrigger).model_validate(data)
        if not config.enabled:
            continue
        tree = _condition(config.where, NOWHERE, Findings()) if config.where else None
        found: EventFacts = {
            "id": f"{kind}-{numbers[kind]}", "events": [], "source": "", "workflow": "", "filter": {},
            "where": dump(tree) if tree is not None else None, "input": config.input,
            "fields": {key: str(value) for key, value in config.fields.items()},
        }  # fmt: skip
        if isinstance(config, EventTrigger):
            found |= {"events": _list(config.event), "source": config.source, "filter": config.filter}
        else:
            found |= {"events": [f"workflow_{one}" for one in _list(config.status)], "workflow": config.workflow}
        facts.append(found)
    return facts


def _check_input(workflow: Workflow, index: int, config: Mapping[str, Any], findings: Findings, *, alone: bool) -> None:
    """What a trigger gives, against the declared inputs. `alone`: nothing comes that would add to its constants."""
    declared = workflow.inputs
    if declared is None:
        return
    given, fields = config.get("input") or {}, config.get("fields") or {}
    for problem in prepare(declared, given)[1]:
        name = problem.pointer.split("/")[1].replace("~1", "/").replace("~0", "~") if problem.pointer else ""
        lacking = name in declared and name not in given
        if name in fields or lacking and not (alone or fields):
            continue
        rule = rules.LACKING if lacking else rules.INPUT
        findings.add(rule, problem.message, _at(workflow, index, ("input", name) if name in given else ("input",)))
    for name in fields:
        if name not in declared:
            message = next(each.message for each in prepare({key: {} for key in declared}, {name: None})[1])
            findings.add(rules.INPUT, message, _at(workflow, index, ("fields", name)))


def _check_event(workflow: Workflow, index: int, config: Mapping[str, Any], findings: Findings) -> None:
    at = _at(workflow, index, ("where",))
    if config.get("where"):
        known: Findings = Findings()
        if _condition(str(config["where"]), at, known) is None or known.has_errors:
            for one in known:
                findings.add(rules.CONDITION, one.message, one.position, hint=one.hint)
    for name in _list(config.get("event") or []):
        if name.startswith("node_"):
            at = _at(workflow, index, ("event",))
            findings.add(rules.STEP_EVENTS, f"events of steps such as {name} start no workflow", at)
    if config.get("workflow") == workflow.id:
        findings.add(rules.OWN_END, f"{workflow.id} starts itself again when it ends", _at(workflow, index, ("workflow",)))


def _condition(text: str, at: Position, findings: Findings) -> Node | None:
    tree = parse(text, at, findings)
    return resolve(tree, _NAMES, findings) if tree is not None else None


def _list(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value)


def _at(workflow: Workflow, index: int, path: tuple[Any, ...]) -> Position:
    return position_of(workflow.source, ("triggers", index, "config", *path))
