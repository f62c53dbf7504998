"""Checks the shape of a definition against a pydantic model and reports every problem at its place."""

from __future__ import annotations

import types
from collections import defaultdict
from collections.abc import Iterable
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from translator.diagnostics import Findings
from translator.dialects import keys
from translator.dialects.common import ACTIONS, INPUT_TYPES
from translator.findings import dialects as rules
from translator.nearest import nearest
from translator.source import Map, Seq, position_of, value_at
from translator.yaml_errors import quoted

MOST = 100
MOST_KEYS = 24  # that a hint lists
Path = tuple[str | int, ...]
_KINDS = {
    "string_type": "a text", "int_type": "an integer", "float_type": "a number", "bool_type": "true or false",
    "list_type": "a list", "dict_type": "a mapping", "model_type": "a mapping", "int_from_float": "an integer",
    "none_required": "null", "tuple_type": "a list",
}


def check(schema: type[BaseModel], document: Map, findings: Findings, within: str = "") -> bool:
    """Whether `document` has the shape of `schema`; what does not is added to `findings` with its position.

    `within` names the place of `document` in the definition, such as `steps[2].config` or `the router 'r'`. A bare text
    where a list of texts is wanted becomes such a list, in `document`.
    """
    try:
        error = _problems(schema, document)
        if error is not None and _wrap(schema, document, error):
            error = _problems(schema, document)
        problems = _reduced(error, document) if error is not None else []
        for path, problem in _told_once(schema, document, problems)[:MOST]:
            _report(schema, document, path, problem, findings, within)
        if len(problems) > MOST:
            findings.add(rules.TOO_MANY_PROBLEMS, f"only the first {MOST} of {len(problems)} problems are listed", document.pos)
        return not problems
    except RecursionError:
        findings.add(rules.OUT_OF_RANGE, "steps are nested too deeply", document.pos)
        return False


def problem_paths(schema: type[BaseModel], document: Map) -> tuple[list[Path], list[Path]]:
    """The paths of keys that are missing, and of everything else that is wrong."""
    error = _problems(schema, document)
    missing: list[Path] = []
    wrong: list[Path] = []
    for path, problem in _reduced(error, document) if error is not None else ():
        (missing if problem[0]["type"] == "missing" else wrong).append(path)
    return missing, wrong


def _problems(schema: type[BaseModel], document: Map) -> ValidationError | None:
    try:
        schema.model_validate(document)
    except ValidationError as error:
        return error
    return None


def _wrap(schema: type[BaseModel], document: Map, error: ValidationError) -> bool:
    """Make lists of the bare texts that stand where a list of texts is wanted; whether there were any."""
    wrapped = False
    for item in error.errors(include_url=False, include_input=False):
        if item["type"] != "list_type":
            continue
        path, _, _ = _split(item, document)
        owner, value = value_at(document, path[:-1]), value_at(document, path)
        if isinstance(owner, Map) and isinstance(value, str) and value and _takes_texts(schema, path):
            key = str(path[-1])
            only = Seq(owner.at(key))
            only.add(value, only.pos)
            owner.put(key, only, only.pos, owner.at_key(key))
            wrapped = True
    return wrapped


def _takes_texts(schema: type[BaseModel], path: Path) -> bool:
    """Whether the value at `path` may be a list of texts."""
    return any(str in _members(get_args(found)[0]) for found in _annotations(schema, path)
        if get_origin(found) is list and get_args(found))


def did_you_mean(word: str, known: Iterable[str], otherwise: str = "") -> str:
    """A hint that names the known word closest to `word`, or `otherwise` when none is close."""
    close = nearest(word, known)
    return f"did you mean `{close}`?" if close else otherwise


def one_of(word: str, known: Iterable[str]) -> str:
    """A hint that names the known word closest to `word`, or all of them where they are few."""
    words = [*known]
    return did_you_mean(word, words, f"there are {', '.join(words)}" if 0 < len(words) <= MOST_KEYS else "")


def label(path: Path, within: str = "") -> str:
    """`steps[2].retry` for ("steps", 2, "retry"); `within` is such a path, or words: `x of the router 'r'`."""
    words = " " in within
    text = "" if words else within
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    if words:
        return f"{text} of {within}" if text else within
    return text or "the definition"


