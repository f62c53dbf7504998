"""`agents` -> canonical data.

Decisions: a `pattern: map` node runs once for each item of its first input key, which is called by the singular of the
key and `item`; `batch_size` bounds how many run at once, each call still sees one item. In an `orchestrator_worker`
workflow the workers do the same with the orchestrator's output. Nodes get what their input keys name: data processing
as `data`, aggregators as `results`, models and people what their texts do not mention, custom agents as parameters. A
router's condition decides between `if_true` and `if_false`; an unknown agent is a registered skill. Scripts are taken
as they stand. Nobody answers a human for 3600 seconds at most.
"""

from __future__ import annotations

import re

from translator.diagnostics import Findings, Position
from translator.dialects import common
from translator.dialects.agents import schema, settings
from translator.dialects.agents.edges import Router, connect
from translator.dialects.agents.feed import feed, unknown
from translator.dialects.agents.names import (
    AGENTS,
    Names,
    output_of,
    singular,
    to_canonical,
    to_expression,
)
from translator.dialects.agents.nodes import all_nodes, input_keys, listed, output_key, texts
from translator.dialects.holes import Part, written
from translator.dialects.spelling import (
    CANONICAL_TYPES,
    Spelling,
    carry_step,
    carry_workflow,
    lift,
    put,
    put_changed,
)
from translator.dialects.templates import expression, map_texts
from translator.dialects.validate import check, did_you_mean
from translator.findings import dialects as rules
from translator.model.values import duration
from translator.source import Map, Seq

HUMAN_TIMEOUT = 3600
_SCRIPTS = frozenset({"script", "custom_script"})
_TASK = "task"


def lower(document: Map, findings: Findings) -> Map:
    """The canonical data of an `agents` definition that has passed its schema."""
    return _Lowering(document, findings).workflow()


