"""The dialects: how each is told, checked, rewritten to the canonical spelling and written from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from pydantic import BaseModel

from translator.diagnostics import Findings, Position
from translator.dialects import foreign
from translator.dialects.mend import mend
from translator.dialects.validate import check, did_you_mean
from translator.findings import dialects as rules
from translator.findings import graph as graph_rules
from translator.source import Map, Seq

Lower = Callable[[Map, Findings], Map]


@dataclass(frozen=True, slots=True)
class Dialect:
    """One spelling; its folder is imported when a definition of it is read or written, since schemas are slow to build.

    `matches` looks at the shape alone, so that a definition with mistakes is still told. `distinctive` says what it
    looks for.
    """

    name: str
    matches: Callable[[Map], bool]
    distinctive: str

    @property
    def schema(self) -> type[BaseModel]:
        """The shape of the surface."""
        module = import_module(f"translator.dialects.{self.name}.schema")
        found: type[BaseModel] = module.Definition
        return found

    @property
    def lower(self) -> Lower:
        """Takes data that `schema` accepts and gives canonical data."""
        found: Lower = import_module(f"translator.dialects.{self.name}.lower").lower
        return found

    @property
    def render(self) -> Lower:
        """The reverse of `lower`."""
        found: Lower = import_module(f"translator.dialects.{self.name}.render").render
        return found


def _nodes(document: Map) -> Map | None:
    """The mapping that holds `nodes`: the definition, or its `workflow_data`."""
    for holder in (document, document.get("workflow_data")):
        if isinstance(holder, Map) and isinstance(holder.get("nodes"), list):
            return holder
    return None


def _is_steps(document: Map) -> bool:
    return isinstance(document.get("steps"), list)


def _is_stages(document: Map) -> bool:
    workflow = document.get("workflow")
    return isinstance(workflow, Map) and "stages" in workflow


def _is_tasks(document: Map) -> bool:
    return isinstance(document.get("tasks"), list)


def _is_agents(document: Map) -> bool:
    holder = _nodes(document)
    if holder is None or "connections" in holder:
        return False
    return "edges" in holder or any(isinstance(node, Map) and "agent" in node for node in holder["nodes"])


def _is_graph(document: Map) -> bool:
    holder = _nodes(document)
    if holder is None or "edges" in holder:
        return False
    return "connections" in holder or not _is_agents(document)


DIALECTS: dict[str, Dialect] = {
    dialect.name: dialect for dialect in (
        Dialect("steps", _is_steps, "a list `steps` at the top"),
        Dialect("stages", _is_stages, "`workflow:` with a list `stages`"),
        Dialect("graph", _is_graph, "`nodes` with `connections`"),
        Dialect("tasks", _is_tasks, "a list `tasks`"),
        Dialect("agents", _is_agents, "`nodes` with `edges`"),
        Dialect("canonical", lambda document: False, "`dialect: canonical`"),
    )
}


def detect(document: Map, findings: Findings) -> Dialect | None:
    """The dialect that `document` names by `dialect`, or else the one whose shape it has."""
    if "dialect" in document:
        named = document["dialect"]
        if isinstance(named, str) and named in DIALECTS:
            return DIALECTS[named]
        findings.add(rules.BAD_DIALECT, f"{named!r} is no dialect; there are {', '.join(sorted(DIALECTS))}",
            document.at("dialect"), hint=did_you_mean(named, DIALECTS) if isinstance(named, str) else "")
        return None
    found = [dialect for dialect in DIALECTS.values() if dialect.matches(document)]
    if len(found) == 1:
        return None if found[0].name == "agents" and _is_graph_with_edges(document, findings) else found[0]
    if found:
        findings.add(rules.AMBIGUOUS_DIALECT,
            "this could be " + " or ".join(f"{dialect.name} ({dialect.distinctive})" for dialect in found),
            document.pos, hint=f"remove one, or name the dialect: `dialect: {found[0].name}`")
        return None
    holder = _nodes(document)
    if holder is not None and "connections" in holder and "edges" in holder:
        findings.add(rules.AMBIGUOUS_DIALECT, "`nodes` stand with `connections` (graph) and with `edges` (agents)",
            holder.at_key("edges"), hint="keep one of them")
        return None
    looked = "; ".join(f"{dialect.name}: {dialect.distinctive}" for dialect in DIALECTS.values())
    findings.add(rules.UNKNOWN_DIALECT, f"the definition fits no dialect. Looked for {looked}", document.pos,
        hint=_near_miss(document))
    return None


def _is_graph_with_edges(document: Map, findings: Findings) -> bool:
    """Whether the nodes are a graph's, whose connections are called edges; there is a finding then."""
    holder = _nodes(document)
    nodes = [node for node in holder["nodes"] if isinstance(node, Map)] if holder is not None else []
    if holder is None or not nodes or any("agent" in node for node in nodes) or not any("type" in node for node in nodes):
        return False
    findings.add(rules.UNKNOWN_DIALECT, "nodes with a `type` are joined by `connections` (graph), nodes with an `agent` by"
        " `edges` (agents)", holder.at_key("edges"), hint="call them `connections`, each with `source` and `target`")
    return True


