"""Answering approvals: approvals, approve, reject, answer."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from aslant import documents
from aslant.approvals.rules import Decision, Person, approvers
from aslant.errors import NotFoundError
from infra.cli import pictures
from infra.cli.command import Command
from infra.cli.errors import FINE, UsageError
from infra.cli.output import put_json
from infra.cli.target import TENANT, Target, add_json, add_target, add_user, connected
from translator.reporting import visible

Item = Mapping[str, Any]

_MOST = 1000  # of open approvals that are looked through


def _person(parser: argparse.ArgumentParser) -> None:
    add_user(parser)
    parser.add_argument("--role", action="append", default=[], metavar="ROLE", help="a role of that user; may be repeated")
    parser.add_argument("--email", default="", metavar="ADDRESS", help="the email address of that user")


def _which(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="the id of an approval, or of its execution (or its beginning)")


def _list_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("execution", nargs="?", metavar="EXECUTION", help="only those of an execution")
    parser.add_argument("--limit", type=int, default=100, metavar="N", help="how many (default 100)")
    _person(parser)
    add_json(parser)
    add_target(parser)


def _answer_arguments(parser: argparse.ArgumentParser) -> None:
    _which(parser)
    parser.add_argument("rest", nargs="+", metavar="[STEP] TEXT", help="the step, where there are several; then the answer")
    _common(parser)


def _decide_arguments(parser: argparse.ArgumentParser) -> None:
    _which(parser)
    parser.add_argument("step", nargs="?", metavar="STEP", help="the step (step[2] in a loop), where there are several")
    _common(parser)


def _common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--comment", "--reason", default="", metavar="TEXT", help="why; it is kept with the answer")
    _person(parser)
    add_json(parser)
    add_target(parser)


def _list(args: argparse.Namespace) -> int:
    with connected(args) as target:
        execution = target.execution(args.execution).id if args.execution else None
        person = _who(args, target) if args.user or args.role or args.email else None
        found = [
            item for item in pending(target, person) if execution is None or execution in _family(target, item)
        ][: max(1, args.limit)]
    if args.json:
        put_json([documents.approval(item) for item in found])
        return FINE
    if not found:
        print("nothing waits for an answer", file=sys.stderr)
        return FINE
    for item in found:
        about = documents.approval(item)
        missing = "" if about["quorum"] <= 1 else f", {len(about['decisions'])} of {about['quorum']} answers"
        asked = f", asked: {', '.join(about['approvers'])}" if about["approvers"] else ""
        lines: list[pictures.Line] = [
            [(visible(_label(item)), "bold magenta"), (f" of {visible(about['workflow'])} {visible(about['execution'])}", "")],
            [(f"  {visible(str(about['message']))}", "")],
            *([[(f"  {number}. {visible(str(option))}", "")] for number, option in enumerate(about["options"], 1)]),
            [(f"  until {pictures.when(int(item['expires_at']) * 1000)}{visible(asked)}{missing}", "dim")],
            [(f"  {_how(about)}{target.options}", "dim")],
        ]
        pictures.put(lines, sys.stdout)
    return FINE


def _how(about: Mapping[str, Any]) -> str:
    place = f"{about['execution'][:8]} {about['step']}" + "".join(f"[{index}]" for index in about["iteration"])
    if about["type"] == "approve_reject":
        return f"aslant approve {place}"
    return f"aslant answer {place} {'CHOICE' if about['type'] == 'multiple_choice' else 'TEXT'}"


def _approve(args: argparse.Namespace) -> int:
    return _decide(args, "approve", args.step, None)


def _reject(args: argparse.Namespace) -> int:
    return _decide(args, "reject", args.step, None)


def _answer(args: argparse.Namespace) -> int:
    if len(args.rest) > 2:
        raise UsageError("an answer of several words stands in quotes")
    return _decide(args, "answer", args.rest[0] if len(args.rest) == 2 else None, args.rest[-1])


def _decide(args: argparse.Namespace, decision: Decision, step: str | None, answer: str | None) -> int:
    with connected(args) as target:
        item = _find(target, args.id, step)
        config = item["config"]
        if answer is not None and config.get("approval_type") == "multiple_choice":
            answer = _choice(answer, [str(option) for option in config.get("options") or []])
        made = target.approvals.decide(
            TENANT, item["approval_id"], decision, by=_who(args, target), comment=args.comment, answer=answer
        )
    if args.json:
        put_json(dict(made) | {"id": item["approval_id"], "execution": item["execution"], "step": item["step"]})
        return FINE
    chosen = f"answered {visible(str(made['answer']))}" if made.get("answer") is not None else "approved"
    word = chosen if made["approved"] else "rejected"
    missing = int(made.get("missing") or 0)
    text = f"{visible(_label(item))} of {item['execution']}: {word} by {visible(str(made['by']))}"
    print(text + (f"; {missing} more {'answer is' if missing == 1 else 'answers are'} needed (--as NAME)" if missing else ""))
    asked = approvers(config)
    if asked and not (args.user or args.role or args.email):
        people = visible(", ".join(asked))
        print(f"answered for {people}: on this machine you answer for everybody who is asked", file=sys.stderr)
    return FINE


def _choice(text: str, options: list[str]) -> str:
    """An option by its text or its number."""
    if text not in options and text.isdecimal() and 1 <= int(text) <= len(options):
        return options[int(text) - 1]
    return text


def _who(args: argparse.Namespace, target: Target) -> Person:
    """Whoever says nothing about who answers answers for everybody, but only on this machine."""
    named = bool(args.user or args.role or args.email)
    return Person(target.user, args.email, tuple(args.role), everybody=target.local and not named)


def _find(target: Target, id: str, step: str | None) -> Item:
    """The approval that is meant; one that is closed as well, so that the answer can say so."""
    try:
        item = target.approvals.read(TENANT, id)
        if step is None or step in (item["step"], _label(item)):
            return item
    except NotFoundError:
        pass
    execution = target.execution(id).id
    every = [item for item in pending(target) if execution in _family(target, item)]
    found = [item for item in every if step is None or step in (item["step"], _label(item))]
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(f"several wait for an answer; say which: {', '.join(visible(_label(item)) for item in found)}")
    if every and step is not None:
        raise UsageError(f"{step} does not wait for an answer; {', '.join(visible(_label(item)) for item in every)} does")
    raise UsageError(f"nothing of the execution {execution} waits for an answer")


def pending(target: Target, person: Person | None = None) -> Iterator[Item]:
    """Approvals that wait for an answer (of `person`), the oldest first."""
    after: str | None = None
    seen = 0
    while seen < _MOST:
        items, after = target.approvals.pending(TENANT, person=person, after=after)
        seen += len(items)
        yield from items
        if after is None:
            return


def _family(target: Target, item: Item) -> Iterator[str]:
    """The execution of an approval, and those that it is a part of."""
    id: str | None = str(item["execution"])
    for _ in range(10):
        if id is None:
            return
        yield id
        found = target.executions.store.read(TENANT, id)
        id = found.parent.execution if found is not None and found.parent is not None else None


def _label(item: Item) -> str:
    return str(item["step"]) + "".join(f"[{int(index)}]" for index in item["iteration"])


COMMANDS: Mapping[str, Command] = {
    "approvals": Command(
        "Lists what waits for an answer, the oldest first; with --as, --role or --email what that person may answer.",
        "examples:\n  aslant approvals\n  aslant approvals --as ada --role ops --json\n", _list_arguments, _list,
    ),
    "approve": Command(
        "Says yes to an approval. Without --as you answer for whoever is asked, on this machine.",
        "examples:\n  aslant approve 3f2a\n  aslant approve 3f2a sign_off --comment 'looks good' --as ada\n",
        _decide_arguments, _approve,
    ),
    "reject": Command(
        "Says no to an approval. Without --as you answer for whoever is asked, on this machine.",
        "examples:\n  aslant reject 3f2a sign_off --comment 'not on a Friday'\n", _decide_arguments, _reject,
    ),
    "answer": Command(
        "Answers an approval that asks for a text or a choice (by its text or number).",
        "examples:\n  aslant answer 3f2a 'the blue one'\n  aslant answer 3f2a which_colour 2\n", _answer_arguments, _answer,
    ),
}  # fmt: skip
