"""The trigger nodes of a graph: what starts a workflow is no step of it."""

from __future__ import annotations

import re

from translator.diagnostics import Findings
from translator.dialects import common
from translator.dialects.graph.flow import MAIN
from translator.findings import dialects as rules
from translator.source import Map, Seq

TRIGGERS = {
    "trigger": "manual", "manual": "manual", "start": "manual", "manual_trigger": "manual", "webhook": "webhook",
    "webhook_trigger": "webhook", "schedule": "schedule", "cron": "schedule", "schedule_trigger": "schedule",
    "event": "event", "event_trigger": "event", "workflow_trigger": "workflow",
}
KINDS = frozenset(TRIGGERS.values())


def trigger_kind(node: Map, targets: set[str], findings: Findings) -> str:
    """What starts the workflow where this node stands; empty when it is no trigger."""
    name = str(node["type"]).lower()
    flat = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", str(node["type"])).lower()
    kind = TRIGGERS.get(name) or TRIGGERS.get(flat) or ""
    if kind and common.nfc(node["id"]) in targets:
        if "trigger" in name:
            findings.add(rules.NOT_A_TRIGGER, f"a connection leads to the trigger {node['id']!r}",
                node.at("type"))
        return ""
    given = (node.get("properties") or {}).get("type")
    return given if name == "trigger" and isinstance(given, str) and given in KINDS else kind


def needed(name: str, starting: set[str], nodes: Seq, connections: Seq) -> bool:
    """Whether a trigger has to stay a step: somebody waits for it beside other nodes, names it, or takes a part of it."""
    mine = {common.nfc(item["target"]) for item in connections if common.nfc(item["source"]) == name}
    joined = any(common.nfc(item["target"]) in mine and common.nfc(item["source"]) not in starting
        for item in connections)
    named = any(common.nfc(str(item["step"] if isinstance(item, Map) else item)) == name
        for node in nodes for item, _ in common.dependencies(node))
    guarded = any(item.get("when") is not None or {item.get(key, MAIN) for key in ("sourceOutput", "targetInput")} != {MAIN}
        for item in connections if common.nfc(item["source"]) == name)
    return joined or named or guarded


def references(names: set[str]) -> re.Pattern[str] | None:
    """What refers to the output of one of these triggers: it means the input of the execution."""
    if not names:
        return None
    either = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    return re.compile(
        rf"(?<![\w.])(?:nodes|steps|tasks)(?:\.(?:{either})|\[\s*(?:'(?:{either})'|\"(?:{either})\")\s*\])"
        r"\.output(?!\w)")
