"""What a state machine calls, read off its definition: its role may do this and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_SYNC = ("states:startExecution.sync", "states:startExecution.sync:2")


@dataclass(frozen=True, slots=True)
class Needs:
    """Placeholders of a definition by what is done with them, and what it does with the bucket of large values.

    `functions` are invoked, `starts` are state machines that are started, `waits` those of them whose end is waited for.
    `runs_itself`: a Distributed Map starts executions of the machine that it is in.
    """

    functions: frozenset[str] = frozenset()
    starts: frozenset[str] = frozenset()
    waits: frozenset[str] = frozenset()
    reads_objects: bool = False
    writes_objects: bool = False
    runs_itself: bool = False


def needs_of(definition: Mapping[str, Any]) -> Needs:
    """The needs of a definition whose names of functions and state machines are still placeholders."""
    functions: set[str] = set()
    starts: set[str] = set()
    waits: set[str] = set()
    resources: set[str] = set()
    distributed = False
    for node in _mappings(definition):
        resource = node.get("Resource")
        service = resource.partition(":::")[2] if isinstance(resource, str) else ""
        if service:
            resources.add(service)
        arguments = node.get("Arguments")
        if isinstance(arguments, Mapping):
            if (place := _place(arguments.get("FunctionName"))) and service.startswith("lambda:"):
                functions.add(place)
            if (place := _place(arguments.get("StateMachineArn"))) and service.startswith("states:startExecution"):
                starts.add(place)
                if service in _SYNC:
                    waits.add(place)
        processor = node.get("ProcessorConfig")
        distributed = distributed or (isinstance(processor, Mapping) and processor.get("Mode") == "DISTRIBUTED")
    return Needs(
        frozenset(functions), frozenset(starts), frozenset(waits),
        reads_objects=any(name.startswith("s3:get") for name in resources),
        writes_objects=any(name.startswith("s3:put") for name in resources), runs_itself=distributed,
    )  # fmt: skip


def _place(value: Any) -> str:
    """The name of a placeholder, empty for anything else."""
    return value[2:-1] if isinstance(value, str) and value.startswith("${") else ""


def _mappings(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, Mapping):
        yield value
        for each in value.values():
            yield from _mappings(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _mappings(each)
