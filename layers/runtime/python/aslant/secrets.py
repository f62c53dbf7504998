"""Puts the values of secrets into a configuration, and takes them out of everything that leaves the step."""

from __future__ import annotations

import base64
import functools
import html
import json
import re
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from aslant.contracts import Json
from aslant.errors import ValidationError
from aslant.ports import Secrets
from aslant.values import MAX_DEPTH, map_texts, read_json, render, whole_text

_NAME = re.compile(r"[A-Za-z0-9/_+=.@-]{1,256}\Z")
_INDEX = re.compile(r"(?:0|[1-9][0-9]{0,8})\Z")
_MASK = "***"
_SHORTEST = 4  # a shorter value stands in too many innocent texts
_LONG = 8      # from here on a value is found in any case, base64 also in the midst of more, and its start at a text's end
_DIGITS = 6    # a number with fewer may be any number
_TELLING = re.compile(r"pass|pwd|secret|token|key|credential|pin|auth", re.IGNORECASE)
_URL_SAFE = ("", "/", "/%:@!$&'()*+,;=~-._")  # characters that quoting may leave: in values, in paths, in whole addresses


class Redactor:
    """Knows the values of secrets and replaces them by `***`, in every spelling of `_spellings`."""

    def __init__(self) -> None:
        self._values: set[str] = set()
        self._spellings: list[tuple[str, str]] = []  # as it is and in lower case, the longest first
        self._numbers: set[Any] = set()
        self._lines: set[str] = set()  # of those with several, however short

    def learn(self, secret: Json, shortest: int = _SHORTEST) -> None:
        """Remember a secret's text. Of an object, the texts that are long or whose key says that they are secret."""
        known = len(self._values)
        self._learn(secret, shortest)
        if len(self._values) > known:
            every = {each for value in self._values for each in _spellings(value) if len(each) >= min(len(value), _LONG)}
            self._spellings = [(each, each.lower()) for each in sorted(every, key=len, reverse=True)]

    def _learn(self, secret: Json, shortest: int) -> None:
        if isinstance(secret, str):
            self._values.update(each for each in (secret, secret.strip()) if len(each.strip()) >= shortest)
            if "\n" in secret.strip():
                self._lines.update(line.strip() for line in secret.splitlines() if line.strip())
        elif isinstance(secret, dict):
            for key, value in secret.items():
                self._learn(value, _SHORTEST if _TELLING.search(key) else shortest)
        elif isinstance(secret, list):
            for value in secret:
                self._learn(value, shortest)
        elif isinstance(secret, int | float) and shortest == _SHORTEST and len(str(secret)) >= _DIGITS:
            self._numbers.add(secret)
            self._values.add(str(secret))

    def know(self, text: str) -> None:
        """Remember a secret as it is stored: its text, its lines, and what its JSON says."""
        self.learn(text)
        self.learn([*re.split(r"[?#]", text), *_of_url(text)], _LONG)  # addresses are shown without query and fragment
        if "\n" in text.strip():
            self.learn(text.splitlines(), _LONG)
        structured = _structured(text)
        if structured is not text:
            self.learn(structured, _LONG)

    def text(self, text: str) -> str:
        """The text without secrets, for people: also without the start of one at its end, where it may have been cut."""
        text = self._without(whole_text(text))
        for value in self._values:
            if len(value) <= _LONG:
                continue
            at = text.find(value[:_LONG])
            while at >= 0:
                if value.startswith(text[at:]):
                    text = text[:at] + _MASK
                    break
                at = text.find(value[:_LONG], at + 1)
        return text

    def line(self, text: str) -> str:
        """One of several lines that are shown apart: also without what is a whole line of a secret, however short."""
        return _MASK if text.strip() in self._lines else self.text(text)

    def json(self, value: Json) -> Json:
        if not self._values:
            return value
        value = map_texts(value, functools.cache(self._without))  # keys of rows repeat
        return self._without_numbers(value) if self._numbers else value

    def _without(self, text: str) -> str:
        if not self._spellings:
            return text
        lower = text.lower()
        for each, small in self._spellings:
            if each in text:
                text = text.replace(each, _MASK)
                lower = text.lower()
            if len(each) >= _LONG and small in lower:
                text = re.sub(re.escape(each), _MASK, text, flags=re.IGNORECASE)
                lower = text.lower()
        return text

    def _without_numbers(self, value: Json) -> Json:
        if isinstance(value, list):
            return [self._without_numbers(item) for item in value]
        if isinstance(value, dict):
            return {key: self._without_numbers(item) for key, item in value.items()}
        return _MASK if type(value) in (int, float) and value in self._numbers else value


