"""The step types: which function runs each, and which model its configuration has. Imports nothing else of the product.

`name -> Kind`. A native type runs inside of the state machine and has no function.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Kind(NamedTuple):
    """One row. `folder` is the folder in `functions/steps`, `model` is `module:class`."""

    folder: str | None
    model: str | None

    @property
    def native(self) -> bool:
        return self.folder is None


STEP_TYPES: Mapping[str, Kind] = {
    "http": Kind("http", "aslant.configs.http:HttpConfig"),
    "agent": Kind("agent", "aslant.configs.agent:AgentConfig"),
    "scrape": Kind("scrape", "aslant.configs.scrape:ScrapeConfig"),
    "transform": Kind("transform", "aslant.configs.transform:TransformConfig"),
    "aggregate": Kind("aggregate", "aslant.configs.aggregate:AggregateConfig"),
    "notify": Kind("notify", "aslant.configs.notify:NotifyConfig"),
    "email": Kind("email", "aslant.configs.email:EmailConfig"),
    "query": Kind("query", "aslant.configs.query:QueryConfig"),
    "command": Kind("command", "aslant.configs.command:CommandConfig"),
    "deploy": Kind("deploy", "aslant.configs.kubernetes:DeployConfig"),
    "scale": Kind("scale", "aslant.configs.kubernetes:ScaleConfig"),
    "approval": Kind("approval", "aslant.configs.approval:ApprovalConfig"),
    "skill": Kind("skill", "aslant.configs.skill:SkillConfig"),
    "choice": Kind(None, None),
    "parallel": Kind(None, None),
    "foreach": Kind(None, None),
    "wait": Kind(None, None),
    "workflow": Kind(None, None),
}

# Types that the compiler adds, and that no definition may write. Their folders are in `functions` itself.
INTERNAL: Mapping[str, Kind] = {
    "compensate": Kind("compensate", None), "loop": Kind("loops", None), "gate": Kind("gates", None),
}  # fmt: skip


def function_name(step_type: str) -> str:
    """The name of the Lambda function that runs a step type, `aslant-<type>`. Raises KeyError for a native one."""
    if step_type not in INTERNAL and STEP_TYPES[step_type].native:
        raise KeyError(step_type)
    return f"aslant-{step_type}"
