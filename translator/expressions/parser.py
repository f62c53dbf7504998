"""Text -> expression tree, by precedence climbing over a token stream.

Precedence from loose to tight: conditional (`a if c else b`, `c ? a : b`), `??`, `or`, `and`, `not`, comparison,
`+ -`, `~`, `* / // %`, unary `- + !`, `**`, then call, attribute, index and `| filter`.
"""

from __future__ import annotations

from collections.abc import Collection

from translator.diagnostics import Findings, Position
from translator.expressions.lexer import Ids, Lexer, Token, Unreadable, ids_of
from translator.expressions.mistakes import missing_operator, slice_in_brackets
from translator.expressions.paths import CONSTANTS, RESERVED, path
from translator.expressions.tree import (
    MAX_CHARACTERS,
    MAX_DEPTH,
    MAX_NODES,
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
    Unary,
    depth,
)
from translator.findings import expressions as rules

_COMPARISONS = {"==": "==", "===": "==", "!=": "!=", "!==": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_COALESCE, _OR, _AND, _NOT, _COMPARISON = 1, 2, 3, 4, 5
_BINDING = {
    "??": _COALESCE, "||": _OR, "&&": _AND, **dict.fromkeys(_COMPARISONS, _COMPARISON),
    "+": 6, "-": 6, "~": 7, "*": 8, "/": 8, "//": 8, "%": 8,
}
_WORD_BINDING = {
    "or": _OR, "and": _AND, "in": _COMPARISON, "not": _COMPARISON, "matches": _COMPARISON, "contains": _COMPARISON,
    "starts": _COMPARISON, "ends": _COMPARISON,
}


def parse(text: str, at: Position, findings: Findings, ids: Collection[str] | Ids = ()) -> Node | None:
    """Read one expression. Gives None when a finding was added.

    `at` is where the first character of `text` stands. `ids` are the names that may hold hyphens (step ids);
    give the same frozenset each time where there are many.
    """
    try:
        if len(text) > MAX_CHARACTERS:
            raise Unreadable(rules.TOO_LONG, f"the expression has {len(text):,} characters", 0)
        lexer = Lexer(text, 0, at, ids_of(ids))
        if (short := path(lexer, 0, "")) is not None:
            return short[0]
        parser = Parser(lexer)
        node = parser.expression()
        parser.expect_end()
        check_depth(node)
        return node
    except Unreadable as problem:
        report(problem, Lexer(text, 0, at, ids_of(())), findings)
    except RecursionError:
        findings.add(rules.TOO_DEEP, "operators and parentheses nested too deeply", at)
    return None


def report(problem: Unreadable, lexer: Lexer, findings: Findings) -> None:
    at = lexer.place(problem.offset, problem.length)
    findings.add(problem.rule, problem.message, at, hint=problem.hint)


def check_depth(node: Node) -> None:
    if depth(node) > MAX_DEPTH:
        raise Unreadable(rules.TOO_DEEP, f"more than {MAX_DEPTH} levels of operators", 0)


class Parser:
    """One expression, read from where the lexer stands. Raises `Unreadable`."""

    def __init__(self, lexer: Lexer) -> None:
        self.lexer = lexer
        self.level = 0
        self.nodes = 0
        self.previous = Token("op", "", 0, 0)  # what stands before `token`
        self.token = lexer.next()

    # -- tokens

    def advance(self) -> Token:
        token = self.previous = self.token
        self.token = self.lexer.next()
        return token

    def place(self, start: int) -> Position:
        """The position of a node that starts at an offset and ends with the last token read."""
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise Unreadable(rules.TOO_LONG, f"more than {MAX_NODES:,} parts", start)
        end = self.token.start
        text = self.lexer.text
        while end > start + 1 and text[end - 1].isspace():
            end -= 1
        return self.lexer.place(start, end - start if "\n" not in text[start:end] else 1)

    def expect(self, op: str, opened: int | None = None) -> Token:
        if not self.token.is_op(op):
            if opened is not None and self.token.kind == "end":
                raise Unreadable(rules.SYNTAX, f"{op} is missing", opened, 1, "what opens here is never closed")
            raise self.unexpected(f"expected {op}")
        return self.advance()

    def expect_end(self) -> None:
        if self.token.kind != "end":
            raise self.unexpected()

    def unexpected(self, wanted: str = "", hint: str = "") -> Unreadable:
        token = self.token
        length = max(token.end - token.start, 1)
        if token.is_op("="):
            return Unreadable(rules.SINGLE_EQUALS, "= does not compare", token.start, 1, "write ==")
        if token.kind == "end":
            return Unreadable(rules.SYNTAX, "the expression ends where a value is expected" if not wanted else
                f"the expression ends: {wanted}", max(token.start - 1, 0))
        if wanted != "expected :" and (apart := missing_operator(self.lexer.text, self.previous, token)) is not None:
            return apart
        shown = self.lexer.text[token.start:token.end][:40]
        message = f"{shown} does not fit here" + (f": {wanted}" if wanted else "")
        return Unreadable(rules.SYNTAX, message, token.start, length, hint)

    # -- operators

    def expression(self) -> Node:
        """A whole expression, conditional included."""
        self.level += 1
        if self.level > MAX_DEPTH:
            raise Unreadable(rules.TOO_DEEP, f"nested more than {MAX_DEPTH} levels deep", self.token.start)
        start = self.token.start
        node = self.climb(_COALESCE)
        if self.token.is_word("if"):
            word = self.advance().start
            test = self.climb(_COALESCE)
            if not self.token.is_word("else"):
                if self.token.kind == "end" or self.token.is_op(")", "]", "}", "}}", ",", ":"):
                    raise Unreadable(rules.SYNTAX, "the condition has no else", word, 2,
                        "write `a if condition else b`, with null for nothing")
                raise self.unexpected("expected else")
            self.advance()
            node = Conditional(test, node, self.expression(), self.place(start))
        elif self.token.is_op("?"):
            self.advance()
            then = self.expression()
            self.expect(":")
            node = Conditional(node, then, self.expression(), self.place(start))
        self.level -= 1
        return node

    def climb(self, lowest: int) -> Node:
        """Operators that bind at least as tightly as `lowest`. A chain of equals is read in a loop, not by recursion."""
        start = self.token.start
        node = self.negated() if lowest <= _NOT and self.token.is_word("not") else self.unary()
        while (binding := self.binding()) >= lowest:
            if binding == _COALESCE:
                parts = [node, *self.chained(_COALESCE)]
                node = parts.pop()
                while parts:
                    node = Binary("??", parts.pop(), node, self.place(start))
            elif binding in (_OR, _AND):
                items = (node, *self.chained(binding))
                node = Logic("or" if binding == _OR else "and", items, self.place(start))
            elif binding == _COMPARISON:
                node = self.comparison(node, start)
            else:
                op = str(self.advance().value)
                node = Binary(op, node, self.climb(binding + 1), self.place(start))
        return node

    def binding(self) -> int:
        """How tightly the operator binds that stands here; 0 if none does."""
        token = self.token
        if token.kind == "op":
            if token.value == "=":
                raise self.unexpected()
            return _BINDING.get(str(token.value), 0)
        return _WORD_BINDING.get(str(token.value), 0) if token.kind == "word" else 0

    def chained(self, binding: int) -> list[Node]:
        operands = []
        while self.binding() == binding:
            self.advance()
            operands.append(self.climb(binding + 1))
        return operands

    def negated(self) -> Node:
        starts = []
        while self.token.is_word("not"):
            starts.append(self.advance().start)
        node = self.climb(_NOT + 1)
        for start in reversed(starts):
            node = Unary("not", node, self.place(start))
        return node

    def comparison(self, first: Node, start: int) -> Node:
        rest: list[tuple[str, Node]] = []
        while self.binding() == _COMPARISON:
            op = self.comparator()
            right = self.climb(_COMPARISON + 1)
            if op in ("contains", "startswith", "endswith"):
                left = first if not rest else Compare(first, tuple(rest), self.place(start))
                first, rest = Call(op, (left, right), self.place(start)), []
            else:
                rest.append((op, right))
        return first if not rest else Compare(first, tuple(rest), self.place(start))

    def comparator(self) -> str:
        """Take the comparison operator that stands here; some are two words."""
        token = self.advance()
        if token.kind == "op":
            return _COMPARISONS[str(token.value)]
        second = {"not": "in", "starts": "with", "ends": "with"}.get(str(token.value))
        if second is None:
            return str(token.value)
        if not self.token.is_word(second):
            raise self.unexpected(f"expected {second}")
        self.advance()
        return "not in" if token.value == "not" else f"{token.value}with"

    def unary(self) -> Node:
        """Signs, then a value with its calls and attributes, then a power."""
        signs: list[Token] = []
        while self.token.is_op("-", "+", "!"):
            signs.append(self.advance())
        start = self.token.start
        node = self.postfix()
        if self.token.is_op("**"):
            self.advance()
            self.level += 1
            if self.level > MAX_DEPTH:
                raise Unreadable(rules.TOO_DEEP, f"nested more than {MAX_DEPTH} levels deep", start)
            node = Binary("**", node, self.unary(), self.place(start))
            self.level -= 1
        for sign in reversed(signs):
            op = "not" if sign.value == "!" else str(sign.value)
            if op == "-" and isinstance(node, Literal) and type(node.value) in (int, float):
                node = Literal(-node.value, self.place(sign.start))  # type: ignore[operator]
            else:
                node = Unary(op, node, self.place(sign.start))
        return node

    # -- values

    def postfix(self) -> Node:
        start = self.token.start
        node = self.primary()
        while True:
            if self.token.is_op("."):
                node = self.attribute(node, start)
            elif self.token.is_op("["):
                opened = self.advance().start
                key = None if self.token.is_op(":") else self.expression()
                if key is None or self.token.is_op(":"):
                    raise slice_in_brackets(self.lexer.text, start, opened, self.token)
                self.expect("]", opened)
                node = Index(node, key, self.place(start))
            elif self.token.is_op("|"):
                self.advance()
                if self.token.kind != "word":
                    raise self.unexpected("expected the name of a function after |")
                name = str(self.advance().value)
                args = self.arguments() if self.token.is_op("(") else ()
                node = Call(name, (node, *args), self.place(start))
            elif self.token.is_op("(") and isinstance(node, Attribute):
                raise Unreadable(rules.UNKNOWN_FUNCTION, "values have no methods", self.token.start, 1,
                    f"write {node.name}(...) or ... | {node.name}")
            else:
                return node

    def attribute(self, node: Node, start: int) -> Node:
        token = self.previous = self.lexer.member()
        self.token = self.lexer.next()
        at = self.place(start)
        if token.kind == "number":
            return Index(node, Literal(token.value, self.lexer.place(token.start, token.end - token.start)), at)
        return Attribute(node, str(token.value), at)

    def arguments(self) -> tuple[Node, ...]:
        opened = self.expect("(").start
        args: list[Node] = []
        while not self.token.is_op(")"):
            args.append(self.expression())
            if not self.token.is_op(")"):
                self.separator(opened, ")")
        self.advance()
        return tuple(args)

    def separator(self, opened: int, close: str) -> None:
        if self.token.is_op(","):
            self.advance()
        else:
            self.expect(close, opened)

    def primary(self) -> Node:
        token = self.token
        if token.kind in ("number", "text"):
            self.advance()
            return Literal(token.value, self.place(token.start))
        if token.kind == "word" and token.value not in RESERVED:
            self.advance()
            if token.value in CONSTANTS:
                return Literal(CONSTANTS[str(token.value)], self.place(token.start))
            if self.token.is_op("("):
                return Call(str(token.value), self.arguments(), self.place(token.start))
            return Name(str(token.value), self.place(token.start))
        if token.is_op("("):
            return self.enclosed(")")
        if token.is_op("{{", "${{"):  # a hole inside of an expression is an operand, never pasted text
            return self.enclosed("}}")
        if token.is_op("["):
            return self.list_or_comprehension()
        if token.is_op("{"):
            return self.object()
        raise self.unexpected()

    def enclosed(self, close: str) -> Node:
        opened = self.advance().start
        node = self.expression()
        self.expect(close, opened)
        return node

    def list_or_comprehension(self) -> Node:
        start = self.advance().start
        items: list[Node] = []
        while not self.token.is_op("]"):
            items.append(self.expression())
            if len(items) == 1 and self.token.is_word("for"):
                return self.comprehension(items[0], start)
            if not self.token.is_op("]"):
                self.separator(start, "]")
        self.advance()
        return ListOf(tuple(items), self.place(start))

    def comprehension(self, element: Node, start: int) -> Node:
        self.advance()
        name = self.token
        if name.kind != "word" or name.value in RESERVED or name.value in CONSTANTS:
            raise self.unexpected("expected the name of the item")
        self.advance()
        if not self.token.is_word("in"):
            raise self.unexpected("expected in")
        self.advance()
        source = self.climb(_COALESCE)
        condition = None
        if self.token.is_word("if"):
            self.advance()
            condition = self.climb(_COALESCE)
        self.expect("]", start)
        return Comprehension(element, str(name.value), source, condition, self.place(start))

    def object(self) -> Node:
        start = self.advance().start
        items: list[tuple[Node, Node]] = []
        while not self.closes_object():
            key = self.key()
            self.expect(":")
            items.append((key, self.expression()))
            if not self.closes_object():
                self.separator(start, "}")
        self.advance()
        return ObjectOf(tuple(items), self.place(start))

    def closes_object(self) -> bool:
        """Whether a brace closes here; of two braces that stand together the first one."""
        if self.token.is_op("}}"):
            start = self.token.start
            self.token, self.lexer.pos = Token("op", "}", start, start + 1), start + 1
        return self.token.is_op("}")

    def key(self) -> Node:
        token = self.token
        if token.kind in ("word", "text"):
            self.advance()
            return Literal(token.value, self.place(token.start))
        if token.is_op("("):
            return self.enclosed(")")
        raise self.unexpected("expected a key")
