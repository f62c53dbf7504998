"""Results that are kept for a while: a step without side effects that is asked the same again gives what it gave."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from typing import Protocol

from aslant import bootstrap, clock, observability
from aslant.contracts import Json
from aslant.errors import StepError, ValidationError
from aslant.settings import Settings
from aslant.values import compact

LONGEST = 366 * 86_400  # seconds


class Results(Protocol):
    """Results of steps that are kept for others which are the same. Times are epoch seconds."""

    def get(self, tenant: str, digest: str, now: int) -> tuple[Json] | None:
        """A kept output in a tuple, or None when there is none that is still good."""

    def put(self, tenant: str, digest: str, output: Json, until: int) -> None:
        """Keeps an output until then; one that is too large is not kept."""


class _Run(Protocol):
    @property
    def tenant(self) -> str: ...
    @property
    def workflow(self) -> str: ...
    @property
    def step(self) -> str: ...
    @property
    def type(self) -> str: ...
    @property
    def settings(self) -> Settings: ...


@dataclass(frozen=True, slots=True)
class Kept:
    """Where a step's result is kept. Steps of other workflows or of other names never share one."""

    tenant: str
    digest: str
    ttl: float
    settings: Settings

    @staticmethod
    def of(plan: Json, config: Json, secrets: Json, run: _Run) -> Kept | None:
        """None for a step without a `plan`. `secrets` are their places and names. Raises ValidationError for a bad `ttl`."""
        if plan is None:
            return None
        ttl = plan.get("ttl") if isinstance(plan, dict) else None
        if isinstance(ttl, bool) or not isinstance(ttl, int | float) or not 0 < ttl <= LONGEST:
            raise ValidationError("`ttl` of the cache is no number of seconds")
        # Secrets count by their names: their values are not known yet, and must not decide what others can find out.
        same = [plan["key"]] if "key" in plan else [config, secrets]
        text = compact([run.workflow, run.step, run.type, "key" in plan, *same])
        return Kept(run.tenant, hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(), ttl, run.settings)

    def read(self) -> tuple[Json] | None:
        """A kept result in a tuple. A store that fails costs a call, no more."""
        try:
            return bootstrap.results(self.settings).get(self.tenant, self.digest, math.floor(clock.now()))
        except StepError as error:
            observability.log("WARNING", "a kept result cannot be read", {"tenant": self.tenant}, error=str(error))
            return None

    def write(self, output: Json) -> None:
        until = math.ceil(clock.now() + self.ttl)
        try:
            bootstrap.results(self.settings).put(self.tenant, self.digest, output, until)
        except StepError as error:
            observability.log("WARNING", "a result cannot be kept", {"tenant": self.tenant}, error=str(error))
