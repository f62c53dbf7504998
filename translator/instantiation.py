"""Making a definition of a template: places `<<name>>` in its texts are filled with values.

Values go into the data that the text stands for, not into the text, so that none of them can change the definition's shape. A
text that is one place takes the value as it is; inside of a longer text values are written out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from translator.diagnostics import Findings, TranslatorError
from translator.dialects.convert import dump
from translator.source import load, plain

Json = Any
_PLACE = re.compile(r"<<\s*([A-Za-z_][A-Za-z0-9_]*)\s*>>")


def places(text: str) -> frozenset[str]:
    """The names of the places in a template's text."""
    return frozenset(_PLACE.findall(text))


def filled(text: str, values: Mapping[str, Json], more: Mapping[str, Json] | None = None) -> str:
    """The definition, as YAML, in the dialect of the template. `more` are fields at the top that count instead.

    Raises TranslatorError for a text that is no YAML, and KeyError for a place without a value.
    """
    findings = Findings()
    document = load(text, findings)
    if document is None or findings.has_errors:
        raise TranslatorError(findings.sorted())
    data = {**_put(plain(document), values), **(more or {})}
    return dump(data)


def _put(value: Json, values: Mapping[str, Json]) -> Json:
    if isinstance(value, dict):
        return {_text(key, values): _put(item, values) for key, item in value.items()}
    if isinstance(value, list):
        return [_put(item, values) for item in value]
    if isinstance(value, str):
        whole = _PLACE.fullmatch(value)
        return values[whole[1]] if whole else _text(value, values)
    return value


def _text(text: str, values: Mapping[str, Json]) -> str:
    def written(match: re.Match[str]) -> str:
        found = values[match[1]]
        return found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)

    return _PLACE.sub(written, text)
