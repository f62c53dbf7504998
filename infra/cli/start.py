"""Starts an execution of a published workflow and prints its id.

With --key it is started once, however often the command is repeated with it. --wait follows it until it ends and prints
its output instead.
"""

from __future__ import annotations

import argparse
import json
import sys

from aslant import documents
from aslant.errors import NotFoundError
from infra.cli import pictures
from infra.cli.arguments import gather, print_problems
from infra.cli.errors import FINE, USAGE, UsageError
from infra.cli.following import code, follow
from infra.cli.output import put_json
from infra.cli.target import TENANT, Target, add_json, add_target, add_user, connected

EXAMPLES = """\
examples:
  aslant start release -i version=2.4.0 -i environment=staging
  aslant start release --input @input.json --key release-2.4.0
  aslant start nightly --wait
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("workflow", metavar="WORKFLOW", help="the id of a published workflow")
    parser.add_argument("-i", "--input", action="append", default=[], metavar="INPUT",
        help="a JSON object, @FILE with one, or NAME=VALUE (read by the declared type); may be repeated")
    parser.add_argument("--version", dest="wanted", metavar="V", help="a version (default: the published one)")
    parser.add_argument("--key", metavar="K", help="start it once for this key")
    parser.add_argument("--label", action="append", default=[], metavar="NAME=VALUE", help="a label; may be repeated")
    parser.add_argument("--wait", action="store_true", help="follow it until it ends, and print its output")
    add_json(parser)
    add_user(parser)
    add_target(parser)


def execute(args: argparse.Namespace) -> int:
    labels = {}
    for label in args.label:
        name, given, value = label.partition("=")
        if not given or not name:
            raise UsageError(f"--label {label!r} is not NAME=VALUE")
        labels[name] = value
    with connected(args) as target:
        executions = target.executions
        try:
            release = executions.releases.get(TENANT, args.workflow, args.wanted)
        except NotFoundError as error:
            raise _meant(target, args.workflow) or UsageError(f"{error}{target.meant(args.workflow)}") from None
        given_input, problems = gather(release.get("inputs"), args.input)
        if problems:
            print_problems(problems)
            if args.json:
                put_json({"status": "refused", "input_problems": [problem._asdict() for problem in problems]})
            return USAGE
        started = executions.start(
            TENANT, args.workflow, given_input, user=target.user, version=args.wanted, key=args.key, labels=labels
        )
        if not args.wait:
            if args.json:
                put_json(documents.execution(started))
            else:
                print(started.id)
            return FINE
        if not args.json:
            print(started.id, file=sys.stderr)
        view = follow(target, started.id, quiet=args.json)
        output = executions.output(TENANT, started.id)
        if args.json:
            put_json(documents.view(view) | {"output": output})
        else:
            pictures.put(pictures.heading(view), sys.stderr)
            if view.execution.status == "completed":
                sys.stdout.write(json.dumps(output, indent=2, ensure_ascii=False) + "\n")
        return code(view)


def _meant(target: Target, name: str) -> UsageError | None:
    """What to say where somebody gives an execution's id in place of a workflow's."""
    try:
        found = target.execution(name)
    except UsageError:
        return None
    return UsageError(
        f"there is no workflow {name}; {found.id} is an execution of {found.workflow}, which is {found.status}:"
        f" `aslant retry {name}` or `aslant resume {name}` goes on with it, `aslant start {found.workflow}` starts another one"
    )
