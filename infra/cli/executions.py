"""Looking at executions: list, show, watch, transitions."""

from __future__ import annotations

import argparse
import functools
import json
import shutil
import sys
from collections.abc import Mapping

from aslant import documents
from aslant.executions.states import ACTIVE, STATUSES
from infra.cli import listing, pictures
from infra.cli.answers import pending
from infra.cli.command import Command
from infra.cli.errors import FINE
from infra.cli.following import children, code, follow
from infra.cli.output import put_json
from infra.cli.target import TENANT, add_json, add_target, connected
from translator.reporting import visible

_ALL_STEPS = 10_000


def add_id(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="the id of an execution, or its beginning")


def _number(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 1000:
        raise argparse.ArgumentTypeError("must be a number from 1 to 1,000")
    return int(text)


def _list_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--workflow", metavar="ID", help="only those of a workflow")
    parser.add_argument("--status", choices=STATUSES, metavar="STATUS", help=f"only those with a status: {', '.join(STATUSES)}")
    parser.add_argument("--limit", type=_number, default=20, metavar="N", help="how many (default 20)")
    parser.add_argument("--cursor", metavar="C", help="go on where the last list ended")
    add_json(parser)
    add_target(parser)


def _list(args: argparse.Namespace) -> int:
    with connected(args) as target:
        page = target.executions.list(
            TENANT, workflow=args.workflow, status=args.status, limit=args.limit, cursor=args.cursor
        )
        now = target.executions.clock()
        some = not args.json and any(one.status in ACTIVE for one in page.items)
        waiting = {str(item["execution"]) for item in pending(target)} if some else set()
    if args.json:
        put_json({"executions": [documents.execution(one) for one in page.items], "next": page.next})
        return FINE
    if not page.items:
        chosen = args.workflow or args.status or args.cursor
        nothing = "nothing has been started yet; `aslant start WORKFLOW` does that"
        print("no execution is like that" if chosen else nothing, file=sys.stderr)
        return FINE
    width = shutil.get_terminal_size().columns
    pictures.put(listing.lines(page.items, waiting, now=now, width=width), sys.stdout)
    if page.next:
        print(f"there are more: --cursor {page.next}", file=sys.stderr)
    return FINE


def _show_arguments(parser: argparse.ArgumentParser) -> None:
    add_id(parser)
    parser.add_argument("--outputs", action="store_true", help="with the outputs of steps")
    add_json(parser)
    add_target(parser)


def _show(args: argparse.Namespace) -> int:
    with connected(args) as target:
        id = target.execution(args.id).id
        view = target.views.view(TENANT, id)
        given, output = target.executions.input(TENANT, id), target.executions.output(TENANT, id)
        outputs: Mapping[str, object] = {}
        if args.outputs:
            records = target.executions.steps(TENANT, id, outputs=True)
            outputs = {record.label: record.output for record in records if record.status == "completed" and not record.native}
        if args.json:
            document = documents.view(view) | {"input": given, "output": output}
            put_json(document | ({"outputs": outputs} if args.outputs else {}))
            return FINE
        child = functools.cache(children(target))
        lines = [*pictures.heading(view), [], *pictures.tree(view, child)]
        if times := pictures.timeline(view, child):
            lines += [[], *times]
        lines += [[], *pictures.costs(view, child)]
    for label, value in outputs.items():
        lines.append([(f"{visible(label)}: ", "bold"), (json.dumps(value, ensure_ascii=False), "")])
    lines.append([("input: ", "bold"), (json.dumps(given, ensure_ascii=False), "")])
    if view.execution.status == "completed":
        lines.append([("output: ", "bold"), (json.dumps(output, ensure_ascii=False), "")])
    pictures.put(lines, sys.stdout)
    return FINE


def _watch_arguments(parser: argparse.ArgumentParser) -> None:
    add_id(parser)
    add_json(parser)
    add_target(parser)


def _watch(args: argparse.Namespace) -> int:
    with connected(args) as target:
        view = follow(target, target.execution(args.id).id, quiet=args.json)
        output = target.executions.output(TENANT, view.execution.id)
    if args.json:
        put_json(documents.view(view) | {"output": output})
    else:
        pictures.put(pictures.heading(view), sys.stderr)
        if view.execution.status == "completed":
            sys.stdout.write(json.dumps(output, indent=2, ensure_ascii=False) + "\n")
    return code(view)


def _transitions(args: argparse.Namespace) -> int:
    with connected(args) as target:
        found = target.executions.transitions(TENANT, target.execution(args.id).id)
    if args.json:
        put_json([documents.transition(one) for one in found])
        return FINE
    rows = [
        (pictures.when(one.at), one.after, str(one.run), visible(one.by), visible(one.reason)) for one in found
    ]
    pictures.put(pictures.table(("at", "status", "run", "by", "reason"), rows, {1: pictures.STYLES}), sys.stdout)
    return FINE


COMMANDS: Mapping[str, Command] = {
    "list": Command(
        "Lists executions, the newest first, those that another one started beneath it. Ids are shortened; other commands take"
        " them so, and --json gives them whole.",
        "examples:\n  aslant list --status failed\n  aslant list --workflow release --limit 5 --json\n",
        _list_arguments, _list,
    ),
    "show": Command(
        "Shows an execution: its steps as a tree, when they ran, and what it would cost on AWS.",
        "examples:\n  aslant show 3f2a\n  aslant show 3f2a --json --outputs\n", _show_arguments, _show,
    ),
    "watch": Command(
        "Follows an execution until it ends, then prints its output. Ctrl-C leaves it running.\n\n"
        "The exit code is 0 when it completes, and 3 when it ends otherwise.",
        "examples:\n  aslant watch 3f2a\n", _watch_arguments, _watch,
    ),
    "transitions": Command(
        "Shows every change of an execution's status: when, by whom, and why.", "examples:\n  aslant transitions 3f2a\n",
        _watch_arguments, _transitions,
    ),
}  # fmt: skip
