"""Writes functions/README.md: `python -m tests.golden.step_types`.

Fields come from the configuration models, the words from steps/words.yaml, and the spellings of a step from `aslant convert`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from aslant.configs.schema import config_schema
from aslant.step_types import STEP_TYPES
from translator.diagnostics import Findings, Severity
from translator.dialects.convert import convert
from translator.source import load

ROOT = Path(__file__).resolve().parents[2]
TARGET = ROOT / "functions" / "README.md"
WORDS: dict[str, dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "steps" / "words.yaml").read_text("utf-8"))
STRUCTURE: dict[str, dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "steps" / "structure.yaml").read_text("utf-8"))
DIALECTS = ("steps", "stages", "graph", "tasks", "agents")
TYPES = [name for name, kind in STEP_TYPES.items() if kind.model is not None]
INPUTS = ("change", "orders", "results", "version", "status", "text", "dry_run")
STRUCTURE_INPUTS = ("total", "regions", "order")

HEAD = """# Step types

One folder a type in `steps/`: a thin handler, and logic whose ports are arguments. The fields below are those of the
configuration models in `layers/runtime/python/aslant/configs`, which check definitions when they are compiled and values when a
step runs. A value may be an expression wherever a definition is written, and secrets are put in inside of the function.
Samples of invocations are in [events/steps](../events/steps).

Common to all: results are recorded once, so a step that has finished is not run again; large results go to the bucket; errors have
the names that `retry` and error handlers use. What the functions outside of `steps/` do is told in
[layers/runtime](../layers/runtime/README.md).

This file is written by `python -m tests.golden.step_types`.
"""


BETWEEN = """# Types that the state machine runs itself

They have no function, and their settings stand beside `type` where a dialect has no place of its own for them.
"""


def document() -> str:
    parts = [HEAD, " · ".join(f"[{name}](#{name})" for name in (*TYPES, *STRUCTURE)) + "\n"]
    for name in TYPES:
        parts += _section(name, WORDS.get(name, {}))
    parts.append(BETWEEN)
    for name, words in STRUCTURE.items():
        parts += _structure(name, words)
    return "\n".join(parts)


def spelled(name: str, dialect: str) -> str:
    """The whole definition that a type's example is shown from."""
    steps, inputs = (STRUCTURE[name]["example"], STRUCTURE_INPUTS) if name in STRUCTURE else ([WORDS[name]["example"]], INPUTS)
    canonical = {
        "dialect": "canonical", "id": "example", "inputs": {each: {"type": "any"} for each in inputs}, "steps": steps,
    }
    findings = Findings()
    source = load(json.dumps(canonical), findings)
    assert source is not None
    text = convert(source, dialect, findings)
    wrong = [found.message for found in findings if found.severity is Severity.ERROR]
    assert text is not None and not wrong, (name, dialect, wrong)
    return text


def _section(name: str, words: Mapping[str, Any]) -> Iterator[str]:
    schema = config_schema(name)
    assert schema is not None
    yield f"## {name}\n"
    yield f"{schema['description'].strip()}\n"
    for title in ("output", "errors"):
        if title in words:
            yield f"**{title.capitalize()}:** {words[title].strip()}\n"
    for note in words.get("notes", ()):
        yield f"- {note.strip()}"
    yield ""
    yield from _fields("", schema)
    for inner, part in schema.get("$defs", {}).items():
        yield from _fields(f"{inner}: {part['description'].strip()}", part)
    if "example" in words:
        yield "<details><summary>In each dialect</summary>\n"
        for dialect in DIALECTS:
            step = _step(yaml.safe_load(spelled(name, dialect)), dialect)
            shown = yaml.safe_dump([step], sort_keys=False, allow_unicode=True, width=120)
            yield f"```yaml\n# {dialect}\n{shown.rstrip()}\n```"
        yield "\n</details>\n"


def _structure(name: str, words: Mapping[str, Any]) -> Iterator[str]:
    """The section of a type that the state machine runs itself."""
    yield f"## {name}\n\n{words['text'].strip()}\n"
    for title in ("output", "errors"):
        if title in words:
            yield f"**{title.capitalize()}:** {words[title].strip()}\n"
    yield from (f"- {note.strip()}" for note in words.get("notes", ()))
    yield "\n| field | value | default | |\n|---|---|---|---|"
    yield from (f"| `{field}` | {kind} | {default} | {about} |" for field, kind, default, about in words["fields"])
    yield "\n<details><summary>In each dialect</summary>\n"
    for dialect in DIALECTS:
        data = yaml.safe_load(spelled(name, dialect))
        data = data["workflow"] if dialect == "stages" else data
        body = {key: data[key] for key in ("steps", "stages", "nodes", "connections", "edges", "tasks") if data.get(key)}
        shown = yaml.safe_dump(body, sort_keys=False, allow_unicode=True, width=120)
        yield f"```yaml\n# {dialect}\n{shown.rstrip()}\n```"
    yield "\n</details>\n"


def _fields(title: str, schema: Mapping[str, Any]) -> Iterator[str]:
    if title:
        yield f"{title}\n"
    yield "| field | value | default | |"
    yield "|---|---|---|---|"
    for name, row in schema["properties"].items():
        default = row.get("default")
        needed = "**needed**" if name in schema.get("required", ()) else "" if default in (None, "", {}, []) else _code(default)
        yield f"| `{name}` | {_kind(row)} | {needed} | {row['description'].replace('|', chr(92) + '|')} |"
    yield ""


def _kind(row: Mapping[str, Any]) -> str:
    if "$ref" in row:
        return str(row["$ref"]).rpartition("/")[2]
    if "enum" in row:
        return ", ".join(f"`{each}`" for each in row["enum"])
    if "const" in row:
        return f"`{row['const']}`"
    if "anyOf" in row:
        return " or ".join(dict.fromkeys(_kind(each) for each in row["anyOf"] if each.get("type") != "null"))
    kind = str(row.get("type", "any"))
    if kind == "array":
        return f"list of {_kind(row.get('items', {}))}"
    bounds = [f"{sign} {row[word]:,}" for word, sign in (
        ("minimum", "≥"), ("exclusiveMinimum", ">"), ("maximum", "≤"), ("exclusiveMaximum", "<")) if word in row]
    named = {"string": "text", "object": "mapping", "boolean": "true or false", "integer": "whole number", "any": "any"}
    return " ".join([named.get(kind, kind), *bounds])


def _code(value: Any) -> str:
    return f"`{json.dumps(value, ensure_ascii=False) if not isinstance(value, str) else value}`"


def _step(data: Mapping[str, Any], dialect: str) -> Any:
    """The one step of a definition."""
    if dialect == "stages":
        return data["workflow"]["stages"][0]["steps"][0]
    return data[{"steps": "steps", "tasks": "tasks"}.get(dialect, "nodes")][0]


if __name__ == "__main__":
    TARGET.write_text(document(), encoding="utf-8")
