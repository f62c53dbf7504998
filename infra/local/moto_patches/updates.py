"""DynamoDB: expressions are parsed once, and an update of twenty parts is checked in a millisecond, not in fifty."""

from __future__ import annotations

import pickle
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from infra.local.moto_patches.registry import patch


@lru_cache(maxsize=256)
def _parsed(expression: str) -> Any:
    """The tree, for reading only. `flat` is its pickle with nothing but actions below the root, as moto executes it."""
    from moto.dynamodb.parsing import ast_nodes, expressions

    module: Any = expressions
    nodes: Any = ast_nodes
    tree, flat = (
        module.UpdateExpressionParser(module.ExpressionTokenizer.make_list(expression)).parse() for _ in range(2)
    )
    kinds = [getattr(nodes, f"UpdateExpression{kind}Action") for kind in ("Add", "Delete", "Remove", "Set")]
    flat.children = flat.find_clauses(kinds)
    for action in flat.children:
        action.set_parent(flat)
    flat.text = tree.text = expression
    tree.flat = pickle.dumps(flat, -1)
    return tree


@patch(
    "moto.dynamodb.parsing.expressions:UpdateExpressionParser.make",
    gap="the same few expressions are parsed again for every request",
    fingerprint="2c00ed96d6e1",
)
def make(cls: Any, expression: str) -> Any:
    return _parsed(expression)


@patch(
    "moto.dynamodb.parsing.ast_nodes:Node.find_clauses",
    gap="every node is asked for its abstract classes again by every search",
    fingerprint="b77be7ac447d",
)
def find_clauses(self: Any, clause_types: Sequence[type]) -> list[Any]:
    found = []
    for child in self.children or ():
        kind: Any = type(child)
        if kind in clause_types:
            found.append(child)
        elif _has_clauses(kind):
            found.extend(find_clauses(child, clause_types))
    return found


@lru_cache(maxsize=256)
def _has_clauses(kind: Any) -> bool:
    from moto.dynamodb.parsing import ast_nodes

    module: Any = ast_nodes
    return issubclass(kind, (module.Expression, module.UpdateExpressionFunction))


@patch(
    "moto.dynamodb.parsing.validators:deepcopy",
    gap="copying a tree node by node takes longer than all that is done with the copy",
    fingerprint="1aa3f74c7742",
)
def deepcopy(value: Any) -> Any:
    return pickle.loads(getattr(value, "flat", None) or pickle.dumps(value, -1))


@lru_cache(maxsize=256)
def _well_formed(expression: str, names: tuple[tuple[str, str], ...]) -> None:
    """Raises where clauses are repeated or paths overlap."""
    from moto.dynamodb.parsing.validators import ActionCountValidator, OverlappingPathsValidator

    for processor in (ActionCountValidator(), OverlappingPathsValidator(dict(names))):
        processor.process(_parsed(expression))


@patch(
    "moto.dynamodb.parsing.validators:Validator.validate",
    gap="the tree is walked ten times, and checks of the whole expression are made again for every part of it",
    fingerprint="5a99f0d36c7b",
)
def validate(self: Any) -> Any:
    from moto.dynamodb.parsing.validators import ActionCountValidator, NoneExistingPathChecker, OverlappingPathsValidator

    tree = self.node_to_validate
    _well_formed(tree.text, tuple(sorted((self.expression_attribute_names or {}).items())))
    each = [one for one in self.processors if not isinstance(one, ActionCountValidator | OverlappingPathsValidator)]
    # A path that is not there may be the argument of a function: those are evaluated before one is looked for.
    second = next(number for number, one in enumerate(each) if isinstance(one, NoneExistingPathChecker))
    for processors in (each[:second], each[second:]):
        processes: dict[type, list[Callable[[Any], Any]]] = defaultdict(list)
        for processor in processors:
            for kind, process in processor._processing_map().items():
                processes[kind].append(process)
        _walk(tree, processes, [one.pre_processing_of_child for one in processors if _looks_ahead(one)])
    return tree


def _looks_ahead(processor: Any) -> bool:
    return "pre_processing_of_child" in vars(type(processor))  # the common base does nothing


def _walk(
    node: Any, processes: dict[type, list[Callable[[Any], Any]]], ahead: Sequence[Callable[[Any, int], None]] = ()
) -> None:
    """Children first, as moto does it; what is made of a child takes its place. `ahead` is told of the children of actions."""
    children = node.children
    for number, child in enumerate(children):
        for look in ahead:
            look(node, number)
        if getattr(child, "children", None) is not None:
            _walk(child, processes, () if node.parent else ahead)
        made = child
        for process in processes.get(type(child), ()):
            made = process(made)
        if made is not child:
            made.parent = node
            children[number] = made


@patch(
    "moto.dynamodb.models.dynamo_type:LimitedSizeDict.__setitem__",
    gap="the whole item is measured again for each of its attributes",
    fingerprint="d979580fdbe1",
    wraps=True,
)
def set_attribute(original: Callable[..., None]) -> Callable[..., None]:
    def set_one(self: dict[str, Any], key: str, value: Any) -> None:
        if _at_most([key, value, *self, *self.values()]) < 400_000:
            dict.__setitem__(self, key, value)
        else:
            original(self, key, value)

    return set_one


def _at_most(parts: list[Any]) -> int:
    """A number of bytes that names and attributes do not exceed: a character has four at most."""
    size = 0
    for part in parts:
        value = getattr(part, "value", part)
        if type(value) is str:
            size += 4 * len(value)
        else:
            size += part.size() if hasattr(part, "size") else 4 * len(str(part))
    return size


@lru_cache(maxsize=256)
def _lexed(lex: Callable[[Any], deque[Any]], condition: str) -> tuple[Any, ...]:
    from moto.dynamodb.comparisons import ConditionExpressionParser

    return tuple(lex(ConditionExpressionParser(condition, None, None)))


@patch(
    "moto.dynamodb.comparisons:ConditionExpressionParser._lex_condition_expression",
    gap="six regular expressions are made for each word of each condition, twice for each request",
    fingerprint="a81528835921",
    wraps=True,
)
def lex_condition(original: Callable[[Any], deque[Any]]) -> Callable[[Any], deque[Any]]:
    def lex(self: Any) -> deque[Any]:
        return deque(_lexed(original, self.condition_expression))

    return lex


class _Conditions(threading.local):
    """The condition that this thread parsed last: each request parses its own again."""

    key: Any = None
    made: Any = None


_conditions = _Conditions()


@patch(
    "moto.dynamodb.comparisons:ConditionExpressionParser.parse",
    gap="a request's condition is parsed once to see which names it uses, and again to check it",
    fingerprint="5c9b63c5f49e",
    wraps=True,
)
def parse_condition(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def parse(self: Any) -> Any:
        key = self.condition_expression, repr(self.expression_attribute_names), repr(self.expression_attribute_values)
        if _conditions.key != key:
            op = original(self)
            _conditions.made = op, [*self.expr_attr_names_found], [*self.expr_attr_values_found]  # who asks adds to theirs
            _conditions.key = key
            return op
        op, names, values = _conditions.made
        self.expr_attr_names_found, self.expr_attr_values_found = [*names], [*values]
        return op

    return parse
