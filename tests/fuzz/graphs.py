"""Random graphs, compiled and simulated with random failures, skips and latencies: `python -m tests.fuzz.graphs --runs 100000`."""

from __future__ import annotations

import argparse
import random

from tests.unit.gates.test_simulated import check_one, check_turns

_RUNS = 10  # of each graph


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    for number in range(-(-asked.runs // _RUNS)):
        seed = f"{asked.seed}-{number}"
        strategy = ("exact", "exact", "chains", "barriers", "levels")[number % 5]
        try:
            check_one(random.Random(seed), strategy, _RUNS)
            if number % 5 == 1:
                check_turns(random.Random(seed), 1 + number // 5 % 4)
        except BaseException:
            print(f"seed {seed}, strategy {strategy}")
            raise
        if (number + 1) % 1_000 == 0:
            print(f"{(number + 1) * _RUNS:,} runs", flush=True)


if __name__ == "__main__":
    main()
