"""Canonical data -> `agents`. What the dialect has no words for keeps its canonical key."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from translator.diagnostics import Findings, Position
from translator.dialects import common
from translator.dialects.agents.names import AGENTS, HOLE, ROOTS, Names
from translator.dialects.holes import CLOSE, OPEN, Part, parts, spelled
from translator.dialects.spelling import (
    CANONICAL_TYPES,
    SIMPLE_PATH,
    STRUCTURE,
    ExpressionChange,
    Spelling,
    carry_step,
    carry_workflow,
    in_literals,
    only,
    put,
    put_changed,
    without,
)
from translator.dialects.templates import map_texts
from translator.dialects.writing import two_way
from translator.findings import dialects as rules
from translator.nearest import nearest
from translator.source import Map, Seq, plain

_NAMES = {"agent": "llm", "scrape": "web_scraping", "email": "email", "query": "database"}
_METADATA = ("created_by", "created_at", "updated_at", "tags")
_PATTERNS = frozenset({"sequential", "conditional", "map_reduce", "parallel"})
_MONITORING = {"track_cost": "track_cost", "track_duration": "track_duration",
    "alert_on_sla_breach": "alert_on_sla_breach", "sla": "sla_seconds"}
_EXECUTION = {"max_parallel": "max_concurrent_nodes", "timeout": "timeout_seconds"}
_INPUT_KEYS = {"min_length": "minLength", "max_length": "maxLength", "min_items": "minItems", "max_items": "maxItems"}
_SCRIPTS = ("script", "custom_script")
_ORDER = ("id", "name", "agent", "description", "parameters", "depends_on", "when", "output_key", "retry", "timeout")
_FIRST = ("metadata", "pattern", "state_schema", "inputs", "variables", "nodes", "edges", "settings")


def render(document: Map, findings: Findings) -> Map:
    """`document` is canonical data, tidied. Gives a definition that reads back as the same data."""
    return _Rendering(document, findings).workflow()


class _Rendering:
    def __init__(self, document: Map, findings: Findings) -> None:
        self.document = document
        self.findings = findings
        outputs = frozenset(_values(document, "output_key"))
        inputs = document.get("inputs")
        loops = {name: name for key in ("item_name", "index_name") for name in _values(document, key)}
        self.names = Names(outputs, None if inputs is None else frozenset(inputs),
            frozenset(document.get("variables") or ()), loops={"item": "item", "index": "index", **loops})
        self.spelling = Spelling(self.text, self.expression, self.node)

    def text(self, text: str, at: Position) -> str:
        written = ""
        for part in parts(text):
            written += self.part(part, brace=written.endswith("{"))
        return written

    def expression(self, text: str, at: Position) -> tuple[str, Position]:
        """An expression whose text literals hold no braces that would be read as a hole."""
        return in_literals(text, lambda literal: HOLE.sub(self.escaped_brace, literal)) if "{" in text else text, at

    def escaped_brace(self, match: re.Match[str]) -> str:
        root = re.split(r"[.\[]", match["path"], maxsplit=1)[0]
        return f"{match['escape'] or ''}\\{{{match['path']}}}" if self.names.knows(root) else match[0]

    def part(self, part: Part, *, brace: bool) -> str:
        """`brace`: whether a brace stands before it, so that single ones around a name would be read as double ones."""
        if not part.hole:
            return "\\${{".join(HOLE.sub(self.escaped, piece) for piece in part.text.split("${{"))
        inside = part.text.strip()
        if not part.closed:
            return f"${{{{{part.text}"
        root = re.split(r"[.\[]", inside, maxsplit=1)[0]
        known = root in ROOTS or root in self.names.outputs or root in self.names.variables or root in (
            self.names.inputs or ())
        simple = SIMPLE_PATH.match(inside) and HOLE.fullmatch(f"{{{inside}}}")
        if known and simple and not brace and self.names.respell(inside) == inside:
            return f"{{{inside}}}"
        return f"${{{{ {inside} }}}}"

    def escaped(self, match: re.Match[str]) -> str:
        root = re.split(r"[.\[]", match["path"], maxsplit=1)[0]
        return f"\\{match[0]}" if self.names.knows(root) else match[0]

    # The workflow

    def workflow(self) -> Map:
        doc = self.document
        out = Map(doc.pos)
        labels: Map = doc.get("labels") or Map(doc.pos)
        metadata = only(doc, ("id", "name", "description", "version"))
        taken = [key for key in _METADATA if key in labels and (key != "tags" or _texts(labels[key]))]
        for key in taken:
            metadata.move(key, labels)
        if metadata:
            out.put("metadata", metadata, doc.pos)
        if labels.get("pattern") in _PATTERNS:
            out.move("pattern", labels)
            taken.append("pattern")
        if rest := without(labels, taken):
            put(out, "labels", rest, doc)
        schema = self.schema()
        if schema:
            out.put("state_schema", schema)
        if settings := self.settings(doc.get("settings") or Map(doc.pos)):
            put(out, "settings", settings, doc)
        skip = ["id", "name", "description", "version", "labels", "settings", "inputs"]
        if "output" in schema:
            skip.append("output_types")
        if "inputs" in doc and "input" not in schema:
            out.move("inputs", doc)
        carry_workflow(doc, out, self.spelling, skip)
        nodes, edges = self.scope(doc["steps"])
        put(out, "nodes", nodes, doc, "steps")
        put(out, "edges", edges, doc, "steps")
        return common.ordered(out, _FIRST)

    def schema(self) -> Map:
        doc = self.document
        result = Map(doc.pos)
        inputs = doc.get("inputs")
        if isinstance(inputs, Map):
            properties = Map(inputs.pos)
            required = Seq(inputs.pos)
            for name, declared in inputs.items():
                written = Map(declared.pos)
                for key in declared:
                    if key == "required" and declared[key]:
                        required.add(name, declared.at(key))
                    elif declared[key] is not None or key == "default":
                        written.move(_INPUT_KEYS.get(key, key), declared, key)
                properties.put(name, written, inputs.at(name), inputs.at_key(name))
            schema = _object_schema(properties)
            if required:
                schema.put("required", required)
            result.put("input", schema, doc.at("inputs"))
        if doc.get("output_types") and doc.get("outputs") is not None:
            result.put("output", _object_schema(doc["output_types"]), doc.at("output_types"))
        return result

    def settings(self, written: Map) -> Map:
        out = Map(written.pos)
        sections: dict[str, Map] = {}
        for key in written:
            section, name = "", key
            if key in _MONITORING:
                section, name = "monitoring", _MONITORING[key]
            elif key in _EXECUTION and written.get("execution") in (None, "auto"):
                section, name = "execution", _EXECUTION[key]
            elif key == "on_error" and isinstance(written[key], str):
                section, name = "error_handling", "on_failure"
            elif key == "checkpoint" and (frequency := _frequency(written[key])):
                checkpointing = Map(written.at(key))
                checkpointing.put("enabled", frequency != "none")
                if frequency != "none":
                    checkpointing.put("frequency", frequency)
                put(out, "checkpointing", checkpointing, written, key)
                continue
            if section:
                sections.setdefault(section, Map(written.pos)).move(name, written, key)
            elif not (key == "execution" and written[key] == "auto"):
                out.move(key, written)
        for section, content in sections.items():
            out.put(section, content)
        if out.get("error_handling", {}).get("on_failure") == "fail":
            out["error_handling"]["on_failure"] = "stop"
        return out

    # Nodes

    def scope(self, steps: Seq) -> tuple[Seq, Seq]:
        """Nodes, and the edges between them."""
        choices = {step["id"] for step in steps if step["type"] == "choice"}
        nodes = Seq(steps.pos)
        edges = Seq(steps.pos)
        for step, at in steps.pairs():
            node = self.node(step)
            mine = _edges(step, choices, self.spelling.expression)
            if mine is not None:
                node.pop("depends_on", None)
                for edge in mine:
                    edges.add(edge)
            nodes.add(node, at)
        return nodes, edges

    def node(self, step: Map) -> Map:
        out = Map(step.pos)
        out.move("id", step)
        agent, parameters, used = self.typed(step)
        put(out, "agent", agent, step, "type")
        if parameters:
            out.put("parameters", parameters, step.at("config"))
        if isinstance(step.get("retry"), Map):
            retry = Map(step.at("retry"))
            for key in step["retry"]:
                retry.move("backoff" if key == "strategy" else key, step["retry"], key)
            put(out, "retry", retry, step)
        carry_step(step, out, self.spelling, skip=("type", "config", "retry", *used))
        return common.ordered(out, _ORDER)

    def typed(self, step: Map) -> tuple[str, Map, list[str]]:
        """The node's agent, its parameters, and the keys of the step that these say."""
        kind = step["type"]
        config = self.config(step.get("config") or Map(step.at("type")))
        if kind == "skill" and self.is_own_agent(config):
            return config["skill"], config["parameters"], []
        if kind == "choice" and two_way(step):
            parameters = Map(step.pos)
            case = step["cases"][0]
            put_changed(parameters, "condition", case["when"], case, self.spelling.expression, "when")
            return "router", parameters, ["cases", "default", "mode"]
        if kind == "transform" and "data" in config:
            return "data_processing", config, []
        if kind == "aggregate" and ("results" in config or "data" in config):
            return "aggregator", config, []
        if kind == "http" and (not step.get("output_key") or "expected_status" in config):
            return "api", config, []
        if kind == "approval" and step.get("timeout") and "timeout" not in config and "{data" not in str(plain(config)):
            config.move("timeout", step)
            return "human_loop", config, ["timeout"]
        if kind in _NAMES:
            if kind == "query" and "parameters" in config:
                config.move("params", config, "parameters")
                del config["parameters"]
            return _NAMES[kind], config, []
        structure = [key for key in STRUCTURE.get(kind, ()) if key in step]
        carried = Map(step.pos)
        carry_step(only(step, structure), carried, self.spelling)
        if kind in STRUCTURE and config:
            self.findings.add(rules.CANNOT_SAY, f"a {kind} has no settings here; {', '.join(config)} is left out",
                step.at("config"))
        return kind, carried if kind in STRUCTURE else config, structure

    def config(self, config: Map) -> Map:
        result = Map(config.pos)
        for key, value in config.items():
            at = config.at(key)
            if key in _SCRIPTS and isinstance(value, str):
                pieces = parts(value)
                if any(piece.hole for piece in pieces):
                    self.findings.add(rules.CANNOT_SAY, f"a {key} is taken as it stands; expressions in it stay text", at)
                put(result, key, spelled(pieces, OPEN, CLOSE, str), config)
            elif key == "expression" and isinstance(value, str):
                put_changed(result, key, value, config, self.spelling.expression)
            else:
                put(result, key, map_texts(value, self.text, at), config)
        return result

    def is_own_agent(self, config: Map) -> bool:
        name = config.get("skill")
        return (isinstance(name, str) and bool(name) and "{" not in name and {*config} == {"skill", "parameters"}
            and isinstance(config["parameters"], Map) and name not in AGENTS and name not in CANONICAL_TYPES
            and not nearest(name, (*AGENTS, *CANONICAL_TYPES)))


