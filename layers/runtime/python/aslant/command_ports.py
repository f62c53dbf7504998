"""What command steps need from the outside. The other ports are in `aslant.ports`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

Line = Callable[[str, str], None]  # a stream's name (stdout, stderr) and one line of it


@dataclass(frozen=True, slots=True)
class CommandRequest:
    """`command` is a name on the installation's list; `cwd` and the names of `files` are within the command's folder."""

    command: str
    args: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    stdin: bytes = b""
    files: Mapping[str, bytes] = field(default_factory=dict)
    cwd: str | None = None
    timeout: float = 300.0   # seconds
    max_output: int = 32_000  # bytes that are kept of each stream


@dataclass(frozen=True, slots=True)
class CommandEnd:
    """`exit_code` is 128 + n after signal n. `tail` is the end of stderr, or of stdout where there is none."""

    exit_code: int
    stdout: bytes
    stderr: bytes
    stdout_cut: bool = False
    stderr_cut: bool = False
    tail: bytes = b""


class Commands(Protocol):
    def permits(self, name: str) -> bool:
        """Whether the installation runs a command of this name."""

    def run(self, request: CommandRequest, line: Line) -> CommandEnd:
        """Runs a command to its end, whatever its exit code; `line` is told each line as it comes.

        Raises AuthorizationError (not on the list), NotFoundError (not installed), ValidationError, StepTimeout or
        SandboxError.
        """
