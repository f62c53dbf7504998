"""Data in, data out: formats, scripts, operations over items, and expressions that the state machine left to us."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from aslant import sandbox
from aslant.configs.transform import TransformConfig
from aslant.contracts import Json, StepResult
from aslant.errors import ExpressionError, ValidationError
from aslant.step import StepRun, result
from aslant.tabular import read_csv, write_csv
from aslant.values import read_json, render
from functions.steps.transform import expressions

Script = Callable[[str, Mapping[str, Json], sandbox.Limits], Json]


def transform(config: TransformConfig, run: StepRun, script: Script = sandbox.run) -> StepResult:
    """The transformed data; with `evaluate`, an object of the expressions' values by name.

    Raises ValidationError for data that is not in its format, ExpressionError and SandboxError for what fails inside.
    """
    if config.evaluate is not None:
        wanted = config.evaluate
        values = expressions.evaluate_all(wanted.expressions, wanted.slots, run.settings.env_allow, os.environ)
        return result(values | {name: _batches(values[name], size) for name, size in wanted.lists.items()})
    data = read(config.data, config.input_format)
    if config.script is not None:
        value = _scripted(config, data, run, script)
    elif config.expression is not None:
        value = expressions.operate(config.operation, config.expression, data, config.initial)
    else:
        value = data
    return result(write(value, config.output_format))


def read(data: Json, form: str) -> Json:
    """Data that is a text in its format; other data as it is."""
    if not isinstance(data, str) or form == "text":
        return data
    if form == "csv":
        return read_csv(data)
    try:
        return read_json(data)
    except ValueError:
        return data


def write(value: Json, form: str) -> Json:
    """A value in the output's format."""
    if form == "csv":
        return write_csv(value)
    if form == "text":
        return "\n".join(map(render, value)) if isinstance(value, list) else render(value)
    return value


def _scripted(config: TransformConfig, data: Json, run: StepRun, script: Script) -> Json:
    if config.language != "python":
        raise ValidationError("JavaScript is not run; write the script in Python")
    names = {"data": data, "input": data if config.input is None else config.input, "results": data, "items": data}
    limits = sandbox.Limits(seconds=run.remaining(config.timeout))
    value = script(config.script or "", names, limits)
    if config.operation in ("filter", "map") and not isinstance(value, list):
        raise ValidationError(f"the script of a {config.operation} must return a list")
    return value


def _batches(value: Json, size: int | None) -> Json:
    """A list, cut into lists of `size` items where that is given. Raises ExpressionError for anything else."""
    if not isinstance(value, list):
        raise ExpressionError("what a loop goes over is no list")
    return value if size is None else [value[start:start + size] for start in range(0, len(value), size)]
