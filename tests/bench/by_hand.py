"""What the examples cost beside machines written by hand: states entered on the dearest way, with ten items in every loop.

    python -m tests.bench.by_hand

A machine by hand keeps the same promises: each step has a state of its own (so that it can be seen, retried and recorded), every
failure that the definition handles is caught, nothing waits for what it does not depend on. Within that it has as few states as ASL
allows. Numbers were counted from the definitions, not from what the compiler gives.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from translator.asl.estimate import estimate
from translator.pipeline import Source, compile_sources

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "infra" / "workflows"
ITEMS = 10


class Count(NamedTuple):
    states: int
    why: str


BY_HAND = {
    "agents-haiku": Count(12, "Map and 10, bind"),
    "agents-helpdesk": Count(20, "Parallel that catches for the notification, weigh, urgency, ask; Map and 10; Parallel and 2; Choice, tell"),
    "graph-orchard": Count(33, "survey, amount; Parallel; Parallel of 2 Passes, wait, sheet; Choice, agree; Map and 20; signal, words"),
    "graph-weather": Count(4, "felt, Choice, coat, advice"),
    "stages-exhibition": Count(29, "measure, plan, Choice, director; Map over 3 places with a Choice each, Choice; Map and 10; Choice, "
                                   "Parallel and 2; pause, announce"),
    "stages-release": Count(39, "compile; Parallel and 3; Choice, sign-off; Map and 30; summary"),
    "stages-tea": Count(6, "water, leaves, steep, Choice, milk, tray"),
    "steps-greeting": Count(4, "tidy, Choice, french, sign"),
    "steps-refunds": Count(45, "Parallel that catches for `finally`; total, history, Choice, summary, approve; Map, and for each item a "
                               "Parallel that catches, amount, transfer; Parallel and 2, Choice; settle, Choice, audit, close"),
    "steps-shop": Count(3, "lease, shelves, inspection, each with a Catch that leads to the rollback"),
    "steps-shop-shelves": Count(11, "Map with a Catch that leads to the rollback, and 10"),
    "tasks-bakery": Count(5, "rolls, Choice, order, butter, note"),
    "tasks-library-move": Count(29, "Parallel that catches for the notifications; Parallel, manifest, Choice, books, Map and 10, Choice, "
                                    "convoy; sign-off, deploy, scale; Parallel, ask, settle, Choice, tell; report, notification, close"),
}


def entered() -> dict[str, int]:
    """The states that the compiled examples enter on their dearest way."""
    found = {}
    for path in sorted(EXAMPLES.glob("*.yaml")):
        (compiled,) = compile_sources([Source(path.read_text(encoding="utf-8"), path.name)])
        found[path.stem] = estimate(compiled.definition, ITEMS).cost.transitions[1]
    return found


def main() -> None:
    found = entered()
    print("States entered on the dearest way, beside a machine written by hand")
    for name, states in found.items():
        print(f"  {name:20} {states:3} / {BY_HAND[name].states:3} = {states / BY_HAND[name].states:.3f}")
    ours, theirs = sum(found.values()), sum(BY_HAND[name].states for name in found)
    print(f"  {'all':20} {ours:3} / {theirs:3} = {ours / theirs:.3f}")


if __name__ == "__main__":
    main()