def kind(value: Any) -> str:
    """What a JSON value is, in words."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    return f"the text {_short(value)}" if isinstance(value, str) else f"the number {value}"


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:37] + "...")


def _reduced(error: ValidationError, document: Map) -> list[tuple[Path, list[Any]]]:
    """The problems by place. Of the members of a union only the one that was meant counts.

    pydantic puts the names of union members between the keys; they are what is not found in the data.
    """
    groups: dict[Path, dict[str, list[tuple[Path, Any]]]] = defaultdict(lambda: defaultdict(list))
    for item in error.errors(include_url=False, include_input=False):
        path, union, member = _split(item, document)
        groups[union if union is not None else path][member].append((path, item))
    found: dict[Path, list[Any]] = defaultdict(list)
    for place, members in groups.items():
        plain = members.pop("", [])
        for path, item in plain + _meant(place, members, value_at(document, place)):
            found[path].append(item)
    return list(found.items())


def _split(item: Any, document: Map) -> tuple[Path, Path | None, str]:
    """The path in the data; the path of the outermost union on the way and the member's name, if there is one."""
    path: list[str | int] = []
    union: Path | None = None
    member = ""
    here: Any = document
    location = item["loc"]
    for index, part in enumerate(location):
        inside = (isinstance(here, dict) and part in here) or (
            isinstance(here, list) and isinstance(part, int) and part < len(here))
        if inside:
            here = here[part]
            path.append(part)
        elif index == len(location) - 1 and item["type"] == "missing":
            path.append(part)
        elif union is None and part != "[key]":
            union, member = tuple(path), str(part)
    return tuple(path), union, member


def _meant(place: Path, members: dict[str, list[tuple[Path, Any]]], value: Any) -> list[tuple[Path, Any]]:
    """The errors of the union member that fits best; those of all members when the value has a type of none."""
    wrong = set(_KINDS) if isinstance(value, str) else {*_KINDS, "literal_error"}
    fitting = [errors for errors in members.values()
        if not any(path == place and item["type"] in wrong for path, item in errors)]
    if not fitting:
        return [error for errors in members.values() for error in errors]
    deep = [errors for errors in fitting if any(len(path) > len(place) for path, _ in errors)]
    return min(deep or fitting, key=len)


def _told_once(
    schema: type[BaseModel], document: Map, problems: list[tuple[Path, list[Any]]]
) -> list[tuple[Path, list[Any]]]:
    """The problems without those that another one tells: a key that lacks because it is there by another name, and the
    second and later keys of a step that stands where a branch is meant.
    """
    unknown: dict[Path, list[str]] = defaultdict(list)
    for path, problem in problems:
        if problem[0]["type"] == "extra_forbidden":
            unknown[path[:-1]].append(str(path[-1]))
    if not unknown:
        return problems
    meant = {owner: keys.meant_by(words, owner, _keys(schema, owner)) for owner, words in unknown.items()}
    steps = {owner for owner in unknown if keys.is_step_as_branch(value_at(document, owner), owner, _keys(schema, owner))}
    edges = {owner for owner in unknown if keys.is_edge(_keys(schema, owner))}
    told = []
    for path, problem in problems:
        owner, kind_ = path[:-1], problem[0]["type"]
        if kind_ == "missing" and (path[-1] in meant.get(owner, ()) or owner in edges) or path in edges:
            continue
        if kind_ == "extra_forbidden" and owner in steps and path[-1] != unknown[owner][0]:
            continue
        told.append((path, problem))
    return told


