"""Bad definitions: random text, random data, and single edits of good ones must give findings or a machine.

`python -m tests.fuzz.definitions --cases 5000 --seed 1` runs cases, and for the first bad one of each kind prints the seed
of the case and a definition made as small as it still shows the problem.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from random import Random
from typing import Any, NamedTuple

from tests.fuzz import good
from tests.fuzz.mutations import KINDS
from tests.fuzz.shrink import shrink
from translator.diagnostics import Severity
from translator.pipeline import Source, check_sources

SLOW = 2.0  # seconds
# Findings about the file or the workflow as a whole stand at its beginning.
WHOLE = frozenset({"S001", "S002", "S012", "S014"})


class Case(NamedTuple):
    """A generated definition; `seed` makes it again."""

    seed: str
    kind: str
    text: str | bytes


def case(seed: int, number: int, documents: dict[str, Any]) -> Case:
    """Case `number` of a seed; the kinds take turns."""
    name = f"{seed}:{number}"
    random = Random(name)
    kinds = sorted(KINDS)
    kind = kinds[number % len(kinds)]
    return Case(name, kind, KINDS[kind](random, documents))


class _Hang(BaseException):
    pass


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Interrupts what takes longer. It takes the process's alarm, so that it is not for use inside of pytest."""

    def ring(*_: object) -> None:
        raise _Hang

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def problem(text: str | bytes, alarm: float | None = None) -> str:
    """What is wrong with how the compiler takes `text`: a short line that names the place, empty when nothing is.

    With `alarm` (seconds), a compilation that takes longer is interrupted.
    """
    lines = text.count("\n" if isinstance(text, str) else b"\n") + 1  # type: ignore[arg-type]
    try:
        with nullcontext() if alarm is None else _limited(alarm):
            found = check_sources([Source(text, "case.yaml")])
    except _Hang:
        return "hang"
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        ours = [frame for frame in frames if "/translator/" in frame.filename or "/aslant/" in frame.filename]
        inner = (ours or list(frames))[-1]
        place = f"{inner.name}, {inner.filename.rsplit('/', 1)[-1]}:{inner.lineno}"
        return f"traceback: {type(error).__name__} in {place}: {error}"[:300]
    for one in found:
        if not one.message.strip():
            return f"finding without a message: {one.code}"
        if one.position.line < 1 or one.position.column < 1:
            return f"finding at no place: {one.code} {one.message}"[:200]
        if one.code == "A015":
            return f"broken machine: {one.message}"[:200]
        if one.position.file != "case.yaml":
            return f"finding without its file: {one.code} {one.message}"[:200]
        if one.position.line > lines + 1:
            return f"finding behind the end: {one.code}"
        nowhere = one.position[:2] == (1, 1) and text[:1] in ("\n", b"\n") and one.code not in WHOLE
        if nowhere and one.severity is Severity.ERROR:
            return f"error without a position: {one.code} {one.message}"[:200]
    return ""


def signature(text: str) -> str:
    """The kind of a problem: what stays the same while the definition is made smaller."""
    return ":".join(text.split(":")[:3])[:90] if text.startswith("traceback") else text[:42]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.definitions", description=__doc__)
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=None, help="default: from the clock")
    parser.add_argument("--only", default="", help="one kind: " + ", ".join(sorted(KINDS)))
    options = parser.parse_args(arguments)
    seed = int(time.time()) if options.seed is None else options.seed
    return report(seed, options.cases, options.only)


def report(seed: int, cases: int, only: str = "", say: Callable[[str], None] = print) -> int:
    """Runs cases and prints each new problem, shrunk. Gives 1 when there was one."""
    documents = good.documents()
    found: dict[str, int] = {}
    slowest = (0.0, "")
    step = max(1, cases // 20)
    say(f"seed {seed}, {cases} cases")
    for number in range(cases):
        one = case(seed, number, documents)
        if only and one.kind != only:
            continue
        started = time.perf_counter()
        what = problem(one.text, SLOW)
        slowest = max(slowest, (time.perf_counter() - started, one.seed))
        if what:
            kind = signature(what)
            found[kind] = found.get(kind, 0) + 1
            if found[kind] == 1:
                small = shrink(one.text, lambda text, kind=kind: signature(problem(text, SLOW)) == kind)  # type: ignore[misc]
                say(f"\ncase {one.seed} ({one.kind}): {what}\n---\n{small if isinstance(small, str) else small!r}\n---")
        if (number + 1) % step == 0 and sys.stderr.isatty():
            print(f"{number + 1} cases, {sum(found.values())} bad", file=sys.stderr)
    say(f"{sum(found.values())} bad of {cases} cases with seed {seed}; the slowest took {slowest[0]:.2f} s ({slowest[1]})")
    for kind, count in sorted(found.items()):
        say(f"  {count:5} {kind}")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
