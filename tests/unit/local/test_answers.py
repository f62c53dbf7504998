"""What a request is answered is the same with our faster way of looking for it."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from moto.core.serialize import DEFAULT_ALIAS_PROVIDERS, XFormedAttributePicker
from moto.core.utils import get_service_model

from infra.local.moto_patches import answers
from infra.local.moto_patches.registry import PATCHES, install

SERVICES = {"stepfunctions": "GetExecutionHistory", "dynamodb": "Query", "sqs": "ReceiveMessage", "events": "DescribeRule"}


class _Serializer:
    """Stands in for a serializer between two members."""

    path = ("a",)

    def __init__(self, service: str, operation: str) -> None:
        self.operation_model = get_service_model(service).operation_model(operation)
        self._value_picker = XFormedAttributePicker()


def structures(shape: Any, seen: set[str]) -> Any:
    if shape.type_name == "structure" and shape.name not in seen:
        seen.add(shape.name)
        yield shape
        for member in shape.members.values():
            yield from structures(member, seen)
    elif shape.type_name == "list":
        yield from structures(shape.member, seen)
    elif shape.type_name == "map":
        yield from structures(shape.value, seen)


def found(get_value: Any) -> list[tuple[str, str, str, Any]]:
    """For each member of each structure of the answers: what is found in data that has it under each name that there may be."""
    rows = []
    for service, operation in SERVICES.items():
        serializer = _Serializer(service, operation)
        for shape in structures(serializer.operation_model.output_shape, set()):
            for key, member in shape.members.items():
                member.parent = shape
                vars(member).pop("names_in_data", None)
                names = [key, key[0].lower() + key[1:], key.lower(), member.name, key.removeprefix(shape.name), "other"]
                for name in names:
                    for data in ({name: 0}, {name: None, key: 1}, {name: {"x": 1}, "other": 2}, {}):
                        rows.append((shape.name, key, name, get_value(serializer, data, key, member)))
    return rows


def test_members_are_found_where_moto_finds_them():
    from moto.core.serialize import ResponseSerializer

    assert len(DEFAULT_ALIAS_PROVIDERS) == 6
    alone = found(ResponseSerializer.get_value)
    with ExitStack() as stack:
        install(stack, [one for one in PATCHES if one.replacement.__module__ == answers.__name__])
        patched = found(ResponseSerializer.get_value)
    assert patched == alone
    assert len(alone) > 1000 and sum(value is not None for *_, value in alone) > 500


def test_what_is_no_plain_data_is_left_to_moto():
    from moto.core.serialize import ResponseSerializer

    class Queue:
        queue_url = "u"

    with ExitStack() as stack:
        install(stack, [one for one in PATCHES if one.replacement.__module__ == answers.__name__])
        serializer = _Serializer("sqs", "GetQueueUrl")
        shape = serializer.operation_model.output_shape
        member = shape.members["QueueUrl"]
        member.parent = shape
        assert ResponseSerializer.get_value(serializer, Queue(), "QueueUrl", member) == "u"
