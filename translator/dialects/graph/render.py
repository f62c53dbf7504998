"""Canonical data -> `graph`. What the dialect has no words for keeps its canonical key.

Data flows by name in canonical data, so the graph is written with `data_flow: false`: nodes get nothing by themselves.
"""

from __future__ import annotations

from typing import Any

from translator.diagnostics import Findings, Position
from translator.dialects import common
from translator.dialects.graph.lower import TYPES, type_of
from translator.dialects.graph.triggers import TRIGGERS
from translator.dialects.spelling import STRUCTURE, Spelling, carry_step, carry_workflow, only, put, without
from translator.dialects.writing import two_way
from translator.findings import dialects as rules
from translator.nearest import nearest
from translator.source import Map, Seq

_STARTS = {"manual": "manual", "webhook": "webhook", "schedule": "schedule", "event": "event",
    "workflow": "workflow_trigger"}
_MILLISECONDS = ("delay", "max_delay")
_ORDER = ("id", "name", "description", "type", "position", "properties", "depends_on", "when")
_FIRST = ("id", "name", "version", "description", "inputs", "variables", "nodes", "connections", "settings")


def render(document: Map, findings: Findings) -> Map:
    """`document` is canonical data, tidied. Gives a definition that reads back as the same data."""
    return _Rendering(findings).workflow(document)


def _same(text: str, at: Position) -> str:
    return text


class _Rendering:
    def __init__(self, findings: Findings) -> None:
        self.findings = findings
        self.spelling = Spelling(_same, lambda text, at: (text, at), self.node)

    def workflow(self, document: Map) -> Map:
        out = Map(document.pos)
        labels: Map = document.get("labels") or Map(document.pos)
        settings = self.settings(document.get("settings") or Map(document.pos))
        taken = []
        for key in ("organization_id", "user_id"):
            if isinstance(labels.get(key), (str, int)) and not isinstance(labels.get(key), bool):
                out.move(key, labels)
                taken.append(key)
        if rest := without(labels, taken):
            put(out, "labels", rest, document)
        carry_workflow(document, out, self.spelling, skip=("labels", "settings", "triggers"))
        nodes, connections = self.scope(document["steps"])
        put(out, "nodes", nodes, document, "steps")
        put(out, "connections", connections, document, "steps")
        put(out, "settings", settings, document)
        self.triggers(document, nodes, connections, out)
        return common.ordered(out, _FIRST)

    def settings(self, written: Map) -> Map:
        out = Map(written.pos)
        for key in written:
            if key == "retry":
                put(out, key, _retry(written[key]), written)
            elif key == "circuit_breaker" and isinstance(written[key], Map):
                breaker = Map(written[key].pos)
                for name, value in written[key].items():
                    breaker.put(name, round(value * 1000) if name == "recovery_timeout" else value, written[key].at(name))
                put(out, key, breaker, written)
            elif key == "on_error" and written[key] == "continue":
                put(out, "continue_on_error", True, written, key)
            else:
                out.move(key, written)
        out.put("data_flow", False, written.pos)
        return out

    def triggers(self, document: Map, nodes: Seq, connections: Seq, out: Map) -> None:
        """Trigger nodes in front of everything that starts at once; the canonical key where a node can't say it."""
        triggers: Seq = document.get("triggers") or Seq(document.pos)
        kinds = {"manual", "webhook", "schedule", "event", "workflow"}
        if not triggers or any((item.get("config") or {}).get("type") in kinds for item in triggers):
            out.move("triggers", document)
            return
        taken = {node["id"] for node in nodes}
        entered = {item["target"] for item in connections}
        roots = [node["id"] for node in nodes if node["id"] not in entered and not node.get("depends_on")]
        first = Seq(nodes.pos)
        edges = Seq(connections.pos)
        for trigger in triggers:
            node = Map(trigger.pos)
            kind = _STARTS[trigger["type"]]
            node.put("id", common.unique(kind, taken), trigger.at("type"))
            put(node, "type", kind, trigger)
            if trigger.get("config"):
                node.move("properties", trigger, "config")
            first.add(node)
            for root in roots:
                edges.add(_connection(node["id"], root, trigger.pos))
        for node, at in nodes.pairs():
            first.add(node, at)
        for edge, at in connections.pairs():
            edges.add(edge, at)
        out.put("nodes", first, nodes.pos)
        out.put("connections", edges, connections.pos)

    def scope(self, steps: Seq) -> tuple[Seq, Seq]:
        """Nodes, and the connections between them."""
        nodes = Seq(steps.pos)
        connections = Seq(steps.pos)
        choices = {step["id"] for step in steps if step["type"] == "choice"}
        for step, at in steps.pairs():
            node = self.node(step)
            mine = _connections(step, choices)
            if mine is not None:
                node.pop("depends_on", None)
                for connection in mine:
                    connections.add(connection)
            nodes.add(node, at)
        return nodes, connections

    def node(self, step: Map) -> Map:
        out = Map(step.pos)
        out.move("id", step)
        kind, properties, used = self.typed(step)
        put(out, "type", kind, step)
        labels: Map = step.get("labels") or Map(step.pos)
        position = labels.get("position")
        if _is_position(position):
            out.move("position", labels)
            labels = without(labels, ("position",))
        if labels:
            put(out, "labels", labels, step)
        if properties:
            out.put("properties", properties, step.at("config"))
        if step.get("retry") is not None:
            put(out, "retry", _retry(step["retry"]), step)
        carry_step(step, out, self.spelling, skip=("type", "config", "retry", "labels", *used))
        return common.ordered(out, _ORDER)

    def typed(self, step: Map) -> tuple[str, Map, list[str]]:
        """The node's type, its properties, and the keys of the step that these say."""
        kind = step["type"]
        config: Map = step.get("config") or Map(step.at("type"))
        if kind == "skill" and _is_own_type(config):
            return config["skill"], config["parameters"], []
        if kind == "choice" and two_way(step):
            properties = Map(step.pos)
            properties.move("condition", step["cases"][0], "when")
            return "conditional", properties, ["cases", "default", "mode"]
        structure = [key for key in STRUCTURE.get(kind, ()) if key in step]
        properties = Map(config.pos)
        carried = Map(step.pos)
        carry_step(only(step, structure), carried, self.spelling, skip=("steps",))
        for key in carried:
            properties.move(key, carried)
        if "steps" in structure:
            nodes, connections = self.scope(step["steps"])
            put(properties, "nodes", nodes, step, "steps")
            if connections:
                put(properties, "connections", connections, step, "steps")
        if kind in STRUCTURE and config:
            self.findings.add(rules.CANNOT_SAY, f"a {kind} has no settings here; {', '.join(config)} is left out",
                step.at("config"))
        elif kind not in STRUCTURE:
            properties = config
        return kind, properties, structure


