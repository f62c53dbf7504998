"""Edges of an `agents` definition -> `depends_on` of its nodes."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from translator.diagnostics import Findings, Position
from translator.dialects.common import dependencies, dependency, nfc, only_one
from translator.dialects.templates import expression
from translator.dialects.validate import one_of
from translator.findings import dialects as rules
from translator.source import Map, Seq

Change = Callable[[str, Position], tuple[str, Position]]
_OPERATOR = re.compile(r"[=<>!+*/%(.\[{]|\b(?:and|or|not|in|if)\b")
_START = frozenset({"START", "__start__"})
_END = frozenset({"END", "__end__"})
_OTHERWISE = frozenset({"else", "otherwise", "default"})


@dataclass(slots=True)
class Router:
    """A choice: its outcomes, and the targets its parameters name for them (id -> outcomes)."""

    outcomes: tuple[str, ...]
    targets: dict[str, list[str]] = field(default_factory=dict)
    places: dict[str, Position] = field(default_factory=dict)
    strict: bool = True  # whether an edge has to name an outcome


def connect(
    nodes: Seq, edges: Seq, steps: Seq, routers: dict[str, Router], change: Change, findings: Findings
) -> None:
    """Give each step its edges: those of the list, those that a router's parameters name, and its own."""
    by_id = {nfc(step["id"]): step for step in steps}
    found: dict[str, list[Map]] = {name: [] for name in by_id}
    otherwise: list[tuple[str, Map, Position]] = []
    guards: dict[str, list[str]] = {}
    for edge in edges:
        source, target = nfc(edge["from"]), nfc(edge["to"])
        if (source in _START and source not in by_id) or (target in _END and target not in by_id):
            continue
        if not _known(edge, by_id, findings):
            continue
        only_one(edge, ("when", "condition"), findings)
        entry = dependency(source, edge.at("from"))
        found[target].append(entry)
        router = routers.get(source)
        if router is not None:
            _routed(edge, target, router, entry, change, findings)
            continue
        if edge.get("on"):
            entry.put("on", edge["on"], edge.at("on"))  # the source has no outcomes, which is found out later
        condition, at = _condition(edge)
        if condition is None:
            if edge.get("type") == "conditional":
                findings.add(rules.NO_EFFECT, "the edge has no `condition`, so it is always taken", edge.at("type"))
            continue
        if isinstance(condition, str) and condition.strip().lower() in _OTHERWISE:
            otherwise.append((source, entry, at))
            continue
        text, place = change(condition, at) if isinstance(condition, str) else (str(condition).lower(), at)
        entry.put("when", text, place)
        guards.setdefault(source, []).append(text)
    for source, entry, at in otherwise:
        others = guards.get(source)
        if others:
            entry.put("when", f"not ({' or '.join(f'({text})' for text in others)})", at)
    for source, router in routers.items():
        for target, outcomes in router.targets.items():
            if target not in by_id:
                findings.add(rules.BRANCH_TARGET, f"the router leads to {target!r}, which is no node here",
                    router.places[target], hint=one_of(target, by_id))
            elif not any(entry["step"] == source for entry in found[target]):
                found[target].append(dependency(source, router.places[target], on=outcomes))
    for node, step in zip(nodes, steps, strict=True):
        _put(step, [*_own(node, change), *found[nfc(step["id"])]], node)


def _known(edge: Map, ids: dict[str, Map], findings: Findings) -> bool:
    missing = [key for key in ("from", "to") if nfc(edge[key]) not in ids]
    for key in missing:
        findings.add(rules.UNKNOWN_NODE, f"the edge's `{key}` is {edge[key]!r}, which is no node here", edge.at(key),
            hint=one_of(edge[key], ids))
    return not missing


def _condition(edge: Map) -> tuple[Any, Position]:
    key = "when" if edge.get("when") is not None else "condition"
    return edge.get(key), edge.at(key)


def _routed(edge: Map, target: str, router: Router, entry: Map, change: Change, findings: Findings) -> None:
    """An edge out of a choice: by outcome, by the choice's parameters, or by an expression of its own."""
    at = edge.at("from")
    condition, place = _condition(edge)
    word = expression(condition, place)[0].strip() if isinstance(condition, str) else condition
    if isinstance(word, bool):
        word = "true" if word else "false"
    if edge.get("on"):
        entry.put("on", edge["on"], edge.at("on"))
    elif target in router.targets:
        entry.put("on", dependency(target, at, on=router.targets[target])["on"], at)
        if word is not None and word not in router.outcomes:
            findings.add(rules.EDGE_LABEL, f"{word!r} is a label; the router's own condition decides", place)
    elif word in router.outcomes:
        entry.put("on", dependency(target, at, on=[str(word)])["on"], at)
    elif word is not None and _OPERATOR.search(word):
        text, where = change(str(condition), place)
        entry.put("when", text, where)
    elif word is not None or router.strict:
        said = f"{word!r} is none" if word is not None else "it names none"
        findings.add(rules.NO_OUTCOME, f"an edge out of a router needs one of its outcomes; {said}",
            place if word is not None else at, hint=f"outcomes: {', '.join(router.outcomes)}")


def _own(node: Map, change: Change) -> list[Any]:
    """Canonical `depends_on` of a node."""
    result: list[Any] = []
    for item, at in dependencies(node):
        guard = item.get("when") if isinstance(item, Map) else None
        if isinstance(item, Map):
            text, place = change(guard, item.at("when")) if isinstance(guard, str) else (None, at)
            entry = dependency(item["step"], item.at("step"), on=list(item.get("on") or ()))
            if text is not None:
                entry.put("when", text, place)
            result.append(entry)
        else:
            result.append(nfc(str(item)))
    return result


def _put(step: Map, entries: list[Any], node: Map) -> None:
    """Write the edges, those of one choice joined, those that are always live as a plain id."""
    result = Seq(node.at("id"))
    joined: dict[str, Map] = {}
    for entry in entries:
        if isinstance(entry, str):
            result.add(entry, node.at("depends_on"))
            continue
        outcomes = entry.get("on")
        if outcomes and entry.get("when") is None and entry["step"] in joined:
            kept = joined[entry["step"]]["on"]
            for outcome in outcomes:
                if outcome not in kept:
                    kept.add(outcome, entry.pos)
            continue
        if outcomes and entry.get("when") is None:
            fresh = dependency(entry["step"], entry.pos, on=list(outcomes))
            joined[entry["step"]] = fresh
            result.add(fresh)
        elif not outcomes and entry.get("when") is None:
            if entry["step"] not in result:
                result.add(entry["step"], entry.pos)
        else:
            result.add(entry)
    if result or node.get("depends_on") is not None:
        step.put("depends_on", result, node.at("id"))
