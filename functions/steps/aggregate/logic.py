"""Many results into one: concat, sum, average, max, min, summarize, or a script; as a value, text or Markdown."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from aslant import sandbox
from aslant.configs.aggregate import AggregateConfig
from aslant.contracts import Json, StepResult
from aslant.errors import ValidationError
from aslant.step import StepRun, result
from aslant.tabular import check_cells
from aslant.values import render

Script = Callable[[str, Mapping[str, Json], sandbox.Limits], Json]


def aggregate(config: AggregateConfig, run: StepRun, script: Script = sandbox.run) -> StepResult:
    """The combined value in the wanted format. Null results (skipped or failed steps) are left out.

    `sum` of nothing is 0; `average`, `max` and `min` of nothing are null. Raises ValidationError for values that cannot be
    combined in this way.
    """
    given = config.data if config.results is None else config.results
    if config.custom_script is None:
        given = run.redactor.json(given)  # some texts are cut on the way, and half of a secret would not be recognized
    items = _items(given, config.field)
    if config.custom_script is not None:
        names = {"results": given, "data": given, "input": given, "items": items}
        value = script(config.custom_script, names, sandbox.Limits(seconds=run.remaining(config.timeout)))
    else:
        value = combine(config.aggregation, items)
    return result(shape(value, config.format, config.title))


def _items(given: Json, field: str | None) -> list[Json]:
    items = list(given.values()) if isinstance(given, dict) else given if isinstance(given, list) else [given]
    if field is not None:
        items = [item.get(field) if isinstance(item, dict) else None for item in items]
    return [item for item in items if item is not None]


def combine(aggregation: str, items: list[Json]) -> Json:
    """The items combined. Lists are taken apart once: results of a loop of loops are combined like those of one loop."""
    if aggregation == "concat":
        return concat(items)
    flat = [inner for item in items for inner in (item if isinstance(item, list) else [item])]
    if aggregation == "summarize":
        return summary(flat)
    numbers = _numbers(aggregation, flat)
    try:
        if aggregation == "sum":
            return _number(sum(numbers) if all(isinstance(each, int) for each in numbers) else math.fsum(numbers))
        if not numbers:
            return None
        if aggregation == "average":
            return _number(math.fsum(numbers) / len(numbers))
    except OverflowError:
        raise ValidationError(f"the {aggregation} is beyond what a number can be") from None
    return max(numbers) if aggregation == "max" else min(numbers)


def concat(items: list[Json]) -> Json:
    """Texts make a text, lists a list, objects an object (later keys win), anything else a list of all."""
    if items and all(isinstance(item, str) for item in items):
        return "".join(items)
    if items and all(isinstance(item, dict) for item in items):
        merged: dict[str, Json] = {}
        for item in items:
            merged.update(item)
        return merged
    return [inner for item in items for inner in (item if isinstance(item, list) else [item])]


def summary(items: list[Json]) -> dict[str, Json]:
    """`count`, and per numeric field its count, sum, average, min and max; of texts and other values the distinct ones."""
    report: dict[str, Json] = {"count": len(items)}
    numbers = [item for item in items if _is_number(item)]
    if numbers:
        report.update(_figures(numbers))
    fields: dict[str, list[Json]] = {}
    for item in items:
        if isinstance(item, dict):
            for key, value in item.items():
                fields.setdefault(key, []).append(value)
    if fields:
        report["fields"] = {key: _field(values) for key, values in fields.items()}
    texts = [item for item in items if isinstance(item, str)]
    if texts:
        report["values"] = _counts(texts)
    return report


def _field(values: list[Json]) -> dict[str, Json]:
    numbers = [value for value in values if _is_number(value)]
    if numbers and len(numbers) == len(values):
        return {"count": len(values), **_figures(numbers)}
    return {"count": len(values), "values": _counts([render(value) for value in values if value is not None])}


def _figures(numbers: list[Any]) -> dict[str, Json]:
    total = combine("sum", numbers)
    return {"sum": total, "average": combine("average", numbers), "min": min(numbers), "max": max(numbers)}


def _counts(texts: list[str], most: int = 20) -> dict[str, int]:
    """How often each text occurs: the most frequent first, and at most 20."""
    counts: dict[str, int] = {}
    for text in texts:
        counts[text[:200]] = counts.get(text[:200], 0) + 1
    return dict(sorted(counts.items(), key=lambda pair: -pair[1])[:most])


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _numbers(aggregation: str, items: list[Json]) -> list[int | float]:
    wrong = next((item for item in items if not _is_number(item)), None)
    if wrong is not None:
        kind = {dict: "an object", str: "a text", bool: "true or false"}.get(type(wrong), "no number")
        raise ValidationError(f"{aggregation} needs numbers, and one result is {kind}; `field` can pick one of an object")
    return items


def _number(value: float) -> int | float:
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) <= 2**53 else value


def shape(value: Json, form: str, title: str) -> Json:
    """The value itself, as a text, or as a Markdown report."""
    if form == "json":
        return value
    if form == "text":
        return "\n".join(map(render, value)) if isinstance(value, list) else render(value)
    return f"# {title}\n\n" + "\n".join(_markdown(value, 2)) + "\n"


def _markdown(value: Json, level: int) -> list[str]:
    """Objects become sections, lists of flat objects tables, other lists bullets, scalars text."""
    if isinstance(value, dict):
        lines: list[str] = []
        flat = {key: item for key, item in value.items() if not isinstance(item, dict | list)}
        lines += [f"- **{_cell(key)}**: {_cell(render(item))}" for key, item in flat.items()]
        for key, item in value.items():
            if key not in flat:
                lines += ["", "#" * min(level, 6) + f" {_cell(key)}", "", *_markdown(item, level + 1)]
        return lines
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        columns = list(dict.fromkeys(key for item in value for key in item))
        check_cells(len(columns), len(value))
        rows = [[_cell(render(item.get(column))) for column in columns] for item in value]
        return [_row([_cell(column) for column in columns]), _row(["---"] * len(columns)), *map(_row, rows)]
    if isinstance(value, list):
        return [f"- {_cell(render(item))}" for item in value]
    return [render(value)]


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
