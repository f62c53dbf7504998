"""The Lambda function of scrape steps."""

from __future__ import annotations

from aslant import bootstrap
from aslant.configs.scrape import ScrapeConfig
from aslant.contracts import StepResult
from aslant.step import StepRun, step
from functions.steps.scrape import logic


@step("scrape", ScrapeConfig)
def handler(config: ScrapeConfig, run: StepRun) -> StepResult:
    settings = run.settings
    return logic.scrape(config, run, logic.Ports(
        http=bootstrap.http(settings), pages=bootstrap.pages(settings), browser=lambda: bootstrap.browser(settings),
        artifacts=lambda: bootstrap.artifacts(settings),
    ))
