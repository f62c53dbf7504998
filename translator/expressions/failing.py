"""Which expressions have a value whatever they are given."""

from __future__ import annotations

from translator.expressions.tree import Binary, Call, Compare, Comprehension, Index, Node, Unary, walk


def may_fail(node: Node) -> bool:
    """Whether some values make the expression an ExpressionError."""
    return any(
        isinstance(here, Call | Comprehension | Index)
        or (isinstance(here, Binary) and here.op != "??")
        or (isinstance(here, Unary) and here.op != "not")
        or (isinstance(here, Compare) and any(op not in ("==", "!=") for op, _ in here.rest))
        for here in walk(node)
    )