def _report(schema: type[BaseModel], document: Map, path: Path, problem: list[Any], findings: Findings,
        within: str) -> None:
    first = problem[0]
    name = first["type"]
    at = position_of(document, path)
    if name == "extra_forbidden":
        owner = path[:-1]
        known = _keys(schema, owner)
        key = str(path[-1])
        holder, outer = value_at(document, owner), value_at(document, owner[:-1])
        if keys.is_step_as_branch(holder, owner, known):
            findings.add(rules.UNKNOWN_KEY, f"{label(owner, within)} is a step, and a branch is a list of steps",
                position_of(document, owner), hint="write `steps: [{…}]` in it, with the step in the list")
            return
        findings.add(rules.UNKNOWN_KEY, f"{key!r} is not a key of {label(owner, within)}",
            holder.at_key(key) if isinstance(holder, Map) else at,
            hint=keys.setting_hint(key, holder, known)
                or keys.misplaced_hint(key, owner, known, outer, _keys(schema, owner[:-1]))
                or keys.key_hint(key, owner, known) or did_you_mean(
                    key, known, f"known keys: {', '.join(known)}" if len(known) <= MOST_KEYS else ""))
    elif name == "missing":
        findings.add(rules.MISSING_KEY, f"{label(path[:-1], within)} has no {path[-1]!r}",
            position_of(document, path[:-1]), hint=f"add `{path[-1]}:`")
    elif name == "literal_error" and len(problem) == 1:
        allowed = str(first["ctx"]["expected"])
        value = value_at(document, path)
        words = [word.strip("' ") for word in allowed.replace(" or ", ",").split(",")]
        findings.add(rules.NOT_ALLOWED, f"{label(path, within)} is {kind(value)}; it may be {allowed}", at,
            hint=_word_hint(value, words) if isinstance(value, str) else "")
    elif all(item["type"] in _KINDS or item["type"] == "literal_error" for item in problem):
        wanted = list(dict.fromkeys(_wanted(item) for item in problem))
        if "a number" in wanted and "an integer" in wanted:
            wanted.remove("an integer")
        value = value_at(document, path)
        findings.add(rules.WRONG_TYPE, f"{label(path, within)} must be {' or '.join(wanted)}, not {kind(value)}", at,
            hint=_list_hint(schema, path, value, wanted) or _type_hint(value, wanted)
                or _mapping_hint(schema, path, value, wanted))
    else:
        findings.add(rules.OUT_OF_RANGE, f"{label(path, within)} {_range(first)}", at)


_WORDS = dict.fromkeys(("every_step", "each_step", "every_task", "each_node", "every_stage", "always"), "every_node")


def _word_hint(value: str, words: list[str]) -> str:
    """The word that was meant: another name of a type or an action, or a slip."""
    others = (table.get(value.lower(), "") for table in (INPUT_TYPES, ACTIONS, _WORDS))
    other = next((each for each in others if each in words), "")
    return f"did you mean `{other}`?" if other else did_you_mean(value, words)


def _range(item: Any) -> str:
    context = item.get("ctx", {})
    match item["type"]:
        case "greater_than_equal":
            return f"must be at least {context['ge']}"
        case "greater_than":
            return f"must be more than {context['gt']}"
        case "less_than_equal":
            return f"must be at most {context['le']}"
        case "string_too_short" if context["min_length"] == 1:
            return "must not be empty"
        case "string_too_long":
            return f"must have at most {context['max_length']} characters"
        case "too_short" if context["min_length"] == 1:
            return "must not be empty"
        case "too_long" if context["max_length"] == 0:
            return "has no place here"
        case "too_long":
            return f"must have at most {context['max_length']} items"
        case "value_error":
            return f"is wrong: {context['error']}"
        case "finite_number":
            return "must be a finite number"
    return "is not a value that it takes"


def _wanted(item: Any) -> str:
    return f"one of {item['ctx']['expected']}" if item["type"] == "literal_error" else _KINDS[item["type"]]


_BOOLEANS = {"yes": "true", "on": "true", "true": "true", "no": "false", "off": "false", "false": "false"}


def _type_hint(value: Any, wanted: list[str]) -> str:
    if isinstance(value, str) and "a number" in wanted and value.replace(".", "", 1).isdigit():
        return "remove the quotes"
    if isinstance(value, str) and "true or false" in wanted and value.lower() in _BOOLEANS:
        return f"write {_BOOLEANS[value.lower()]}"
    if isinstance(value, (int, float, bool)) and "a text" in wanted:
        return f'quote it: "{str(value).lower() if isinstance(value, bool) else value}"'
    if isinstance(value, Map) and "a text" in wanted and (meant := _bare_hole(value)):
        return f"write it in quotes: {quoted(meant)}"
    return ""


