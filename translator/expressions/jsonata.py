"""Resolved tree -> JSONata, for the engine of AWS (2.0.6) and for the local one.

The code means what `evaluate` means, for every JSON value, or it is not written at all (`NotNative`). It never gives
undefined: a missing value is null. Texts are written so that nothing in them can be read as code.

Known limits of engines that code cannot mend: keys that look like array indexes come first when an object is rendered
(JavaScript keeps them so); texts are ordered by UTF-16 units on AWS and by the evaluator, by characters in the local
engine (a character beyond U+FFFF against one from U+E000 on); JavaScript takes `[]` and `{"length": 0}` for equal.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Collection
from typing import NamedTuple

from translator.expressions.functions import find
from translator.expressions.helpers import with_helpers
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
    children,
)
from translator.expressions.types import TypeOf, kind, nothing_known

MAX_CODE = 32_000
MAX_DEPTH = 150  # of an expression as JSONata; Python's own limit would come at 200 or more
_PLAIN = 2_000  # characters of keys that are surely within the limits
_SHORT = 24  # characters of a reference that is cheaper to repeat than to name

# How tightly JSONata binds: a condition is loosest, a value or call tightest.
_LOOSE, _OR, _AND, _COMPARE, _ADD, _MULTIPLY, _ATOM = range(7)
_STEP = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_HARMLESS = re.compile(r"[A-Za-z0-9 _.,:;/?!=@#+*()<>|&-]*")
_WORDS = frozenset({"and", "or", "in", "true", "false", "null", "function"})
# What a function need not ask of an argument whose type is certain.
_CHECKED = {"array": ("$_list({0})", "{0}"), "object": ("$_object({0})", "{0}"), "string": ("$_len({0})", "$length({0})")}
# Keys that every JavaScript object seems to have.
_INHERITED = frozenset({
    "constructor", "toString", "toLocaleString", "valueOf", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable",
    "__proto__", "__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__",
})


class NotNative(Exception):
    """JSONata cannot say this faithfully; `reason` is a sentence for the report."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class _Code(NamedTuple):
    text: str
    level: int

    def at_least(self, level: int) -> str:
        return self.text if self.level >= level else f"({self.text})"


def write(
    node: Node,
    bind: Callable[[Slot], str],
    *,
    type_of: TypeOf = nothing_known,
    declared: Collection[str] = (),
) -> str:
    """JSONata without its `{% %}`.

    `bind` gives the JSONata primary of a slot, such as `$build` or `$states.context.Execution.Input.input`, which is
    never undefined; names that start with `$_` are reserved. `type_of` gives JSON types that are certain (asked for
    `Slot("input", "x")` for the input `x`) and makes the code shorter; `declared` are the inputs that are always there.
    Raises `NotNative`, and `ValueError` for a secret, which never comes near a state machine.
    """
    # Checked, not found out by running into Python's own limit, which is not the same in every process.
    deepest, reads = _measured(node)
    if deepest > MAX_DEPTH:
        raise NotNative(f"the expression is nested more than {MAX_DEPTH} deep")
    writer = _Writer(bind, type_of, declared)
    writer.many_reads = reads > 1
    try:
        code = with_helpers(writer.code(node).text)
    except RecursionError as error:
        raise NotNative("the expression is nested too deeply") from error
    if len(code) > MAX_CODE:
        raise NotNative(f"the expression has {len(code):,} characters as JSONata")
    return code


def _measured(node: Node) -> tuple[int, int]:
    """How many nodes deep the tree is, and how many keys and items it reads."""
    deepest = reads = 0
    level: list[Node] = [node]
    while level:
        deepest += 1
        reads += sum([isinstance(here, (Attribute, Index)) for here in level])
        level = [child for here in level for child in children(here)]
    return deepest, reads


LONGEST_NAME = "$" + "x" * 79  # of a variable on AWS


def is_native(node: Node) -> bool:
    """Whether `write` can say the expression, whatever its references are; secrets are kept out elsewhere."""
    here: Node = node
    names = 0
    while isinstance(here, Attribute) and names < _PLAIN:
        names += len(here.name) + 20
        here = here.of
    if isinstance(here, Slot) and here.kind not in ("env", "local") and names < _PLAIN:
        return True  # most are: a result or an input, by its keys
    try:
        write(node, lambda slot: LONGEST_NAME)
    except NotNative:
        return False
    except ValueError:  # a secret
        return True
    return True


