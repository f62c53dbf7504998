"""A registered skill: a Python callable, a Lambda function or an HTTP endpoint, called with the step's parameters."""

from __future__ import annotations

from collections.abc import Callable

from aslant import skill_calls
from aslant.configs.skill import SkillConfig
from aslant.contracts import StepResult
from aslant.errors import SkillNotFound
from aslant.http_ports import Http
from aslant.ports import Functions
from aslant.step import StepRun, result


def call(
    config: SkillConfig, run: StepRun, http: Callable[[], Http], functions: Callable[[], Functions]
) -> StepResult:
    """The skill's return value as the output.

    A skill that nobody registered is a SkillNotFound, or under simulation an output that says `simulated`. The key is the
    same whenever this step is called again, also in a later run, since it may have been killed after its work and before
    that was recorded.
    """
    try:
        entry = skill_calls.lookup(config.skill, run.settings, run.tenant, config.version)
    except SkillNotFound:
        if not run.settings.simulate:
            raise
        return result({"simulated": True, "skill": config.skill, "parameters": config.parameters, **config.offered})
    output = skill_calls.call(
        config.skill, entry.target, config.parameters, run, http, functions, key=run.idempotency_key, offered=config.offered,
        spec=entry.spec,
    )
    return result(output, calls=1) if isinstance(entry.target, str) else result(output)
