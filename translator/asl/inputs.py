"""Which inputs of an execution its state machines look into. All others they only hand to functions, so they may be claims.

Read from the finished machines, and nothing is taken for granted: whatever is not plainly handed on is looked into.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

_INPUT = "$states.context.Execution.Input.input"
_NAME = r'"(?:[^"\\]|\\.)*"'
_CALLED = re.compile(rf"(?:\$lookup|\$_a)\({re.escape(_INPUT)},({_NAME})\)")
_DOTTED = re.compile(rf"{re.escape(_INPUT)}\.([A-Za-z_][A-Za-z0-9_]*)")
_WHOLE = f"{{% {_INPUT} %}}"
_GUARDED = rf"\(\$_0:=\$lookup\({re.escape(_INPUT)},{_NAME}\);\$exists\(\$_0\)\?\$_0:null\)"
_HANDED = re.compile(rf"\{{% (?:{_GUARDED}|{_DOTTED.pattern}) %\}}")


def looked_into(machines: Iterable[Mapping[str, Any]], own: Iterable[str] = ()) -> list[str]:
    """JSON pointers of the inputs that must be there; an empty one is all of them. `own` are the names of machines that belong
    to the execution, which are handed its input as it is.
    """
    placeholders = frozenset(f"${{{name}}}" for name in own)
    found: set[str] = set()
    for machine in machines:
        for text, handed in _texts(machine, placeholders, False):
            if handed and (text == _WHOLE or _HANDED.fullmatch(text)):
                continue
            names = [json.loads(name) for name in _CALLED.findall(text)] + _DOTTED.findall(text)
            if len(names) < text.count(_INPUT):
                return [""]
            found.update(names)
    return sorted("/" + name.replace("~", "~0").replace("/", "~1") for name in found)


def _texts(value: Any, own: frozenset[str], handed: bool) -> Iterator[tuple[str, bool]]:
    """The expressions that read inputs, and whether their value is given to a function or to a machine of the execution."""
    stack = [(value, handed)]
    while stack:
        here, handed = stack.pop()
        if isinstance(here, dict):
            arguments = here.get("Arguments")
            passes = here.get("Type") == "Task" and isinstance(arguments, dict) and (
                "FunctionName" in arguments or arguments.get("StateMachineArn") in own
            )
            for key, inner in here.items():
                stack.append((inner, handed or (passes and key == "Arguments") or key == "ItemSelector"))
        elif isinstance(here, list):
            stack.extend((inner, handed) for inner in here)
        elif isinstance(here, str) and _INPUT in here:
            yield here, handed
