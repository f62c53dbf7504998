"""Configuration of command steps."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from aslant.configs.base import MAYBE, Config, Name, Scalar, Scalars, Seconds, Text


class CommandConfig(Config):
    """One program, run without a shell."""

    command: Name
    """The program."""
    args: Annotated[list[Scalar], MAYBE] = Field(default_factory=list)
    """Its arguments, each passed as it is."""
    env: Scalars = Field(default_factory=dict)
    """Its environment."""
    stdin: Text = ""
    """Its input."""
    cwd: Name | None = None
    """Its working directory, below the artifact folder."""
    timeout: Seconds = 300
    """Seconds that it may run."""
