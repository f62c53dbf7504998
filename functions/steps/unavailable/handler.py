"""The Lambda function of step types that cannot run yet."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict

from aslant.configs.base import Config
from aslant.contracts import StepResult
from aslant.step import StepRun, step
from functions.steps.unavailable import logic


class AnyConfig(Config):
    """Any configuration: it was checked when the definition was compiled."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Any]


@step("unavailable", AnyConfig, with_secrets=False)
def handler(config: AnyConfig, run: StepRun) -> StepResult:
    return logic.call(config.__pydantic_extra__, run)
