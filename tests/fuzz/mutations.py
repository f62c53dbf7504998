"""The kinds of bad definitions. Each makes one text from a `Random` and good definitions as plain data."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from random import Random
from typing import Any

import yaml

from tests.fuzz import good

Documents = dict[str, Any]
KEYS = (
    "dialect", "id", "name", "type", "steps", "config", "depends_on", "branches", "true", "false", "default", "condition",
    "when",
    "target_step", "workflow", "stages", "parallel", "max_parallel", "parameters", "retry", "timeout", "on_failure",
    "cases",
    "compensation", "decision", "caching", "rollback", "error_handlers", "error_handling", "version", "metadata", "items",
    "nodes",
    "connections", "edges", "tasks", "agent", "properties", "source", "target", "sourceOutput", "from", "to", "settings",
    "inputs",
    "outputs", "variables", "finally", "triggers", "notifications", "task_template", "true_branch", "workflow_id", "input",
    "state_schema", "pattern", "role", "workflow_data", "condition_on", "on", "step", "x-note", "seconds", "until",
    "expression",
    "output_key", "cache", "checkpoint", "labels", "skill", "mode", "wait_for_all", "batch_size", "item_name",
    "on_item_error",
)
EXPRESSIONS = (
    "{{ x", "{{ }}", "{{", "}}", "${{ input.a }}", "${", "${}", "{state.}", "{{ steps.nobody.output }}", "{{ steps }}",
    "{{ input }}",
    "{{ 1 / 0 }}", "{{ 10 ** 10 ** 10 }}", "{{ 9007199254740993 }}", "{{ 1e999 }}", "{{ 'a' * 1000000 }}",
    "{{ [x for x in input] }}",
    "{{ " + "(" * 300 + "1" + ")" * 300 + " }}", "{{ " + "not " * 3000 + "1 }}", "{{ " + "1 + " * 5000 + "1 }}",
    "{{ " + "a." * 3000 + "b }}", "{{ " + "[" * 3000, "{{ input" + "[0]" * 2000 + " }}", "(" * 5000, "not " * 2000 + "x",
    "{{ secrets.x }}", "{{ secrets.x + 1 }}", "{{ env.HOME }}", "{{ __import__('os') }}", "{{ ().__class__ }}",
    "{{ input.__class__ }}",
    "{% $states.input %}", "{{ '{% 1 %}' }}", "{{ \"\\ud800\" }}", "{{ '\u202e' }}", "\x00", "\u2028", "{{ item }}",
    "{{ index }}",
    "{{ context.x }}", "{{ errors.x }}", "{{ state.nothing }}", "{{ vars.nothing }}", "{{ workflow.id }}",
    "{{ execution.id }}",
    "{{ 1 < 'a' }}", "{{ [1] + {} }}", "{{ -'a' }}", "{{ null.a }}", "{{ len() }}", "{{ len(1, 2, 3) }}", "{{ nofunc(1) }}",
    "{{ matches('a', '(((((a+)+)+)+)+b') }}", "{{ 'a' ~ '[' }}", "{{ a ? b }}", "{{ a if b }}", "{{ lambda x: x }}",
    "{{ x := 1 }}",
    "{{ 'it''s' }}", "{{ 'it\\'s' }}", "{{ \"}}\" }}", "{{ a }}{{ b }}", "\\{{ a }}", "{{{{ a }}}}", "{{ a.b-c.d }}",
    "{{ a['b'] }}", "{{\n1\n}}",
    "a" * 20_000, "{{ '" + "é" * 5000 + "' }}", "{{ 1 }}" * 3000, "🚦", "e\u0301", "-", "$", "{{ $x }}", "`", "{{ `a` }}",
    "{{ 0x10 }}", "{{ 1_000 }}",
    "{{ {'a': 1, 'a': 2} }}", "{{ [1, 2][5] }}", "{{ 'a'[0] }}", "{{ a == b == c }}", "{{ not }}", "{{ and }}", "{{ for }}",
    "{{ True }}", "{{ None }}",
)
ODD: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 0.5, 1e300, -1e-300, 2**53, -(2**53), 10**9, "", " ", "a", "null", "true", "1", "-1",
    "1e999", "NaN", "30s", "PT15M",
    "PT", "P1Y", "5 parsecs", "1h30m", "99999999999999s", "fail", "retry", "skill", "foreach", "choice", "parallel", "wait",
    "*", "#ops",
    [], {}, [[]], [{}], [None], {"": None}, {"a": {}}, [1, "a", None], {"id": "x"},
    [{"id": "x", "type": "wait", "seconds": 1}],
    {"steps": []}, {"type": "wait"}, {"action": "retry"}, {"step": "x", "on": ["a"]}, {"if": 1}, "\x07", "\ud800", "\ufeff",
    "\U0010ffff",
)
NAMES = ("id", "name", "step", "source", "target", "from", "to", "output_key")
WORDS = (
    "a", "Ω" * 70, "x" * 300, "a b", "a-b", "a.b", "a/b", "a'b", 'a"b', "{%", "$", "\n", "", "é", "e\u0301", "🚦", "steps",
    "input", "item", "constructor",
    "__proto__", "null", "true", "0", "{{ a }}", "${a}", "end", "a\u200bb", "\u202eb",
)

PIECES = (
    "\t", ":", "- ", "{", "}", "[", "]", "'", '"', "&a ", "*a ", "!x ", "<<: ", "? ", "|", ">", "#", "%", "@", "---\n",
    "...\n", "\x00", "\x7f", "\x85", "\u2028", "\ufeff", "\ud800", "\ud83d", "\r", "\n", "`", ",", "\\u12", "{{", "}}"
)


def _written(random: Random, data: Any) -> str:
    """As JSON on many lines, as JSON that keeps its characters, or as YAML. It begins in line 2: 1:1 is no place."""
    if random.randrange(3):
        return "\n" + json.dumps(data, indent=1, ensure_ascii=bool(random.randrange(2)))
    return "\n" + str(yaml.safe_dump(data, sort_keys=False, allow_unicode=bool(random.randrange(2)), width=1000))


def _places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        yield (*path, key)
        yield from _places(value, (*path, key))


def _holder(data: Any, path: tuple[Any, ...]) -> Any:
    for part in path[:-1]:
        data = data[part]
    return data


def tree(random: Random, depth: int = 5) -> Any:
    """Random data with keys that definitions have."""
    roll = random.randrange(10 if depth else 4)
    if roll < 2:
        return random.choice(ODD)
    if roll == 2:
        return random.choice(WORDS)
    if roll == 3:
        return random.choice(EXPRESSIONS)
    if roll < 7:
        return [tree(random, depth - 1) for _ in range(random.randrange(4))]
    return {random.choice(KEYS): tree(random, depth - 1) for _ in range(random.randrange(6))}


def _edit(random: Random, data: Any, documents: Documents) -> None:
    """One change in place."""
    places = list(_places(data))
    if not places:
        return
    path = random.choice(places)
    here, key = _holder(data, path), path[-1]
    match random.randrange(11):
        case 0:
            del here[key]
        case 1:
            here[key] = random.choice(ODD)
        case 2 if isinstance(here, dict):
            here[random.choice(KEYS)] = here.pop(key)
        case 3 if isinstance(here, list):
            here.insert(random.randrange(len(here) + 1), deepcopy(here[key]))
        case 4:
            other = random.choice(places)
            there = _holder(data, other)
            if path[: len(other)] != other and other[: len(path)] != path:
                here[key], there[other[-1]] = there[other[-1]], here[key]
        case 5:
            here[key] = tree(random, 3)
        case 6:
            for _ in range(random.choice((3, 30, 70))):
                here[key] = [here[key]] if random.randrange(2) else {random.choice(KEYS): here[key]}
        case 7:
            here[key] = [here[key]]
        case 8 if isinstance(here, dict):
            here[random.choice(KEYS)] = deepcopy(here[key])
        case 9:
            one = random.choice([one for one in places if one[-1] in NAMES] or places)
            _holder(data, one)[one[-1]] = random.choice(WORDS)
        case _:
            other_document = documents[random.choice(sorted(documents))]
            other = random.choice(list(_places(other_document)))
            here[key] = deepcopy(_holder(other_document, other)[other[-1]])


def one_edit(random: Random, documents: Documents) -> str:
    data = deepcopy(documents[random.choice(sorted(documents))])
    _edit(random, data, documents)
    return _written(random, data)


def many_edits(random: Random, documents: Documents) -> str:
    data = deepcopy(documents[random.choice(sorted(documents))])
    for _ in range(random.randrange(2, 8)):
        _edit(random, data, documents)
    return _written(random, data)


def expression(random: Random, documents: Documents) -> str:
    """A hostile expression in the place of one text, or of all."""
    data = deepcopy(documents[random.choice(sorted(documents))])
    texts = [path for path in _places(data) if isinstance(_holder(data, path)[path[-1]], str)]
    keep = {"id", "type", "action", "step", "source", "target", "from", "to", "dialect"}
    if random.randrange(8) == 0:
        for path in texts:
            if path[-1] not in keep:
                _holder(data, path)[path[-1]] = random.choice(EXPRESSIONS[:-40])
    else:
        path = random.choice(texts)
        _holder(data, path)[path[-1]] = random.choice(EXPRESSIONS)
    return _written(random, data)


def all_null(random: Random, documents: Documents) -> str:
    """Nothing where something was: everywhere, for one key, or under one place."""
    data = deepcopy(documents[random.choice(sorted(documents))])
    places = list(_places(data))
    name = random.choice(places)[-1]
    value: Any = random.choice((None, None, {}, [], "", 0))
    share = random.choice((1, 3, 20))
    for path in reversed(places):
        if path[-1] == name or random.randrange(share) == 0 and not isinstance(_holder(data, path)[path[-1]], (dict, list)):
            _holder(data, path)[path[-1]] = value
    return _written(random, data)


def random_tree(random: Random, documents: Documents) -> str:
    data = {random.choice(KEYS): tree(random) for _ in range(random.randrange(1, 8))}
    root = random.choice(("steps", "tasks", "nodes", "stages", "none"))
    rows = []
    for number in range(random.randrange(5)):
        row = tree(random, 4)
        if not isinstance(row, dict) or random.randrange(9) == 0:
            row = {"id": f"s{number}", "type": "skill"} | (row if isinstance(row, dict) else {})
        rows.append(row)
    if root == "stages":
        data = {"workflow": {**data, "stages": [{"name": "a", "steps": rows}]}}
    elif root != "none":
        data[root] = rows
    if random.randrange(4) == 0:
        data["dialect"] = random.choice(("steps", "stages", "graph", "tasks", "agents", "canonical"))
    return _written(random, data)


def broken_text(random: Random, documents: Documents) -> str | bytes:
    """A good definition with characters left out, repeated or put in; sometimes bytes that are no text."""
    texts = good.texts()
    text = texts[random.choice(sorted(texts))]
    for _ in range(random.randrange(1, 5)):
        at = random.randrange(len(text) + 1)
        match random.randrange(5):
            case 0:
                text = text[:at] + text[at + random.randrange(1, 30):]
            case 1:
                text = text[:at] + random.choice(PIECES) + text[at:]
            case 2:
                end = at + random.randrange(200)
                text = text[:end] + text[at:end] + text[end:]
            case 3:
                lines = text.split("\n")
                random.shuffle(lines) if random.randrange(4) == 0 else lines.pop(random.randrange(len(lines)))
                text = "\n".join(lines)
            case _:
                old = random.choice((":", ",", '"', "id", "steps", "\n", " "))
                text = text.replace(old, random.choice(("", ":", "\n", "'", " ")), 3)
    if random.randrange(5) == 0:
        raw = bytearray(text.encode("utf-8", "surrogatepass"))
        for _ in range(random.randrange(1, 6)):
            raw[random.randrange(len(raw))] = random.randrange(256)
        return bytes(raw)
    return text


def noise(random: Random, documents: Documents) -> str | bytes:
    if random.randrange(2):
        return random.randbytes(random.randrange(200))
    alphabet = "ab:- \n\t{}[],'\"&*!|>%@`#?\\0159.eE~<=\u00e9\u2028\U0001f6a6"
    return "".join(random.choice(alphabet) for _ in range(random.randrange(300)))


KINDS: dict[str, Callable[[Random, Documents], str | bytes]] = {
    "all_null": all_null, "broken_text": broken_text, "expression": expression, "many_edits": many_edits, "noise": noise,
    "one_edit": one_edit, "random_tree": random_tree,
}
