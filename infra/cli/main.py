"""The `aslant` command: finds the command's module, runs it and turns what happens into an exit code.

Exit codes: 0 fine, 1 findings, 2 usage, 3 a run failed, 70 a fault of aslant itself, 130 interrupted, 143 terminated.
A command is a module of this package with `add_arguments(parser)` and `execute(args) -> int`, or one of several in the
COMMANDS of a module; only the module of the command that is asked for is imported.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import importlib
import io
import os
import signal
import sys
from collections.abc import Sequence
from typing import NoReturn

from infra.cli.command import Command
from infra.cli.errors import INTERNAL, INTERRUPTED, USAGE, UsageError
from infra.cli.signals import Signals, leave

COMMANDS = {
    "new": "write a commented starter definition",
    "validate": "check definitions and report what is wrong with them",
    "compile": "turn a definition into an AWS Step Functions state machine",
    "estimate": "say what an execution of a definition costs",
    "graph": "draw a definition (Mermaid, Graphviz or SVG)",
    "convert": "rewrite a definition in another dialect",
    "run": "run a definition on this machine",
    "explain": "say what a finding's code means and what to write instead",
    "triggers": "show when a workflow's schedules start it next",
    "dev": "keep a local cloud running, for the commands that follow",
    "token": "make a token for its HTTP API",
    "push": "publish definitions to it",
    "copy": "copy a workflow from one installation to another",
    "start": "start an execution",
    "list": "list executions",
    "show": "show an execution: its steps, when they ran, what it costs",
    "watch": "follow an execution until it ends",
    "approvals": "list what waits for an answer",
    "approve": "say yes to an approval",
    "reject": "say no to an approval",
    "answer": "answer an approval with a text or a choice",
    "pause": "stop an execution so that it can go on later",
    "resume": "let a paused execution go on",
    "retry": "let an execution go on that failed, timed out or was cancelled",
    "restore": "go back to a checkpoint of an execution",
    "rerun": "run a step of an execution, and what depends on it, again",
    "cancel": "end an execution",
    "rollback": "undo what an execution did",
    "checkpoints": "list, make, show and delete checkpoints of an execution",
    "transitions": "show how an execution came to its status",
    "events": "show the events of an execution",
    "skills": "register, list, show and try skills",
}
# Commands that share a module with others; it has them in its COMMANDS.
_SHARED = {
    **dict.fromkeys(("list", "show", "watch", "transitions"), "executions"),
    **dict.fromkeys(("approvals", "approve", "reject", "answer"), "answers"),
    **dict.fromkeys(("pause", "resume", "retry", "restore", "rerun", "cancel", "rollback"), "control"),
}
# What other tools call commands, and what is written here.
_INSTEAD = {
    "logs": "aslant events ID or aslant show ID", "replay-dlq": "aslant triggers replay", "init": "aslant new NAME",
    "check": "aslant validate FILE", "lint": "aslant validate FILE", "test": "aslant run FILE", "deploy": "aslant push FILE",
    "publish": "aslant push FILE", "stop": "aslant cancel ID", "status": "aslant show ID", "ls": "aslant list",
}
_EXAMPLES = """\
examples:
  aslant new hello                      write hello.yaml, a first workflow
  aslant validate hello.yaml            check it
  aslant run hello.yaml -i who=Ada      run it here, no account needed
  aslant compile hello.yaml --report    what it becomes on AWS
  aslant dev hello.yaml                 keep it, and start it with `aslant start hello`

exit codes: 0 fine, 1 findings, 2 usage, 3 a run failed, 130 interrupted, 143 terminated
`aslant help COMMAND` says more about a command. ASLANT_DEBUG=1 shows the traceback of an internal fault.
"""


class _Help(argparse.HelpFormatter):
    """Wraps paragraphs at the terminal's width; those with indented lines, such as examples, stay as they are."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        paragraphs = text.strip("\n").split("\n\n")
        return "\n\n".join(
            part if "\n  " in part or part.startswith("  ") else super(_Help, self)._fill_text(part, width, indent)
            for part in paragraphs
        ) + "\n"


