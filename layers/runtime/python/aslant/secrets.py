"""Puts the values of secrets into a configuration, and takes them out of everything that leaves the step."""

from __future__ import annotations

import base64
import json
import re
import urllib.parse
from collections.abc import Mapping, Sequence

from aslant.contracts import Json
from aslant.errors import ValidationError
from aslant.ports import Secrets
from aslant.values import map_texts, render

_NAME = re.compile(r"[A-Za-z0-9/_+=.@-]{1,256}\Z")
_MASK = "***"
_SHORTEST = 4  # a shorter value stands in too many innocent texts
_LONG = 8
_TELLING = re.compile(r"pass|pwd|secret|token|key|credential|pin", re.IGNORECASE)


class Redactor:
    """Knows the values of secrets and replaces them by `***`, also where they are base64 or percent-encoded."""

    def __init__(self) -> None:
        self._values: set[str] = set()

    def learn(self, secret: Json, shortest: int = _SHORTEST) -> None:
        """Remember a secret's text. Of an object, the texts that are long or whose key says that they are secret."""
        if isinstance(secret, str):
            if len(secret) >= shortest:
                encoded = base64.b64encode(secret.encode()).decode()
                self._values.update({secret, encoded, encoded.rstrip("="), urllib.parse.quote(secret, safe=""),
                                     urllib.parse.quote_plus(secret), json.dumps(secret)[1:-1]})
        elif isinstance(secret, dict):
            for key, value in secret.items():
                self.learn(value, _SHORTEST if _TELLING.search(key) else _LONG)
        elif isinstance(secret, list):
            for value in secret:
                self.learn(value, _LONG)

    def know(self, text: str) -> None:
        """Remember a secret as it is stored: its text, its lines, and what its JSON says."""
        self.learn(text)
        if "\n" in text:
            self.learn(text.splitlines())
        self.learn(_structured(text))

    def text(self, text: str) -> str:
        for value in sorted(self._values, key=len, reverse=True):
            text = text.replace(value, _MASK)
        return text

    def json(self, value: Json) -> Json:
        return map_texts(value, self.text) if self._values else value


def resolve(
    config: Json, places: Mapping[str, Sequence[Json]], tenant: str, secrets: Secrets, redactor: Redactor
) -> Json:
    """The configuration with its secrets in place; `config` itself is not changed.

    `places` maps a JSON pointer to the parts of the text there (see `StepInvocation`). Raises ValidationError for a
    pointer that leads nowhere, SecretNotFound for a secret that does not exist.
    """
    known: dict[str, str] = {}

    def read(name: str) -> str:
        if name not in known:
            if not _NAME.match(name):
                raise ValidationError(f"{name[:100]!r} cannot be the name of a secret")
            known[name] = secrets.get(tenant, name)
            redactor.know(known[name])
        return known[name]

    def text_of(part: Json) -> str:
        if isinstance(part, dict):
            return read(part["secret"]) if "secret" in part else render(part.get("value"))
        return str(part)

    for pointer, parts in places.items():
        if len(parts) == 1 and isinstance(parts[0], dict) and "secret" in parts[0]:
            value = _structured(read(parts[0]["secret"]))
        else:
            value = "".join(text_of(part) for part in parts)
        config = _put(config, _steps(pointer), value, pointer)
    return config


def _structured(text: str) -> Json:
    """An object or list when the secret's text is one, and else the text: a PIN of digits stays a text."""
    if text.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return text
    return text


def _steps(pointer: str) -> list[str]:
    if pointer == "":
        return []
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.removeprefix("/").split("/")]


def _put(here: Json, steps: list[str], value: Json, pointer: str) -> Json:
    if not steps:
        return value
    first, rest = steps[0], steps[1:]
    if isinstance(here, dict):
        return {**here, first: _put(here.get(first), rest, value, pointer)}
    if isinstance(here, list) and first.isdigit() and int(first) < len(here):
        return [_put(item, rest, value, pointer) if index == int(first) else item for index, item in enumerate(here)]
    raise ValidationError(f"the configuration has no place {pointer!r} for a secret")
