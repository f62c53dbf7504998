"""Lists the checkpoints of an execution, makes one, shows or deletes one.

A checkpoint says what had completed at a moment; `aslant restore` goes back to it.
"""

from __future__ import annotations

import argparse
import sys

from aslant import documents
from infra.cli import pictures
from infra.cli.errors import FINE, UsageError
from infra.cli.executions import add_id
from infra.cli.output import put_json
from infra.cli.target import TENANT, add_json, add_target, add_user, connected, same_target
from translator.reporting import visible

EXAMPLES = """\
examples:
  aslant checkpoints 3f2a
  aslant checkpoints 3f2a create --label "before the move"
  aslant checkpoints 3f2a show 4
  aslant checkpoints 3f2a delete 4
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_id(parser)
    parser.add_argument("action", nargs="?", default="list", choices=("list", "create", "show", "delete"),
        help="what to do (default: list)")
    parser.add_argument("number", nargs="?", type=int, metavar="N", help="the number of a checkpoint, for show and delete")
    parser.add_argument("--label", default="", metavar="TEXT", help="what it is, for create")
    add_json(parser)
    add_user(parser)
    add_target(parser)


def execute(args: argparse.Namespace) -> int:
    needs = args.action in ("show", "delete")
    if needs and args.number is None:
        raise UsageError(f"checkpoints {args.id} {args.action} needs the number of a checkpoint")
    if not needs and args.number is not None:
        raise UsageError(f"checkpoints {args.id} {args.action} takes no number")
    with connected(args) as target:
        id, executions = target.execution(args.id).id, target.executions
        if args.action == "delete":
            executions.delete_checkpoint(TENANT, id, args.number)
            if args.json:
                put_json({"deleted": args.number})
            else:
                print(f"checkpoint {args.number} is deleted")
            return FINE
        if args.action == "list":
            found = executions.checkpoints(TENANT, id)
        elif args.action == "create":
            found = (executions.checkpoint(TENANT, id, by=target.user, label=args.label),)
        else:
            found = (executions.read_checkpoint(TENANT, id, args.number),)
    if args.json:
        rows = [documents.checkpoint(one) for one in found]
        put_json(rows if args.action == "list" else rows[0])
        return FINE
    if not found:
        print(
            f"there are no checkpoints; `aslant checkpoints {visible(id)} create{same_target(args)}` makes one now, and\n"
            "`settings: {checkpoint: {policy: every_node}}` in the definition one after each step", file=sys.stderr,
        )  # fmt: skip
        return FINE
    shown = [
        (str(one.number), pictures.when(one.at // 1000), one.reason, str(len(one.steps)), visible(one.by), visible(one.label))
        for one in found
    ]
    lines = pictures.table(("number", "at", "reason", "steps", "by", "label"), shown)
    if args.action == "show":
        lines += [[(f"  {visible(step)}", "")] for step in found[0].steps] + [[(f"sha256 {found[0].sha256}", "dim")]]
    pictures.put(lines, sys.stdout)
    return FINE
