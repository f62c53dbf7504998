"""Configuration of command steps."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from aslant.configs.base import MAYBE, Config, Name, Scalar, Scalars, Seconds, Text

ExitCode = Annotated[int, Field(ge=0, le=255), MAYBE]


class CommandConfig(Config):
    """One program, run without a shell, without network and with a folder of its own."""

    command: Name
    """The program: a name on the installation's list (`ASLANT_COMMANDS`)."""
    args: Annotated[list[Scalar], MAYBE] = Field(default_factory=list)
    """Its arguments, each passed as it is."""
    env: Scalars = Field(default_factory=dict)
    """Its environment."""
    stdin: Text = ""
    """Its input."""
    files: Scalars = Field(default_factory=dict)
    """Files that its working directory has at the start: texts by name."""
    cwd: Name | None = None
    """Its working directory, below its own folder."""
    expected_exit_codes: Annotated[list[ExitCode], Field(min_length=1), MAYBE] = Field(default_factory=lambda: [0])
    """Exit codes that are no failure."""
    max_output_bytes: Annotated[int, Field(ge=0, le=100_000), MAYBE] = 32_000
    """Bytes of stdout, and of stderr, that the output holds at most; what is more is cut off."""
    timeout: Seconds = 300
    """Seconds that it may run."""
