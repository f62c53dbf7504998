"""Checks configurations against their models: at compile time with values that are not known yet, and at run time."""

from __future__ import annotations

import difflib
import importlib
import re
import types
from functools import cache
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic import ValidationError as PydanticError
from pydantic_core.core_schema import ErrorType

from aslant.configs.base import UNKNOWN, Config
from aslant.errors import ValidationError
from aslant.step_types import STEP_TYPES
from aslant.values import well_formed

__all__ = ["UNKNOWN", "check_config", "config_model", "parse", "problems"]

Path = tuple[str | int, ...]
Model = TypeVar("Model", bound=Config)


@cache
def config_model(step_type: str) -> type[Config] | None:
    """The configuration model of a step type; None for a native or unknown type."""
    kind = STEP_TYPES.get(step_type)
    if kind is None or kind.model is None:
        return None
    module, _, name = kind.model.partition(":")
    model: type[Config] = getattr(importlib.import_module(module), name)
    return model


def check_config(step_type: str, data: Any) -> list[tuple[Path, str]]:
    """What is wrong with a configuration: (path of keys and indexes, message) for each problem, in order.

    `data` is plain JSON in which `UNKNOWN` stands for each value that holds an expression; it satisfies any type.
    A native step type has no configuration model, and nothing is wrong with it here.
    """
    model = config_model(step_type)
    return [] if model is None or data is UNKNOWN else problems(model, data)


def parse(model: type[Model], data: Any) -> Model:
    """A configuration as its model. Raises ValidationError that names every field at fault, without its value."""
    try:
        data = well_formed(data)
    except ValueError as error:
        raise ValidationError(f"the configuration cannot be used: {error}") from None
    try:
        return model.model_validate(data)
    except PydanticError as error:
        found = _found(model, data, error)
    raise ValidationError("; ".join(f"{_pointer(path)}: {message}" if path else message for path, message in found))


def problems(model: type[Config], data: Any) -> list[tuple[Path, str]]:
    """The problems of `data` as a `model`. Messages never hold a value, which may be a secret."""
    try:
        model.model_validate(data)
    except PydanticError as error:
        return _found(model, data, error)
    return []


def _found(model: type[Config], data: Any, error: PydanticError) -> list[tuple[Path, str]]:
    return _readable(model, data, error) if isinstance(data, dict) else [((), "must be a mapping")]


def _readable(model: type[Config], data: Any, error: PydanticError) -> list[tuple[Path, str]]:
    deepest: dict[Path, list[str]] = {}
    for each in error.errors(include_url=False, include_context=True, include_input=False):
        path = _path(data, each["loc"], each["type"] == "missing")
        deepest.setdefault(path, []).append(_message(model, data, path, each))
    # A value that fits no branch of a union fails in each; the branch that got furthest says what is wrong.
    found = []
    for path, messages in deepest.items():
        if any(len(other) > len(path) and other[: len(path)] == path for other in deepest) and path:
            continue
        found.append((path, _joined(messages)))
    return found


def _path(data: Any, loc: tuple[int | str, ...], missing: bool) -> Path:
    """The part of pydantic's location that is keys and indexes of the data; the rest names types of a union."""
    path: list[str | int] = []
    here = data
    for position, part in enumerate(loc):
        known_key = isinstance(here, dict) and part in here
        if known_key or (isinstance(here, list) and isinstance(part, int) and part < len(here)):
            here = here[part]
            path.append(part)
        elif missing and position == len(loc) - 1:
            path.append(part)
    return tuple(path)


_PATH = re.compile(r"[A-Za-z_]\w*(\.\w+)*")
_KINDS = {
    "string_type": "a text", "int_type": "a whole number", "int_from_float": "a whole number", "float_type": "a number",
    "bool_type": "true or false", "list_type": "a list", "dict_type": "a mapping", "model_type": "a mapping",
    "model_attributes_type": "a mapping", "none_required": "null", "finite_number": "a finite number",
}

_PYDANTICS = frozenset(get_args(ErrorType))  # other kinds are this package's own sentences


def _message(model: type[Config], data: Any, path: Path, error: Any) -> str:
    kind, context = str(error["type"]), error.get("ctx", {})
    if kind in _KINDS:
        return f"must be {_KINDS[kind]}{_in_quotes(_at(data, path)) if kind == 'string_type' else ''}"
    if kind == "missing":
        return "is missing"
    if kind == "extra_forbidden":
        return unknown_key(model, path)
    if kind == "literal_error":
        return f"must be one of {context['expected']}".replace(" or ", ", ").replace("'", "")
    if kind == "value_error":
        return str(context["error"])
    if kind == "string_too_short" or (kind == "too_short" and context["min_length"] == 1):
        return "must not be empty"
    if kind in ("too_short", "too_long"):
        least = kind == "too_short"
        return f"must have at {'least' if least else 'most'} {context['min_length' if least else 'max_length']} items"
    if kind == "string_too_long":
        return f"must have at most {context['max_length']} characters"
    bounds = {"greater_than": "more than", "greater_than_equal": "at least", "less_than": "less than",
              "less_than_equal": "at most"}
    if kind in bounds:
        return f"must be {bounds[kind]} {next(iter(context.values())):g}"
    return "is not a value that it takes" if kind in _PYDANTICS else str(error["msg"])


def _at(data: Any, path: Path) -> Any:
    for part in path:
        data = data[part]
    return data


def _in_quotes(value: Any) -> str:
    """To YAML, `{input.x}` without quotes is a mapping; a key that is a plain name with dots is no secret."""
    if not isinstance(value, dict) or not value:
        return ""
    key = next(iter(value))
    shown = f': "{{{key}}}"' if value == {key: None} and _PATH.fullmatch(str(key)) else ""
    return f" (a text that begins with a brace stands in quotes{shown})"


# Words that others say for a key, unlike it in letters.
_SAME = {"choices": ("options",), "text": ("message",), "prompt": ("message",), "users": ("approvers",)}


def unknown_key(model: type[BaseModel], path: Path) -> str:
    """What to say of a key that a model does not have, at `path` in it."""
    owner = _model_at(model, path[:-1])
    keys = sorted(field.alias or name for name, field in owner.model_fields.items() if field.repr) if owner else []
    same = [word for word in _SAME.get(str(path[-1]), ()) if word in keys]
    close = same or difflib.get_close_matches(str(path[-1]), keys, 1, 0.7)
    tail = f"did you mean {close[0]}?" if close else f"known keys: {', '.join(keys)}"
    return f"unknown key {path[-1]}; {tail}"


def _model_at(model: type[BaseModel], path: Path) -> type[BaseModel] | None:
    here: type[BaseModel] | None = model
    for part in path:
        if isinstance(part, int) or here is None:
            continue
        field = next((f for name, f in here.model_fields.items() if part in (name, f.alias)), None)
        here = _model_in(field.annotation) if field else None
    return here


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if get_origin(annotation) in (Annotated, Union, types.UnionType, list):
        return next((found for part in get_args(annotation) if (found := _model_in(part))), None)
    return None


def _joined(messages: list[str]) -> str:
    unique = list(dict.fromkeys(messages))
    if len(unique) > 1 and all(text.startswith("must be ") for text in unique):
        return "must be " + " or ".join(text.removeprefix("must be ") for text in unique)
    return unique[0] if len(unique) == 1 else "; ".join(unique)


def _pointer(path: Path) -> str:
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


