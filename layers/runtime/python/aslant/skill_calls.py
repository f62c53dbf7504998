"""A registered skill, called with arguments: a Python callable, a Lambda function, a container or an HTTP endpoint."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from functools import cache
from typing import Protocol

from aslant import bootstrap, skills
from aslant.configs.guard import Guard
from aslant.contracts import Json
from aslant.errors import SkillNotFound, ValidationError, http_error, retry_after
from aslant.guards import GuardPorts, guarded
from aslant.http_ports import Http, HttpRequest
from aslant.ports import Functions
from aslant.secrets import Redactor
from aslant.settings import Settings
from aslant.skill_specs import SkillSpec, check_arguments, check_result, complete, is_task_definition, pick
from aslant.values import compact, read_json

_MAX_ANSWER = 5_000_000
_LONGEST_CODE = 300.0  # seconds
_FRESH = 30.0  # seconds for which a process believes what it has read of the registry
_read: dict[tuple[str, str, str], tuple[float, list[SkillSpec]]] = {}
_lock = threading.Lock()


class Caller(Protocol):
    """The step that calls."""

    @property
    def settings(self) -> Settings: ...
    @property
    def redactor(self) -> Redactor: ...
    @property
    def tenant(self) -> str: ...
    @property
    def guard(self) -> Guard: ...
    def remaining(self, limit: float | None = None) -> float: ...


def lookup(name: str, settings: Settings, tenant: str | None, version: str | None = None) -> skills.Entry:
    """A skill of the installation, or of the tenant's registry. Raises SkillNotFound, which lists what there is."""
    entry = skills.lookup(name, settings.skills, settings.skill_modules, version)
    if entry is None and tenant is not None:
        chosen = pick(name, _registered(tenant, name, settings), version)
        entry = skills.Entry(chosen.target, chosen) if chosen is not None else None
    if entry is None:
        raise skills.not_found(name, skills.names(settings.skills))
    if entry.target == "" and not (entry.spec is not None and entry.spec.code):
        raise SkillNotFound(f"the skill {name} is registered as a Python function, and this installation has none of that name")
    return entry


def _registered(tenant: str, name: str, settings: Settings) -> list[SkillSpec]:
    key = (settings.catalog_table, tenant, name)
    with _lock:
        known = _read.get(key)
    if known is not None and known[1] and time.monotonic() - known[0] < _FRESH:
        return known[1]
    found = bootstrap.skill_store(settings).of(tenant, name)
    with _lock:
        _read[key] = time.monotonic(), found
    return found


def known(settings: Settings, tenant: str) -> Callable[[str, str | None], skills.Entry | None]:
    """A look-up for checks before a run: as `lookup`, but None for a skill that nobody registered.

    The registry is read once, when the first skill is looked up. A process without the installation's modules of
    skills knows none of their functions.
    """
    @cache
    def registered() -> dict[str, list[SkillSpec]]:
        found: dict[str, list[SkillSpec]] = {}
        for spec in bootstrap.skill_store(settings).all(tenant):
            found.setdefault(spec.name, []).append(spec)
        return found

    def find(name: str, version: str | None) -> skills.Entry | None:
        try:
            entry = skills.lookup(name, settings.skills, settings.skill_modules, version)
        except ValidationError:  # modules that cannot be loaded here
            entry = None
        if entry is None:
            chosen = pick(name, registered().get(name, ()), version)
            entry = skills.Entry(chosen.target, chosen) if chosen is not None else None
        return entry

    return find


def forget() -> None:
    """Drops what was read of the registry."""
    with _lock:
        _read.clear()


def call(
    name: str, target: skills.Target, parameters: Mapping[str, Json], run: Caller, http: Callable[[], Http],
    functions: Callable[[], Functions], *, key: str, offered: Mapping[str, Json] | None = None,
    spec: SkillSpec | None = None, guards: GuardPorts | None = None,
) -> Json:
    """What the skill returns. An error of its own keeps its class name.

    `key` is the same whenever the same call is made again: a Python skill that takes an `idempotency_key` gets it, an HTTP
    skill as a header. `offered` are arguments for a Python skill that takes them, and for every other. With `spec` arguments
    and result are checked, and its limits apply; the workflow's apply where it has none. Raises ValidationError,
    RateLimited, CircuitOpen.
    """
    spec = spec or skills.described(name, target)
    if spec is not None:
        check_arguments(spec, _of_spec(spec, parameters, offered or {}), run.redactor.json)

    def made() -> Json:
        if spec is not None and spec.code:
            return _in_sandbox(spec, complete(spec, parameters), run)
        if not isinstance(target, str):
            return skills.call(name, target, parameters, offered, key)
        arguments = {**(complete(spec, parameters) if spec is not None else parameters), **(offered or {})}
        if is_task_definition(target):
            return bootstrap.containers(run.settings, run.tenant).run(target, arguments, key, run.remaining)
        if target.startswith("arn:"):
            return functions().invoke(target, arguments)
        return _post(name, target, arguments, run, http(), key)

    guard = Guard(
        rate_limit=(spec.rate_limit if spec is not None else None) or run.guard.rate_limit,
        circuit_breaker=(spec.circuit_breaker if spec is not None else None) or run.guard.circuit_breaker,
    )
    value = guarded(made, f"skill:{name}", run, guard, guards or bootstrap.guard_ports(run.settings))
    if spec is not None:
        check_result(spec, value, run.redactor.json)
    return value


def _of_spec(spec: SkillSpec, parameters: Mapping[str, Json], offered: Mapping[str, Json]) -> dict[str, Json]:
    """The arguments that count: what is offered, and not asked for, is none."""
    known = (spec.parameters or {}).get("properties") or {}
    return {**{name: value for name, value in offered.items() if name in known}, **parameters}


def _in_sandbox(spec: SkillSpec, arguments: Mapping[str, Json], run: Caller) -> Json:
    """What `execute` of the skill's text returns. Raises SandboxError."""
    from aslant import sandbox  # few skills need it

    script = f"{spec.code}\n\nreturn execute(**input)"
    return sandbox.run(script, {"input": dict(arguments)}, sandbox.Limits(seconds=run.remaining(_LONGEST_CODE)))


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
