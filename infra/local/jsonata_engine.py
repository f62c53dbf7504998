"""JSONata as Step Functions runs it, on `jsonata-python`: values bound as values, null kept apart from undefined.

Functions that Step Functions adds or takes away:
https://docs.aws.amazon.com/step-functions/latest/dg/transforming-data.html
"""

from __future__ import annotations

import hashlib
import json
import math
import random
import re
import threading
import time
import uuid
from collections.abc import Callable
from copy import copy
from functools import lru_cache
from typing import Any

import re2
from jsonata.functions import Functions as EngineFunctions
from jsonata.jexception import JException
from jsonata.jsonata import Jsonata
from jsonata.regex_engine import RegexFlags, default_regex_engine
from jsonata.utils import Utils

from translator.expressions.port import corrected

Json = Any
Lookup = Callable[[str], Any]

NULL = Utils.NULL_VALUE
MISSING = object()  # what a lookup returns for a name it does not know
TIME_LIMIT = 5.0  # real seconds of one evaluation
RANGE_LIMIT = 1_000_000  # items that $range may make
SHOWN = 60  # characters of a value in a message
_CHECK_EVERY = 128  # steps between two looks at the clock


class JsonataError(Exception):
    """An expression that failed. `code` is JSONata's own (`T2001`), or empty."""

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message)
        self.code = code


class Undefined(JsonataError):
    """An expression without a value."""


class NotJson(JsonataError):
    """A result that JSON cannot say, such as a function."""


def evaluate(expression: str, lookup: Lookup, *, millis: int, time_limit: float = TIME_LIMIT) -> Json:
    """The value of an expression, as JSON that shares nothing with its variables.

    `lookup` gives the engine's form (see `to_engine`) of a variable, `$` left off, or MISSING. `millis` is what
    `$now()` and `$millis()` say. Raises JsonataError; any bug of the engine on user data is one too.
    """
    try:
        shared = _parsed(expression)
        engine = copy(shared)  # an instance holds the state of one evaluation; the parsed tree is shared
        engine.timestamp = millis
        engine.input = None
        engine.environment = _Scope(_functions(), lookup, time.monotonic() + time_limit)
        Jsonata.CURRENT.jsonata = engine
        result = engine.eval(engine.ast, None, engine.environment)
        if result is None:
            raise Undefined("the expression has no value (undefined)")
        return from_engine(result)
    except JsonataError:
        raise
    except JException as error:
        raise JsonataError(str(error) + _given(error), str(error.error)) from None
    except RecursionError:
        raise JsonataError("the expression recurses too deeply", "D1011") from None
    except ZeroDivisionError:  # where JavaScript has infinity or no number, which JSONata refuses
        raise JsonataError("D1001: Number out of range", "D1001") from None
    except Exception as error:
        raise JsonataError(f"{type(error).__name__}: {error}") from error


def _given(error: JException) -> str:
    """The value that an operator or function could not take: AWS does not tell it, and people need it."""
    if error.error in ("T2001", "T2002", "T2010", "D1002"):
        value = error.expected
    elif error.error in ("T0410", "T0412"):
        frame: Any = error.__traceback__
        while frame.tb_next is not None:
            frame = frame.tb_next
        arguments = frame.tb_frame.f_locals.get("bad_args") or frame.tb_frame.f_locals.get("args")
        number = error.current
        if not isinstance(arguments, list) or not isinstance(number, int) or not 1 <= number <= len(arguments):
            return ""
        value = arguments[number - 1]
    else:
        return ""
    try:
        shown = json.dumps(from_engine(value), ensure_ascii=False)
    except Exception:  # a function, or something else that is no value
        return ""
    return f" (value: {shown if len(shown) <= SHOWN else shown[:SHOWN] + '…'})"


class _Scope(Jsonata.Frame):  # type: ignore[misc]  # jsonata-python has no types
    """The outermost frame of one evaluation: variables by `lookup`, then functions, and the time limit."""

    def __init__(self, parent: Any, lookup: Lookup, deadline: float) -> None:
        super().__init__(parent)
        self._look = lookup
        self._deadline = deadline
        self._steps = 0
        self.bindings["__evaluate_entry"] = self._step
        self.bindings["__evaluate_exit"] = None

    def _step(self, expression: Any, data: Any, environment: Any) -> None:
        self._steps += 1
        if self._steps % _CHECK_EVERY == 0 and time.monotonic() > self._deadline:
            raise JsonataError("the expression takes too long", "D1012")

    def lookup(self, name: str) -> Any:
        if name in self.bindings:
            return self.bindings[name]
        found = self._look(name)
        return self.parent.lookup(name) if found is MISSING else found


_parse_lock = threading.Lock()


@lru_cache(maxsize=8192)
def _parsed(expression: str) -> Any:
    # The library keeps one parser a thread, and threads of the interpreter live for one state: share one instead.
    with _parse_lock:
        Jsonata.PARSER.parser = _shared_parser()
        parsed = Jsonata(expression, _regex)
    if parsed.errors is not None:
        raise JsonataError("the expression has a syntax error", "S0500")
    return parsed