def _list_hint(schema: type[BaseModel], path: Path, value: Any, wanted: list[str]) -> str:
    """The list that was meant. Of texts it is written as such: what is copied from a hint must not lead to the next one."""
    if wanted != ["a list"] or isinstance(value, list):
        return ""
    if not _takes_texts(schema, path):
        return "" if value is None else "write a list: each item on a line of its own, after `- `"
    if value is None:
        return "write `[]`, or leave the key out"
    texts = [*value] if isinstance(value, dict) else [str(value).lower() if isinstance(value, bool) else str(value)]
    return "write a list of texts: [" + ", ".join(f'"{text}"' for text in texts) + "]"


def _mapping_hint(schema: type[BaseModel], path: Path, value: Any, wanted: list[str]) -> str:
    """The keys of a mapping, where something else stands; the shape of a compensation that is given by a name."""
    known = _keys(schema, path)
    if isinstance(value, str) and path[-1] == "compensation":
        shown = (key for key in ("id", "type", "config", "parameters") if key in known)
        return "write a step: {" + ", ".join(f"{key}: …" for key in shown) + "}"
    if "a mapping" in wanted and len(path) > 1 and path[-2] == "branches" and isinstance(value, list):
        return "write `{steps: […]}` for each branch"
    if isinstance(value, str) and (other := INPUT_TYPES.get(value.lower())) and {"type", "required"} <= {*known}:
        return f"write {{type: {other}}}"
    if "a mapping" not in wanted or isinstance(value, dict) or not known or len(known) > MOST_KEYS:
        return ""
    if path[-1] == "retry" and isinstance(value, int) and not isinstance(value, bool):
        return f"write {{max_attempts: {value}}}"
    if path[-1] == "retry" and isinstance(value, (str, list)) and value:
        return "the names of errors stand under `on`: {on: " + _flow(value) + "}"
    return f"write a mapping of {', '.join(known)}"


def _flow(value: str | list[Any]) -> str:
    return value if isinstance(value, str) else "[" + ", ".join(map(str, value)) + "]"


def _bare_hole(value: Map) -> str:
    """What `{input.x}` or `{'k': input.x}` without quotes was meant to be; empty for a mapping with lines of its own."""
    within = [*value.key_at.values()]
    if not within or any(at.line != value.pos.line or at.column <= value.pos.column for at in within):
        return ""
    if [*value.values()] == [None]:
        return "{" + next(iter(value)) + "}"
    if all(isinstance(item, (str, int, float)) and not isinstance(item, bool) for item in value.values()):
        return "{" + ", ".join(f"'{key}': {item}" for key, item in value.items()) + "}"
    return ""


def _keys(schema: type[BaseModel], path: Path) -> list[str]:
    """The keys that the model or models at `path` know."""
    models = _annotations(schema, path)
    return sorted({field.alias or name for model in models if isinstance(model, type) and issubclass(model, BaseModel)
        for name, field in model.model_fields.items()})


def _annotations(schema: type[BaseModel], path: Path) -> list[Any]:
    """What the models say about the value at `path`; about the last part of it that they know."""
    found: list[Any] = [schema]
    for part in path:
        found = [inner for each in found for inner in _step(each, part)] or found
    return found


def _step(model: Any, part: str | int) -> list[Any]:
    if isinstance(model, type) and issubclass(model, BaseModel):
        for name, field in model.model_fields.items():
            if part == (field.alias or name):
                return _members(field.annotation)
        return []
    arguments = get_args(model)
    if get_origin(model) is dict and isinstance(part, str):
        return _members(arguments[1])
    if get_origin(model) is list and isinstance(part, int):
        return _members(arguments[0])
    return []


def _members(annotation: Any) -> list[Any]:
    origin = get_origin(annotation)
    if origin is Annotated:
        return _members(get_args(annotation)[0])
    if origin in (Union, types.UnionType):
        return [found for member in get_args(annotation) for found in _members(member)]
    return [annotation]

