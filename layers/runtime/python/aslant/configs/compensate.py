"""Configuration of the steps that the compiler adds to a machine that undoes what an execution did."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from aslant.configs.base import Config


class CompensateConfig(Config):
    """Written by the translator; nobody else does."""

    action: Literal["plan", "values", "finish"]
    """What to do: say what is undone, read what an undo needs, or note what became of it."""
    request: dict[str, Any] = Field(default_factory=dict)
    """Why the rollback was started: `by` (failure, request, parent), `error` (error, message, step), `action` (rollback,
    compensate, or cancel, which undoes nothing)."""
    plan: dict[str, Any] = Field(default_factory=dict)
    """What the compiler knows: see `aslant.compensation.decide` and `plan`."""
    step: str = ""
    """The step that is undone; empty for the rollback steps."""
    iteration: list[int] = Field(default_factory=list)
    """Its iteration."""
    reads: dict[str, Any] = Field(default_factory=dict)
    """What is read, by the step that is undone: see `aslant.compensation.values`."""
    decided: str = ""
    """What the plan has decided: rollback, compensate, cancel or fail."""
    undo: list[Any] = Field(default_factory=list)
    """What was to be undone, in that order."""
    results: list[Any] = Field(default_factory=list)
    """What became of each."""
    steps: dict[str, str | None] = Field(default_factory=dict)
    """How each rollback step ended."""
