"""Compare the reference evaluator with both JSONata engines on random expressions.

    python -m tests.fuzz.expressions --cases 20000 --seed 1
"""

from __future__ import annotations

import argparse
import sys
import time
from random import Random

from tests.fuzz.differential import Disagreement, check, prepare
from tests.fuzz.engines import NodeEngine
from tests.fuzz.generate import Generator

BATCH = 250


def run(cases: int, seed: int) -> int:
    """Exit status: 0 when all engines agreed on every case."""
    started = time.monotonic()
    native = errors = done = 0
    with NodeEngine() as engine:
        while done < cases:
            batch = []
            for number in range(done, min(done + BATCH, cases)):
                generator = Generator(Random(f"{seed}/{number}"))
                try:
                    batch.append(prepare(generator.node(), generator.data()))
                except Disagreement as problem:
                    return _failed(seed, number, problem)
            try:
                native += check(batch, engine)
            except Disagreement as problem:
                return _failed(seed, done, problem)
            errors += sum(case.expected.state == "error" for case in batch)
            done += len(batch)
            if done % 2_500 == 0 or done == cases:
                print(f"{done:,} cases, {native:,} native, {errors:,} without a value,"
                    f" {time.monotonic() - started:.0f} s (seed {seed})", flush=True)
    print(f"all engines agree on {done:,} cases (seed {seed})")
    return 0


def _failed(seed: int, number: int, problem: Disagreement) -> int:
    print(f"seed {seed}, in or after case {number}: engines disagree\n{problem}")
    return 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    return run(options.cases, options.seed)


if __name__ == "__main__":
    sys.exit(main())
