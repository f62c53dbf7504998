"""Names and hashes of executions, their runs, and records of parts of steps."""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Collection, Mapping
from typing import Any

Json = Any

_LONGEST_ID = 500  # characters; a key of DynamoDB has 2048 bytes
_LONGEST = 80  # characters that Step Functions takes for a name
_RUN = re.compile(r"-r[1-9][0-9]*$")
_PART = re.compile(r"(?:items|evaluate:[0-9a-f]{8}) ")  # what a record begins with that holds a part of a step


def keyed_id(tenant: str, key: str) -> str:
    """The id of the execution that a caller's key stands for."""
    digest = hashlib.sha256(json.dumps([tenant, key]).encode()).digest()
    return str(uuid.UUID(bytes=digest[:16], version=5))


def run_name(id: str, number: int) -> str:
    """The name of a run's execution of the state machine. `id` may be the ARN of one that was started by hand."""
    name = id.rpartition(":")[2]
    suffix = f"-r{number}" if number > 1 else ""
    if len(name) + len(suffix) <= _LONGEST:
        return name + suffix
    return f"{name[:40]}-{hashlib.sha256(id.encode()).hexdigest()[:24]}{suffix}"


def child_id(arn: str) -> str:
    """The id of the child whose run is the execution `arn`: the name without the run's number."""
    return _RUN.sub("", arn.rpartition(":")[2])


def arn_of(machine: str, name: str) -> str:
    """The ARN of an execution of a Standard state machine; that of a version or alias is left out of it."""
    parts = machine.split(":")[:7]
    parts[5] = "execution"
    return ":".join([*parts, name])


def body_hash(body: Mapping[str, Json]) -> str:
    """SHA-256 of what a start was asked for, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(body, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def is_id(text: str) -> bool:
    """Whether a text from outside can be the id of an execution: a key of DynamoDB takes it."""
    try:
        return 0 < len(text) <= _LONGEST_ID and bool(text.encode())
    except UnicodeEncodeError:
        return False


def is_part(step: str, known: Collection[str]) -> bool:
    """Whether a record holds a part of a step, such as the values that were computed for it: it is no step itself."""
    return step not in known and _PART.match(step) is not None


def without_part(step: str) -> str:
    """The step that such a record is of."""
    return _PART.sub("", step, count=1)