def text_literal(text: str) -> str:
    """A text as JSONata source that every scanner reads as data: no `$name`, no `{%`, no quote, no control character.
    """
    if _HARMLESS.fullmatch(text):
        return f'"{text}"'
    code = json.dumps(text, ensure_ascii=False)
    code = code.replace("$", "\\u0024").replace("{%", "{\\u0025").replace("%}", "\\u0025}")
    return re.sub("[\ud800-\udfff\x7f-\x9f\u2028\u2029\ufeff]", lambda match: f"\\u{ord(match[0]):04x}", code)


class _Writer:
    def __init__(self, bind: Callable[[Slot], str], type_of: TypeOf, declared: Collection[str]) -> None:
        self.bind = bind
        self.type_of = type_of
        self.declared = declared
        self.many_reads = False
        self.locals: dict[str, str] = {}
        self.count = 0
        self.size = 0

    def kind(self, node: Node) -> str | None:
        return kind(node, self.type_of)

    def fresh(self) -> str:
        self.count += 1
        return f"$_{self.count - 1}"

    def code(self, node: Node) -> _Code:
        match node:
            case Literal():
                result = self.literal(node)
            case Slot():
                result = self.slot(node)
            case Attribute(of=of, name=name):
                result = self.attribute(of, name)
            case Index(of=of, key=Literal(value=str(name))):
                result = self.attribute(of, name)
            case Index(of=of, key=key):
                result = _Code(f"$_get({self.text(of)},{self.text(key)})", _ATOM)
            case Unary():
                result = self.unary(node)
            case Binary():
                result = self.binary(node)
            case Compare():
                result = self.compare(node)
            case Logic():
                result = self.logic(node)
            case Conditional(test=test, then=then, other=other):
                result = _Code(f"{self.truth(test).at_least(_OR)}?{self.text(then)}:{self.text(other)}", _LOOSE)
            case ListOf(items=items):
                result = _Code(f"[{','.join(map(self.item, items))}]", _ATOM)
            case ObjectOf():
                result = self.object(node)
            case Comprehension():
                result = self.comprehension(node)
            case Template(parts=parts):
                result = self.joined(parts)
            case Call():
                result = self.call(node)
            case Name(name=name):
                raise ValueError(f"the name {name!r} was not resolved")
        self.size += len(result.text) >> 4
        if self.size > 16 * MAX_CODE or len(result.text) > MAX_CODE:
            raise NotNative("the expression is too long as JSONata")
        return result

    def text(self, node: Node) -> str:
        return self.code(node).text

    # -- values

    def literal(self, node: Literal) -> _Code:
        value = node.value
        if value is None or isinstance(value, bool):
            return _Code({None: "null", True: "true", False: "false"}[value], _ATOM)
        if isinstance(value, str):
            return _Code(text_literal(value), _ATOM)
        if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
            value = int(value)
        if not math.isfinite(value):
            raise ValueError("a number in an expression is finite")
        return _Code(repr(value), _ATOM if value >= 0 and not repr(value).startswith("-") else _ADD)

    def slot(self, node: Slot) -> _Code:
        if node.kind == "secret":
            raise ValueError(f"the secret {node.name!r} cannot be written into a state machine")
        if node.kind == "env":
            raise NotNative("environment variables are known to functions only")
        if node.kind == "local" and node.name in self.locals:
            return _Code(self.locals[node.name], _ATOM)
        return _Code(self.bind(node), _ATOM)

    def attribute(self, of: Node, name: str) -> _Code:
        holder = self.code(of)
        if holder.text == "null":  # what a step that cannot fail has for an error
            return holder
        plain = _STEP.match(name) and name not in _WORDS
        if isinstance(of, Slot) and of.kind == "input" and not of.name and name in self.declared:
            return _Code(f"{holder.text}.{name}" if plain else f"$lookup({holder.text},{text_literal(name)})", _ATOM)
        if name in _INHERITED:
            return _Code(f"$_get({holder.text},{text_literal(name)})", _ATOM)
        if self.many_reads or holder.level != _ATOM:
            return _Code(f"$_a({holder.text},{text_literal(name)})", _ATOM)
        known = self.kind(of) == "object"
        if plain and len(holder.text) < _SHORT and holder.text.startswith("$"):  # a literal is no start of a path
            path = f"{holder.text}.{name}"
            test = "" if known else f'$type({holder.text})="object" and '
            return _Code(f"({test}$exists({path})?{path}:null)", _ATOM)
        return self.or_null(f"$lookup({holder.text},{text_literal(name)})" if known else
            f'$type({holder.text})="object"?$lookup({holder.text},{text_literal(name)})')

    def or_null(self, code: str) -> _Code:
        """Code that may give undefined, made to give null."""
        name = self.fresh()
        return _Code(f"({name}:={code};$exists({name})?{name}:null)", _ATOM)

    def item(self, node: Node) -> str:
        """An item between brackets. JSONata flattens lists there unless they are wrapped once more."""
        code = self.code(node)
        if code.level == _ATOM and code.text.startswith("["):  # is wrapped by itself
            return code.text
        found = self.kind(node)
        if found == "array":
            return f"[{code.text}]"
        return f"$_w({code.text})" if found is None else code.text

    def object(self, node: ObjectOf) -> _Code:
        parts: list[str] = []
        seen: set[str] = set()
        for key, value in node.items:
            name = key.value if isinstance(key, Literal) else None
            if not isinstance(name, str):
                raise NotNative("a key of an object is computed")
            if name in seen or name == "__proto__":
                raise NotNative(f"the key {name!r} of an object")
            seen.add(name)
            parts.append(f"{text_literal(name)}:{self.text(value)}")
        return _Code("{" + ",".join(parts) + "}", _ATOM)

    def comprehension(self, node: Comprehension) -> _Code:
        source = self.text(node.source)
        if self.kind(node.source) != "array":
            source = f"$_list({source})"
        outer = self.locals.get(node.name)
        item = self.locals[node.name] = self.fresh()
        element = self.code(node.element)
        test = None if node.condition is None else self.truth(node.condition).at_least(_OR)
        if outer is None:
            del self.locals[node.name]
        else:
            self.locals[node.name] = outer
        if self.kind(node.element) not in (None, "array"):
            body = element.text if test is None else f"{test}?{element.at_least(_OR)}"
            return _Code(f"[$map({source},function({item}){{{body}}})]", _ATOM)
        made = self.fresh()
        body = f"$append({made},$_w({element.text}))"
        if test is not None:
            body = f"{test}?{body}:{made}"
        return _Code(f"$reduce({source},function({made},{item}){{{body}}},[])", _ATOM)

    # -- text

    def joined(self, parts: tuple[str | Node, ...]) -> _Code:
        pieces = [part for part in map(self.piece, parts) if part is not None]
        if not pieces:
            return _Code('""', _ATOM)
        if len(pieces) == 1:
            return pieces[0]
        return _Code("&".join(piece.at_least(_MULTIPLY) for piece in pieces), _ADD)

    def piece(self, part: str | Node) -> _Code | None:
        """A part of a text as code that gives a text; None for an empty one."""
        if isinstance(part, str):
            return _Code(text_literal(part), _ATOM) if part else None
        found = self.kind(part)
        if found == "null":
            # Still evaluated, because it might fail; a literal cannot.
            return None if isinstance(part, Literal) else _Code(f"$_t({self.text(part)})", _ATOM)
        if isinstance(part, Template):
            return self.joined(part.parts)
        if found == "string":
            return self.code(part)
        if isinstance(part, Literal) and not isinstance(part.value, float):
            return _Code(text_literal(json.dumps(part.value)), _ATOM)
        helper = {"number": "$_n", "boolean": "$string", "array": "$_j", "object": "$_j"}.get(found or "", "$_t")
        return _Code(f"{helper}({self.text(part)})", _ATOM)

    # -- operators

    def truth(self, node: Node) -> _Code:
        """Code whose truth in JSONata is the truth of the node."""
        if isinstance(node, Logic):
            level = _OR if node.op == "or" else _AND
            return _Code(f" {node.op} ".join(self.truth(item).at_least(level + 1) for item in node.items), level)
        found = self.kind(node)
        if found == "array":
            return _Code(f"$count({self.text(node)})>0", _COMPARE)
        return _Code(f"$_b({self.text(node)})", _ATOM) if found is None else self.code(node)

    def unary(self, node: Unary) -> _Code:
        if node.op == "not":
            return _Code(f"$not({self.truth(node.operand).text})", _ATOM)
        operand = self.code(node.operand).at_least(_MULTIPLY)
        return _Code(f"0-{operand}" if node.op == "-" else f"{operand}+0", _ADD)

    def binary(self, node: Binary) -> _Code:
        op, left, right = node.op, node.left, node.right
        if op == "~":
            return self.joined((left, right))
        if op == "??":
            return self.named(left, lambda name: f"{name}=null?{self.text(right)}:{name}")
        kinds = (self.kind(left), self.kind(right))
        if op == "+" and "number" not in kinds:
            if kinds == ("string", "string"):
                return self.joined((left, right))
            return _Code(f"$_plus({self.text(left)},{self.text(right)})", _ATOM)
        if op in ("+", "-"):
            code = f"{self.code(left).at_least(_ADD)}{op}{self.code(right).at_least(_MULTIPLY)}"
            # Adding zero makes both engines refuse what is no finite number.
            return _Code(code if _is_small(left) or _is_small(right) else f"{code}+0", _ADD)
        if op == "%":
            return _Code(f"$_mod({self.text(left)},{self.text(right)})", _ATOM)
        if op == "**":
            raise NotNative("engines differ in powers")
        sign = "/" if op == "//" else op
        code = f"{self.code(left).at_least(_MULTIPLY)}{sign}{self.code(right).at_least(_ATOM)}+0"
        return _Code(f"$floor({code})", _ATOM) if op == "//" else _Code(code, _ADD)

    def named(self, node: Node, use: Callable[[str], str]) -> _Code:
        """Code that uses a value more than once: by its name where it has one, else through a variable."""
        if isinstance(node, (Slot, Literal)):
            return _Code(use(self.code(node).at_least(_MULTIPLY)), _LOOSE)
        value = self.text(node)
        name = self.fresh()
        return _Code(f"({name}:={value};{use(name)})", _ATOM)

    def compare(self, node: Compare) -> _Code:
        links: list[_Code] = []
        left = node.first
        for op, right in node.rest:
            links.append(self.link(op, left, right))
            left = right
        if len(links) == 1:
            return links[0]
        return _Code(" and ".join(link.at_least(_COMPARE) for link in links), _AND)

    def link(self, op: str, left: Node, right: Node) -> _Code:
        if op == "matches":
            raise NotNative("regular expressions run in a function, where their time is bounded")
        if op in ("in", "not in"):
            code = self.membership(left, right)
            return code if op == "in" else _Code(f"$not({code.text})", _ATOM)
        sign = "=" if op == "==" else op
        return _Code(f"{self.code(left).at_least(_ADD)}{sign}{self.code(right).at_least(_ADD)}", _COMPARE)

    def membership(self, left: Node, right: Node) -> _Code:
        texts = isinstance(right, ListOf) and all(
            isinstance(item, Literal) and isinstance(item.value, str) for item in right.items
        )
        if texts or (self.kind(right) == "array" and self.kind(left) == "string"):
            return _Code(f"{self.code(left).at_least(_ADD)} in {self.code(right).at_least(_ADD)}", _COMPARE)
        return _Code(f"$_in({self.text(left)},{self.text(right)})", _ATOM)

    def logic(self, node: Logic) -> _Code:
        if all(self.kind(item) == "boolean" for item in node.items):
            return self.truth(node)
        *others, last = node.items
        code = self.code(last)
        for item in reversed(others):
            code = self.decide(node.op, item, code)
        return code

    def decide(self, op: str, item: Node, rest: _Code) -> _Code:
        def use(name: str) -> str:
            found = self.kind(item)
            test = f"$count({name})>0" if found == "array" else f"$_b({name})" if found is None else name
            return f"{test}?{name}:{rest.text}" if op == "or" else f"{test}?{rest.at_least(_OR)}:{name}"

        return self.named(item, use)

    def call(self, node: Call) -> _Code:
        function = find(node.name)
        if function is None:
            raise ValueError(f"there is no function {node.name!r}")
        if not function.deterministic:
            raise NotNative(f"{node.name}() has another value each time, which the state machine cannot record")
        args = node.args
        if function.name in ("min", "max", "merge") and len(args) > 1:
            return _Code(f"$_{function.name}({self.text(ListOf(args))})", _ATOM)
        place = len(args) - function.least
        native = function.native[place] if place < len(function.native) else ""
        if not native:
            raise NotNative(f"{node.name}() runs in a function")
        for index in function.texts:
            if index < len(args) and not (isinstance(args[index], Literal) and args[index].value):  # type: ignore[union-attr]
                raise NotNative(f"{node.name}() with a computed text to look for runs in a function")
        if function.name == "str":
            return self.joined(args)
        if function.name == "default":
            return self.code(args[0]) if len(args) == 1 else self.binary(Binary("??", args[0], args[1]))
        if args and (checked := _CHECKED.get(self.kind(args[0]) or "")):
            native = native.replace(*checked)
        texts = [self.text(arg) for arg in args]
        code = re.sub(r"\{([0-9])\}", lambda match: texts[int(match[1])], native)
        return _Code(code, _ADD if code.endswith("+0") else _ATOM)


def _is_small(node: Node) -> bool:
    """A number that cannot make a sum leave the range of doubles."""
    return isinstance(node, Literal) and isinstance(node.value, (int, float)) and abs(node.value) < 1e200
