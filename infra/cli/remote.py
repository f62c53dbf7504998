"""Commands on an installation over HTTP (`--url`, `--profile`): what the API can do, with the exit codes of the others."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from aslant.executions.plan import Plan, PlannedStep
from aslant.executions.states import FINAL
from infra.cli import pictures
from infra.cli.arguments import gather, print_problems
from infra.cli.control import consent, show
from infra.cli.errors import FINDINGS, FINE, RUN_FAILED, USAGE, UsageError
from infra.cli.output import print_findings, put_json
from infra.cli.profiles import client_of
from infra.client import ApiProblem, Client
from translator.reporting import visible


def execute(args: argparse.Namespace) -> int:
    """Runs a command on the installation that `--url` or `--profile` names."""
    command = COMMANDS.get(args.command)
    if command is None:
        raise UsageError(f"`aslant {args.command}` does not work over HTTP; {', '.join(sorted(COMMANDS))} do")
    try:
        return command(client_of(args), args)
    except ApiProblem as problem:
        return told(problem)


def told(problem: ApiProblem) -> int:
    """Prints what was refused with all its parts, and gives the exit code: 1 for a definition, 2 for anything else."""
    print(f"aslant: {visible(problem.detail)}", file=sys.stderr)
    for one in problem.errors:
        place = one.get("position")
        where = f"{place['line']}:{place['column']}: " if place else f"{one['pointer']}: " if one.get("pointer") else ""
        hint = f" ({one['hint']})" if one.get("hint") else ""
        text = f"{one.get('code', '')} {one.get('detail', '')}{hint}"
        print(f"  {where}{visible(text)}", file=sys.stderr)
    return FINDINGS if problem.code == "definition_invalid" else USAGE


def _start(client: Client, args: argparse.Namespace) -> int:
    version = args.wanted or client.workflow(args.workflow).published
    given, problems = gather(client.inputs(args.workflow, version), args.input)
    if problems:
        print_problems(problems)
        return USAGE
    labels = dict(label.partition("=")[::2] for label in args.label)
    started = client.start(args.workflow, given, key=args.key, version=args.wanted, labels=labels or None)
    if not args.wait:
        return _put(args, started, started.id)
    print(started.id, file=sys.stderr)
    for item in client.follow(started.id):
        if not args.json:
            print(_line(item.event), file=sys.stderr)
    ended = client.wait(started.id)
    if args.json:
        put_json(ended.model_dump())
    elif ended.status == "completed":
        sys.stdout.write(json.dumps(ended.output, indent=2, ensure_ascii=False) + "\n")
    return _code(ended.status)


def _watch(client: Client, args: argparse.Namespace) -> int:
    id = _id(client, args.id)
    for item in client.follow(id):
        print(_line(item.event), file=sys.stderr)
    ended = client.wait(id)
    _put(args, ended, f"{ended.id} {ended.status}")
    return _code(ended.status)


def _list(client: Client, args: argparse.Namespace) -> int:
    page = client.executions(workflow=args.workflow, status=args.status, limit=min(args.limit, 100), next=args.cursor)
    if args.json:
        put_json({"executions": [one.model_dump() for one in page.items], "next": page.next})
        return FINE
    rows = [f"{one.id[:8]}  {one.started_at}  {one.status:<12} {one.workflow} {one.version}" for one in page.items]
    pictures.put([[(visible(row), "")] for row in rows], sys.stdout)
    return FINE


def _show(client: Client, args: argparse.Namespace) -> int:
    found = client.execution(_id(client, args.id))
    lines = [f"{found.id}  {found.workflow} {found.version}  {found.status}  {found.duration:.1f} s  {found.cost.usd:.6f} US$"]
    for one in found.steps:
        lasted = "" if one.duration is None else f"{one.duration:.1f} s"
        lines.append(f"  {one.step:<30} {one.status:<12} {lasted}")
    if found.error is not None:
        lines.append(f"  {found.error.error}: {found.error.message}")
    return _put(args, found, "\n".join(lines))


def _control(action: str, *names: str) -> Callable[[Client, argparse.Namespace], int]:
    def run(client: Client, args: argparse.Namespace) -> int:
        body = {name: value for name in names if (value := getattr(args, name, None))}
        changed = client.control(_id(client, args.id), action, body)
        if not getattr(args, "wait", False):
            return _put(args, changed, f"{changed.id} {changed.status}")
        ended = client.wait(changed.id)
        left = f"; could not be undone: {', '.join(ended.not_undone)}" if ended.not_undone else ""
        _put(args, ended, f"{ended.id} {ended.status}{left}")
        return FINE if ended.status == "rolled_back" else RUN_FAILED

    return run


def _again(action: str) -> Callable[[Client, argparse.Namespace], int]:
    """Another run: what it does is shown first, and is all that happens with `--plan`."""

    def run(client: Client, args: argparse.Namespace) -> int:
        id = _id(client, args.id)
        body = {"version": args.wanted} if args.wanted else {}
        found = client.plan(id, action, body)
        steps = tuple(PlannedStep(one.step, one.type, one.action, one.why, one.repeats, one.discards) for one in found.steps)
        plan = Plan(found.what, found.version, steps)
        if args.plan:
            show(args, plan)
            return FINE
        consent(args, plan)
        changed = client.control(id, action, body)
        return _put(args, changed, f"{changed.id} {changed.status}")

    return run


def _approvals(client: Client, args: argparse.Namespace) -> int:
    page = client.approvals()
    wanted = getattr(args, "execution", None) or ""
    items = [one for one in page.items if one.execution.startswith(wanted)]
    if args.json:
        put_json([one.model_dump() for one in items])
        return FINE
    rows = [f"{one.id}  {one.execution[:8]}  {one.workflow}  {one.step}  {one.message}" for one in items]
    pictures.put([[(visible(row), "")] for row in rows], sys.stdout)
    return FINE


def _decide(decision: str) -> Callable[[Client, argparse.Namespace], int]:
    def run(client: Client, args: argparse.Namespace) -> int:
        rest: Sequence[str] = list(getattr(args, "rest", None) or ())
        step = rest[0] if len(rest) > 1 else getattr(args, "step", None)
        found = [
            one for one in client.approvals().items
            if (one.id == args.id or one.execution.startswith(args.id)) and step in (None, one.step)
        ]
        if len(found) != 1:
            raise UsageError(f"{len(found) or 'no'} approvals wait for {args.id}; `aslant approvals` lists them")
        body: dict[str, Any] = {"comment": args.comment}
        if rest:
            body["answer"] = rest[-1]
        made = client.decide(found[0].id, decision, body)
        missing = f"; {made.missing} more must answer" if made.missing else ""
        return _put(args, made, f"{found[0].step}: {decision}{missing}")

    return run


def _push(client: Client, args: argparse.Namespace) -> int:
    from infra.cli.files import read_all, texts
    from translator.diagnostics import TranslatorError
    from translator.pipeline import compile_source

    sources = read_all(args.files, folders=True)
    try:
        ids = [compile_source(source.text, dialect=args.dialect, file=source.file).workflow.id for source in sources]
    except TranslatorError as error:
        print_findings(error.diagnostics, texts(sources), args.format, sys.stderr)
        return FINDINGS
    pushed = []
    for source, id in zip(sources, ids, strict=True):
        text = source.text if isinstance(source.text, str) else source.text.decode()
        made = client.put(text, id=id, dialect=args.dialect)
        pushed.append(client.publish(made.id, made.latest))
        for each in pushed[-1].findings:
            place = f"{source.file}:{each.line}:{each.column}"
            print(visible(f"{place}: {each.severity} {each.code} {each.message}"), file=sys.stderr)
    if args.json:
        put_json([one.model_dump() for one in pushed])
    else:
        pictures.put([[(visible(f"{one.id} {one.published}"), "")] for one in pushed], sys.stdout)
    return FINE


def _id(client: Client, given: str) -> str:
    """The whole id of an execution of which the beginning is given."""
    if len(given) >= 36:
        return given
    found = [one.id for one in client.executions(limit=100).items if one.id.startswith(given)]
    if len(found) != 1:
        raise UsageError(f"{len(found) or 'no'} executions among the latest have ids that begin with {given}")
    return found[0]


def _put(args: argparse.Namespace, document: BaseModel, text: str) -> int:
    if args.json:
        put_json(document.model_dump())
    else:
        print(visible(text) if "\n" not in text else "\n".join(map(visible, text.split("\n"))))
    return FINE


def _line(event: Mapping[str, Any]) -> str:
    payload = event["payload"]
    shown = " ".join(f"{name}={payload[name]}" for name in ("step", "iteration", "status", "attempt") if payload.get(name))
    return visible(f"{event['timestamp']}  {event['event_type']:<22} {shown}")


def _code(status: str) -> int:
    return FINE if status == "completed" or status not in FINAL else RUN_FAILED


COMMANDS: Mapping[str, Callable[[Client, argparse.Namespace], int]] = {
    "start": _start, "watch": _watch, "list": _list, "show": _show, "push": _push, "approvals": _approvals,
    "pause": _control("pause", "reason"), "cancel": _control("cancel", "reason", "compensate"),
    "resume": _again("resume"), "retry": _again("retry"), "rollback": _control("rollback"),
    "approve": _decide("approve"), "reject": _decide("reject"), "answer": _decide("answer"),
}  # fmt: skip
