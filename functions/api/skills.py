"""The registry of skills: what definitions may call by name."""

from __future__ import annotations

from typing import Annotated, Any

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Body, Query
from aws_lambda_powertools.event_handler.router import APIGatewayHttpRouter

from aslant import bootstrap
from aslant.errors import AuthorizationError, ConflictError, NotFoundError, PreconditionFailed, ValidationError
from aslant.skill_registration import read_spec
from aslant.skill_specs import SkillSpec, key_of
from functions.api import editing_models
from functions.api.request import caller_of
from functions.api.things import etag_of, thing_of

Json = Any
router = APIGatewayHttpRouter()  # type: ignore[no-untyped-call]
_TRIES = 10  # times that a version is changed again because somebody else was faster

Version = Annotated[str | None, Query(max_length=30, description="a version; the newest without")]
Spec = Annotated[dict[str, Json], Body(
    description="name, version, description, owner, status, target or code, parameters and returns (JSON Schema), rate_limit,"
    " circuit_breaker; or spelled with agent_name, tool_specification and implementation"
)]  # fmt: skip


@router.post("/agents/register", tags=["skills"], summary="The same, as agents are registered")
@router.post("/workflows/agents/register", tags=["skills"], summary="The same, as agents are registered")
@router.post("/skills", tags=["skills"], summary="Register a skill, or a further version of it")
def register(body: Spec) -> Response[editing_models.SkillDocument]:
    settings, caller = caller_of(router)
    given = dict(body)
    if given.pop("organization_id", caller.tenant) != caller.tenant:
        raise AuthorizationError("the token is of another organization than the request names")
    spec, wrong = read_spec(given)
    if spec is None:
        raise ValidationError("; ".join(wrong))
    bootstrap.skill_store(settings).put(caller.tenant, spec)
    return Response(status_code=201, content_type="application/json", body=_document(spec))


@router.get("/skills", tags=["skills"], summary="All versions of all skills, by name")
def all_of_them() -> list[editing_models.SkillDocument]:
    settings, caller = caller_of(router)
    return [_document(one) for one in bootstrap.skill_store(settings).all(caller.tenant)]


@router.get("/skills/<skill_name>", tags=["skills"], summary="A skill")
def show(skill_name: str, version: Version = None) -> Response[editing_models.SkillDocument]:
    settings, caller = caller_of(router)
    found = _found(skill_name, version)
    headers = {"ETag": etag_of(thing_of(settings, caller.tenant, {"skill_name": skill_name}))}
    return Response(status_code=200, content_type="application/json", body=_document(found), headers=headers)


@router.get("/skills/<skill_name>/versions", tags=["skills"], summary="Its versions, the oldest first")
def versions(skill_name: str) -> list[editing_models.SkillDocument]:
    settings, caller = caller_of(router)
    _found(skill_name, None)
    return [_document(one) for one in bootstrap.skill_store(settings).of(caller.tenant, skill_name)]


@router.patch("/skills/<skill_name>", tags=["skills"], summary="Change its words or its status")
def modify(skill_name: str, body: editing_models.SkillPatch) -> editing_models.SkillDocument:
    changes = body.model_dump(include={"description", "owner", "status"}, exclude_none=True)
    return _document(_changed(skill_name, body.version, changes))


@router.delete(
    "/skills/<skill_name>", tags=["skills"], summary="Let nobody call it any more",
    description="A version, or all of them, becomes inactive: what called it once can still be read, and repeated elsewhere.",
)
def retire(skill_name: str, version: Version = None) -> Response[None]:
    settings, caller = caller_of(router)
    store = bootstrap.skill_store(settings)
    chosen = [_found(skill_name, version)] if version is not None else store.of(caller.tenant, skill_name)
    if not chosen:
        raise NotFoundError(f"there is no skill {skill_name}")
    for spec in chosen:
        _changed(skill_name, spec.version, {"status": "inactive"})
    return Response(status_code=204)


def _changed(name: str, version: str | None, changes: dict[str, Json]) -> SkillSpec:
    """A version after its change: of what `If-Match` has seen, else of what is there."""
    settings, caller = caller_of(router)
    seen: list[Json] | None = router.context.get("seen")
    for _ in range(_TRIES):
        before = _found(name, version, seen)
        after = before.model_copy(update=changes)
        try:
            bootstrap.skill_store(settings).put(caller.tenant, after, before)
        except PreconditionFailed:
            if seen is not None:
                raise
            continue
        return after
    raise ConflictError(f"the skill {name} keeps changing")


def _found(name: str, version: str | None, seen: list[Json] | None = None) -> SkillSpec:
    """A version, the newest without one; `seen` are the versions that count."""
    settings, caller = caller_of(router)
    if seen is None:
        known = bootstrap.skill_store(settings).of(caller.tenant, name)
    else:
        known = [SkillSpec.model_validate(one) for one in seen]
    fitting = [one for one in known if version in (None, one.version)]
    if not fitting:
        raise NotFoundError(f"there is no skill {name}" + (f" {version}" if known and version else ""))
    return max(fitting, key=lambda one: key_of(one.version))


def _document(spec: SkillSpec) -> editing_models.SkillDocument:
    return editing_models.SkillDocument.model_validate(spec.model_dump(mode="json"))
