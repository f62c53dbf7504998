"""Large values outside of the state machine: a claim stands in a value's place, and is given back where a function reads it.

A claim is `{"$ref": "s3://<bucket>/<key>", "size": bytes, "sha256": hex}`, of the value's compact JSON. States pass it on like
any value. Nothing else is one: another shape, bucket or tenant is data. Who writes a claim by hand must know the hash of what
it names, so that data from outside opens nothing.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from aslant import keys
from aslant.contracts import CLAIM_THRESHOLD, MAX_PAYLOAD
from aslant.errors import NotFoundError, PayloadTooLarge, ValidationError
from aslant.ports import Artifacts
from aslant.values import compact, size

Json = Any

LARGEST = 64 * 1024 * 1024  # bytes of all that a step gives, or reads by claims
_CLAIM = 250  # bytes of a claim, about
_WORTH = 2 * _CLAIM  # bytes of what it is worth to store
_SHAPE = frozenset({"$ref", "size", "sha256"})
_HASH = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Claims:
    """Stores and resolves the claims of one execution. `bucket` is that of `artifacts`."""

    artifacts: Artifacts
    bucket: str
    tenant: str

    def fit(
        self, value: Json, execution: str, *, over: int = CLAIM_THRESHOLD, keep: Collection[str] = (),
        open: Collection[str] = (), most: int = MAX_PAYLOAD, what: str = "result",
    ) -> Json:
        """The value with its largest parts as claims, so that it has `over` bytes at most where that can be.

        JSON pointers: what is at or below one of `keep` is read by the state machine itself and stays, and an object at one of
        `open` stays an object. Raises PayloadTooLarge when more than `most` bytes stay.
        """
        length = size(value)
        if length <= min(over, most):  # with 0, everything is stored
            return value
        stored = self._smaller(value, length, execution, over, frozenset(keep), frozenset(open))
        left = size(stored)
        if left > most:
            paths = ", ".join(path or "all of it" for path in sorted(keep)) or "many small parts"
            raise PayloadTooLarge(
                f"the {what} has {length:,} bytes of JSON, of which the state machine itself reads {left:,} ({paths}); "
                f"a state passes on {most:,} at most"
            )
        return stored

    def _smaller(
        self, value: Json, length: int, execution: str, over: int, keep: frozenset[str], open: frozenset[str]
    ) -> Json:
        if "" in keep:
            return value
        split = {path[:end] for path in (*keep, *(f"{path}/" for path in open)) for end in _ends(path)}
        if not split:
            return self.store(value, execution)
        parts = sorted(_parts(value, "", keep, split), key=lambda part: -part[1])
        chosen = set()
        for path, part in parts:
            if length <= over or (part < _WORTH and over):
                break
            chosen.add(path)
            length -= part - _CLAIM
        return self._replaced(value, "", chosen, execution)

    def _replaced(self, value: Json, path: str, chosen: set[str], execution: str) -> Json:
        if path in chosen:
            return self.store(value, execution)
        if isinstance(value, dict) and any(one.startswith(f"{path}/") for one in chosen):
            return {key: self._replaced(item, f"{path}/{_escaped(key)}", chosen, execution) for key, item in value.items()}
        return value

    def store(self, value: Json, execution: str) -> Json:
        """The claim of a value, which is stored now."""
        data = compact(value).encode("utf-8", "surrogatepass")
        digest = hashlib.sha256(data).hexdigest()
        key = self.artifacts.put(self.tenant, execution, f"claims/{digest}", data)
        return {"$ref": f"s3://{self.bucket}/{key}", "size": len(data), "sha256": digest}

    def resolve(self, value: Json) -> Json:
        """The value with everything in it that is stored. Raises NotFoundError for what is gone, PayloadTooLarge."""
        known: dict[str, Json] = {}
        left = [LARGEST]

        def found(item: Json) -> Json:
            if isinstance(item, dict):
                if self._is_claim(item):
                    digest = item["sha256"]
                    if digest not in known:
                        left[0] -= item["size"]
                        if left[0] < 0:
                            raise PayloadTooLarge(f"stored values of more than {LARGEST:,} bytes are read at once")
                        known[digest] = found(self._read(item))
                    return known[digest]
                return {key: found(each) for key, each in item.items()}
            return [found(each) for each in item] if isinstance(item, list) else item

        try:
            return found(value)
        except RecursionError:
            raise ValidationError("the values are nested too deeply") from None

    def _is_claim(self, item: dict[str, Json]) -> bool:
        if item.keys() != _SHAPE or not isinstance(item["$ref"], str) or not isinstance(item["sha256"], str):
            return False
        prefix = f"s3://{self.bucket}/{keys.artifacts(self.tenant)}"
        count = item["size"]
        whole = isinstance(count, int | float) and not isinstance(count, bool) and count >= 0
        return whole and item["$ref"].startswith(prefix) and _HASH.fullmatch(item["sha256"]) is not None

    def _read(self, claim: dict[str, Json]) -> Json:
        key = claim["$ref"].removeprefix(f"s3://{self.bucket}/")
        data = self.artifacts.get(self.tenant, key, LARGEST)
        if hashlib.sha256(data).hexdigest() != claim["sha256"]:
            raise NotFoundError(f"the stored value {key} is not the one that was stored")
        return json.loads(data)


def _parts(value: Json, path: str, keep: Collection[str], split: Collection[str]) -> Iterator[tuple[str, int]]:
    """The parts that may become claims: the values of the objects that stay objects."""
    if path in keep:
        return
    if isinstance(value, dict) and path in split:
        for key, item in value.items():
            yield from _parts(item, f"{path}/{_escaped(key)}", keep, split)
    else:
        yield path, size(value)


def _ends(path: str) -> list[int]:
    """Where the pointers to what is around `path` end: `/a/b` is in `` and in `/a`."""
    return [index for index, char in enumerate(path) if char == "/"]


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
