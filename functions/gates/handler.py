"""The Lambda function of gates: order between branches of a Parallel, by task tokens."""

from __future__ import annotations

from aslant import bootstrap
from aslant.configs.gate import GateConfig
from aslant.contracts import StepResult
from aslant.step import StepRun, step
from functions.gates import logic


@step("gate", GateConfig, records=False, with_claims=False)
def handler(config: GateConfig, run: StepRun) -> StepResult:
    # Not recorded: every run has gates of its own, and what is sent twice counts once.
    return logic.gate(config, run, bootstrap.gates(run.settings), bootstrap.callbacks(run.settings))
