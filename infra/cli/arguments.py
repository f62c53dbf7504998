"""What `aslant run` is told: inputs, and answers to approvals."""

from __future__ import annotations

import difflib
import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from aslant.inputs import InputProblem, from_text, prepare
from infra.cli.errors import UsageError

Row = Mapping[str, Any]


def gather(schema: Mapping[str, Row] | None, options: Sequence[str]) -> tuple[dict[str, Any], list[InputProblem]]:
    """The input of a run from the values of `--input`; later ones win.

    Each is a JSON object, `@file` with one, or `name=value`.
    Values after `name=` are read by the declared type. Raises UsageError for what is none of these.
    """
    given: dict[str, Any] = {}
    problems: list[InputProblem] = []
    for option in options:
        if option.startswith("@"):
            from infra.cli.files import read  # which imports the compiler

            source = read(option[1:])
            text = source.text if isinstance(source.text, str) else source.text.decode("utf-8-sig", "replace")
            given |= _object(text, source.file)
        elif option.lstrip().startswith("{"):
            given |= _object(option, "--input")
        elif "=" in option:
            name, text = option.split("=", 1)
            if not name:
                raise UsageError(f"--input {option!r} has no name before the `=`")
            row = (schema or {}).get(name)
            if schema is not None and row is None:
                given[name] = text  # reported as an unknown name, with a suggestion
                continue
            try:
                given[name] = from_text(row, text)
            except ValueError as error:
                pointer = "/" + name.replace("~", "~0").replace("/", "~1")
                problems.append(InputProblem(pointer, f"{name}: {error}"))
                given[name] = None
        else:
            raise UsageError(f"--input {option!r} is neither a JSON object, nor @FILE, nor NAME=VALUE")
    result, found = prepare(schema, given)
    told = {problem.pointer for problem in problems}
    return result, problems + [problem for problem in found if problem.pointer not in told]


def _object(text: str, name: str) -> dict[str, Any]:
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except ValueError as error:
        raise UsageError(f"{name} is not JSON: {error}") from None
    except RecursionError:
        raise UsageError(f"{name} is nested too deeply") from None
    if not isinstance(value, dict):
        raise UsageError(f"{name} must be a JSON object with the names of the inputs")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} stands twice")
    return result


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


class Answer(NamedTuple):
    """One `--approve`: for every iteration of `step` unless `iteration` is given; `step` is `*` for every approval."""

    step: str
    iteration: tuple[int, ...] | None
    text: str


def answers(options: Sequence[str], steps: Sequence[str]) -> list[Answer]:
    """`--approve STEP[/ITERATION][=TEXT]` against the ids of the approval steps; no text means approve.

    An id may hold `=` and `/` itself, so the longest one that fits is taken. Raises UsageError for an unknown step.
    """
    return [_answer(option, steps) for option in options]


def _answer(option: str, steps: Sequence[str]) -> Answer:
    cuts = [len(option), *sorted((at for at, char in enumerate(option) if char == "="), reverse=True)]
    for cut in cuts:
        name, text = option[:cut], option[cut + 1:] if cut < len(option) else "approve"
        if name == "*" or name in steps:
            return Answer(name, None, text)
        parts = name.split("/")
        numbers: list[int] = []
        while len(parts) > 1 and parts[-1].isdecimal():
            numbers.insert(0, int(parts.pop()))
            if "/".join(parts) in steps:
                return Answer("/".join(parts), tuple(numbers), text)
    wanted = option.split("=", 1)[0]
    if not steps:
        raise UsageError(f"--approve {wanted}: this workflow has no approval steps")
    close = difflib.get_close_matches(wanted, steps, 1)
    raise UsageError(f"--approve {wanted}: there is no such approval step; "
        + (f"did you mean {close[0]}?" if close else f"there are {', '.join(steps)}"))


def print_problems(problems: Sequence[InputProblem]) -> None:
    """Each problem with its JSON pointer, on standard error."""
    for problem in problems:
        print(f"input {problem.pointer or '/'}: {problem.message}", file=sys.stderr)
