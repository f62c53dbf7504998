"""The dialects: how each is told, checked, rewritten to the canonical spelling and written from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pydantic import BaseModel

from translator.diagnostics import Findings
from translator.dialects.agents import lower as agents_lower
from translator.dialects.agents import render as agents_render
from translator.dialects.agents import schema as agents_schema
from translator.dialects.canonical import lower as canonical_lower
from translator.dialects.canonical import render as canonical_render
from translator.dialects.canonical import schema as canonical_schema
from translator.dialects.graph import lower as graph_lower
from translator.dialects.graph import render as graph_render
from translator.dialects.graph import schema as graph_schema
from translator.dialects.stages import lower as stages_lower
from translator.dialects.stages import render as stages_render
from translator.dialects.stages import schema as stages_schema
from translator.dialects.steps import lower as steps_lower
from translator.dialects.steps import render as steps_render
from translator.dialects.steps import schema as steps_schema
from translator.dialects.tasks import lower as tasks_lower
from translator.dialects.tasks import render as tasks_render
from translator.dialects.tasks import schema as tasks_schema
from translator.dialects.validate import check, did_you_mean
from translator.findings import dialects as rules
from translator.source import Map

Lower = Callable[[Map, Findings], Map]


@dataclass(frozen=True, slots=True)
class Dialect:
    """One spelling.

    `matches` looks at the shape alone, so that a definition with mistakes is still told. `lower` takes data that
    `schema` accepts and gives canonical data; `render` is its reverse. `distinctive` says what `matches` looks for.
    """

    name: str
    matches: Callable[[Map], bool]
    schema: type[BaseModel]
    lower: Lower
    render: Lower
    distinctive: str


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
        Dialect("steps", _is_steps, steps_schema.Workflow, steps_lower.lower, steps_render.render,
            "a list `steps` at the top"),
        Dialect("stages", _is_stages, stages_schema.Document, stages_lower.lower, stages_render.render,
            "`workflow:` with a list `stages`"),
        Dialect("graph", _is_graph, graph_schema.Definition, graph_lower.lower, graph_render.render,
            "`nodes` with `connections`"),
        Dialect("tasks", _is_tasks, tasks_schema.Definition, tasks_lower.lower, tasks_render.render, "a list `tasks`"),
        Dialect("agents", _is_agents, agents_schema.Definition, agents_lower.lower, agents_render.render,
            "`nodes` with `edges`"),
        Dialect("canonical", lambda document: False, canonical_schema.Workflow, canonical_lower.lower,
            canonical_render.render, "`dialect: canonical`"),
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
        return found[0]
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
    if not check(dialect.schema, body, findings):
        return None
    lowered = dialect.lower(body, findings)
    if dialect.schema is not canonical_schema.Workflow:
        if not check(canonical_schema.Workflow, lowered, findings):
            return None
        lowered = canonical_lower.lower(lowered, findings)
    return dialect, lowered
