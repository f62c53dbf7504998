"""Configuration of skill steps."""

from __future__ import annotations

from pydantic import Field

from aslant.configs.base import Config, Data, Name


class SkillConfig(Config):
    """A call of a registered skill."""

    skill: Name
    """The name that the skill is registered under."""
    parameters: Data = Field(default_factory=dict)
    """The skill's arguments by name."""