def _near_miss(document: Map) -> str:
    if "stages" in document:
        return "put `stages` under `workflow:`"
    workflow = document.get("workflow")
    if isinstance(workflow, Map):
        return "`workflow:` has no `stages`; a plain list `steps` stands at the top of the file"
    for key in ("steps", "tasks", "nodes"):
        if key in document:
            return f"`{key}` must be a list"
    for key in document:
        hint = did_you_mean(key, ("steps", "workflow", "tasks", "nodes"))
        if hint:
            return f"`{key}`: {hint}"
    return "start with `name:` and `steps:`"


def _duplicates(document: Map, findings: Findings) -> None:
    """Findings about ids that stand twice; a definition without other errors is told of them when its graph is built."""
    seen: dict[str, Position] = {}
    stack: list[Any] = [document.get("steps")]
    while stack:
        here = stack.pop()
        if isinstance(here, Seq):
            stack += reversed(here)
        elif isinstance(here, Map):
            identifier = here.get("id")
            if isinstance(identifier, str) and identifier:
                at = here.at("id")
                if identifier in seen:
                    findings.add(graph_rules.DUPLICATE_ID, f"the step id {identifier!r} is used twice in this workflow", at,
                        hint="rename one of the steps", related=(("first used here", seen[identifier]),))
                seen.setdefault(identifier, at)
            stack += [here[key] for key in ("branches", "steps") if key in here]


def read(document: Map, findings: Findings) -> tuple[Dialect, Map] | None:
    """Tell the dialect, check the shape, and give canonical data.

    None when the shape is so wrong that nothing could be rewritten; there is an error among `findings` then. With
    errors that leave something to work on, data and errors are both there. Keys `x-…` at the top are ignored.
    """
    dialect = detect(document, findings)
    if dialect is None:
        return None
    body = Map(document.pos)
    for key in document:
        if key != "dialect" and not key.startswith("x-"):
            body.move(key, document)
    if not _shaped(dialect, body, findings):
        return None
    lowered = dialect.lower(body, findings)
    if findings.has_errors:  # a target that is not there is often one of two steps with the same id
        _duplicates(lowered, findings)
    if dialect.name != "canonical":
        canonical = DIALECTS["canonical"]
        if not _shaped(canonical, lowered, findings):
            return None
        lowered = canonical.lower(lowered, findings)
    foreign.report(dialect.name, body, lowered, findings)
    return dialect, lowered


def _shaped(dialect: Dialect, document: Map, findings: Findings) -> bool:
    """Whether `document` has the dialect's shape, or has it when what was reported is left out, which it is then."""
    return check(dialect.schema, document, findings) or mend(dialect.schema, document, findings)
