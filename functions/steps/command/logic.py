"""One command: configuration -> process -> exit code and what it wrote, or CommandFailed."""

from __future__ import annotations

import time
from collections.abc import Callable

from aslant import observability
from aslant.command_ports import CommandRequest, Commands
from aslant.configs.command import CommandConfig
from aslant.contracts import Json, StepResult
from aslant.errors import CommandFailed
from aslant.step import StepRun, result
from aslant.values import render

_MOST_LINES = 2_000   # lines of the log
_MOST_TEXT = 500_000  # characters of the log
_SHOWN = 1_000        # characters of the output's end in an error


def call(config: CommandConfig, run: StepRun, commands: Commands) -> StepResult:
    """The output is `exit_code`, `stdout`, `stderr`, whether they were cut, and `elapsed_ms`.

    Each line goes to the log as it comes. Raises CommandFailed for an exit code that is not expected, and the errors of
    `Commands`. Under simulation a command that the installation does not run gives an output that says `simulated`.
    """
    if run.settings.simulate and not commands.permits(config.command):
        return result({"simulated": True, "type": run.type, "config": config.model_dump(exclude_unset=True)})
    started = time.monotonic()
    end = commands.run(request(config, run), _log(run))
    if end.exit_code not in config.expected_exit_codes:
        # Secrets leave before the text is cut: half of one would not be recognized.
        tail = run.redactor.text(end.tail.decode("utf-8", "replace").strip())[-_SHOWN:]
        raise CommandFailed(f"{config.command} ended with {end.exit_code}{': ' + tail if tail else ''}")
    output: dict[str, Json] = {
        "exit_code": end.exit_code, "stdout": end.stdout.decode("utf-8", "replace"),
        "stderr": end.stderr.decode("utf-8", "replace"), "stdout_truncated": end.stdout_cut,
        "stderr_truncated": end.stderr_cut, "elapsed_ms": round((time.monotonic() - started) * 1000),
    }
    for name in ("stdout", "stderr"):
        if output[f"{name}_truncated"]:
            output[name] = run.redactor.text(str(output[name]))  # also the start of a secret at the cut
    return result(output, calls=1)


def request(config: CommandConfig, run: StepRun) -> CommandRequest:
    """The request that a configuration describes."""
    def texts(values: dict[str, str | int | float | bool | None]) -> dict[str, str]:
        return {name: render(value) for name, value in values.items() if value is not None}

    return CommandRequest(
        config.command, [render(each) for each in config.args], texts(config.env), _bytes(config.stdin),
        {name: _bytes(text) for name, text in texts(config.files).items()}, config.cwd, run.remaining(config.timeout),
        config.max_output_bytes,
    )


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _log(run: StepRun) -> Callable[[str, str], None]:
    """Writes lines to the log, without secrets and within bounds."""
    ids = observability.step_ids(
        tenant=run.tenant, workflow=run.workflow, execution=run.execution, run=run.run, step=run.step, type=run.type,
        iteration=run.iteration, attempt=run.attempt,
    )
    lines = size = 0

    def line(stream: str, text: str) -> None:
        nonlocal lines, size
        if lines > _MOST_LINES or size > _MOST_TEXT:
            return
        lines += 1
        size += len(text)
        if lines > _MOST_LINES or size > _MOST_TEXT:
            text = "more lines are not logged"
        observability.log("INFO", "command output", ids, stream=stream, line=run.redactor.line(text))

    return line
