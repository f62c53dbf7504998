"""Canonical data -> the canonical workflow, with every expression parsed.

The data has passed the canonical schema, so shapes and types hold; what is left to find here are expressions
that do not parse.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from aslant import error_names
from translator.diagnostics import Findings, Position
from translator.expressions.lexer import ids_of, nfc
from translator.expressions.parser import parse
from translator.expressions.template import parse_template, parse_value
from translator.expressions.tree import Literal, Node, Unary
from translator.model.workflow import (
    Case,
    Edge,
    ErrorHandler,
    Notification,
    OnFailure,
    Retry,
    Settings,
    Step,
    Value,
    Workflow,
)
from translator.source import Map, Seq

_STRUCTURAL = frozenset({"choice", "parallel", "foreach", "wait", "workflow"})
_SETTINGS = frozenset({
    "timeout", "max_parallel", "on_error", "retry", "checkpoint", "execution", "sla", "strategy", "durations",
})  # fmt: skip


def build(document: Map, findings: Findings) -> Workflow:
    """The workflow that `document` (canonical data) describes. Unparsable expressions are findings."""
    return _Builder(document, findings).workflow()


def slug(text: str) -> str:
    """An id made of a name: lower case, other characters than letters, digits and `_` become `-`."""
    text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9_]+", "-", text).strip("-") or "workflow"


class _Builder:
    def __init__(self, document: Map, findings: Findings) -> None:
        self.document = document
        self.findings = findings
        self.ids = ids_of(frozenset(_names(document)))

    def workflow(self) -> Workflow:
        doc = self.document
        name = str(doc.get("name") or doc.get("id") or "workflow")
        inputs = doc.get("inputs")
        return Workflow(
            id=str(doc.get("id") or slug(name)),
            name=name,
            version=str(doc.get("version") or "1.0.0"),
            description=str(doc.get("description") or ""),
            labels=dict(doc.get("labels") or {}),
            inputs=None if inputs is None else {key: dict(value) for key, value in inputs.items()},
            inputs_at={key: inputs.at_key(key) for key in inputs} if isinstance(inputs, Map) else {},
            outputs=self.values(doc, "outputs") if doc.get("outputs") is not None else None,
            outputs_at=doc.at("outputs"),
            output_types=dict(doc.get("output_types") or {}),
            variables=self.values(doc, "variables") or {},
            settings=self.settings(doc.get("settings") or Map(doc.pos)),
            notifications=tuple(self.notification(item) for item in doc.get("notifications") or ()),
            error_handlers=tuple(self.handler(item) for item in doc.get("error_handlers") or ()),
            rollback=self.steps(doc.get("rollback")),
            triggers=tuple(doc.get("triggers") or ()),
            steps=self.steps(doc.get("steps")),
            finally_=self.steps(doc.get("finally")),
            at=doc.pos,
            source=doc,
        )

    def settings(self, data: Map) -> Settings:
        return Settings(
            timeout=data.get("timeout"),
            max_parallel=data.get("max_parallel"),
            on_error=self.on_failure(data, "on_error"),
            retry=self.retry(data),
            checkpoint=data.get("checkpoint"),
            execution=data.get("execution") or "auto",
            sla=data.get("sla"),
            strategy=data.get("strategy") or "auto",
            durations=dict(data.get("durations") or {}),
            other={key: value for key, value in data.items() if key not in _SETTINGS and value is not None},
        )

    def notification(self, data: Map) -> Notification:
        return Notification(tuple(data["on"]), self.values(data, "config") or {}, data.pos)

    def handler(self, data: Map) -> ErrorHandler:
        action = _on_failure(data, data.pos)
        names = [name for written in data["errors"] for name in error_names.canonical(written)]
        return ErrorHandler(
            tuple(dict.fromkeys(names)), action, bool(data.get("notify")), tuple(data.get("steps") or ()), data.pos
        )

    def steps(self, data: Seq | None) -> tuple[Step, ...]:
        return tuple(self.step(item) for item in data or ())

    def step(self, data: Map) -> Step:
        identifier = nfc(data["id"])
        kind = data["type"]
        step = Step(
            id=identifier,
            type=kind,
            at=data.at("id"),
            name=data.get("name") or "",
            description=data.get("description") or "",
            config=self.config(data),
            source=data,
            depends_on=tuple(self.edge(item, at) for item, at in (data.get("depends_on") or Seq()).pairs()),
            when=self.condition(data, "when"),
            output_key=data.get("output_key") or "",
            retry=self.retry(data),
            timeout=data.get("timeout"),
            heartbeat=data.get("heartbeat"),
            on_failure=self.on_failure(data, "on_failure"),
            compensation=self.step(data["compensation"]) if data.get("compensation") else None,
            undo_failed=data.get("undo_failed"),
            cache=self.cache(data),
            checkpoint=data.get("checkpoint"),
            pure=data.get("pure"),
            labels=dict(data.get("labels") or {}),
        )
        return replace(step, **self.structure(data, kind)) if kind in _STRUCTURAL else step

    def structure(self, data: Map, kind: str) -> dict[str, Any]:
        """The fields that only steps of `kind` have."""
        if kind == "choice":
            return {
                "cases": tuple(self.case(item) for item in data.get("cases") or ()),
                "default": data.get("default") or "",
                "mode": data.get("mode") or "first",
            }
        if kind == "parallel":
            return {
                "branches": tuple(self.steps(branch.get("steps")) for branch in data.get("branches") or ()),
                "wait_for_all": data.get("wait_for_all", True),
                "max_parallel": data.get("max_parallel"),
            }
        if kind == "foreach":
            return {
                "items": self.value(data, "items"),
                "item_name": data.get("item_name") or "item",
                "index_name": data.get("index_name") or "index",
                "steps": self.steps(data.get("steps")),
                "max_parallel": data.get("max_parallel"),
                "batch_size": data.get("batch_size"),
                "on_item_error": data.get("on_item_error") or "fail",
            }
        if kind == "wait":
            return {"seconds": self.value(data, "seconds"), "until": self.value(data, "until")}
        return {
            "workflow": data.get("workflow") or "",
            "input": self.value(data, "input"),
            "wait_for_completion": data.get("wait_for_completion", True),
        }

    def edge(self, item: str | Map, at: Position) -> Edge:
        if isinstance(item, str):
            return Edge(nfc(item), at=at)
        return Edge(
            nfc(item["step"]),
            tuple(item.get("on") or ()),
            self.condition(item, "when"),
            item.at("step"),
        )

    def case(self, data: Map) -> Case:
        return Case(data["name"], self.condition(data, "when") or Literal(False, at=data.pos), data.pos)

    def retry(self, data: Map) -> Retry | None:
        found = data.get("retry")
        if found is None:
            return None
        known = {key: value for key, value in found.items() if key != "on" and value is not None}
        names = [name for written in found.get("on") or () for name in error_names.canonical(written)]
        return Retry(**known, on=tuple(dict.fromkeys(names)), at=data.at_key("retry"))

    def on_failure(self, data: Map, key: str) -> OnFailure | None:
        found = data.get(key)
        if found is None:
            return None
        if isinstance(found, str):
            return OnFailure(found, at=data.at(key))  # type: ignore[arg-type]  # the schema lists the actions
        return _on_failure(found, data.at(key))

    def cache(self, data: Map) -> dict[str, Value] | None:
        found = data.get("cache")
        if not found:
            return None
        return {"ttl": 3600} if found is True else self.values(data, "cache")

    def condition(self, data: Map, key: str) -> Node | None:
        found = data.get(key)
        if found is None:
            return None
        at = data.at(key)
        if isinstance(found, bool):
            return Literal(found, at=at)
        # One that cannot be read may be true or false: nothing further may follow from it.
        return parse(found, at, self.findings, self.ids) or Unary("not", Literal(False, at=at), at=at)

    def value(self, data: Map, key: str) -> Value:
        found = data.get(key)
        if found is None:
            return None
        if isinstance(found, str):
            return parse_template(found, data.at(key), self.findings, self.ids)
        return parse_value(found, data.at(key), self.findings, self.ids)

    def config(self, data: Map) -> dict[str, Value]:
        """The configuration of a step; the expression of a transform is read when its data is known."""
        found = data.get("config")
        if data["type"] != "transform" or not found or not isinstance(found.get("expression"), str):
            return self.values(data, "config") or {}
        rest = Map(found.pos)
        for key in found:
            if key != "expression":
                rest.move(key, found)
        values: dict[str, Value] = parse_value(rest, data.at("config"), self.findings, self.ids)
        return {key: Literal(found[key], found.at(key)) if key == "expression" else values[key] for key in found}

    def values(self, data: Map, key: str) -> dict[str, Value] | None:
        found = data.get(key)
        if found is None:
            return None
        result: dict[str, Value] = parse_value(found, data.at(key), self.findings, self.ids)
        return result


def _on_failure(data: Map, at: Position) -> OnFailure:
    approvers = data.get("approvers") or ()
    return OnFailure(
        data["action"], data.get("max_retries"), data.get("then"),
        (approvers,) if isinstance(approvers, str) else tuple(approvers), data.get("timeout"), at,
    )


def _names(document: Map) -> Iterator[str]:
    """Every step id and output key: what an expression may name with a hyphen in it."""
    stack: list[Any] = [document]
    while stack:
        here = stack.pop()
        if isinstance(here, dict):
            for key in ("id", "output_key"):
                if isinstance(here.get(key), str):
                    yield nfc(here[key])
            stack += [here[key] for key in ("steps", "finally", "rollback", "branches", "compensation") if key in here]
        elif isinstance(here, list):
            stack += here