class _Lowering:
    def __init__(self, document: Map, findings: Findings) -> None:
        self.document = document
        self.findings = findings
        self.state: Map = document.get("state_schema") or Map(document.pos)
        self.inputs = self.declared_inputs()
        nodes = [*all_nodes(document)]
        produced = frozenset(key for node in nodes if (key := output_key(node)))
        names = None if self.inputs is None else frozenset(self.inputs)
        asked = {key for node in nodes for key, _ in input_keys(node)} if names is None else set()
        variables = frozenset(document.get("variables") or ())
        self.names = Names(produced, names, variables, frozenset(asked - produced - variables))
        self.taken = {common.nfc(node["id"]) for node in nodes if isinstance(node.get("id"), str)}
        self.all_texts = [*texts(document.get("nodes")), *texts(document.get("edges"))]
        self.workers: dict[str, str] = {}
        self.orchestrator = ""

    def declared_inputs(self) -> Map | None:
        written: Map | None = self.document.get("inputs")
        if written is not None and self.state.get("input") is not None:
            common.twice(self.findings, "`inputs`", "`state_schema.input`", self.document.at_key("inputs"),
                self.state.at_key("input"))
        return written if written is not None else settings.inputs(self.state.get("input"), self.findings)

    def spelling(self, names: Names) -> Spelling:
        def text(value: str, at: Position) -> str:
            return to_canonical(value, names, at, self.findings)

        def change(value: str, at: Position) -> tuple[str, Position]:
            bare, place = expression(value, at)
            new = to_expression(bare, names)
            return new, place if new == bare else at

        return Spelling(text, change, lambda node: self.alone(node, names))

    # The workflow

    def workflow(self) -> Map:
        doc = self.document
        out = Map(doc.pos)
        metadata: Map = doc.get("metadata") or Map(doc.pos)
        for key in ("id", "name", "version", "description"):
            source = doc if doc.get(key) else metadata
            if source.get(key):
                out.move(key, source)
                if doc.get(key) and metadata.get(key) and doc[key] != metadata[key]:
                    self.findings.add(rules.WRITTEN_TWICE, f"`{key}` stands in `metadata` too, and differs",
                        doc.at_key(key), related=(("also here", metadata.at_key(key)),))
        if "version" in out:
            out["version"] = common.version(out["version"], out.at("version"), self.findings)
        self.labels(metadata, out)
        if self.inputs is not None:
            out.put("inputs", self.inputs, self.inputs.pos)
        has_outputs = doc.get("outputs") is not None
        settings.outputs(self.state.get("output"), self.names.outputs, has_outputs, out, self.findings)
        written: Map = doc.get("settings") or Map(doc.pos)
        if lowered := settings.settings(written, self.findings):
            put(out, "settings", lowered, doc, "settings")
        spelling = self.spelling(self.names)
        self.notifications(written, spelling, out)
        carry_workflow(doc, out, spelling, ("version", "labels", "settings", "notifications", "inputs"), self.findings)
        edges: Seq = doc.get("edges") or Seq(doc.at("edges"))
        self.roles(doc["nodes"], edges)
        put(out, "steps", self.scope(doc["nodes"], edges, self.names), doc, "nodes")
        return common.ordered(out, common.WORKFLOW_KEYS)

    def labels(self, metadata: Map, out: Map) -> None:
        labels = Map(metadata.pos)
        for key in ("created_by", "created_at", "updated_at", "tags"):
            labels.move(key, metadata)
        labels.move("pattern", self.document)
        written: Map = self.document.get("labels") or Map(self.document.pos)
        common.join(labels, written, self.findings, "labels", "metadata")
        if labels:
            out.put("labels", labels)

    def notifications(self, written: Map, spelling: Spelling, out: Map) -> None:
        result = Seq(self.document.at("notifications"))
        failed = settings.notification(written, self.findings)
        if failed is not None:
            result.add(failed)
        own: Seq | None = self.document.get("notifications")
        for item, at in own.pairs() if own else ():
            result.add(map_texts(item, spelling.text, at), at)
        if result:
            out.put("notifications", result)

    def roles(self, nodes: Seq, edges: Seq) -> None:
        """Which nodes are workers, and whose list they go through."""
        given = {common.nfc(node["id"]): node.get("role") or node.get("pattern") for node in nodes}
        before: dict[str, list[str]] = {name: [] for name in given}
        after: dict[str, list[str]] = {name: [] for name in given}
        for edge in edges:
            source, target = common.nfc(edge["from"]), common.nfc(edge["to"])
            if source in given and target in given:
                before[target].append(source)
                after[source].append(target)
        workers = [name for name, role in given.items() if role == "worker"]
        if not workers and self.document.get("pattern") != "orchestrator_worker":
            return
        roots = [name for name, role in given.items() if role == "orchestrator"] or [
            name for name in given if not before[name] and after[name]]
        if not roots:
            return
        self.orchestrator = roots[0]
        if not workers:
            workers = [name for name in after[self.orchestrator]
                if after[name] and given[name] in (None, "parallel") and before[name] == [self.orchestrator]]
        for name in workers:
            source = next((each for each in before[name] if each in roots), self.orchestrator)
            self.workers[name] = source

    # Nodes

    def alone(self, node: Map, names: Names) -> Map:
        """A node outside of the graph: a compensation, a rollback step."""
        step, _ = self.node(node, [], names)
        if node.get("depends_on") is not None:
            step.move("depends_on", node)
        return common.ordered(step, common.STEP_KEYS)

    def scope(self, nodes: Seq, edges: Seq, names: Names) -> Seq:
        """The nodes of one list with the edges between them."""
        before: dict[str, list[str]] = {}
        for edge in edges:
            before.setdefault(common.nfc(edge["to"]), []).append(common.nfc(edge["from"]))
        steps = Seq(nodes.pos)
        routers: dict[str, Router] = {}
        for node, at in nodes.pairs():
            identifier = common.nfc(node["id"])
            own = [str(item["step"] if isinstance(item, Map) else item) for item, _ in common.dependencies(node)]
            step, router = self.node(node, list(dict.fromkeys([*own, *before.get(identifier, ())])), names)
            if router is not None:
                routers[identifier] = router
            steps.add(step, at)
        connect(nodes, edges, steps, routers, self.spelling(names).expression, self.findings)
        ordered = Seq(nodes.pos)
        for step, at in steps.pairs():
            ordered.add(common.ordered(step, common.STEP_KEYS), at)
        return ordered

    def node(self, node: Map, before: list[str], names: Names) -> tuple[Map, Router | None]:
        """One step without its edges."""
        if node.get("type") is not None:
            self.findings.add(rules.UNKNOWN_KEY, "'type' is not a key of a node", node.at_key("type"),
                hint="a node says what it is by `agent`")
        identifier = common.nfc(node["id"])
        before = [name for name in before if name not in ("START", "__start__")]
        keys = [*input_keys(node)]
        common.only_one(node, ("role", "pattern"), self.findings)
        role = node.get("role") or node.get("pattern")
        if role == "map" or identifier in self.workers or role == "worker":
            return self.mapped(node, keys, before, names), None
        out = Map(node.pos)
        for key in ("id", "name", "description"):
            out.move(key, node)
        router = self.typed(node, keys, before, names, out)
        self.around(node, names, out)
        return out, router

    def mapped(self, node: Map, keys: list[tuple[str, Position]], before: list[str], names: Names) -> Map:
        """A node that runs for each item of a list."""
        identifier = common.nfc(node["id"])
        source = self.workers.get(identifier)
        key, at = keys[0] if keys else ("", node.at("id"))
        values = [names.value(key)] if key else []
        if key and values[0] is None:
            unknown(key, at, names, self.findings)
        if not key and (source or len(before) == 1):
            producer = source or before[0]
            key = self.key_of(producer)
            values = [names.value(key) if key else output_of(producer)]
        if not values or values[0] is None:
            if not key:
                self.findings.add(rules.MAP_WITHOUT_INPUT, f"the node {identifier!r} names no list to go through", at,
                    hint="add `input_keys:` with the output key of the list")
            values = ["[]"]
        item = str(node.get("item_name") or singular(key, _TASK if source else "item"))
        out = Map(node.pos)
        for name in ("id", "name", "description"):
            out.move(name, node)
        out.put("type", "foreach", node.at("agent"))
        out.put("items", f"{{{{ {values[0]} }}}}", at)
        out.put("item_name", item, at, node.key_at.get("item_name", at))
        parameters: Map = node.get("parameters") or Map(node.pos)
        if parameters.get("batch_size") is not None:
            out.move("max_parallel", parameters, "batch_size")
        inner = Map(node.pos)
        inner.put("id", common.unique(f"{identifier}_each", self.taken), node.at("id"))
        loops = {item: item, "item": item, "index": str(node.get("index_name") or "index")}
        rest = [(name, place) for name, place in keys[1:]]
        self.typed(node, [(item, at), *rest], [], names.inside(loops), inner, inside=True)
        self.around(node, names.inside(loops), inner, only=("retry", "timeout", "cache", "heartbeat", "pure"))
        body = Seq(node.pos)
        body.add(common.ordered(inner, common.STEP_KEYS))
        out.put("steps", body)
        self.around(node, names, out, without=("retry", "timeout", "cache", "heartbeat", "pure"))
        return out

    def key_of(self, identifier: str) -> str:
        return next((output_key(node) for node in all_nodes(self.document)
            if common.nfc(str(node.get("id"))) == identifier), "")

    def typed(self, node: Map, keys: list[tuple[str, Position]], before: list[str], names: Names, out: Map,
            *, inside: bool = False) -> Router | None:
        """The step's type, structure and configuration."""
        agent = node["agent"]
        kind = AGENTS.get(agent) or (agent if agent in CANONICAL_TYPES else "skill")
        put(out, "type", kind, node, "agent")
        parameters: Map = node.get("parameters") or Map(node.at("agent"))
        if agent == "router" and "cases" not in parameters:
            if node.get("config"):
                out.move("config", node)
            return self.router(node, parameters, names, out)
        if agent == "human_loop" and not names.knows("data"):  # people look at what the step gets
            shown = names.value(keys[0][0]) if keys else output_of(before[0]) if len(before) == 1 else None
            names = names.inside({"data": shown}) if shown else names
        config = Map(node.at("parameters"))
        structure = Map(node.at("parameters"))
        spelling = self.spelling(names)
        if kind == "skill" and agent != "skill":
            self.custom(agent, node, parameters, config)
        else:
            lift(kind, parameters, structure, config, self.findings)
        written: Map = node.get("config") or Map(node.pos)
        common.join(config, written, self.findings, "config", "parameters")
        if inside:
            config.pop("batch_size", None)
        if structure:
            self.structure(structure, names, out)
        config = self.config(config, spelling)
        self.adapt(agent, node, config, out)
        feed(agent, keys, before, names, config, parameters, self.findings)
        if config:
            out.put("config", config, node.at("parameters"))
        return _choice(out) if kind == "choice" else None

    def config(self, config: Map, spelling: Spelling) -> Map:
        result = Map(config.pos)
        for key, value in config.items():
            at = config.at(key)
            if key in _SCRIPTS and isinstance(value, str):
                put(result, key, written([Part(value)]), config)
            elif key == "expression" and isinstance(value, str):
                put_changed(result, key, value, config, spelling.expression)
            else:
                put(result, key, map_texts(value, spelling.text, at), config)
        return result

    def structure(self, structure: Map, names: Names, out: Map) -> None:
        """Canonical loops, branches and cases among the parameters."""
        loops = {str(structure.get(key) or name): str(structure.get(key) or name)
            for key, name in (("item_name", "item"), ("index_name", "index"))}
        inside = names.inside(loops)
        shape = Map(structure.pos)
        if isinstance(structure.get("steps"), Seq):
            shape.put("nodes", structure["steps"])
            if check(schema.Scope, shape, self.findings, f"`parameters` of {str(out.get('id'))!r}"):
                put(out, "steps", self.scope(structure["steps"], Seq(structure.pos), inside), structure)
        branches = structure.get("branches")
        if isinstance(branches, Seq):
            shape = Map(structure.pos)
            shape.put("branches", branches)
            result = Seq(branches.pos)
            if check(schema.Branches, shape, self.findings, f"`parameters` of {str(out.get('id'))!r}"):
                for branch in branches:
                    new = Map(branch.pos)
                    new.move("name", branch)
                    steps = branch.get("steps") or Seq(branch.pos)
                    new.put("steps", self.scope(steps, Seq(branch.pos), names))
                    result.add(new)
            put(out, "branches", result, structure)
        carry_step(structure, out, self.spelling(names), ("steps", "branches"), self.findings)

    def custom(self, agent: str, node: Map, parameters: Map, config: Map) -> None:
        if close := common.type_hint(agent) or did_you_mean(agent, (*AGENTS, *CANONICAL_TYPES)):
            self.findings.add(rules.CUSTOM_TYPE, f"{agent!r} is read as a registered skill", node.at("agent"), hint=close)
        config.put("skill", agent, node.at("agent"))
        arguments = Map(parameters.pos)
        for key in parameters:
            arguments.move(key, parameters)
        config.put("parameters", arguments, node.at("parameters"))

    def adapt(self, agent: str, node: Map, config: Map, out: Map) -> None:
        """The few parameters that are called otherwise in the canonical configuration."""
        if agent == "database" and "params" in config:
            config.move("parameters", config, "params")
            del config["params"]
        if agent == "human_loop":
            name = "timeout_seconds" if "timeout_seconds" in config else "timeout"
            written = config.pop(name, None)
            if isinstance(written, str) and (said := duration(written.strip())) is not None:
                written = int(said) if said == int(said) else said
            if isinstance(written, (int, float)) and not isinstance(written, bool) and written > 0:
                out.put("timeout", written, config.at(name))
                if node.get("timeout") is not None and node["timeout"] != written:
                    self.findings.add(rules.TIMEOUTS_DIFFER,
                        f"people have {written} seconds to answer; the node's own timeout is not used",
                        node.at("timeout"))
            elif written is not None:
                self.findings.add(rules.BAD_DURATION, f"{written!r} is not a time in which people answer", config.at(name),
                    hint="write a number of seconds, `30m` or `2h`")
            elif node.get("timeout") is None:
                out.put("timeout", HUMAN_TIMEOUT, node.at("agent"))
        key = output_key(node)
        if agent == "api" and key and "expected_status" not in config and self.reads_status(key):
            self.findings.add(rules.ANY_STATUS, f"every status is accepted, since {key}.status_code is read",
                node.at("agent"))
            config.put("expected_status", "100-599", node.at("agent"))
        identifier = common.nfc(node["id"])
        if agent == "llm" and identifier == self.orchestrator and self.workers and "output_format" not in config:
            config.put("output_format", "json_array", node.at("agent"))

    def reads_status(self, key: str) -> bool:
        """Whether a text somewhere looks at the status of the answer that is kept under `key`."""
        look = re.compile(rf"(?<![\w]){re.escape(key)}(?:\.status_code|\[['\"]status_code['\"]\])")
        return any(look.search(text) for text in self.all_texts)

    def router(self, node: Map, parameters: Map, names: Names, out: Map) -> Router | None:
        """A two-way choice whose parameters may name its targets."""
        if "condition" not in parameters:
            self.findings.add(rules.MISSING_KEY, f"the router {node['id']!r} has no 'condition' in its `parameters`",
                parameters.pos, hint="add `condition:` with `if_true:` and `if_false:`; for more than two ways write"
                " `agent: choice` with `cases` (each `name` and `when`) and `default`, and `condition: <name>` at the edges")
        found = Findings()
        fits = check(schema.Router, parameters, found, f"`parameters` of the router {node['id']!r}")
        self.findings.extend(tuple(each for each in found if each.code != rules.MISSING_KEY.code))
        if not fits:
            return None
        at = parameters.at("condition")
        condition = parameters["condition"]
        text, place = ((str(condition).lower(), at) if isinstance(condition, bool)
            else self.spelling(names).expression(condition, at))
        spare = "default" if parameters.get("if_false") is not None and parameters.get("default") is not None else ""
        cases = Seq(at)
        cases.add(_case("true", text, place))
        if spare:
            cases.add(_case("false", f"not ({text})", at))
            self.findings.add(rules.ROUTER_DEFAULT, "the `default` of a router is not entered when its condition fails",
                parameters.at_key("default"))
        put(out, "cases", cases, parameters, "condition")
        out.put("default", spare or "false", at)
        router = Router(("true", "false", *((spare,) if spare else ())))
        for key, outcome in (("if_true", "true"), ("if_false", "false"), ("default", spare or "false")):
            for target, target_at in listed(parameters, key):
                router.targets.setdefault(common.nfc(target), [])
                if outcome not in router.targets[common.nfc(target)]:
                    router.targets[common.nfc(target)].append(outcome)
                router.places.setdefault(common.nfc(target), target_at)
        for key, key_at in input_keys(node):
            if names.value(key) is None:
                unknown(key, key_at, names, self.findings)
        return router

    def around(self, node: Map, names: Names, out: Map, *, only: tuple[str, ...] = (),
            without: tuple[str, ...] = ()) -> None:
        """What surrounds the type: condition, retry, failure, times, output key."""
        source = Map(node.pos)
        for key in node:
            if (not only or key in only) and key not in without:
                source.move(key, node)
        if source.get("retry") is not None:
            retry = common.retry(source["retry"], self.findings, times={}, strategy="backoff")
            if retry.get("strategy") == "constant":
                retry["strategy"] = "fixed"
            put(out, "retry", retry, source)
        if not only:
            key = "output_key" if source.get("output_key") else "output"
            if source.get(key):
                out.move("output_key", source, key)
            if source.get("output") and source.get("output_key") and source["output"] != source["output_key"]:
                self.findings.add(rules.WRITTEN_TWICE, "`output` and `output_key` differ", source.at_key("output"))
            if source.get("steps") and "steps" not in out:
                put(out, "steps", self.scope(source["steps"], Seq(source.pos), names), source)
        carry_step(source, out, self.spelling(names), ("type", "config", "depends_on", "input", "retry"), self.findings)


def _case(name: str, when: str, at: Position) -> Map:
    case = Map(at)
    case.put("name", name)
    case.put("when", when, at)
    return case


def _choice(step: Map) -> Router:
    """A canonical choice: its edges name its outcomes, or none."""
    written = step.get("cases")
    cases = written if isinstance(written, Seq) else Seq(step.pos)
    names = [str(case.get("name")) for case in cases if isinstance(case, Map)]
    default = step.get("default")
    return Router((*names, *((str(default),) if default else ())), strict=False)
