"""Answers of all services: what moto's serializer looks for in plain data is worked out once for each member of a shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from infra.local.moto_patches.registry import patch


@patch(
    "moto.core.serialize:ResponseSerializer.get_value",
    gap="each member of each event of a history is looked for under names that are made anew, milliseconds an event",
    fingerprint="5ac16904b91c",
    wraps=True,
)
def get_value(original: Callable[..., Any]) -> Callable[..., Any]:
    def value_of(self: Any, value: Any, key: str, shape: Any) -> Any:
        picker = self._value_picker
        if type(value) is not dict or getattr(picker, "response_transformers", True):
            return original(self, value, key, shape)
        names = vars(shape).get("names_in_data")
        if names is None and hasattr(shape, "parent"):  # its name may be part of the member's
            names = shape.names_in_data = _names(picker, key, shape)
        if not names:
            return original(self, value, key, shape)
        return next((value[name] for name in names if name in value), None)

    return value_of


def _names(picker: Any, key: str, shape: Any) -> tuple[str, ...]:
    """Where moto looks, in its order; nothing where one of them is a path."""
    from moto.core.serialize import AttributePickerContext

    names = tuple(dict.fromkeys(picker.get_possible_keys(AttributePickerContext({}, key, shape))))
    return () if any("." in name for name in names) else names
