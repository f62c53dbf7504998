"""The settings of each stage, in one place. Values of an installation come from CDK's context (`-c name=value`)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Literal

from aslant.installation import NAME, installed

Stage = Literal["dev", "staging", "prod"]

LOG_DAYS = (1, 7, 14, 30, 90, 365)


class SettingsError(Exception):
    """A value of the context that cannot be used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StageSettings:
    """How a stage is built. Days, seconds and counts are whole numbers; an empty text means: without."""

    stage: Stage = "dev"
    name: str = NAME                     # of the installation; each one of an account has another
    tenant: str = "default"              # whose workflows the definitions of `infra/workflows` are
    keep_data: bool = False              # tables, bucket and key outlive their stack
    log_days: int = 14
    artifact_days: int = 90              # until an object of the bucket expires; executions are kept 90 days, too
    tracing: bool = True
    api_rate: int = 50                   # requests in a second
    api_burst: int = 100
    approval_alarm_hours: int = 24       # without an answer to any approval, 24 at most
    failure_alarm: int = 1               # failed executions in five minutes
    workflow_stacks: int = 1             # stacks that workflows are spread over, by their ids; changing it moves workflows
    budget_usd: int = 0                  # a month; 0 is no budget
    email_from: str = ""                 # an address that SES has verified
    alarm_email: str = ""
    issuer: str = ""                     # any OIDC issuer; a Cognito user pool is made without one
    audience: str = "aslant"             # what its tokens say under `aud`
    keys_url: str = ""                   # its JSON Web Key Set; <issuer>/.well-known/jwks.json without
    skill_functions: str = ""            # names of the Lambda functions that skills may be; <name>-skill-* without
    container_cluster: str = ""          # the ECS cluster of skills that are containers
    database_allow: str = ""             # ASLANT_DATABASE_ALLOW of query steps; rights follow from it
    domain: str = ""                     # of the API, with `certificate`
    certificate: str = ""                # ARN of a certificate in this region
    waf: bool = False                    # AWS WAF in front of the user pool (HTTP APIs take none)
    scrape_image: str = ""               # the repository (ECR) of an image with Chromium; scrape reads static pages without
    scrape_tag: str = "latest"
    tags: dict[str, str] = field(default_factory=dict)

    @property
    def secret_prefix(self) -> str:
        """What the names of secrets and parameters begin with."""
        return f"{self.name}/"

    def function(self, name: str) -> str:
        """The name of a function of the inventory in this installation."""
        return installed(name, self.name)

    def machine(self, name: str) -> str:
        """The name of a state machine in this installation: 80 characters at most."""
        full = name if self.name == NAME else f"{self.name}-{name}"
        return full if len(full) <= 80 else f"{full[:67]}-{hashlib.sha256(full.encode()).hexdigest()[:12]}"


STAGES: dict[str, StageSettings] = {
    "dev": StageSettings(stage="dev"),
    "staging": StageSettings(stage="staging", log_days=30, keep_data=True, failure_alarm=5),
    "prod": StageSettings(
        stage="prod", log_days=90, keep_data=True, failure_alarm=5, api_rate=500, api_burst=1000, waf=True,
    ),
}  # fmt: skip


def read(get: Callable[[str], object]) -> StageSettings:
    """The settings of the stage that the context names, with what else it says. `get` gives a value by name, or None.

    Raises SettingsError.
    """
    stage = str(get("stage") or "dev")
    if stage not in STAGES:
        raise SettingsError(f"there is no stage {stage}; there are {', '.join(STAGES)}")
    chosen = STAGES[stage]
    changes: dict[str, object] = {}
    for each in fields(chosen):
        given = get(each.name)
        if given is None or each.name in ("stage", "tags"):
            continue
        changes[each.name] = _as(each.name, getattr(chosen, each.name), str(given))
    made = replace(chosen, **changes)  # type: ignore[arg-type]
    if bool(made.domain) != bool(made.certificate):
        raise SettingsError("a domain needs a certificate, and a certificate a domain")
    if not re.fullmatch("[a-z][a-z0-9-]{0,15}[a-z0-9]", made.name):
        raise SettingsError("name has 2 to 17 lower-case letters, digits and hyphens")
    if made.log_days not in LOG_DAYS:
        raise SettingsError(f"log_days is one of {', '.join(map(str, LOG_DAYS))}")
    if made.workflow_stacks < 1:
        raise SettingsError("workflow_stacks is 1 or more")
    return made


def _as(name: str, default: object, given: str) -> object:
    if isinstance(default, bool):
        if given.lower() not in ("true", "false"):
            raise SettingsError(f"{name} is true or false, not {given!r}")
        return given.lower() == "true"
    if isinstance(default, int):
        if not given.isdecimal():
            raise SettingsError(f"{name} is a whole number, not {given!r}")
        return int(given)
    return given
