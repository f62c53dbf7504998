"""DynamoDB: parameters of PartiQL in INSERT and DELETE, which moto's parser knows in SELECT and UPDATE only."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from infra.local.moto_patches.registry import patch

_QUOTED = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|\?")
_DELETE = re.compile(r"\s*DELETE\s+FROM\s+(?P<table>\"[^\"]+\"|'[^']+'|[\w.-]+)", re.IGNORECASE)
_MARK = "aslant-parameter-"


@patch(
    "moto.dynamodb.parsing.partiql:query", gap="INSERT and DELETE with parameters fail", fingerprint="c4f918124cab",
    wraps=True,
)
def query(original: Any) -> Any:
    def run(statement: str, source_data: Any, parameters: Any) -> Any:
        deletes = _DELETE.match(statement)
        if parameters and deletes:
            found, _ = original(f"SELECT * FROM {deletes['table']}{statement[deletes.end():]}", source_data, parameters)
            return [], {deletes["table"].strip("\"'"): [(item, None) for item in found]}
        if parameters and statement.lstrip()[:6].upper() == "INSERT":
            marks: list[str] = []

            def mark(place: re.Match[str]) -> str:
                if place[0] != "?":
                    return place[0]
                marks.append(f"{_MARK}{len(marks)}")
                return f"'{marks[-1]}'"

            answer, updates = original(_QUOTED.sub(mark, statement), source_data, [])
            values = dict(zip(marks, parameters, strict=True))
            return answer, {name: [(old, _filled(new, values)) for old, new in rows] for name, rows in updates.items()}
        return original(statement, source_data, parameters)

    return run


def _filled(value: Any, values: dict[str, Any]) -> Any:
    """The item with the parameters where their marks are."""
    if isinstance(value, Mapping):
        mark = value.get("S") if len(value) == 1 else None
        if isinstance(mark, str) and mark in values:
            return values[mark]
        return {key: _filled(each, values) for key, each in value.items()}
    return [_filled(each, values) for each in value] if isinstance(value, list) else value
