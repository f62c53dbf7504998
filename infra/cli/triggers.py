"""Shows what starts a workflow by itself, and when that is next.

FILE is a definition, or the id of a workflow that is published. Times are those of the schedule's own time zone; what is
skipped or comes twice at a change of the clock is as AWS has it.

`aslant triggers dead` lists events that could not be routed, from the dead-letter queue; `aslant triggers replay` routes
them again. What they have started already is not started twice.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from aslant.errors import NotFoundError
from aslant.releases import EventFacts, Release, TriggerFacts, WebhookFacts
from aslant.schedules import moments
from aslant.schedules import read as read_schedule
from infra.cli import pictures
from infra.cli.dead_letters import dead_letters
from infra.cli.errors import FINE, UsageError
from infra.cli.files import read, texts
from infra.cli.output import exit_code, print_findings, put_json
from infra.cli.siblings import compile_with_siblings
from infra.cli.target import TENANT, add_target, connected
from translator.diagnostics import TranslatorError
from translator.passes.triggers import event_facts, trigger_facts, webhook_facts
from translator.reporting import visible

EXAMPLES = """\
examples:
  aslant triggers report.yaml
  aslant triggers report.yaml --count 10 --json
  aslant triggers dead
  aslant triggers replay
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE",
        help="a definition, - for standard input, or the id of a published workflow; or `dead`, or `replay`")
    parser.add_argument("--count", type=_count, default=5, metavar="N", help="how many moments of each (default 5)")
    parser.add_argument("--dialect", help="read the file as this dialect instead of finding it out")
    parser.add_argument("--json", action="store_true", help="as JSON")
    add_target(parser)


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 1000:
        raise argparse.ArgumentTypeError("must be a number from 1 to 1,000")
    return int(text)


def execute(args: argparse.Namespace) -> int:
    if args.file in ("dead", "replay"):
        return dead_letters(args, again=args.file == "replay")
    published = _published(args)
    if published is not None:
        return _show(args, args.file, published.get("triggers", []), published.get("events", []), published.get("webhooks", []))
    source = read(args.file)
    try:
        compilation = compile_with_siblings([source], args.dialect)[0]
    except TranslatorError as error:
        print_findings(error.diagnostics, texts([source]), "text", sys.stderr)
        return exit_code(error.diagnostics)
    if guesses := [one for one in compilation.diagnostics if one.code.startswith("T")]:
        print_findings(guesses, texts([source]), "text", sys.stderr)
    workflow = compilation.workflow
    return _show(args, workflow.id, trigger_facts(workflow), event_facts(workflow), webhook_facts(workflow))


def _published(args: argparse.Namespace) -> Release | None:
    """What is known of a workflow that is published, where no file has the name and a target is there."""
    if args.file == "-" or os.path.exists(args.file) or args.file.endswith((".yaml", ".yml", ".json")):
        return None
    with connected(args) as target:
        try:
            return target.executions.releases.get(TENANT, args.file)
        except NotFoundError as error:
            raise UsageError(f"there is no such file, and {error}{target.meant(args.file)}") from None


def _show(
    args: argparse.Namespace, workflow: str, schedules: Sequence[TriggerFacts], events: Sequence[EventFacts],
    webhooks: Sequence[WebhookFacts],
) -> int:
    rows: list[dict[str, Any]] = []
    for facts in schedules:
        schedule = read_schedule(facts["expression"], facts["timezone"])
        found = itertools.islice(moments(schedule, datetime.now(UTC)), args.count)
        rows.append({**facts, "next": [one.astimezone(ZoneInfo(facts["timezone"])).isoformat() for one in found]})
    if args.json:
        put_json([*rows, *events, *webhooks])
        return FINE
    if not rows and not events and not webhooks:
        print(f"{visible(workflow)} has no schedule and no webhook, and waits for no event", file=sys.stderr)
        return FINE
    for row in rows:
        state = "" if row["enabled"] else ", not enabled"
        head = f"{row['id']}  {row['expression']} {row['timezone']}, overlap: {row['overlap']}{state}"
        pictures.put([[(visible(head), "bold")], *([(f"  {moment}", "")] for moment in row["next"])], sys.stdout)
    for one in events:
        whose = f" of {one['workflow']}" if one["workflow"] else f" from {one['source']}" if one["source"] else ""
        some = ", where a condition holds" if one["where"] is not None or one["filter"] else ""
        pictures.put([[(visible(f"{one['id']}  {', '.join(one['events'])}{whose}{some}"), "bold")]], sys.stdout)
    for hook in webhooks:
        pictures.put([[(visible(f"{hook['id']}  calls signed with the secret {hook['secret']}"), "bold")]], sys.stdout)
    return FINE
