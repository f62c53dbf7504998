"""DynamoDB: an update expression of twenty parts is checked in a few milliseconds, not in fifty."""

from __future__ import annotations

import pickle
from functools import lru_cache
from typing import Any

from infra.local.moto_patches.registry import patch

_processed: dict[tuple[type, type], bool] = {}  # (processor, node) -> whether it does something with such nodes


@lru_cache(maxsize=256)
def _parsed(expression: str) -> bytes:
    from moto.dynamodb.parsing import expressions

    module: Any = expressions
    return pickle.dumps(module.UpdateExpressionParser(module.ExpressionTokenizer.make_list(expression)).parse(), -1)


@patch(
    "moto.dynamodb.parsing.expressions:UpdateExpressionParser.make",
    gap="the same few expressions are parsed again for every request",
    fingerprint="2c00ed96d6e1",
)
def make(cls: Any, expression: str) -> Any:
    return pickle.loads(_parsed(expression))


@patch(
    "moto.dynamodb.parsing.validators:deepcopy",
    gap="copying a tree node by node takes longer than all that is done with the copy",
    fingerprint="1aa3f74c7742",
)
def deepcopy(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value, -1))


@patch(
    "moto.dynamodb.parsing.validators:Validator.validate",
    gap="checks of the whole expression are made again for every part of it, which takes time by the square of its length",
    fingerprint="5a99f0d36c7b",
)
def validate(self: Any) -> Any:
    from moto.dynamodb.parsing.validators import ActionCountValidator, OverlappingPathsValidator

    node = self.node_to_validate
    for processor in self.processors:
        if isinstance(processor, ActionCountValidator | OverlappingPathsValidator):
            processor.process(node)  # they look through all parts themselves
        else:
            node = processor.traverse(node)
    return node


@patch(
    "moto.dynamodb.parsing.ast_nodes:DepthFirstTraverser.traverse_node_recursively",
    gap="every node is asked for its abstract classes again by every check",
    fingerprint="d7f01d9b45cf",
)
def traverse_node_recursively(self: Any, node: Any, child_id: int = -1) -> Any:
    children = getattr(node, "children", None)
    if children is not None:
        for number, child in enumerate(children):
            self.pre_processing_of_child(node, number)
            if hasattr(child, "children"):
                traverse_node_recursively(self, child, number)
    kinds = type(self), type(node)
    if kinds not in _processed:
        _processed[kinds] = isinstance(node, self.nodes_to_be_processed())
    if not _processed[kinds]:
        return node
    parent = node.parent
    node = self.process(node)
    node.parent = parent
    if parent:
        parent.children[child_id] = node
    return node
