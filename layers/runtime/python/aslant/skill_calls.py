"""A registered skill, called with arguments: a Python callable, a Lambda function or an HTTP endpoint."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Protocol

from aslant import skills
from aslant.contracts import Json
from aslant.errors import ValidationError, http_error, retry_after
from aslant.ports import Functions, Http, HttpRequest
from aslant.secrets import Redactor
from aslant.settings import Settings
from aslant.values import compact, read_json

_MAX_ANSWER = 5_000_000


class Caller(Protocol):
    """The step that calls."""

    @property
    def settings(self) -> Settings: ...
    @property
    def redactor(self) -> Redactor: ...
    def remaining(self, limit: float | None = None) -> float: ...


def find(name: str, settings: Settings) -> skills.Target:
    """A skill's target. Raises SkillNotFound, which lists what there is."""
    target = skills.find(name, settings.skills, settings.skill_modules)
    if target is None:
        raise skills.not_found(name, skills.names(settings.skills))
    return target


def call(
    name: str, target: skills.Target, parameters: Mapping[str, Json], run: Caller, http: Callable[[], Http],
    functions: Callable[[], Functions], *, key: str, offered: Mapping[str, Json] | None = None,
) -> Json:
    """What the skill returns. An error of its own keeps its class name.

    `key` is the same whenever the same call is made again: a Python skill that takes an `idempotency_key` gets it, an HTTP
    skill as a header. `offered` are arguments for a Python skill that takes them, and for every other.
    """
    if not isinstance(target, str):
        return skills.call(name, target, parameters, offered, key)
    arguments = {**parameters, **(offered or {})}
    if target.startswith("arn:"):
        return functions().invoke(target, arguments)
    return _post(name, target, arguments, run, http(), key)


def _post(name: str, url: str, arguments: Mapping[str, Json], run: Caller, http: Http, key: str) -> Json:
    headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "aslant",
               "Idempotency-Key": key}
    body = compact(dict(arguments)).encode("utf-8", "surrogatepass")
    response = http.send(HttpRequest("POST", url, headers, body, run.remaining(), _MAX_ANSWER))
    if response.status // 100 != 2:
        # Secrets leave before the text is cut: half of one would not be recognized.
        detail = run.redactor.text(response.body[:4000].decode("utf-8", "replace").strip())[:300]
        raise http_error(response.status, f"skill {name} answered {response.status}: {detail}",
            retry_after=retry_after(response.headers.get("retry-after"), time.time()))
    if not response.body:
        return None
    try:
        return read_json(response.body)
    except ValueError:
        raise ValidationError(f"skill {name} did not answer with JSON") from None
