"""Answers to approvals: from `--approve`, or from the person at the terminal."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from infra.cli.arguments import Answer
from infra.local.approvals import Decision, Request
from translator.reporting import visible

_YES = ("y", "yes", "approve", "approved", "ok", "true")
_NO = ("n", "no", "reject", "rejected", "deny", "false")


class BadAnswer(ValueError):
    """A text that is no answer to the question; its message says which ones are."""


def decision(request: Request, text: str) -> Decision:
    """What `text` decides for the kind of question that `request` is. Raises BadAnswer."""
    if request.kind == "approve_reject":
        word = text.strip().lower()
        if word in _YES:
            return Decision("approve")
        if word in _NO:
            return Decision("reject")
        raise BadAnswer(f"{text!r} is neither approve nor reject")
    if request.kind == "multiple_choice":
        if text in request.options:
            return Decision("answer", text)
        if text.strip().isdecimal() and 1 <= int(text) <= len(request.options):
            return Decision("answer", request.options[int(text) - 1])
        if text.strip().lower() in ("reject", "rejected"):
            return Decision("reject")
        raise BadAnswer(f"{text!r} is none of {', '.join(request.options)}")
    return Decision("answer", text)


class Prepared:
    """Decides by the `--approve` options; what they do not cover is handed to `otherwise`, or waits."""

    def __init__(self, answers: Sequence[Answer], otherwise: Person | None = None) -> None:
        self._answers, self._otherwise = answers, otherwise

    def __call__(self, request: Request) -> Decision | None:
        fitting = [
            answer for answer in self._answers
            if answer.step in (request.step, "*") and answer.iteration in (None, request.iteration)
        ]
        # The most particular option wins: step and iteration, then step, then *; of equals the last.
        fitting.sort(key=lambda answer: (answer.step != "*", answer.iteration is not None))
        if fitting:
            return decision(request, fitting[-1].text)
        return self._otherwise(request) if self._otherwise is not None else None


class Person:
    """Asks at the terminal. An empty line or the end of input leaves the question open until it times out."""

    def __call__(self, request: Request) -> Decision | None:
        out = sys.stderr
        where = request.step + "".join(f"[{index}]" for index in request.iteration)
        print(f"\nApproval wanted: {visible(where)}\n  {visible(request.message)}", file=out)
        if request.approvers:
            print(f"  for {visible(', '.join(request.approvers))}", file=out)
        for number, option in enumerate(request.options, 1):
            print(f"  {number}. {visible(option)}", file=out)
        prompt = {
            "approve_reject": "approve? [y/n] ", "multiple_choice": "number or text: ",
        }.get(request.kind, "answer: ")
        while True:
            print(prompt, end="", file=out, flush=True)
            text = sys.stdin.readline()
            if not text.strip():
                print("  left open", file=out)
                return None
            try:
                return decision(request, text.rstrip("\n"))
            except BadAnswer as error:
                print(f"  {visible(str(error))}", file=out)
