"""What an `agents` definition says about the whole workflow -> canonical keys."""

from __future__ import annotations

import re
from typing import Any

from translator.diagnostics import Findings, Position
from translator.dialects import common
from translator.dialects.agents.names import member
from translator.dialects.validate import did_you_mean
from translator.findings import dialects as rules
from translator.source import Map, Seq

_EVERY_N = re.compile(r"every_(\d{1,6})_nodes?\Z")
_ACTIONS = {"stop": "fail"}
_SCHEMA_KEYS = {
    "description": "description", "default": "default", "enum": "enum", "minimum": "minimum", "maximum": "maximum",
    "minLength": "min_length", "maxLength": "max_length", "minItems": "min_items", "maxItems": "max_items",
    "min_length": "min_length", "max_length": "max_length", "min_items": "min_items", "max_items": "max_items",
    "pattern": "pattern", "format": "format", "items": "items", "properties": "properties",
}
_TYPES = frozenset({"string", "number", "integer", "boolean", "array", "object", "any"})
SECRET_OF = {
    "slack": ("url", "slack_webhook_url"), "webhook": ("url", "notification_webhook_url"),
    "email": ("to", "notification_email"),
}


_ROOT_KEYS = frozenset({
    "$comment", "$defs", "$id", "$schema", "additionalProperties", "description", "examples", "properties", "required", "title",
    "type",
})


def _report_keys(schema: Map, findings: Findings) -> None:
    """Findings for what is no key of a JSON Schema of an object: mostly its properties, without `properties:` around them."""
    for key in schema:
        if key not in _ROOT_KEYS:
            findings.add(rules.UNKNOWN_KEY, f"{key!r} is not a key of a JSON Schema", schema.at_key(key),
                hint=f"write `properties: {{{key}: …}}`")


def inputs(schema: Map | None, findings: Findings) -> Map | None:
    """Declared inputs from a JSON Schema of the input; None when there is none."""
    if schema is not None:
        _report_keys(schema, findings)
    if schema is None or not isinstance(schema.get("properties"), Map):
        return None
    required = schema.get("required")
    names = set(required) if isinstance(required, Seq) and all(isinstance(name, str) for name in required) else set()
    result = Map(schema.at("properties"))
    properties: Map = schema["properties"]
    for name, written in properties.items():
        at = properties.at(name)
        declared = Map(at)
        source = written if isinstance(written, Map) else Map(at)
        kind = source.get("type") if isinstance(written, Map) else written
        if isinstance(kind, str) and kind in _TYPES:
            declared.put("type", kind, source.at("type"))
        elif kind is not None and not isinstance(kind, Seq):
            _report_type(kind, source.at("type"), findings)
        elif isinstance(kind, Seq):
            for one, place in kind.pairs():
                if one is not None and not (isinstance(one, str) and one in {*_TYPES, "null"}):
                    _report_type(one, place, findings)
            findings.add(rules.NO_EFFECT, f"the input {name!r} has several types; any is taken", source.at("type"))
        for key in source:
            if key in _SCHEMA_KEYS:
                declared.move(_SCHEMA_KEYS[key], source, key)
            elif key == "required" and not isinstance(source[key], Seq):
                declared.move("required", source)
            elif key not in ("type", "title", "examples", "required", "additionalProperties", "$comment"):
                findings.add(rules.NO_EFFECT, f"`{key}` is not checked", source.at_key(key))
        if name in names:
            declared.put("required", True, schema.at("required"))
        result.put(name, declared, at, properties.at_key(name))
    for name in sorted(names - {*properties}):
        findings.add(rules.MISSING_KEY, f"the required input {name!r} is not among the properties",
            schema.at("required"), hint=did_you_mean(name, properties))
    return result


def _report_type(kind: Any, at: Position, findings: Findings) -> None:
    findings.add(rules.NOT_ALLOWED, f"{kind!r} is no type of an input", at,
        hint=did_you_mean(str(kind), sorted(_TYPES), f"types: {', '.join(sorted(_TYPES))}"))


def outputs(schema: Map | None, keys: frozenset[str], written: bool, out: Map, findings: Findings) -> None:
    """Declared outputs: their types, and where they come from when a node's output key has their name."""
    if schema is None:
        return
    _report_keys(schema, findings)
    properties = schema.get("properties") if isinstance(schema.get("properties"), Map) else Map(schema.pos)
    types = Map(schema.pos)
    values = Map(schema.pos)
    assert isinstance(properties, Map)
    for name in properties:
        types.move(name, properties)
        if name in keys:
            values.put(name, f"{{{{ {member('state', name)} }}}}", properties.at_key(name))
        elif not written:
            findings.add(rules.OUTPUT_NOT_PRODUCED, f"no node gives the output {name!r}", properties.at_key(name),
                hint=did_you_mean(name, keys))
    if types:
        out.put("output_types", types)
    if values and not written:
        out.put("outputs", values)


