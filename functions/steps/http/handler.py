"""The Lambda function of http steps."""

from __future__ import annotations

from aslant import bootstrap
from aslant.configs.http import HttpConfig
from aslant.contracts import StepResult
from aslant.guards import guarded, host_of
from aslant.step import StepRun, step
from functions.steps.http import logic


@step("http", HttpConfig)
def handler(config: HttpConfig, run: StepRun) -> StepResult:
    return guarded(
        lambda: logic.call(config, run, bootstrap.http(run.settings), bootstrap.signer),
        f"http:{host_of(config.url)}", run, run.guard, bootstrap.guard_ports(run.settings),
    )
