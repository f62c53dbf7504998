"""DynamoDB: writes are atomic, also between threads; what each request changed is told; look-ups do not sort the table."""

from __future__ import annotations

import base64
import copy
import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from infra.local.moto_patches.registry import patch
from infra.local.runtime import Write, current

_lock = threading.RLock()


@dataclass(slots=True)
class _Touched:
    table: Any  # moto's Table
    hash_key: Any
    range_key: Any
    before: dict[str, Any] | None

    @property
    def now(self) -> dict[str, Any] | None:
        item = _find(self.table, self.hash_key, self.range_key)
        return None if item is None else item.to_json()["Attributes"]

    def undo(self) -> None:
        from moto.dynamodb.models.dynamo_type import Item

        table, hash_key, range_key = self.table, self.hash_key, self.range_key
        if self.before is None:
            if range_key is None:
                table.items.pop(hash_key, None)
            elif hash_key in table.items:
                table.items[hash_key].pop(range_key, None)
            return
        item = Item(hash_key, range_key, self.before)
        if range_key is None:
            table.items[hash_key] = item
        else:
            table.items[hash_key][range_key] = item


class _Request(threading.local):
    """What the request of this thread has touched; None where nobody asks."""

    touched: dict[tuple[str, Any, Any], _Touched] | None = None
    partition: Any = None  # of the query that runs
    querying: bool = False


_request = _Request()


def _find(table: Any, hash_key: Any, range_key: Any) -> Any:
    if hash_key not in table.items:
        return None
    found = table.items[hash_key]
    return found.get(range_key) if table.range_key_attr else found


def _touch(table: Any, hash_key: Any, range_key: Any) -> None:
    touched = _request.touched
    if touched is not None and (place := (table.name, hash_key, range_key)) not in touched:
        touched[place] = entry = _Touched(table, hash_key, range_key, None)
        entry.before = entry.now


def _touch_key(table: Any, attributes: dict[str, Any]) -> None:
    from moto.dynamodb.models.dynamo_type import DynamoType

    if _request.touched is None or any(name not in attributes for name in table.table_key_attrs):
        return
    range_key = DynamoType(attributes[table.range_key_attr]) if table.range_key_attr else None
    _touch(table, DynamoType(attributes[table.hash_key_attr]), range_key)


@contextmanager
def _noting() -> Iterator[dict[tuple[str, Any, Any], _Touched]]:
    outer, _request.touched = _request.touched, {}
    try:
        yield _request.touched
    finally:
        _request.touched = outer


