"""The JSON Schema of a step type's configuration, for documents and editors.

Descriptions are the docstrings behind the fields. They are read here and not by pydantic's `use_attribute_docstrings`, which
parses the source of every model whenever a function starts cold: a third of its import.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from typing import Any

from pydantic import BaseModel

from aslant.configs.check import config_model


def config_schema(step_type: str) -> dict[str, Any] | None:
    """A JSON Schema (draft 2020-12) with descriptions; None for a type that has no configuration.

    It says what a value is when the step runs: an expression may stand for any of them.
    """
    model = config_model(step_type)
    if model is None:
        return None
    schema: dict[str, Any] = model.model_json_schema()
    _describe(schema, model)
    for name, inner in schema.get("$defs", {}).items():
        found = next((each for each in _models(model) if each.__name__ == name), None)
        if found is not None:
            _describe(inner, found)
    return schema


def _describe(schema: dict[str, Any], model: type[BaseModel]) -> None:
    texts = _docstrings(model)
    for name, field in model.model_fields.items():
        row = schema.get("properties", {}).get(field.alias or name)
        if row is not None and name in texts:
            row["description"] = texts[name]
            row.pop("title", None)


def _docstrings(model: type[BaseModel]) -> dict[str, str]:
    found: dict[str, str] = {}
    for owner in reversed(model.__mro__):
        if not issubclass(owner, BaseModel) or owner is BaseModel:
            continue
        (body,) = ast.parse(textwrap.dedent(inspect.getsource(owner))).body
        assert isinstance(body, ast.ClassDef)
        for field, text in zip(body.body, body.body[1:], strict=False):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(text, ast.Expr):
                value = text.value
                if isinstance(value, ast.Constant) and isinstance(value.value, str):
                    found[field.target.id] = " ".join(inspect.cleandoc(value.value).split())
    return found


def _models(model: type[BaseModel]) -> list[type[BaseModel]]:
    """The models that stand in the model's module."""
    module = inspect.getmodule(model)
    return [each for _, each in inspect.getmembers(module, lambda it: inspect.isclass(it) and issubclass(it, BaseModel))]