def _edges(step: Map, choices: set[str], change: ExpressionChange) -> list[Map] | None:
    """The edges of a step; None when only `depends_on` says them in the same order."""
    result: list[Map] = []
    seen: set[str] = set()
    for item in step.get("depends_on") or ():
        source = item["step"] if isinstance(item, Map) else item
        outcomes: list[str] = list(item.get("on") or ()) if isinstance(item, Map) else []
        when = item.get("when") if isinstance(item, Map) else None
        if source in seen or (source in choices and not outcomes) or (outcomes and when is not None):
            return None
        if when is not None and str(when).strip().lower() in ("else", "otherwise", "default"):
            return None
        seen.add(source)
        at = item.pos if isinstance(item, Map) else step.at("depends_on")
        edge = Map(at)
        edge.put("from", source, at)
        edge.put("to", step["id"], at)
        if len(outcomes) == 1 and outcomes[0] in ("true", "false"):
            edge.put("condition", outcomes[0], at)
        elif outcomes:
            edge.put("on", item["on"], at)
        elif when is not None:
            put_changed(edge, "condition", when, item, change, "when")
        result.append(edge)
    return result


def _object_schema(properties: Map) -> Map:
    schema = Map(properties.pos)
    schema.put("type", "object")
    schema.put("properties", properties)
    return schema


def _frequency(checkpoint: Any) -> str:
    """The frequency that means the same as a canonical checkpoint policy; empty when there is none."""
    policy = checkpoint.get("policy", "every_node")
    if policy == "every_n" and {*checkpoint} == {"policy", "every"}:
        return f"every_{checkpoint['every']}_nodes"
    return policy if {*checkpoint} == {"policy"} and policy in ("every_node", "on_failure", "none", "durable",
        "manual") else ""


def _texts(value: Any) -> bool:
    return isinstance(value, Seq) and all(isinstance(item, str) for item in value)


def _values(value: Any, key: str) -> Iterator[str]:
    """Every text under `key`, anywhere."""
    stack = [value]
    while stack:
        here = stack.pop()
        if isinstance(here, Map):
            if isinstance(here.get(key), str):
                yield here[key]
            stack += here.values()
        elif isinstance(here, Seq):
            stack += here