@patch(
    "moto.dynamodb.responses:DynamoHandler.call_action",
    gap="a condition is checked before the write, and nothing keeps two threads from both passing it; streams cannot be read",
    fingerprint="ce5f57cf83cd",
    wraps=True,
)
def one_at_a_time(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def call_action(self: Any) -> Any:
        with _lock:
            told = current().written
            if told is None:
                return original(self)
            with _noting() as touched:
                try:
                    return original(self)
                finally:  # a batch that fails half-way has written its first half
                    writes = [write for entry in touched.values() if (write := _write(entry)) is not None]
                    if writes:
                        told(writes)

    return call_action


def _write(entry: _Touched) -> Write | None:
    before, after = entry.before, entry.now
    if before == after:
        return None
    table = entry.table
    key = {name: _wire((after or before or {})[name]) for name in table.table_key_attrs}
    return Write(table.name, key, _image(before), _image(after))


def _image(item: dict[str, Any] | None) -> dict[str, Any] | None:
    return None if item is None else {name: _wire(value) for name, value in item.items()}


def _wire(value: Any) -> Any:
    """An attribute as JSON carries it: bytes are base64."""
    if isinstance(value, dict):
        return {name: _wire(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_wire(part) for part in value]
    return base64.b64encode(value).decode() if isinstance(value, bytes) else copy.copy(value)


@patch(
    "moto.dynamodb.models.table:Table.put_item",
    gap="what was there before is not told",
    fingerprint="de23933013ef",
    wraps=True,
)
def put_item(original: Callable[..., Any]) -> Callable[..., Any]:
    def put(self: Any, item_attrs: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        _touch_key(self, item_attrs)
        return original(self, item_attrs, *args, **kwargs)

    return put


@patch(
    "moto.dynamodb.models.table:Table.delete_item",
    gap="what was there before is not told",
    fingerprint="1594f7b07616",
    wraps=True,
)
def delete_item(original: Callable[..., Any]) -> Callable[..., Any]:
    def delete(self: Any, hash_key: Any, range_key: Any) -> Any:
        _touch(self, hash_key, range_key)
        return original(self, hash_key, range_key)

    return delete


@patch(
    "moto.dynamodb.models:DynamoDBBackend.update_item",
    gap="what was there before is not told",
    fingerprint="218984588dd6",
    wraps=True,
)
def update_item(original: Callable[..., Any]) -> Callable[..., Any]:
    def update(self: Any, table_name: str, key: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        _touch_key(self.get_table(table_name), key)
        return original(self, table_name, key, *args, **kwargs)

    return update


@patch(
    "moto.dynamodb.models.table:StreamShard.add",
    gap="records of writes are kept for ever, those of refused transactions too, and nothing can read them",
    fingerprint="357dc6da267e",
)
def stream_add(self: Any, old: Any, new: Any) -> None:
    """Nothing: the requests tell what they changed."""


@patch(
    "moto.dynamodb.models:DynamoDBBackend.transact_write_items",
    gap="a transaction copies whole tables to go back to, which takes seconds where there are many items",
    fingerprint="81db2cb7d94e",
    wraps=True,
)
def transact_write_items(original: Callable[..., Any]) -> Callable[..., Any]:
    def transact(self: Any, transact_items: list[dict[str, Any]]) -> None:
        with _lock:
            with _noting() as touched:
                try:
                    original(self, transact_items)
                except BaseException:
                    for entry in touched.values():
                        entry.undo()
                    raise
            if _request.touched is not None:
                _request.touched.update(touched)

    return transact


class _Copies(ModuleType):
    """Stands in for `copy` in moto's module of the backend: tables are not copied, since `transact` goes back itself."""

    @staticmethod
    def deepcopy(value: Any) -> Any:
        from moto.dynamodb.models.table import Table

        return value if isinstance(value, Table) else copy.deepcopy(value)


@patch(
    "moto.dynamodb.models:copy",
    gap="a transaction copies whole tables to go back to",
    fingerprint="6f5a6034e770",
    wraps=True,
)
def copies(original: ModuleType) -> ModuleType:
    return _Copies(original.__name__)


@patch(
    "moto.dynamodb.models.table:Table.query",
    gap="a query sorts all items of the table",
    fingerprint="002b4d00be6d",
    wraps=True,
)
def query(original: Callable[..., Any]) -> Callable[..., Any]:
    def search(self: Any, hash_key: Any, *args: Any, **kwargs: Any) -> Any:
        index = kwargs.get("index_name", args[6] if len(args) > 6 else None)
        _request.querying, _request.partition = True, None if index else hash_key
        try:
            return original(self, hash_key, *args, **kwargs)
        finally:
            _request.querying, _request.partition = False, None

    return search


@patch(
    "moto.dynamodb.models.table:Table.all_items",
    gap="a query sorts all items of the table",
    fingerprint="c80d2ee3c896",
    wraps=True,
)
def all_items(original: Callable[..., Any]) -> Callable[..., Any]:
    def items(self: Any) -> list[Any]:
        if not _request.querying or not self.range_key_attr:
            return list(original(self))
        if _request.partition is None:  # of an index: it sorts what it takes
            return [item for partition in self.items.values() for item in partition.values()]
        return list(self.items[_request.partition].values()) if _request.partition in self.items else []

    return items


@patch(
    "moto.core.serialize:BaseJSONSerializer._serialize_type_structure",
    gap="each column of an answer is looked for under all ten types, which takes milliseconds an item",
    fingerprint="36873909cd0a",
    wraps=True,
)
def serialize_structure(original: Callable[..., None]) -> Callable[..., None]:
    def serialize(self: Any, serialized: Any, value: Any, shape: Any, key: str) -> None:
        if shape.name == "AttributeValue" and key and "NS" in shape.members:
            kind, content = next(iter(value.items())) if isinstance(value, dict) else (value.type, value.value)
            if kind in ("S", "N", "BOOL", "NULL"):
                serialized[key] = {kind: content}
                return
        original(self, serialized, value, shape, key)

    return serialize
