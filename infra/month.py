"""`python -m infra.month FILE`: what an installation costs in a month, idle and busy, by AWS's list prices of us-east-1.

Prices of executions are those of `aslant.prices`. Discounts, free tiers, models and data transfer are left out. Sources:
aws.amazon.com/{kms,cloudwatch,dynamodb,eventbridge,s3,secrets-manager,waf,sqs}/pricing and api-gateway/pricing, on-demand.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from aslant.prices import TRANSITION, lambda_usd
from infra.cli.output import print_findings
from infra.settings import STAGES, StageSettings
from translator.diagnostics import TranslatorError
from translator.pipeline import compile_source

ALARMS = 11         # with one metric; those of a template are counted by a test
KEY, ALARM, BAND, METRIC, SECRET, FIREWALL = 1.00, 0.10, 0.30, 0.30, 0.40, 5.00 + 3 * 1.00
WRITE, READ = 0.625 / 1_000_000, 0.125 / 1_000_000   # request units of DynamoDB on demand
EVENT, HTTP, TIMER, OBJECT = 1.00 / 1_000_000, 1.00 / 1_000_000, 1.00 / 1_000_000, 5.00 / 1_000_000
LOG_GB, TABLE_GB, BACKUP_GB = 0.50, 0.25, 0.20
# Estimates of what an execution takes beside its steps, and what a step takes: calls, request units, events, kilobytes.
_CALLS, _WRITES, _READS, _EVENTS, _LOG_KB = 6, 12, 10, 4, 8
_STEP_WRITES, _STEP_READS, _STEP_EVENTS, _STEP_LOG_KB, _KEPT_KB = 3, 1, 2, 1.5, 2


def idle(settings: StageSettings) -> dict[str, float]:
    """US dollars of a month in which nothing runs, by what they are for."""
    found = {
        "KMS key": KEY, "alarms": ALARMS * ALARM + BAND, "secret of links": SECRET,
    }
    if settings.waf:
        found["web firewall"] = FIREWALL
    return found


def busy(executions: int, *, transitions: float, steps: float, seconds: float, memory: int, workflows: int) -> dict[str, float]:
    """US dollars of so many executions. `steps` are calls of functions in each, `seconds` what one takes."""
    writes, reads = _WRITES + steps * _STEP_WRITES, _READS + steps * _STEP_READS
    events, log = _EVENTS + steps * _STEP_EVENTS, (_LOG_KB + steps * _STEP_LOG_KB) / 1_048_576
    kept = (1 + steps) * _KEPT_KB / 1_048_576
    one = {
        "Step Functions": transitions * TRANSITION,
        "Lambda": lambda_usd(steps, seconds, memory) + lambda_usd(_CALLS, 0.1, 512),
        "DynamoDB": writes * WRITE + reads * READ + kept * 3 * (TABLE_GB + BACKUP_GB),  # 90 days
        "EventBridge": events * EVENT, "API": HTTP, "logs": log * LOG_GB,
    }
    return {name: value * executions for name, value in one.items()} | {"metrics": workflows * 12 * METRIC}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m infra.month", description="What an installation costs in a month.")
    parser.add_argument("file", help="a definition; its longest way counts, with ten items in each loop of unknown length")
    parser.add_argument("--executions", type=int, default=100_000)
    parser.add_argument("--workflows", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=0.3, help="that a step's function takes")
    parser.add_argument("--memory", type=int, default=512)
    parser.add_argument("--stage", choices=STAGES, default="prod")
    given = parser.parse_args(arguments)
    try:
        compiled = compile_source(Path(given.file).read_bytes(), file=given.file)
    except TranslatorError as error:
        print_findings(error.diagnostics, {}, "text", sys.stderr)
        return 1
    cost = compiled.estimate.cost
    nothing = idle(STAGES[given.stage])
    much = busy(
        given.executions, transitions=cost.transitions[1], steps=cost.lambda_calls[1], seconds=given.seconds,
        memory=given.memory, workflows=given.workflows,
    )  # fmt: skip
    _print(f"idle ({given.stage})", nothing)
    _print(f"{given.executions:,} executions of {compiled.workflow.id} ({cost.transitions[1]} transitions, "
           f"{cost.lambda_calls[1]} calls) on top", much)
    print(f"{'together':32}{sum(nothing.values()) + sum(much.values()):12,.2f} US dollars a month")
    return 0


def _print(title: str, parts: dict[str, float]) -> None:
    print(title)
    for name, value in parts.items():
        if value:
            print(f"  {name:30}{value:12,.2f}")


if __name__ == "__main__":
    sys.exit(main())