def _of_url(text: str) -> Iterator[str]:
    """The parts of addresses that are secret by themselves: a password, and the long path of a webhook."""
    for scheme, rest in re.findall(r"([A-Za-z][A-Za-z0-9+.-]*)://(\S+)", text):
        host = re.split(r"[/?#]", rest, maxsplit=1)[0]
        yield host.rpartition("@")[0].partition(":")[2]
        path = re.split(r"[?#]", rest[len(host):], maxsplit=1)[0].strip("/")
        if scheme.lower() in ("http", "https") and len(path) >= 2 * _LONG:  # a short one is a word: `production`
            yield path


def _spellings(value: str) -> Iterator[str]:
    """A text as it is, and as URLs, JSON, HTML, Python, hexadecimal and base64 write it."""
    data = value.encode("utf-8", "surrogatepass")
    yield value
    for safe in _URL_SAFE:
        yield urllib.parse.quote(data, safe=safe)
    yield urllib.parse.quote_plus(data)
    for ascii_only in (True, False):
        once = json.dumps(value, ensure_ascii=ascii_only)[1:-1]
        yield once
        yield json.dumps(once, ensure_ascii=ascii_only)[1:-1]
    yield html.escape(value)
    yield repr(value)[1:-1]
    yield repr(data)[2:-1]
    yield data.hex()
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        yield encode(data).decode()
        for before in range(3 if len(data) > _LONG else 1):
            # With 0, 1 or 2 bytes of something else in front; characters that more than the secret decides are left out.
            code = encode(bytes(before) + data).decode()
            whole = (before + len(data)) // 3 * 4 + (before + len(data)) % 3
            yield code[(0, 2, 3)[before]:whole] if before or len(data) > _LONG else code.rstrip("=")


def resolve(
    config: Json, places: Mapping[str, Sequence[Json]], tenant: str, secrets: Secrets, redactor: Redactor
) -> Json:
    """The configuration with its secrets in place; `config` itself is not changed.

    `places` maps a JSON pointer to the parts of the text there (see `StepInvocation`). Raises ValidationError for a
    pointer that leads nowhere, SecretNotFound for a secret that does not exist.
    """
    if "/" in tenant:
        raise ValidationError("a tenant's name holds no slash: its secrets would be those of another one")
    if not isinstance(places, Mapping) or not all(isinstance(parts, list | tuple) for parts in places.values()):
        raise ValidationError("the places of secrets are JSON pointers, each with a list of parts")
    known: dict[str, str] = {}

    def read(name: Json) -> str:
        if not isinstance(name, str) or not _NAME.match(name):
            raise ValidationError(f"{str(name)[:100]!r} cannot be the name of a secret")
        if name not in known:
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
            return read_json(text)
        except ValueError:
            return text
    return text


def _steps(pointer: str) -> list[str]:
    if pointer == "":
        return []
    if pointer.count("/") > MAX_DEPTH:
        raise ValidationError(f"the place of a secret is more than {MAX_DEPTH} levels deep")
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.removeprefix("/").split("/")]


def _put(here: Json, steps: list[str], value: Json, pointer: str) -> Json:
    if not steps:
        return value
    first, rest = steps[0], steps[1:]
    if isinstance(here, dict):
        return {**here, first: _put(here.get(first), rest, value, pointer)}
    if isinstance(here, list) and _INDEX.match(first) and int(first) < len(here):
        return [_put(item, rest, value, pointer) if index == int(first) else item for index, item in enumerate(here)]
    raise ValidationError(f"the configuration has no place {pointer!r} for a secret")