@lru_cache(maxsize=1)
def _shared_parser() -> Any:
    from jsonata.parser import Parser

    return Parser()


def _regex(pattern: str, flags: RegexFlags) -> Any:
    """Linear time where RE2 knows the syntax; look-around and back-references need Python's engine."""
    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = not flags.case_insensitive
    try:
        return re2.compile(("(?m)" if flags.multiline else "") + pattern, options)
    except re2.error:
        try:
            return default_regex_engine(pattern, flags)
        except re.error as error:
            raise JsonataError(f"the regular expression is not valid: {error}", "S0302") from None


def to_engine(value: Json) -> Any:
    """`value` with null as the engine wants it; the same object when it holds none."""
    if value is None:
        return NULL
    if isinstance(value, dict):
        changed = {key: new for key, old in value.items() if (new := to_engine(old)) is not old}
        return {**value, **changed} if changed else value
    if isinstance(value, list):
        items = [to_engine(item) for item in value]
        return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
    return value


def from_engine(value: Any) -> Json:
    """The engine's `value` as fresh JSON; whole numbers as integers, as JavaScript writes them."""
    if value is NULL:
        return None
    if value is None or isinstance(value, bool | str | int):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise NotJson("a number that JSON cannot say", "D1001")
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    if isinstance(value, dict):
        return {str(key): from_engine(item) for key, item in value.items() if item is not None}
    if isinstance(value, Utils.RangeList):  # its own iterator stops one short when it is sliced or copied
        return [value[index] for index in range(len(value))]
    if isinstance(value, list | tuple):
        return [from_engine(item) for item in value if item is not None]
    raise NotJson("the expression returned an unsupported result type")


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(from_engine(value), separators=(",", ":"))


def _partition(array: Any = None, size: Any = None) -> Any:
    if array is None:
        return None
    items = list(array) if isinstance(array, list) else [array]
    if isinstance(size, bool) or not isinstance(size, int | float) or int(size) < 1:
        raise JsonataError("$partition needs a chunk size of at least 1", "T0410")
    step = int(size)
    return [items[start : start + step] for start in range(0, len(items), step)]


def _range(first: Any = None, last: Any = None, step: Any = 1) -> Any:
    for number in (first, last, step):
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise JsonataError("$range takes three numbers", "T0410")
    start, end, delta = int(first), int(last), int(step)
    if delta == 0:
        raise JsonataError("$range needs a step other than 0", "D3137")
    numbers = range(start, end + (1 if delta > 0 else -1), delta)
    if len(numbers) > RANGE_LIMIT:
        raise JsonataError(f"$range makes more than {RANGE_LIMIT} items", "D2014")
    return list(numbers)


_HASHES = {"MD5": "md5", "SHA-1": "sha1", "SHA-256": "sha256", "SHA-384": "sha384", "SHA-512": "sha512"}


def _hash(data: Any = None, algorithm: Any = None) -> Any:
    if data is None:
        return None
    name = _HASHES.get(str(algorithm))
    if name is None:
        raise JsonataError(f"$hash knows {', '.join(_HASHES)}", "D3137")
    return hashlib.new(name, _plain(data).encode(), usedforsecurity=False).hexdigest()


def _random(seed: Any = None) -> float:
    return random.random() if seed is None else random.Random(str(seed)).random()


def _uuid() -> str:
    return str(uuid.uuid4())


def _parse(text: Any = None) -> Any:
    if text is None:
        return None
    if not isinstance(text, str):
        raise JsonataError("$parse takes a string", "T0410")
    try:
        return to_engine(json.loads(text))
    except ValueError as error:
        raise JsonataError(f"$parse: {error}", "D3120") from None


def _no_eval(*_: Any) -> Any:
    raise JsonataError("$eval is not available in Step Functions; $parse reads JSON", "T1006")


def _taking(name: str, kinds: tuple[type, ...], function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function of one argument that refuses what is of another kind as the original does: here, null gets through."""

    def checked(value: Any = None) -> Any:
        if value is not None and (isinstance(value, bool) or not isinstance(value, kinds)):
            shown = json.dumps(from_engine(value), ensure_ascii=False)
            given = shown if len(shown) <= SHOWN else shown[:SHOWN] + "…"
            message = f'Argument 1 of function "{name}" does not match function signature (value: {given})'
            raise JsonataError(f"T0410: {message}", "T0410")
        return function(value)

    return checked


@lru_cache(maxsize=1)
def _functions() -> Any:
    frame = Jsonata.Frame(Jsonata.static_frame)
    added: dict[str, Callable[..., Any]] = {
        "partition": _partition, "range": _range, "hash": _hash, "random": _random, "uuid": _uuid, "parse": _parse,
        "eval": _no_eval,
    }  # fmt: skip
    # Where the port differs from the engine on AWS.
    added.update(corrected(from_engine, EngineFunctions.string, EngineFunctions.format_base))
    added["lowercase"] = _taking("lowercase", (str,), added["lowercase"])
    for name in ("abs", "ceil", "floor", "sqrt"):
        added[name] = _taking(name, (int, float), getattr(EngineFunctions, name))
    for name, function in added.items():
        frame.bindings[name] = Jsonata.JLambda(function)
    return frame
