"""Replaces parts of an expression."""

from __future__ import annotations

from collections.abc import Callable
from operator import is_

from translator.expressions.tree import Node, children, rebuilt


def rewrite(node: Node, give: Callable[[Node], Node | None]) -> Node:
    """The node with each part for which `give` has something replaced by it; what is given is not looked into.

    It is the same node when nothing in it changes.
    """
    given = give(node)
    if given is not None:
        return given
    before = children(node)
    after = [rewrite(part, give) for part in before]
    return node if all(map(is_, before, after)) else rebuilt(node, after)