def _connections(step: Map, choices: set[str]) -> list[Map] | None:
    """The edges of a step as connections; None when only `depends_on` says them in the same order.

    A connection from a choice names an outcome, so an edge for every outcome is said by `depends_on`.
    """
    result: list[Map] = []
    seen: set[str] = set()
    for edge in step.get("depends_on") or ():
        source = edge["step"] if isinstance(edge, Map) else edge
        always = not isinstance(edge, Map) or (not edge.get("on") and edge.get("when") is None)
        if source in seen or (source in choices and always):
            return None
        seen.add(source)
        at = edge.pos if isinstance(edge, Map) else step.at("depends_on")
        outcomes: list[Any] = list(edge.get("on") or [None]) if isinstance(edge, Map) else [None]
        for outcome in outcomes:
            connection = _connection(source, step["id"], at, outcome)
            if isinstance(edge, Map) and edge.get("when") is not None:
                connection.move("when", edge)
            result.append(connection)
    return result


def _connection(source: str, target: str, at: Position, output: str | None = None) -> Map:
    connection = Map(at)
    connection.put("source", source, at)
    connection.put("target", target, at)
    if output is not None:
        connection.put("sourceOutput", output, at)
    return connection


def _is_own_type(config: Map) -> bool:
    """Whether a skill's call can be written as a node whose type is the skill's name."""
    name = config.get("skill")
    return (isinstance(name, str) and bool(name) and "{{" not in name and {*config} == {"skill", "parameters"}
        and isinstance(config["parameters"], Map) and name.lower() not in TYPES and name.lower() not in TRIGGERS
        and type_of(_node_of(name)) == "skill" and not nearest(name, TYPES))


def _node_of(name: str) -> Map:
    node = Map()
    node.put("type", name)
    return node


def _is_position(position: Any) -> bool:
    numbers = position.values() if isinstance(position, Map) else position if isinstance(position, Seq) else None
    return numbers is not None and all(isinstance(n, (int, float)) and not isinstance(n, bool) for n in numbers)


def _retry(retry: Map) -> Map:
    """The same retry in this dialect's words."""
    result = Map(retry.pos)
    for key in retry:
        if key == "max_attempts":
            put(result, "max_retries", retry[key] - 1, retry, key)
        elif key in _MILLISECONDS:
            amount = retry[key] * 1000
            put(result, key, int(amount) if amount == int(amount) else amount, retry)
        else:
            result.move(key, retry)
    return result