class _Parser(argparse.ArgumentParser):
    """Names the nearest command when one is misspelled."""

    def error(self, message: str) -> NoReturn:
        if "invalid choice" in message:
            given = message.split("invalid choice: ", 1)[1].split(" (", 1)[0].strip("'\"")
            known = message.split("choose from ", 1)[1].rstrip(")").replace("'", "").split(", ")
            close = difflib.get_close_matches(given, known, 1)
            message = message.split(": invalid choice", 1)[0] + f": there is no {given!r}"
            if given in _INSTEAD:
                message += f"; write {_INSTEAD[given]}"
            else:
                message += f"; did you mean {close[0]}?" if close else f" (choose from {', '.join(known)})"
        super().error(message)


def parser(command: str | None) -> argparse.ArgumentParser:
    """The parser with the arguments of `command`; other commands are known by name only."""
    top = _Parser(
        prog="aslant", description="Compiles workflow definitions into AWS Step Functions and runs them locally.",
        epilog=_EXAMPLES, formatter_class=_Help, allow_abbrev=False,
    )
    top.add_argument("--version", action="store_true", help="print the version")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    commands.add_parser("help", help="say more about a command", add_help=False)  # `main` makes it --help
    for name, summary in COMMANDS.items():
        found = _command(name) if name == command else None
        sub = commands.add_parser(
            name, help=summary, description=found.description if found is not None else summary, allow_abbrev=False,
            formatter_class=_Help, epilog=found.examples if found is not None else None,
        )
        if found is not None:
            found.add_arguments(sub)
            sub.set_defaults(execute=found.execute, parser=sub)
    return top


def _command(name: str) -> Command:
    module = importlib.import_module(f"infra.cli.{_SHARED.get(name, name)}")
    if name in _SHARED:
        shared: Command = module.COMMANDS[name]
        return shared
    return Command(module.__doc__ or "", getattr(module, "EXAMPLES", None), module.add_arguments, module.execute)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command line and gives its exit code. Writes to stdout and stderr; never raises for a user's fault."""
    given = list(sys.argv[1:] if argv is None else argv)
    if given[:1] == ["help"]:
        given = [*given[1:2], "--help"]
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # closed by the caller
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - open as long as the process
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal without UTF-8 shows escapes
    chosen = next((word for word in given if not word.startswith("-")), None)
    signals = Signals()
    try:
        try:
            signals.watch()
            return _guarded(given, chosen)
        finally:
            signals.release(ending=argv is None)
    except KeyboardInterrupt as stop:
        with contextlib.suppress(OSError, ValueError):
            print(f"aslant: {getattr(stop, 'word', 'interrupted')}", file=sys.stderr)
        code: int = getattr(stop, "code", INTERRUPTED)
        if argv is None:  # the process ends, though a skill may hang
            leave(code)
        return code


def _guarded(given: list[str], chosen: str | None) -> int:
    try:
        return _execute(given, chosen)
    except SystemExit as stop:  # argparse: help or a usage message, already printed
        return stop.code if isinstance(stop.code, int) else USAGE
    except UsageError as error:
        print(f"aslant: {error}", file=sys.stderr)
        return USAGE
    except BrokenPipeError:
        _abandon_stdout()
        return 128 + signal.SIGPIPE
    except OSError as error:  # such as a full disk behind standard output
        _abandon_stdout()
        print(f"aslant: {error.strerror or error}", file=sys.stderr)
        return USAGE
    except Exception as error:
        if os.environ.get("ASLANT_DEBUG") == "1":
            raise
        print(f"aslant: internal fault: {type(error).__name__}: {error}\n"
            "This is a mistake in aslant, not in the definition. ASLANT_DEBUG=1 shows where.", file=sys.stderr)
        return INTERNAL


def _execute(given: list[str], chosen: str | None) -> int:
    top = parser(chosen if chosen in COMMANDS else None)
    args, unknown = top.parse_known_args(given)
    if unknown:  # with the usage of the command that does not know them
        getattr(args, "parser", top).error(f"unrecognized arguments: {' '.join(unknown)}")
    if args.version:
        from infra.cli.output import version

        print(f"aslant {version()}")
        return 0
    if args.command is None:
        top.print_help(sys.stderr)
        return USAGE
    if getattr(args, "url", None) or getattr(args, "profile", None):
        from infra.cli.remote import execute

        code: int = execute(args)
    else:
        code = args.execute(args)
    sys.stdout.flush()
    return code


def _abandon_stdout() -> None:
    """The reader is gone: keep the interpreter from complaining about it while it shuts down."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
