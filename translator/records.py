"""What trees and workflows are made of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: type[T]) -> type[T]:
    """A dataclass that type checkers let nobody change.

    At run time nothing watches over that, so that making one takes a third of the time that a frozen dataclass takes: a
    compilation makes some fifty for each step.
    """
    own = "__eq__" not in cls.__dict__
    return dataclass(slots=True, eq=own, unsafe_hash=own)(cls)
