"""Changing how an execution goes on: pause, resume, retry, restore, rerun, cancel, rollback."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Callable, Mapping

from aslant import documents
from aslant.errors import InvalidTransition
from aslant.executions.plan import Plan
from aslant.executions.records import Execution
from infra.cli import pictures
from infra.cli.command import Command
from infra.cli.errors import FINE, RUN_FAILED, UsageError
from infra.cli.executions import add_id
from infra.cli.following import follow
from infra.cli.output import person, put_json
from infra.cli.target import TENANT, Target, add_json, add_target, add_user, connected, same_target
from translator.reporting import visible

_DONE = {
    "pause": "is paused; `aslant resume {id}{options}` lets it go on",
    "cancel": "is cancelled", "rollback": "is being rolled back; `aslant watch {id}{options}` tells how that ends",
}


def _common(parser: argparse.ArgumentParser) -> None:
    add_json(parser)
    add_user(parser)
    add_target(parser)


def _planned(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--plan", action="store_true", help="only show which steps would run again, and which are kept")
    parser.add_argument("--yes", action="store_true", help="do not ask before what has completed is run again")
    _common(parser)


def _pause_arguments(parser: argparse.ArgumentParser) -> None:
    add_id(parser)
    parser.add_argument("--reason", "--comment", default="", metavar="TEXT", help="why; it is kept and shown")
    _common(parser)


def _cancel_arguments(parser: argparse.ArgumentParser) -> None:
    add_id(parser)
    parser.add_argument("--reason", "--comment", default="", metavar="TEXT", help="why; it is kept and shown")
    parser.add_argument("--compensate", action="store_true", help="undo what has completed")
    _common(parser)


def _rollback_arguments(parser: argparse.ArgumentParser) -> None:
    add_id(parser)
    parser.add_argument("--wait", action="store_true", help="follow it to its end; exit code 3 when something was not undone")
    _common(parser)


def _version_arguments(parser: argparse.ArgumentParser) -> None:
    add_id(parser)
    parser.add_argument("--version", dest="wanted", metavar="V", help="go on with another version (default: its own)")
    _planned(parser)


def _restore_arguments(parser: argparse.ArgumentParser) -> None:
    add_id(parser)
    parser.add_argument("number", type=_number, metavar="N", help="the number of a checkpoint")
    _planned(parser)


def _rerun_arguments(parser: argparse.ArgumentParser) -> None:
    add_id(parser)
    parser.add_argument("step", metavar="STEP", help="the id of a step")
    parser.add_argument("--version", dest="wanted", metavar="V", help="as another version has it (default: its own)")
    _planned(parser)


def _number(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 10**8:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of a checkpoint")
    return int(text)


def _pause(args: argparse.Namespace) -> int:
    return _simply(args, lambda to, id: to.executions.pause(TENANT, id, by=to.user, reason=args.reason))


def _cancel(args: argparse.Namespace) -> int:
    return _simply(args, lambda to, id: to.executions.cancel(
        TENANT, id, by=to.user, reason=args.reason, compensate=args.compensate
    ))  # fmt: skip


def _rollback(args: argparse.Namespace) -> int:
    if not args.wait:
        return _simply(args, lambda to, id: to.executions.rollback(TENANT, id, by=to.user))
    with connected(args) as target:
        id = target.executions.rollback(TENANT, target.execution(args.id).id, by=target.user).id
        view = follow(target, id, quiet=args.json)
    if args.json:
        put_json(documents.view(view))
    else:
        pictures.put(pictures.heading(view), sys.stdout)
    return FINE if view.execution.status == "rolled_back" else RUN_FAILED


def _simply(args: argparse.Namespace, act: Callable[[Target, str], Execution]) -> int:
    with connected(args) as target:
        after = act(target, target.execution(args.id).id)
    _say(args, after, _DONE[args.command])
    return FINE


def _resume(args: argparse.Namespace) -> int:
    return _again(
        args, lambda to, id: to.executions.plan(TENANT, id, "resume", version=args.wanted),
        lambda to, id: to.executions.resume(TENANT, id, by=to.user, version=args.wanted),
    )


def _retry(args: argparse.Namespace) -> int:
    return _again(
        args, lambda to, id: to.executions.plan(TENANT, id, "retry", version=args.wanted),
        lambda to, id: to.executions.retry(TENANT, id, by=to.user, version=args.wanted),
    )


def _restore(args: argparse.Namespace) -> int:
    return _again(
        args, lambda to, id: to.executions.plan(TENANT, id, "restore", checkpoint=args.number),
        lambda to, id: to.executions.restore(TENANT, id, args.number, by=to.user),
    )


def _rerun(args: argparse.Namespace) -> int:
    return _again(
        args, lambda to, id: to.executions.plan(TENANT, id, "rerun", step=args.step, version=args.wanted),
        lambda to, id: to.executions.rerun(TENANT, id, args.step, by=to.user, version=args.wanted),
    )


def _again(
    args: argparse.Namespace, plan: Callable[[Target, str], Plan], act: Callable[[Target, str], Execution]
) -> int:
    """Another run. What it does is shown first; where that throws results away, it needs a yes."""
    with connected(args) as target:
        execution = target.execution(args.id)
        if args.plan:
            show(args, plan(target, execution.id))
            return FINE
        found: Plan | None = None
        with contextlib.suppress(InvalidTransition):  # the call itself says so, unless it goes on so already
            found = plan(target, execution.id)
        if found is not None:
            consent(args, found)
        after = act(target, execution.id)
    _say(args, after, f"goes on with run {after.run}; `aslant watch {{id}}{{options}}` follows it")
    return FINE


def show(args: argparse.Namespace, found: Plan) -> None:
    """A plan that was asked for."""
    if args.json:
        put_json(documents.plan(found))
    else:
        pictures.put(pictures.plan(found), sys.stdout)


def consent(args: argparse.Namespace, found: Plan) -> None:
    """Shows what a run will do. Where it throws away what has completed, it raises UsageError without a yes."""
    if not args.json:
        pictures.put(pictures.plan(found), sys.stderr)
    if args.yes or not found.discards:
        return
    if args.json or not person():
        raise UsageError(
            "nothing was done: what completed, or was not undone, runs again only with --yes, or when a terminal can be asked"
        )
    if not _agreed():
        raise UsageError("nothing was done")


def _agreed() -> bool:
    print("go on? [y/n] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _say(args: argparse.Namespace, after: Execution, text: str) -> None:
    if args.json:
        put_json(documents.execution(after))
    else:
        print(f"{visible(after.id)} {text.format(id=visible(after.id), options=same_target(args))}")


_REPLAY = "Steps that have completed keep their results and are not run again."
COMMANDS: Mapping[str, Command] = {
    "pause": Command(
        "Stops an execution so that it can go on later. Steps that run may finish, and what they did counts. Executions that"
        " it started are paused with it.", "examples:\n  aslant pause 3f2a --reason 'the shop is closed'\n",
        _pause_arguments, _pause,
    ),
    "resume": Command(
        f"Lets a paused execution go on. {_REPLAY} Waits keep their deadlines and approvals their answers.",
        "examples:\n  aslant resume 3f2a\n  aslant resume 3f2a --version 1.1.0 --plan\n", _version_arguments, _resume,
    ),
    "retry": Command(
        f"Lets an execution go on that failed, timed out, was cancelled or rolled back. {_REPLAY}",
        "examples:\n  aslant retry 3f2a\n  aslant retry 3f2a --version 1.0.1\n", _version_arguments, _retry,
    ),
    "restore": Command(
        "Goes back to a checkpoint: what ended after it runs again. `aslant checkpoints ID` lists them.",
        "examples:\n  aslant restore 3f2a 4 --plan\n", _restore_arguments, _restore,
    ),
    "rerun": Command(
        "Runs a step, and every step that depends on it, again.", "examples:\n  aslant rerun 3f2a unit_tests\n",
        _rerun_arguments, _rerun,
    ),
    "cancel": Command(
        "Ends an execution, with the executions that it started and its open approvals.",
        "examples:\n  aslant cancel 3f2a --compensate\n", _cancel_arguments, _cancel,
    ),
    "rollback": Command(
        "Undoes what an execution did, the latest first. It must be paused, failed, timed out or cancelled.",
        "examples:\n  aslant rollback 3f2a --wait\n", _rollback_arguments, _rollback,
    ),
}  # fmt: skip
