"""Templates: definitions with places that are filled in when a workflow is made of one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

Json = Any
MAX_TEMPLATES = 1000  # of a tenant, that a list shows


@dataclass(frozen=True, slots=True)
class TemplateRecord:
    """Moments are epoch milliseconds. `parameters` declare what fills the places, as inputs of a workflow are declared."""

    id: str
    text: str
    owner: str
    created_at: int
    changed_at: int
    revision: int
    name: str = ""
    description: str = ""
    category: str = ""
    parameters: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)


class TemplateStore(Protocol):
    """Every call takes the tenant; what another one has is not there."""

    def read(self, tenant: str, id: str) -> TemplateRecord | None: ...

    def all(self, tenant: str) -> list[TemplateRecord]:
        """By id, without their texts, MAX_TEMPLATES at most."""

    def write(self, tenant: str, before: TemplateRecord | None, after: TemplateRecord | None) -> None:
        """Puts `after` (or nothing) in the place of `before`. Raises ConflictError when that is not there any more."""
