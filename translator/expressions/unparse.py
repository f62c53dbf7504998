"""Tree -> canonical text, for trees that are not resolved. Reading the text again gives the same tree."""

from __future__ import annotations

import json
import re

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

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_TIGHT = {"+": 7, "-": 7, "~": 8, "*": 9, "/": 9, "//": 9, "%": 9, "??": 2, "**": 11}


def unparse(node: Node) -> str:
    """The expression as text; a `Template` as text with `{{ }}` holes. Raises `ValueError` for a resolved slot."""
    if isinstance(node, Template):
        return "".join(_text(part) if isinstance(part, str) else f"{{{{ {_write(part)[0]} }}}}" for part in node.parts)
    return _write(node)[0]


def unparse_template(node: Node) -> str:
    """What a template was read as, as text again: plain text, text with holes, or one hole."""
    if isinstance(node, Literal) and isinstance(node.value, str):
        return _text(node.value)
    return unparse(node) if isinstance(node, Template) else f"{{{{ {unparse(node)} }}}}"


def _text(text: str) -> str:
    return re.sub(r"\$?\{\{", lambda match: "\\" + match[0], text)


def _inner(node: Node, least: int) -> str:
    text, binding = _write(node)
    return text if binding >= least else f"({text})"


def _write(node: Node) -> tuple[str, int]:
    """The text and how tightly it binds: 1 conditional, 2 ??, 3 or, 4 and, 5 not, 6 comparison … 12 a value."""
    match node:
        case Literal(value=value):
            return _literal(value)
        case Name(name=name):
            return name, 12
        case Attribute(of=of, name=name):
            holder = _inner(of, 12)
            if _PLAIN_NAME.match(name) or (not name.isascii() and nfc(name).isidentifier()):
                return f"{holder}.{name}", 12
            return f"{holder}.{name}" if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]*[A-Za-z0-9_]", name) else \
                f"{holder}[{json.dumps(name, ensure_ascii=False)}]", 12
        case Index(of=of, key=key):
            return f"{_inner(of, 12)}[{_write(key)[0]}]", 12
        case Unary(op="not", operand=operand):
            return f"not {_inner(operand, 5)}", 5
        case Unary(op=op, operand=operand):
            space = " " if isinstance(operand, Literal) else ""
            return f"{op}{space}{_inner(operand, 10 if not isinstance(operand, Literal) else 13)}", 10
        case Binary(op="??", left=left, right=right):
            return f"{_inner(left, 3)} ?? {_inner(right, 2)}", 2
        case Binary(op="**", left=left, right=right):
            return f"{_inner(left, 12)} ** {_inner(right, 10)}", 11
        case Binary(op=op, left=left, right=right):
            return f"{_inner(left, _TIGHT[op])} {op} {_inner(right, _TIGHT[op] + 1)}", _TIGHT[op]
        case Compare(first=first, rest=rest):
            return " ".join([_inner(first, 7), *(f"{op} {_inner(item, 7)}" for op, item in rest)]), 6
        case Logic(op=op, items=items):
            least = 4 if op == "or" else 5
            return f" {op} ".join(_inner(item, least) for item in items), least - 1
        case Conditional(test=test, then=then, other=other):
            return f"{_inner(then, 2)} if {_inner(test, 2)} else {_write(other)[0]}", 1
        case ListOf(items=items):
            return f"[{', '.join(_write(item)[0] for item in items)}]", 12
        case ObjectOf(items=pairs):
            return "{" + ", ".join(f"{_key(key)}: {_write(value)[0]}" for key, value in pairs) + "}", 12
        case Comprehension(element=element, name=name, source=source, condition=condition):
            tail = "" if condition is None else f" if {_inner(condition, 2)}"
            return f"[{_write(element)[0]} for {name} in {_inner(source, 2)}{tail}]", 12
        case Call(name=name, args=args):
            return f"{name}({', '.join(_write(arg)[0] for arg in args)})", 12
        case Template():
            # A text with holes inside of an expression: the same value by concatenation.
            whole: Node = Literal("")
            for part in node.parts:
                whole = Binary("~", whole, Literal(part) if isinstance(part, str) else part)
            return _write(whole)
        case Slot():
            raise ValueError("a resolved expression has no text of its own")


def _key(key: Node) -> str:
    if isinstance(key, Literal) and isinstance(key.value, str):
        return key.value if _PLAIN_NAME.match(key.value) else json.dumps(key.value, ensure_ascii=False)
    return f"({_write(key)[0]})"


def _literal(value: str | float | bool | None) -> tuple[str, int]:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value], 12
    if isinstance(value, str):
        return _text(json.dumps(value, ensure_ascii=False)), 12
    text = repr(value)
    if isinstance(value, float) and value == int(value) and "e" not in text and "." not in text:
        text += ".0"
    return (text, 10) if text.startswith("-") else (text, 12)
