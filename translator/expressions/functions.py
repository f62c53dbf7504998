"""The functions of the language: one table for the checker, the evaluator and the JSONata writer."""

from __future__ import annotations

from dataclasses import dataclass

from translator.expressions import library, values
from translator.expressions.library import Evaluator


@dataclass(frozen=True, slots=True)
class Function:
    """`native` is JSONata with `{0}`, `{1}` for the arguments, one entry per number of arguments from `least` on.

    An empty entry, or none, means that the function is evaluated in a Lambda. Each argument stands at most once.
    `texts` are the arguments that must be non-empty literal texts for `native` to hold. `kind` is the JSON type of
    every result, `takes` the types that an argument may have (empty: any); both are for certain errors only.
    """

    name: str
    least: int
    most: int
    run: Evaluator | None
    native: tuple[str, ...] = ()
    kind: str | None = None
    takes: tuple[tuple[str, ...], ...] = ()
    texts: tuple[int, ...] = ()
    deterministic: bool = True
    cost: str = "flat"  # what the evaluator counts for an argument: none, its items, its whole tree (deep, heavy)


_TEXT = ("string",)
_NUMBER = ("number",)
_LIST = ("array",)
_OBJECT = ("object",)
_SIZED = ("string", "array", "object")
MANY = 20

_TABLE = (
    Function("len", 1, 1, library.length, ("$_len({0})",), "number", (_SIZED,), cost="none"),
    Function("count", 1, 1, library.count, ("$count($_list({0}))",), "number", (_LIST,), cost="none"),
    Function("str", 1, 1, values.text, ("$_t({0})",), "string", cost="heavy"),
    Function("int", 1, 1, library.to_int, (), "number", (("string", "number", "boolean"),)),
    Function("number", 1, 1, library.to_number, (), "number", (("string", "number", "boolean"),)),
    Function("bool", 1, 1, values.truth, ("$_b({0})",), "boolean", cost="none"),
    Function("type", 1, 1, values.type_name, ("$type({0})",), "string", cost="none"),
    Function("default", 1, 2, library.default, ("{0}", "$_or({0},{1})"), cost="none"),
    Function("get", 2, 3, library.get, ("$_get({0},{1})", "$_or($_get({0},{1}),{2})"), cost="none"),
    # texts
    Function("contains", 2, 2, library.contains, ("$_in({1},{0})",), "boolean", (_SIZED,), cost="deep"),
    Function("startswith", 2, 2, library.startswith, ("$_starts({0},{1})",), "boolean", (_TEXT, _TEXT)),
    Function("endswith", 2, 2, library.endswith, ("$_ends({0},{1})",), "boolean", (_TEXT, _TEXT)),
    Function("regex_match", 2, 2, library.regex_match, (), "boolean", (_TEXT, _TEXT)),
    Function("upper", 1, 1, library.upper, ("$uppercase({0})",), "string", (_TEXT,)),
    Function("lower", 1, 1, library.lower, ("$lowercase({0})",), "string", (_TEXT,)),
    Function("trim", 1, 1, library.trim, ("$_trim({0})",), "string", (_TEXT,)),
    Function("split", 1, 2, library.split, ("$split({0},\" \")", "$split({0},{1})"), "array", (_TEXT, _TEXT), (1,)),
    Function("join", 1, 2, library.join, ("$join([$map($_list({0}),$_t)])", "$join([$map($_list({0}),$_t)],{1})"),
        "string", (_LIST, _TEXT), cost="heavy"),
    Function("replace", 3, 3, library.replace, ("$_replace({0},{1},{2})",), "string", (_TEXT, _TEXT, _TEXT), (1,)),
    Function("substring", 2, 3, library.substring, (), "string", (_TEXT, _NUMBER)),
    Function("slice", 2, 3, library.cut, (), None, (("string", "array"), _NUMBER)),
    Function("json", 1, 1, library.to_json, ("$_j({0})",), "string", cost="heavy"),
    Function("parse_json", 1, 1, library.parse_json, (), None, (_TEXT,)),
    # numbers
    Function("min", 1, MANY, library.smallest, ("$_min({0})",)),
    Function("max", 1, MANY, library.largest, ("$_max({0})",)),
    Function("sum", 1, 1, library.total, ("$sum($_list({0}))+0",), "number", (_LIST,)),
    Function("avg", 1, 1, library.average, ("$_avg({0})",), None, (_LIST,)),
    Function("abs", 1, 1, library.absolute, ("$abs({0})",), "number", (_NUMBER,)),
    Function("round", 1, 2, library.rounded, (), "number", (_NUMBER, _NUMBER)),
    Function("floor", 1, 1, library.floor, ("$floor({0})",), "number", (_NUMBER,)),
    Function("ceil", 1, 1, library.ceil, ("$ceil({0})",), "number", (_NUMBER,)),
    # lists and objects
    Function("range", 1, 3, library.number_range, (), "array", (_NUMBER,)),
    Function("sort", 1, 1, library.ordered, (), "array", (_LIST,), cost="heavy"),
    Function("reverse", 1, 1, library.backwards, ("$reverse($_list({0}))",), "array", (_LIST,)),
    Function("unique", 1, 1, library.unique, (), "array", (_LIST,), cost="heavy"),
    Function("first", 1, 1, library.first, ("$_get($_list({0}),0)",), None, (_LIST,), cost="none"),
    Function("last", 1, 1, library.last, ("$_get($_list({0}),-1)",), None, (_LIST,), cost="none"),
    Function("flatten", 1, 1, library.flatten, (), "array", (_LIST,)),
    Function("any", 1, 1, library.any_of, ("(true in $map($_list({0}),$_b))",), "boolean", (_LIST,)),
    Function("all", 1, 1, library.all_of, ("$not(false in $map($_list({0}),$_b))",), "boolean", (_LIST,)),
    Function("keys", 1, 1, library.keys, ("[$keys($_object({0}))]",), "array", (_OBJECT,)),
    Function("values", 1, 1, library.items_of, (), "array", (_OBJECT,)),
    Function("merge", 1, MANY, library.merge, (), "object"),
    # what only a running step can say
    Function("now", 0, 0, None, (), "string", deterministic=False),
    Function("uuid", 0, 0, None, (), "string", deterministic=False),
    Function("random", 0, 0, None, (), "number", deterministic=False),
)

_ALIASES = {
    "length": "len", "size": "len", "string": "str", "float": "number", "boolean": "bool", "starts_with": "startswith",
    "startsWith": "startswith", "ends_with": "endswith", "endsWith": "endswith", "to_json": "json", "tojson": "json",
    "from_json": "parse_json", "average": "avg", "sorted": "sort", "lowercase": "lower", "uppercase": "upper",
    "strip": "trim", "matches": "regex_match",
}

FUNCTIONS: dict[str, Function] = {function.name: function for function in _TABLE}
# `env(name)` becomes a slot when it is resolved; `file_exists` is known in order to be refused with a reason.
SPECIAL = ("env", "file_exists")


def find(name: str) -> Function | None:
    """The function of that name or alias."""
    return FUNCTIONS.get(_ALIASES.get(name, name))


def known() -> list[str]:
    """Every name that can be called, aliases included."""
    return sorted({*FUNCTIONS, *_ALIASES, "env"})
