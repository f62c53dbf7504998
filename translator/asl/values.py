"""Values and expressions in a state: JSON for what is constant, `{% … %}` for what is computed.

Text of a user is always data: a literal that could be read as code is written as a JSONata string literal.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from translator.diagnostics import Findings
from translator.expressions.jsonata import NotNative, text_literal, write
from translator.expressions.references import slots
from translator.expressions.tree import Literal, Node, Slot, Template
from translator.expressions.types import TypeOf, nothing_known
from translator.findings import asl as rules
from translator.model.values import is_node
from translator.model.workflow import Value
from translator.passes.fold import as_node

Bind = Callable[[Slot], str]

# Where JSONata finds what is no variable.
META = {
    "id": "$states.context.Execution.([Input.execution.id,Name][0])",  # of all runs the same
    "arn": "$states.context.Execution.Id",
    "started_at": "$states.context.Execution.([Input.execution.started_at,StartTime][0])",
}
CONTEXT = {
    "input": "$states.context.Execution.Input.input",
    "context": "$merge([$states.context.Execution.Input.context])",  # an object, also when there is none
    "rollback": "$states.context.Execution.([Input.rollback,{\"error\":Input.error}][0])",  # why a rollback was started
}


def query(source: str) -> str:
    """A field computed by JSONata."""
    return "{% " + source + " %}"


def literal(text: str) -> str:
    """A text as a field's value, never read as code by Step Functions or by template substitution."""
    if "{%" not in text and "${" not in text:
        return text
    return query(text_literal(text))


@dataclass(slots=True)
class Deferred:
    """Expressions of one step that JSONata cannot say; a function evaluates them before the step."""

    variable: Callable[[], str]
    expressions: list[Node] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    name: str = ""

    def add(self, node: Node, reason: str) -> str:
        """The JSONata source that reads the expression's value."""
        if not self.name:
            self.name = self.variable()
        if node not in self.expressions:
            self.expressions.append(node)
            self.reasons.append(reason)
        return f"${self.name}.e{self.expressions.index(node)}"


class Nowhere(Deferred):
    """For values that no state of a function comes before: what JSONata cannot say raises NotNative."""

    def __init__(self) -> None:
        super().__init__(str)

    def add(self, node: Node, reason: str) -> str:
        raise NotNative(reason)


@dataclass(slots=True)
class Writer:
    """Writes the values of one state. `bind` gives the source of each reference."""

    bind: Bind
    deferred: Deferred
    findings: Findings
    type_of: TypeOf = nothing_known
    declared: Collection[str] = ()
    large: Collection[str] = ()  # steps whose results may be of any size, so that only functions look into them

    def source(self, node: Node) -> str:
        """JSONata source of an expression, without delimiters."""
        if self.refuse_secrets(node):
            return "null"
        if self.large and not isinstance(node, Slot):
            read = sorted(slot.name for slot in slots(node) if slot.kind == "output" and slot.name in self.large)
            if read:
                return self.deferred.add(node, f"what {read[0]!r} gives may be too large for the state machine")
        try:
            return write(node, self.bind, type_of=self.type_of, declared=self.declared)
        except NotNative as reason:
            return self.deferred.add(node, str(reason))

    def field(self, node: Node) -> Any:
        """An expression as the value of a field."""
        if isinstance(node, Literal):
            return literal(node.value) if isinstance(node.value, str) else node.value
        return query(self.source(node))

    def value(self, value: Value) -> Any:
        """A whole structure. Keys are text, and text is never code."""
        if isinstance(value, Mapping):
            if any("{%" in key or "${" in key for key in value):
                return query(self.structure(value))
            return {key: self.value(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.value(item) for item in value]
        return self.field(value) if is_node(value) else value

    def structure(self, value: Value) -> str:
        """A structure as one JSONata expression."""
        return self.source(as_node(value))

    def refuse_secrets(self, node: Node) -> bool:
        """Whether the expression holds a secret, which is a finding then."""
        refused = False
        for slot in slots(node):
            if slot.kind == "secret":
                refused = True
                self.findings.add(
                    rules.SECRET_PLACE,
                    f"the secret {slot.name!r} cannot be used here",
                    slot.at,
                    hint="put it alone, or into a text, in the configuration of the step that needs it",
                )
        return refused

    def config(self, value: Value) -> tuple[Any, dict[str, list[Any]]]:
        """A step's configuration without its secrets, and the texts that hold secrets by JSON pointer."""
        secrets: dict[str, list[Any]] = {}
        return self._config(value, "", secrets), secrets

    def _config(self, value: Value, pointer: str, secrets: dict[str, list[Any]]) -> Any:
        if isinstance(value, Mapping):
            return {
                key: self._config(item, f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}", secrets)
                for key, item in value.items()
            }
        if isinstance(value, list):
            return [self._config(item, f"{pointer}/{number}", secrets) for number, item in enumerate(value)]
        if isinstance(value, Slot) and value.kind == "secret":
            secrets[pointer] = [{"secret": value.name}]
            return ""
        if isinstance(value, Template) and any(slot.kind == "secret" for slot in slots(value)):
            secrets[pointer] = [self._part(part) for part in value.parts if part != ""]
            return ""
        if is_node(value):
            return self.field(value)
        return value

    def _part(self, part: str | Node) -> Any:
        if isinstance(part, str):
            return literal(part)
        if isinstance(part, Slot) and part.kind == "secret":
            return {"secret": part.name}
        return {"value": self.field(part)}
