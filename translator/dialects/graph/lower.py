"""`graph` -> canonical data.

Decisions: a node gets its input where its type takes data (`data` of a transform, `results` of an aggregate, `input` of
an agent or skill, the items of a loop, the input of a workflow) unless its properties say
something else; every expression may name it `data`. Choices and waits hand their input on. A connection from `error`
makes the failure of its source harmless: the source continues, that connection is taken after a failure and the others
are not. A named output that is no outcome of a choice is a field of the output; a named input is a key of the input,
and a parameter of a skill. Trigger nodes start the workflow and are no steps. Unknown types are registered skills.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from translator.diagnostics import Findings, Position
from translator.dialects import common
from translator.dialects.graph import schema
from translator.dialects.graph.flow import ERROR, MAIN, Flow, Link, member
from translator.dialects.graph.outcomes import outcomes_of, settle
from translator.dialects.graph.settings import RETRY, lower_settings
from translator.dialects.graph.triggers import KINDS, needed, references, trigger_kind
from translator.dialects.holes import map_holes
from translator.dialects.spelling import (
    Spelling,
    carry_step,
    carry_workflow,
    each,
    lift,
    only,
    put,
    put_changed,
    rename,
    respelled,
    without,
)
from translator.dialects.templates import expression, splice_holes
from translator.dialects.validate import check, did_you_mean, one_of
from translator.findings import dialects as rules
from translator.source import Map, Seq

TYPES = {**common.STEP_TYPES, "if": "choice", "switch": "choice", "http_request": "http", "code": "transform"}
_PASSING = frozenset({"choice", "wait"})
_OF_A_TRIGGER = ("id", "type", "properties", "position", "name", "description", "labels")
_WORD = re.compile(r"(?<![\w.])data(?!\w)")


def lower(document: Map, findings: Findings) -> Map:
    """The canonical data of a `graph` definition that has passed its schema."""
    return _Lowering(document, findings).workflow()


def type_of(node: Map) -> str:
    """The canonical type of a node."""
    name = str(node["type"])
    flat = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    return TYPES.get(name.lower()) or TYPES.get(flat) or "skill"


class _Lowering:
    def __init__(self, document: Map, findings: Findings) -> None:
        self.document = document
        self.findings = findings
        wrapped = document.get("workflow_data")
        self.body: Map = wrapped if isinstance(wrapped, Map) else document
        self.written: Map = self.body.get("settings") or document.get("settings") or Map(document.pos)
        for key in ("nodes", "connections", "settings") if self.body is not document else ():
            if document.get(key):
                common.twice(findings, f"`{key}`", "`workflow_data`", document.at_key(key), document.at_key("workflow_data"))
        self.flowing = self.written.get("data_flow", True)
        self.gone: re.Pattern[str] | None = None
        self.dropped: set[str] = set()
        self.positions = Map(document.pos)  # of triggers, which are no steps

    # Texts

    def spelling(self, data: str, scope: Callable[[Map], Map] | None = None) -> Spelling:
        """What texts mean in a node whose input is the expression `data`."""

        def respell(text: str) -> str:
            if self.flowing and _WORD.search(text):
                text = rename(text, lambda word: data if word == "data" else None)
            return self.gone.sub("input", text) if self.gone else text

        def change(text: str, at: Position) -> tuple[str, Position]:
            bare, place = expression(text, at)
            new = respell(splice_holes(bare))
            return new, place if new == bare else at

        def computed(text: str, at: Position) -> tuple[str, Position]:
            # Outside of holes, `data` is what the transform itself is given as `data`.
            bare, place = expression(map_holes(text, respell), at)
            new = splice_holes(bare)
            return new, place if new in text else at

        alone = scope or (lambda node: self.alone(node, data))
        return Spelling(lambda text, at: map_holes(text, respell), change, alone, computed)

    # The workflow

    def workflow(self) -> Map:
        doc = self.document
        out = Map(doc.pos)
        if doc.get("id") not in (None, ""):
            put(out, "id", str(doc["id"]), doc)
        if doc.get("version") not in (None, ""):
            put(out, "version", common.version(doc["version"], doc.at("version"), self.findings), doc)
        nodes: Seq = self.body.get("nodes") or Seq(self.body.pos)
        if not nodes:
            self.findings.add(rules.MISSING_KEY, "the definition has no nodes", self.body.pos, hint="add `nodes:`")
        connections: Seq = self.body.get("connections") or Seq(self.body.pos)
        starting = self.triggers(nodes, connections, out)
        self.labels(out)
        settings = lower_settings(self.written, self.findings)
        if settings:
            out.put("settings", settings)
        carry_workflow(doc, out, self.spelling("input"), ("version", "id", "labels", "settings", "triggers"), self.findings)
        steps = self.scope(nodes, connections, "input", starting)
        put(out, "steps", steps, self.body, "nodes")
        return common.ordered(out, common.WORKFLOW_KEYS)

    def triggers(self, nodes: Seq, connections: Seq, out: Map) -> set[str]:
        """The triggers of the workflow; gives the ids of the nodes that are nothing but a trigger."""
        targets = {common.nfc(item["target"]) for item in connections}
        kinds = {common.nfc(node["id"]): trigger_kind(node, targets, self.findings) for node in nodes}
        starting = {name for name, kind in kinds.items() if kind}
        result = Seq(self.document.at("triggers"))
        for node in nodes:
            kind = kinds[common.nfc(node["id"])]
            if kind:
                trigger = Map(node.pos)
                put(trigger, "type", kind, node)
                properties: Map = node.get("properties") or Map(node.pos)
                config = Map(properties.pos)
                for key in properties:
                    if not (key == "type" and properties[key] in KINDS):
                        config.move(key, properties)
                if config:
                    trigger.put("config", config)
                result.add(trigger)
                for key in node:
                    if key not in _OF_A_TRIGGER and node[key] not in (None, {}, []):
                        self.findings.add(rules.UNKNOWN_KEY, f"{key!r} has no effect on a trigger, which is no step",
                            node.at_key(key), hint="remove it, or write it in the node that comes next")
                if node.get("position") is not None:
                    self.positions.move(str(node["id"]), node, "position")
        written: Seq | None = self.document.get("triggers")
        for item, at in written.pairs() if written else ():
            result.add(item, at)
        if result:
            out.put("triggers", result)
        self.dropped = {name for name in starting if not needed(name, starting, nodes, connections)}
        self.gone = references(self.dropped)
        return starting

    def labels(self, out: Map) -> None:
        labels = Map(self.document.pos)
        for key in ("organization_id", "user_id"):
            labels.move(key, self.document)
        written: Map = self.document.get("labels") or Map(self.document.pos)
        common.join(labels, written, self.findings, "labels", "definition")
        if self.positions:
            labels.put("trigger_positions", self.positions)
        if labels:
            out.put("labels", labels)

    # Nodes

    def alone(self, node: Map, data: str) -> Map:
        """A node outside of the graph: a compensation, a rollback step."""
        step = self.node(node, Flow(data), lambda inner: self.alone(inner, data))
        if node.get("depends_on") is not None:
            step.move("depends_on", node)
        return common.ordered(step, common.STEP_KEYS)

    def scope(self, nodes: Seq, connections: Seq, base: str, starting: set[str]) -> Seq:
        """The nodes of one list with the connections between them."""
        flow = Flow(base, starting=starting, certain=self.certain(nodes, connections))
        by_id = {common.nfc(node["id"]): node for node in nodes}
        for name, node in by_id.items():
            kind = type_of(node)
            if kind in _PASSING and name not in starting:
                flow.passing.add(name)
            if kind == "choice":
                settle(node, self.findings)
                flow.outcomes[name] = outcomes_of(node)
        for connection in connections:
            self.link(connection, by_id, flow)
        steps = Seq(nodes.pos)
        kept: list[tuple[Map, Map]] = []
        for node, at in nodes.pairs():
            name = common.nfc(node["id"])
            if name in starting and name in self.dropped:
                continue
            step = self.started(node, base) if name in starting else self.node(node, flow, None)
            kept.append((node, step))
            steps.add(step, at)
        failing = {link.source for link in flow.links if link.output == ERROR and ERROR not in flow.outcomes.get(
            link.source, ())}
        for node, step in kept:
            self.edges(node, step, flow, failing)
        ordered = Seq(nodes.pos)
        for step, at in steps.pairs():
            ordered.add(common.ordered(step, common.STEP_KEYS), at)
        return ordered

    def certain(self, nodes: Seq, connections: Seq) -> bool:
        """Whether every node of the scope runs and gives an output, whatever happens."""
        return not (
            self.written.get("continue_on_error") or self.written.get("on_error") == "continue"
            or any(item.get("when") is not None or item.get("sourceOutput") == ERROR for item in connections)
            or any(type_of(node) == "choice" or node.get("when") is not None
                or node.get("on_failure") not in (None, "fail") for node in nodes)
            or self.document.get("error_handlers"))

    def link(self, connection: Map, by_id: dict[str, Map], flow: Flow) -> None:
        missing = [key for key in ("source", "target") if common.nfc(connection[key]) not in by_id]
        for key in missing:
            self.findings.add(rules.UNKNOWN_NODE, f"the connection's `{key}` is {connection[key]!r}, which is no node"
                " here", connection.at(key), hint=one_of(connection[key], by_id))
        if missing:
            return
        output = connection.get("sourceOutput", MAIN)
        output = str(output).lower() if isinstance(output, bool) else output
        source = common.nfc(connection["source"])
        outcomes = flow.outcomes.get(source)
        at = connection.at("sourceOutput" if "sourceOutput" in connection else "source")
        if outcomes is not None and output == MAIN and connection.get("when") is None:
            self.findings.add(rules.EVERY_OUTCOME, "the connection is taken for every outcome of its source", at,
                hint=f"add `sourceOutput:` with one of {', '.join(outcomes)}")
        if outcomes is not None and output not in (MAIN, ERROR, *outcomes):
            self.findings.add(rules.NO_OUTCOME, f"{output!r} is no outcome of {source!r}", at,
                hint=did_you_mean(output, outcomes, f"outcomes: {', '.join(outcomes)}"))
        flow.add(Link(source, common.nfc(connection["target"]), output, connection.get("targetInput", MAIN),
            connection.get("when"), connection.at("source"), at))

    def started(self, node: Map, base: str) -> Map:
        """A trigger that others wait for: a step that gives the input."""
        step = Map(node.pos)
        for key in ("id", "name", "description"):
            step.move(key, node)
        put(step, "type", "transform", node)
        config = Map(node.pos)
        config.put("data", f"{{{{ {base} }}}}")
        step.put("config", config)
        return step

    def edges(self, node: Map, step: Map, flow: Flow, failing: set[str]) -> None:
        spelling = self.spelling(flow.whole(common.nfc(node["id"])))
        result = Seq(node.at("depends_on"))
        carried = Map(node.pos)
        carry_step(only(node, ("depends_on",)), carried, spelling)
        for item, at in common.dependencies(carried):
            result.add(item, at)
        by_source: dict[str, Map] = {}
        for link in flow.incoming(common.nfc(node["id"])):
            if link.source in self.dropped:
                continue
            when = spelling.expression(link.when, link.at)[0] if link.when is not None else None
            outcomes = flow.outcomes.get(link.source, [])
            on = [link.output] if link.output in outcomes else None
            if link.source in failing:
                guard = f"{member('errors', link.source)} {'!=' if link.output == ERROR else '=='} null"
                when = guard if when is None else f"{guard} and ({when})"
            entry = common.dependency(link.source, link.at, on=on, when=when)
            before = by_source.get(link.source)
            if before is None:
                by_source[link.source] = entry
                result.add(entry, link.at)
            elif before.get("on") and on and before.get("when") == when:
                if on[0] not in before["on"]:
                    before["on"].add(on[0], link.output_at)
            elif before != entry:
                result.add(entry, link.at)
        if result or "depends_on" in node:
            plain = Seq(result.pos)
            for item, at in result.pairs():
                bare = isinstance(item, Map) and {*item} == {"step"}
                plain.add(item["step"] if bare else item, at)
            step.put("depends_on", plain, result.pos)
        name = common.nfc(node["id"])
        if name in failing and "on_failure" not in step:
            step.put("on_failure", "continue", node.at("id"))

    def node(self, node: Map, flow: Flow, scope: Callable[[Map], Map] | None) -> Map:
        """One step without its edges."""
        out = Map(node.pos)
        kind = type_of(node)
        name = common.nfc(node["id"])
        data = flow.whole(name)
        spelling = self.spelling(data, scope)
        for key in ("id", "name", "description"):
            out.move(key, node)
        put(out, "type", kind, node)
        properties: Map = node.get("properties") or Map(node.at("type"))
        config = Map(properties.pos)
        if kind == "skill" and str(node["type"]).lower() not in TYPES:
            trigger = "a trigger has no connection to it" if str(node["type"]).lower() in KINDS else ""
            if close := trigger or did_you_mean(str(node["type"]), TYPES):
                self.findings.add(rules.CUSTOM_TYPE, f"{node['type']!r} is read as a registered skill", node.at("type"),
                    hint=close)
            config.put("skill", node["type"], node.at("type"))
            config.put("parameters", without(properties, ()), node.at("properties"))
        else:
            self.typed(kind, properties, data, spelling, out, config)
        written: Map = node.get("config") or Map(node.pos)
        common.join(config, written, self.findings, "config", "properties")
        config = respelled(kind, config, spelling)
        if self.flowing:
            self.feed(kind, node, flow, config, out, properties)
        if config:
            out.put("config", config, node.at("properties"))
        if node.get("retry") is not None:
            put(out, "retry", common.retry(node["retry"], self.findings, times=RETRY), node)
        if node.get("position") is not None:
            labels = without(node.get("labels") or Map(node.pos), ())
            common.join(labels, only(node, ("position",)), self.findings, "node", "labels")
            put(out, "labels", labels, node)
        if node.get("steps") and "steps" not in out:
            put(out, "steps", self.scope(node["steps"], Seq(node.pos), data, set()), node)
        carry_step(node, out, self.spelling(data), ("config", "depends_on", "retry"), self.findings)
        return out

    def typed(self, kind: str, properties: Map, data: str, spelling: Spelling, out: Map, config: Map) -> None:
        """Share the properties out between the step's structure and its configuration."""
        if kind == "choice" and "condition" in properties:
            self.condition(properties, spelling, out)
            properties = without(properties, ("condition",))
        structure = Map(properties.pos)
        inner = Map(properties.pos)
        if kind == "foreach":
            common.only_one(properties, ("nodes", "steps"), self.findings)
            for key in ("nodes", "steps", "connections"):
                inner.move("nodes" if key == "steps" else key, properties, key)
            properties = without(properties, ("nodes", "steps", "connections"))
        lift(kind, properties, structure, config, self.findings)
        if inner and check(schema.Scope, inner, self.findings, f"`properties` of {str(out.get('id'))!r}"):
            item = str(structure.get("item_name") or "item")
            steps = self.scope(inner["nodes"], inner.get("connections") or Seq(inner.pos), item, set())
            put(out, "steps", steps, inner, "nodes")
        branches = structure.get("branches")
        if isinstance(branches, Seq):
            shape = Map(structure.pos)
            shape.move("branches", structure)
            if check(schema.Branches, shape, self.findings, f"`properties` of {str(out.get('id'))!r}"):
                put(out, "branches", each(branches, lambda branch: self.branch(branch, data)), structure)
        carry_step(structure, out, spelling, ("branches",), self.findings)

    def branch(self, branch: Map, data: str) -> Map:
        result = Map(branch.pos)
        result.move("name", branch)
        steps: Seq = branch.get("steps") or Seq(branch.pos)
        result.put("steps", self.scope(steps, Seq(branch.pos), data, set()))
        return result

    def condition(self, properties: Map, spelling: Spelling, out: Map) -> None:
        written = properties["condition"]
        if not isinstance(written, (str, bool)):
            self.findings.add(rules.WRONG_TYPE, "a condition is an expression", properties.at("condition"))
            written = False
        case = Map(properties.at("condition"))
        case.put("name", "true")
        text = written if isinstance(written, str) else str(written).lower()
        put_changed(case, "when", text, properties, spelling.expression, "condition")
        cases = Seq(case.pos)
        cases.add(case)
        put(out, "cases", cases, properties, "condition")
        out.put("default", "false", case.pos)

    def feed(self, kind: str, node: Map, flow: Flow, config: Map, out: Map, properties: Map) -> None:
        """Give a node its input where its type takes data and nothing else is said."""
        name = common.nfc(node["id"])
        data = flow.whole(name)
        hole = f"{{{{ {data} }}}}"
        main, named = flow.parts(name)
        if kind == "transform" and "data" not in config:
            config.put("data", hole)
        elif kind == "aggregate" and "results" not in config and "data" not in config:
            if len(main) > 1 and not named:
                items = Seq(node.pos)
                for value in main:
                    items.add(f"{{{{ {value} }}}}")
                config.put("results", items)
            else:
                config.put("results", hole)
        elif kind in ("agent", "approval") and not _mentions(properties):
            target = "input" if kind == "agent" else "data"
            if target not in config:
                config.put(target, hole)
        elif kind == "skill":
            given = config.get("parameters")
            parameters = given if isinstance(given, Map) else Map(config.pos)
            if main and "input" not in parameters and "input" not in config:
                config.put("input", f"{{{{ {flow.merged(main)} }}}}")
            for key, values in named.items():
                if key not in parameters:
                    parameters.put(key, f"{{{{ {flow.merged(values)} }}}}")
            if given is None or isinstance(given, Map):
                config.put("parameters", parameters, config.at("parameters"))
        elif kind == "workflow" and "input" not in out and "input" not in node:
            out.put("input", hole)
        elif kind == "foreach" and "items" not in out and "items" not in node:
            out.put("items", hole)


def _mentions(properties: Any) -> bool:
    stack = [properties]
    while stack:
        here = stack.pop()
        if isinstance(here, str) and "{{" in here and _WORD.search(here):
            return True
        if isinstance(here, dict):
            stack += here.values()
        elif isinstance(here, list):
            stack += here
    return False
