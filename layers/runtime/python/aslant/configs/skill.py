"""Configuration of skill steps."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, model_validator

from aslant.configs.base import MAYBE, Config, Data, Name


class SkillConfig(Config):
    """A call of a registered skill."""

    skill: Name
    """The name that the skill is registered under."""
    parameters: Data = Field(default_factory=dict)
    """The skill's arguments by name."""
    version: Annotated[str, Field(pattern=r"^\d{1,6}(\.\d{1,6}){0,2}$"), MAYBE] | None = None
    """The version of the skill, or how it begins (`2`, `2.1`); the newest that is active without it."""
    input: Any = None
    """Data that is handed on as the argument `input` to a skill that takes one; a Lambda or HTTP skill gets the key."""

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, data: Any) -> Any:
        """An `input` of null is an input too."""
        if isinstance(data, dict):
            return {key: value for key, value in data.items() if value is not None or key == "input"}
        return data

    @property
    def offered(self) -> dict[str, Any]:
        """`input`, if there is one besides the parameters."""
        given = "input" in self.model_fields_set and "input" not in self.parameters
        return {"input": self.input} if given else {}
