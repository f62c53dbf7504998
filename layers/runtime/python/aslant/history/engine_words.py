"""What the state machine's JSONata engine says about a failed expression, in the words of the expression language."""

from __future__ import annotations

import re
from collections.abc import Callable

# Step Functions' words around it: the state, the whole generated expression and its field.
_AROUND = re.compile(
    r"The JSONata expression '.*' specified for the field '[^']*' (?:threw an error during evaluation\.|(?P<nothing>returned"
    r" (?:nothing|an unexpected result type))) ?(?P<said>.+)", re.DOTALL)
_CODE = re.compile(r"(?:(?P<code>[A-Z]\d{4}): )?(?P<text>.*?)(?: \(value: (?P<value>.*)\))?", re.DOTALL)
_ARGUMENT = re.compile(r'Argument (\d+) of (?:function|Object) "?(\w+)"? ')
_VALUES = re.compile(r'The values (.*) and (.*) either side of operator "?(.+?)"? must', re.DOTALL)
_OPERATOR = re.compile(r'(?:side of|negate)(?: the| operator)? "?([^ "]+)"?')
_WRONG_TYPE = re.compile(r"Expected '(\w+)', but was '(\w+)' for value: (.*)", re.DOTALL)

_KINDS = {"boolean": "true or false", "string": "a text", "array": "a list", "object": "an object", "number": "a number"}
# Names that differ, and what the first argument is.
_NAMES = {"uppercase": "upper", "lowercase": "lower"}
_TAKES = {
    "upper": "a text", "lower": "a text", "split": "a text", "contains": "a text", "length": "a text, a list or an object",
    "substring": "a text", "replace": "a text", "sum": "a list of numbers", "min": "a list of numbers",
    "max": "a list of numbers", "join": "a list of texts", "floor": "a number", "ceil": "a number", "abs": "a number",
    "round": "a number",
}


def plainly(message: str) -> str:
    """The message without the generated expression, in the language's own terms; any other message as it is."""
    around = _AROUND.search(message)
    if around is None:
        return message
    if around["nothing"]:
        wrong = _WRONG_TYPE.search(around["said"])
        if wrong is None:
            return "the expression has no value"
        return f"the value must be {_KINDS.get(wrong[1], wrong[1])}, not {wrong[3]}"
    said = _CODE.fullmatch(around["said"].strip())
    if said is None:
        return around["said"]
    translate = _WORDS.get(said["code"] or "")
    given = f", not {said['value']}" if said["value"] else ""
    return (translate(said["text"], given) if translate is not None else None) or said["text"]


def _argument(text: str, given: str) -> str | None:
    found = _ARGUMENT.search(text)
    if found is None:
        return None
    name = _NAMES.get(found[2], found[2])
    takes = _TAKES.get(name) if found[1] == "1" else None
    if takes is None:
        takes = "a value of another type"
    return f"{name} takes {takes}{given or ', and got something else'}"


def _number(text: str, given: str) -> str | None:
    found = _OPERATOR.search(text)
    if found is None:
        return None
    side = "left" if "left" in text else "right"
    if found[1] == "+":
        both = "+ adds two numbers, or joins two texts or two lists"
        return f"{both}, not {given.removeprefix(', not ')} with something else" if given else both
    return f"the {side} side of {found[1]} must be a number{given}"


def _ordered(text: str, given: str) -> str | None:
    found = _OPERATOR.search(text)
    return f"{found[1]} compares two numbers or two texts{given}" if found is not None else None


def _different(text: str, given: str) -> str | None:
    found = _VALUES.search(text)
    return f"{found[3]} compares two numbers or two texts, not {found[1]} with {found[2]}" if found is not None else None


_WORDS: dict[str, Callable[[str, str], str | None]] = {
    "T0410": _argument, "T0411": _argument, "T0412": _argument,
    "T2001": _number, "T2002": _number,
    "T2009": _different, "T2010": _ordered,
    "D1001": lambda text, given: "the number is too large, or none (a division by zero)",
    "D1002": lambda text, given: f"- needs a number{given}" if given else None,
    "D1011": lambda text, given: "the expression is nested too deeply",
    "D1012": lambda text, given: "the expression takes too long",
    "D3030": lambda text, given: f"{text.rpartition(': ')[2]} is no number",
    "D3137": lambda text, given: text.removeprefix("D3137: "),
}
