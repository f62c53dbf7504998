"""A registered skill: a Python callable, a Lambda function or an HTTP endpoint, called with the step's parameters."""

from __future__ import annotations

from collections.abc import Callable

from aslant import skills
from aslant.configs.skill import SkillConfig
from aslant.contracts import Json, StepResult
from aslant.errors import ValidationError, http_error
from aslant.ports import Functions, Http, HttpRequest
from aslant.step import StepRun, result
from aslant.values import compact, read_json

_MAX_ANSWER = 5_000_000


def call(
    config: SkillConfig, run: StepRun, http: Callable[[], Http], functions: Callable[[], Functions]
) -> StepResult:
    """The skill's return value as the output.

    A skill that nobody registered is a SkillNotFound, or under simulation an output that says `simulated`. An error of
    the skill keeps its class name. A Python skill that takes an `idempotency_key` gets one: the same whenever this step is
    called again, also in a later run, since it may have been killed after its work and before that was recorded.
    """
    settings = run.settings
    target = skills.find(config.skill, settings.skills, settings.skill_modules)
    if target is None:
        if settings.simulate:
            return result({
                "simulated": True, "skill": config.skill, "parameters": config.parameters, **config.offered})
        raise skills.not_found(config.skill, skills.names(settings.skills))
    if not isinstance(target, str):
        return result(skills.call(config.skill, target, config.parameters, config.offered, run.idempotency_key))
    if target.startswith("arn:"):
        return result(functions().invoke(target, {**config.parameters, **config.offered}), calls=1)
    return result(_post(target, config, run, http()), calls=1)


def _post(url: str, config: SkillConfig, run: StepRun, http: Http) -> Json:
    headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "aslant",
               "Idempotency-Key": run.idempotency_key}
    body = compact({**config.parameters, **config.offered}).encode("utf-8", "surrogatepass")
    response = http.send(HttpRequest("POST", url, headers, body, run.remaining(), _MAX_ANSWER))
    if response.status // 100 != 2:
        # Secrets leave before the text is cut: half of one would not be recognized.
        detail = run.redactor.text(response.body[:4000].decode("utf-8", "replace").strip())[:300]
        raise http_error(response.status, f"skill {config.skill} answered {response.status}: {detail}")
    if not response.body:
        return None
    try:
        return read_json(response.body)
    except ValueError:
        raise ValidationError(f"skill {config.skill} did not answer with JSON") from None
