"""`python -m tests.fuzz.workflows [--cases N] [--seed S]`: random workflows run on the local cloud, against the reference.

Statuses, outputs, errors, numbers of calls and the order of steps must be what `tests.reference.interpreter` says. A case that
differs is printed with its seed, and as small as it gets.
"""

from __future__ import annotations

import argparse
import json
import sys

from tests.fuzz.shrink import shrink
from tests.fuzz.workflow_cases import Case, make
from tests.fuzz.workflow_runs import problems
from translator.pipeline import MissingWorkflow

BATCH = 40
SHRINK = 90.0  # seconds for each case that differs
SHRUNK = 5  # of them are made smaller


def smaller(case: Case) -> Case | None:
    """A smaller case that still differs from the reference when it runs; None when it does not differ again."""

    def read(text: str | bytes) -> Case:
        data = json.loads(text)
        return Case("shrunk", data["definitions"], data["input"])

    def shows(text: str | bytes) -> bool:
        try:
            found = problems([read(text)]).get("shrunk", [])
        except (ValueError, KeyError, TypeError, IndexError, AttributeError, MissingWorkflow):
            return False
        return bool(found) and not found[0].startswith(("refused", "the reference raised"))

    text = json.dumps({"definitions": case.definitions, "input": case.input})
    return read(shrink(text, shows, SHRINK)) if shows(text) else None


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="the seed of one case, as printed")
    given = parser.parse_args(arguments)
    if given.only:
        seed, _, number = given.only.partition("-")
        found = problems([case := make(int(seed), int(number))])
        print(json.dumps(case.definitions), found)
        return bool(found)
    failed = 0
    for at in range(0, given.cases, BATCH):
        cases = {case.seed: case for case in (make(given.seed, number) for number in range(at, min(at + BATCH, given.cases)))}
        for seed, told in problems(list(cases.values())).items():
            failed += 1
            print(f"{seed}: {'; '.join(told)[:2000]}", flush=True)
            if failed <= SHRUNK:
                small = smaller(cases[seed])
                print(f"  as {json.dumps(small.definitions)} with {small.input}" if small else "  not again", flush=True)
        print(f"{at + len(cases)} workflows, seeds {given.seed}-{at} to {given.seed}-{at + len(cases) - 1}, {failed} differ", flush=True)
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