def settings(written: Map, findings: Findings) -> Map:
    """Canonical settings."""
    result = Map(written.pos)
    for key in written:
        if key not in ("checkpointing", "error_handling", "monitoring", "execution"):
            result.move(key, written)
    common.only_one(written, ("checkpoint", "checkpointing"), findings)
    _checkpoint(written.get("checkpointing"), result, findings)
    handling: Map = written.get("error_handling") or Map(written.pos)
    if handling.get("on_failure") is not None:
        action = handling["on_failure"]
        _once(result, "on_error", handling, "on_failure", findings)
        result.put("on_error", _ACTIONS.get(action, action), handling.at("on_failure"))
    monitoring: Map = written.get("monitoring") or Map(written.pos)
    for key in monitoring:
        name = "sla" if key == "sla_seconds" else key
        _once(result, name, monitoring, key, findings)
        result.move(name, monitoring, key)
    execution: Any = written.get("execution")
    if isinstance(execution, Map):
        for name, key in (("max_parallel", "max_concurrent_nodes"), ("timeout", "timeout_seconds")):
            _once(result, name, execution, key, findings)
            result.move(name, execution, key)
    elif execution is not None:
        result.move("execution", written)
    return result


def _once(result: Map, name: str, source: Map, key: str, findings: Findings) -> None:
    if result.get(name) is not None and source.get(key) is not None:
        common.twice(findings, f"`{key}`", f"`{name}`", source.at_key(key), result.at_key(name))


def _checkpoint(checkpointing: Map | None, result: Map, findings: Findings) -> None:
    if checkpointing is None:
        return
    policy = Map(checkpointing.pos)
    frequency = checkpointing.get("frequency", "every_node")
    every = _EVERY_N.match(frequency)
    at = checkpointing.at("frequency")
    if checkpointing.get("enabled") is False:
        policy.put("policy", "none", checkpointing.at("enabled"))
    elif every and int(every[1]) > 0:
        policy.put("policy", "every_n", at)
        policy.put("every", int(every[1]), at)
    elif frequency in ("every_node", "on_failure", "durable", "manual", "none"):
        policy.put("policy", frequency, at)
    else:
        findings.add(rules.FREQUENCY, f"{frequency!r} is no frequency", at,
            hint="every_node, every_5_nodes or on_failure")
        return
    result.put("checkpoint", policy)


def notification(written: Map, findings: Findings) -> Map | None:
    """The message that `notify_on_failure` asks for."""
    handling: Map | None = written.get("error_handling")
    if handling is None or not handling.get("notify_on_failure"):
        return None
    at = handling.at("notify_on_failure")
    config = Map(at)
    channel = handling.get("notification_channel")
    place = handling.at("notification_channel")
    if channel is None:
        findings.add(rules.CHANNEL_MISSING, "no `notification_channel` is named, so failures are published as events",
            at)
        config.put("channel", "event", at)
    elif not _address(channel, config, place):
        if channel in SECRET_OF:
            key, secret = SECRET_OF[channel]
            config.put("channel", channel, place)
            config.put(key, f"{{{{ secrets.{secret} }}}}", place)
            findings.add(rules.CHANNEL_FROM_SECRET, f"the address of {channel!r} is read from the secret {secret!r}",
                place)
        elif channel in ("sns", "event"):
            config.put("channel", channel, place)
        else:
            findings.add(rules.NOT_ALLOWED, f"{channel!r} is no channel", place,
                hint=did_you_mean(channel, ("slack", "email", "sns", "webhook", "event"),
                    "slack, email, sns, webhook, event, an email address, a URL or a topic's ARN"))
            return None
    config.put("subject", "{{ workflow.name }} failed", at)
    config.put("message", "Execution {{ execution.id }} of {{ workflow.name }} failed.", at)
    result = Map(at)
    events = Seq(at)
    events.add("failed")
    result.put("on", events)
    result.put("config", config)
    return result


def _address(channel: str, config: Map, at: Position) -> bool:
    """Whether the channel is an address itself; fills `config` if so."""
    rows = (("https://", "webhook", "url"), ("http://", "webhook", "url"), ("arn:aws", "sns", "topic"))
    for start, name, key in rows:
        if channel.startswith(start):
            config.put("channel", "slack" if "hooks.slack.com" in channel else name, at)
            config.put(key, channel, at)
            return True
    if "@" in channel:
        config.put("channel", "email", at)
        config.put("to", channel, at)
        return True
    return False
