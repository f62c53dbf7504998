"""Names -> slots: what each name in an expression stands for where the expression is written."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from translator.diagnostics import Findings, Position, Rule
from translator.expressions.functions import MANY, find, known
from translator.expressions.lexer import nfc
from translator.expressions.tree import (
    Attribute,
    Binary,
    Call,
    Compare,
    Comprehension,
    Conditional,
    Index,
    ListOf,
    Literal,
    Logic,
    Name,
    Node,
    ObjectOf,
    Slot,
    Template,
    Unary,
)
from translator.findings import expressions as rules
from translator.nearest import is_slip, nearest

INPUT_ROOTS = frozenset({"input", "inputs", "parameters", "params"})
VARIABLE_ROOTS = frozenset({"vars", "variables"})
STEP_ROOTS = frozenset({"steps", "nodes", "tasks"})
OBJECT_ROOTS = frozenset({"context", "workflow", "execution"})
_OWN = {"output": "output", "status": "status", "error": "error"}
_ERROR_FIELDS = ("error", "message", "step")
SHOWN = 12  # names in a hint
_FIELDS = frozenset({"errors", "stats"})  # close to a part of a step, but names that outputs often have


@dataclass(frozen=True)
class Names:
    """What can be named at one place. Names and ids are compared in NFC.

    `inputs` None means that the definition declares none, so that any may be read. `state` maps output keys, `bare`
    any other bare name, to the tree that it stands for; `loops` maps names inside of loops to their slots. `errors`
    gives the tree of the errors of all steps, at a position.
    """

    inputs: Mapping[str, Any] | None = None
    variables: Collection[str] = frozenset()
    steps: Collection[str] = frozenset()
    state: Mapping[str, Node] = field(default_factory=dict)
    loops: Mapping[str, Slot] = field(default_factory=dict)
    bare: Mapping[str, Node] = field(default_factory=dict)
    errors: Callable[[Position], Node] | None = None


def resolve(node: Node, names: Names, findings: Findings) -> Node:
    """The same tree with every name replaced. What cannot be resolved is a finding and reads as null."""
    try:
        return _Resolver(names, findings).node(node, frozenset())
    except RecursionError:
        findings.add(rules.TOO_DEEP, "operators and parentheses nested too deeply", node.at)
        return Literal(None, node.at)


def did_you_mean(name: str, options: Iterable[str]) -> str:
    """A hint that names the closest option, or none."""
    close = nearest(name, options)
    return f"did you mean {close}?" if close else ""


class _Resolver:
    def __init__(self, names: Names, findings: Findings) -> None:
        self.names = names
        self.findings = findings

    def node(self, node: Node, local: frozenset[str]) -> Node:
        match node:
            case Name():
                return self.bare(node, local)
            case Attribute() | Index():
                return self.chain(node, local)
            case Call():
                return self.call(node, local)
            case Unary(operand=operand):
                return replace(node, operand=self.node(operand, local))
            case Binary(left=left, right=right):
                return replace(node, left=self.node(left, local), right=self.node(right, local))
            case Compare(first=first, rest=rest):
                return replace(node, first=self.node(first, local),
                    rest=tuple((op, self.node(item, local)) for op, item in rest))
            case Logic(items=items) | ListOf(items=items):
                return replace(node, items=tuple(self.node(item, local) for item in items))
            case Conditional(test=test, then=then, other=other):
                return Conditional(self.node(test, local), self.node(then, local), self.node(other, local), node.at)
            case ObjectOf(items=pairs):
                return replace(node, items=tuple((self.node(k, local), self.node(v, local)) for k, v in pairs))
            case Comprehension(element=element, name=name, source=source, condition=condition):
                inner = local | {name}
                return Comprehension(self.node(element, inner), name, self.node(source, local),
                    None if condition is None else self.node(condition, inner), node.at)
            case Template(parts=parts):
                return replace(node, parts=tuple(p if isinstance(p, str) else self.node(p, local) for p in parts))
            case _:
                return node

    # -- references

    def refuse(self, rule: Rule, message: str, at: Position, hint: str = "") -> Node:
        self.findings.add(rule, message, at, hint=hint)
        return Literal(None, at)

    def bare(self, node: Name, local: frozenset[str]) -> Node:
        name, at, names = node.name, node.at, self.names
        if name in local:
            return Slot("local", name, at)
        if name in names.loops:
            return replace(names.loops[name], at=at)
        if name in names.bare:
            return _moved(names.bare[name], at)
        if name in INPUT_ROOTS:
            return Slot("input", "", at)
        if name in OBJECT_ROOTS:
            return Slot(name, "", at)
        if name in names.state:
            return _moved(names.state[name], at)
        if name in names.variables:
            return Slot("var", name, at)
        if names.inputs is not None and name in names.inputs:
            return Attribute(Slot("input", "", at), name, at)
        if name == "errors" and names.errors is not None:
            return names.errors(at)
        if root := _root_of(name):
            whose = f"; name one of {_listed(names.steps)}" if names.steps and "<id>" in root else ""
            return self.refuse(rules.INCOMPLETE, f"{name} is not a value by itself", at, f"write {root}{whose}")
        return self.unknown(node, local)

    def unknown(self, node: Name, local: frozenset[str]) -> Node:
        names = self.names
        here = sorted({*local, *names.loops, *names.bare, *names.state, *names.variables, *(names.inputs or ())})
        roots = sorted({"input", "vars", "steps", "context", "workflow", "execution", "secrets", "env", "errors"})
        hint = did_you_mean(node.name, [*here, *roots, *names.steps])
        if node.name in names.steps:
            hint = f"a step's output is read as steps.{node.name}.output"
        elif node.name in ("item", "index"):
            hint = f"{node.name} is known inside of a loop only"
        elif not hint:
            shown = ", ".join([*here[:SHOWN], *(["…"] if len(here) > SHOWN else []), *roots])
            hint = f"known here: {shown}; a text needs quotes: '{node.name}'"
        return self.refuse(rules.UNKNOWN_NAME, f"the name {node.name} is not known here", node.at, hint)

    def chain(self, node: Attribute | Index, local: frozenset[str]) -> Node:
        if isinstance(node, Attribute):
            key: str | None = node.name
            computed = None
        else:
            value = node.key.value if isinstance(node.key, Literal) else None
            key = nfc(value) if isinstance(value, str) else None
            computed = node.key
        of = node.of
        named = isinstance(of, Name) and not self.shadowed(of.name, local)
        if named and (found := self.rooted(of.name, key, node)) is not None:  # type: ignore[union-attr]
            return found
        if key is not None and isinstance(of, (Attribute, Index)) and (step := self.step(of, local)) is not None:
            if key in _OWN:
                return Slot(_OWN[key], step, node.at)
            if meant := _slip(key, _OWN, _FIELDS):
                return self.refuse(rules.UNKNOWN_PART, f"a step has no {key}", node.at,
                    f"did you mean {meant}? A field {key} of its output is read by {of.of.name}.{step}.output.{key}")  # type: ignore[union-attr]
            return Attribute(Slot("output", step, of.at), key, node.at)
        holder = self.node(of, local)
        if isinstance(holder, Slot) and holder.kind == "error" and (meant := _slip(key or "", _ERROR_FIELDS)):
            return self.refuse(rules.UNKNOWN_PART, f"an error has no {key}", node.at,
                f"did you mean {meant}? An error has {', '.join(_ERROR_FIELDS)}")
        if isinstance(node, Attribute):
            return Attribute(holder, node.name, node.at)
        assert computed is not None
        return Index(holder, self.node(computed, local), node.at)

    def shadowed(self, name: str, local: frozenset[str]) -> bool:
        return name in local or name in self.names.loops or name in self.names.bare

    def step(self, node: Attribute | Index, local: frozenset[str]) -> str | None:
        """The id when the node is a reference to a known step as a whole."""
        of = node.of
        if not isinstance(of, Name) or of.name not in STEP_ROOTS or self.shadowed(of.name, local):
            return None
        key = node.name if isinstance(node, Attribute) else getattr(node.key, "value", None)
        return nfc(key) if isinstance(key, str) and nfc(key) in self.names.steps else None

    def rooted(self, root: str, key: str | None, node: Attribute | Index) -> Node | None:
        """`root.key` for the roots whose members are known; None where the root is an ordinary value."""
        names, at = self.names, node.at
        if root in INPUT_ROOTS:
            if key is not None and names.inputs is not None and key not in names.inputs:
                declared = _listed(names.inputs) or "none"
                return self.refuse(rules.UNKNOWN_INPUT, f"there is no input {key}", at,
                    did_you_mean(key, names.inputs) or f"declared inputs: {declared}")
            return Attribute(Slot("input", "", node.of.at), key, at) if key is not None else None
        if root in VARIABLE_ROOTS:
            return self.member(root, key, at, names.variables, rules.UNKNOWN_VARIABLE, "variable", "var")
        if root in STEP_ROOTS:
            return self.member(root, key, at, names.steps, rules.UNKNOWN_STEP, "step", "output")
        if root == "errors":
            return self.member(root, key, at, names.steps, rules.UNKNOWN_STEP, "step", "error")
        if root == "state":
            if key is None:
                return self.refuse(rules.COMPUTED_NAME, "which part of the state is read is computed", at)
            if key in names.state:
                return _moved(names.state[key], at)
            return self.refuse(rules.UNKNOWN_NAME, f"no step writes {key} into the state", at,
                did_you_mean(key, names.state) or "an output key of a step is expected")
        if root in ("secrets", "env"):
            if key is None:
                return self.refuse(rules.COMPUTED_NAME, f"which of the {root} is read is computed", at)
            return Slot(root.removesuffix("s"), key, at)
        return None

    def member(
        self, root: str, key: str | None, at: Position, options: Collection[str], rule: Rule, noun: str, kind: str
    ) -> Node:
        if key is None:
            return self.refuse(rules.COMPUTED_NAME, f"which {noun} is read is computed", at,
                f"write the name as a text: {root}['name']")
        if key in options:
            return Slot(kind, key, at)
        shown = _listed(options) or "none"
        return self.refuse(rule, f"there is no {noun} {key}", at,
            did_you_mean(key, options) or f"known: {shown}")

    # -- calls

    def call(self, node: Call, local: frozenset[str]) -> Node:
        args = tuple(self.node(arg, local) for arg in node.args)
        if node.name == "env":
            only = args[0] if len(args) == 1 else None
            if isinstance(only, Literal) and isinstance(only.value, str):
                return Slot("env", only.value, node.at)
            return self.refuse(rules.COMPUTED_NAME, "env takes one name, written as a text", node.at, "env('STAGE')")
        if node.name == "file_exists":
            return self.refuse(rules.NO_FILE_SYSTEM, "file_exists cannot be answered", node.at)
        function = find(node.name)
        if function is None:
            hint = did_you_mean(node.name, known()) or "known: " + ", ".join(known())
            return self.refuse(rules.UNKNOWN_FUNCTION, f"there is no function {node.name}", node.at, hint)
        if not function.least <= len(args) <= function.most:
            most = "any number of" if function.most == MANY else str(function.most)
            wanted = most if function.least == function.most else f"{function.least} to {most}"
            return self.refuse(rules.ARGUMENTS, f"{node.name} takes {wanted} arguments, not {len(args)}", node.at)
        return replace(node, args=args)


def _slip(key: str, known: Iterable[str], meant_so: Collection[str] = ()) -> str:
    """Which of the known names was meant by a name that nearly is one; empty when it is one, or none is near."""
    if key in known or key in meant_so:
        return ""
    return next((meant for meant in known if is_slip(key, meant)), "")


def _moved(node: Node, at: Position) -> Node:
    """What a name stands for, at the place of the name."""
    return replace(node, at=at)


def _listed(names: Iterable[str]) -> str:
    """The first names in their order; a list that is cut says so."""
    ordered = sorted(names)
    return ", ".join([*ordered[:SHOWN], *(["…"] if len(ordered) > SHOWN else [])])


def _root_of(name: str) -> str:
    if name in VARIABLE_ROOTS:
        return f"{name}.<name>"
    if name in STEP_ROOTS:
        return f"{name}.<id>.output"
    return {"secrets": "secrets.<name>", "env": "env.<NAME>", "errors": "errors.<id>", "state": "state.<key>"}.get(
        name, "")
