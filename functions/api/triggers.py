"""What starts workflows by itself. Triggers are part of definitions: to change one is to publish a further version.

A trigger's id is `<workflow>:<type>-<number>`. It stays when others come or go before it (`aslant.triggers.carried`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import islice
from typing import Annotated, Any

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Query
from aws_lambda_powertools.event_handler.router import APIGatewayHttpRouter

from aslant import bootstrap, clock, schedules, webhooks
from aslant.access import Caller
from aslant.catalog import WorkflowRecord
from aslant.configs.triggers import ScheduleTrigger
from aslant.errors import ConflictError, InvalidTransition, NotFoundError
from aslant.releases import EventFacts, TriggerFacts, WebhookFacts
from aslant.settings import Settings
from functions.api import editing_models
from functions.api.request import Cursor, Limit, caller_of, check_unchanged
from functions.api.things import etag_of
from functions.api.workflows import further, publish_of
from translator import editing

Json = Any
router = APIGatewayHttpRouter()  # type: ignore[no-untyped-call]

_PREVIEWED = 5  # moments of a schedule that are shown
Workflow = Annotated[str | None, Query(max_length=500, description="only those of this workflow")]


@router.get("/triggers", tags=["triggers"], summary="What starts workflows; `limit` counts workflows")
def all_of_them(limit: Limit = 20, next: Cursor = None, workflow: Workflow = None) -> editing_models.TriggerPage:
    return _page(limit, next, workflow, "")


@router.get("/schedules", tags=["triggers"], summary="Schedules with their next moments; `limit` counts workflows")
def all_schedules(limit: Limit = 20, next: Cursor = None, workflow: Workflow = None) -> editing_models.TriggerPage:
    return _page(limit, next, workflow, "schedule")


@router.get("/schedules/<trigger_id>", tags=["triggers"], summary="A schedule")
@router.get("/triggers/<trigger_id>", tags=["triggers"], summary="A trigger")
def show(trigger_id: str) -> Response[editing_models.TriggerDocument]:
    settings, caller = caller_of(router)
    return _answer(200, *_found(settings, caller, trigger_id))


@router.post("/triggers", tags=["triggers"], summary="Give a workflow a trigger, and publish it")
def create(body: editing_models.TriggerBody) -> Response[editing_models.TriggerDocument]:
    def add(triggers: list[Json], ids: list[str]) -> int:
        triggers.append({"type": body.type, "config": dict(body.config)})
        return len(triggers) - 1

    return _altered(201, body.workflow, add)


@router.post("/schedules", tags=["triggers"], summary="Give a workflow a schedule, and publish it")
def create_schedule(body: editing_models.ScheduleBody) -> Response[editing_models.TriggerDocument]:
    return create(editing_models.TriggerBody(workflow=body.workflow, type="schedule", config=body.config))


@router.put("/schedules/<trigger_id>", tags=["triggers"], summary="The same, with another configuration as a whole")
@router.put("/triggers/<trigger_id>", tags=["triggers"], summary="Another configuration, published at once")
def replace(trigger_id: str, body: editing_models.TriggerPatch) -> Response[editing_models.TriggerDocument]:
    return _configured(trigger_id, lambda config: body.config)


@router.patch("/schedules/<trigger_id>", tags=["triggers"], summary="Change parts of a schedule, such as `enabled`")
@router.patch("/triggers/<trigger_id>", tags=["triggers"], summary="Change parts of it, such as `enabled`")
def modify(trigger_id: str, body: editing_models.TriggerPatch) -> Response[editing_models.TriggerDocument]:
    def merged(config: dict[str, Json]) -> dict[str, Json]:
        editing.merge(config, body.config)
        return config

    return _configured(trigger_id, merged)


@router.delete("/schedules/<trigger_id>", tags=["triggers"], summary="Take a schedule out, and publish the workflow")
@router.delete("/triggers/<trigger_id>", tags=["triggers"], summary="Take it out, and publish its workflow")
def remove(trigger_id: str) -> Response[None]:
    settings, caller = caller_of(router)
    record, _ = _found(settings, caller, trigger_id)

    def drop(triggers: list[Json], ids: list[str]) -> int:
        del triggers[_place(ids, trigger_id)]
        return -1

    _altered(204, record.id, drop)
    return Response(status_code=204)


@router.get("/workflows/<workflow_id>/triggers", tags=["workflows"], summary="What starts its published version by itself")
def triggers(workflow_id: str) -> editing_models.TriggersDocument:
    settings, caller = caller_of(router)
    release = bootstrap.releases(settings).get(caller.tenant, workflow_id)
    def schedule(one: TriggerFacts) -> editing_models.ScheduleDocument:
        return editing_models.ScheduleDocument(
            id=one["id"], expression=one["expression"], timezone=one["timezone"], overlap=one["overlap"],
            enabled=one["enabled"], next=_next(schedules.read(one["expression"], one["timezone"])),
        )

    def webhook(one: WebhookFacts) -> editing_models.WebhookDocument:
        return editing_models.WebhookDocument(
            id=one["id"], url=_url(settings, caller, workflow_id, one["id"]), secret=one["secret"], header=one["header"],
            timestamp=one["timestamp"],
        )

    def event(one: EventFacts) -> editing_models.EventTriggerDocument:
        return editing_models.EventTriggerDocument(
            id=one["id"], events=one["events"], source=one["source"] or None, workflow=one["workflow"] or None,
            filter=one["filter"], conditional=one["where"] is not None,
        )

    return editing_models.TriggersDocument(
        schedules=[schedule(one) for one in release.get("triggers", ())],
        webhooks=[webhook(one) for one in release.get("webhooks", ())],
        events=[event(one) for one in release.get("events", ())],
    )


def _page(limit: int, cursor: str | None, workflow: str | None, kind: str) -> editing_models.TriggerPage:
    settings, caller = caller_of(router)
    catalog, following = bootstrap.catalog(settings), None
    if workflow is not None:
        records: tuple[WorkflowRecord, ...] = (catalog.get(caller.tenant, workflow),)
    else:
        records, following = catalog.page(
            caller.tenant, limit=limit, after=cursor, wanted=lambda one: one.status == "published"
        )
    items = [one for record in records for one in _of(settings, caller, record) if kind in ("", one.type)]
    return editing_models.TriggerPage(items=items, next=following)


def _of(settings: Settings, caller: Caller, record: WorkflowRecord) -> Iterator[editing_models.TriggerDocument]:
    """The triggers of the published version."""
    if not record.published or record.status == "archived":
        return
    definition = bootstrap.catalog(settings).definition(caller.tenant, record.id, record.published)
    triggers = editing.canonical(definition.text, dialect=definition.dialect)[1].get("triggers") or []
    for id, trigger in zip(_ids(settings, caller, record, triggers), triggers, strict=True):
        if not id:
            continue
        config = dict(trigger.get("config") or {})
        shown = editing_models.TriggerDocument(
            id=id, workflow=record.id, version=record.published, type=trigger["type"], config=config,
            enabled=config.get("enabled", True) is not False,
        )
        if shown.type == "webhook":
            shown.url = _url(settings, caller, record.id, id.rpartition(":")[2])
        if shown.type == "schedule" and shown.enabled:
            shown.next = _next(ScheduleTrigger.model_validate(config).read())
        yield shown


def _ids(settings: Settings, caller: Caller, record: WorkflowRecord, triggers: list[Json]) -> list[str]:
    """The ids of the published version's triggers in their order, empty for those that start nothing by themselves."""
    named = bootstrap.releases(settings).get(caller.tenant, record.id, record.published).get("named")
    if named is None:  # published by a version of this service that counted them
        kinds = [str(one["type"]) for one in triggers]
        ids = ["" if kind == "manual" else f"{kind}-{kinds[: place + 1].count(kind)}" for place, kind in enumerate(kinds)]
    else:
        ids = [one["id"] for one in named]
    return [f"{record.id}:{id}" if id else "" for id in ids]


def _place(ids: list[str], trigger_id: str) -> int:
    if trigger_id not in ids:
        raise NotFoundError(f"there is no trigger {trigger_id}")
    return ids.index(trigger_id)


def _found(
    settings: Settings, caller: Caller, trigger_id: str
) -> tuple[WorkflowRecord, editing_models.TriggerDocument]:
    """A trigger and its workflow. Raises NotFoundError."""
    record = bootstrap.catalog(settings).get(caller.tenant, trigger_id.rpartition(":")[0])
    found = next((one for one in _of(settings, caller, record) if one.id == trigger_id), None)
    if found is None or ("/schedules/" in router.current_event.path and found.type != "schedule"):
        raise NotFoundError(f"there is no trigger {trigger_id}")
    return record, found


def _configured(
    trigger_id: str, change: Callable[[dict[str, Json]], dict[str, Json]]
) -> Response[editing_models.TriggerDocument]:
    settings, caller = caller_of(router)
    record, _ = _found(settings, caller, trigger_id)

    def configure(triggers: list[Json], ids: list[str]) -> int:
        place = _place(ids, trigger_id)
        triggers[place]["config"] = change(dict(triggers[place].get("config") or {}))
        return place

    return _altered(200, record.id, configure)


def _altered(
    status: int, workflow: str, change: Callable[[list[Json], list[str]], int]
) -> Response[editing_models.TriggerDocument]:
    """Publishes a further version of a workflow with other triggers; `change`, which also gets their ids, gives the place
    of the one to show.
    """
    settings, caller = caller_of(router)
    catalog = bootstrap.catalog(settings)
    record = catalog.get(caller.tenant, workflow)
    check_unchanged(router, record.revision)
    if record.status != "published":
        raise InvalidTransition(f"{workflow} is {record.status}; triggers start what is published")
    if record.published != record.latest:
        raise ConflictError(
            f"{workflow} {record.latest} is a draft beside {record.published}, which is published; publish it first"
        )
    definition = catalog.definition(caller.tenant, workflow, record.published)
    place = -1

    def alter(data: dict[str, Json]) -> None:
        nonlocal place
        triggers = data.setdefault("triggers", [])
        place = change(triggers, _ids(settings, caller, record, triggers))

    text = editing.edited(definition.text, alter, dialect=definition.dialect)
    further(200, workflow, text, definition.dialect, "patch", revision=record.revision)
    publish_of(catalog.get(caller.tenant, workflow))
    if place < 0:
        return Response(status_code=204)
    record = catalog.get(caller.tenant, workflow)
    id = _ids(settings, caller, record, [])[place]
    return _answer(status, record, next(one for one in _of(settings, caller, record) if one.id == id))


def _answer(
    status: int, record: WorkflowRecord, found: editing_models.TriggerDocument
) -> Response[editing_models.TriggerDocument]:
    return Response(status_code=status, content_type="application/json", body=found, headers={"ETag": etag_of(record)})


def _url(settings: Settings, caller: Caller, workflow: str, trigger: str) -> str:
    path = webhooks.address(webhooks.Hook(caller.tenant, workflow, trigger))
    return f"{settings.public_url.rstrip('/')}/api/v1/hooks/{path}"


def _next(schedule: schedules.Schedule) -> list[str]:
    now = datetime.fromtimestamp(clock.now(), UTC)
    found = islice(schedules.moments(schedule, now), _PREVIEWED)
    return [moment.isoformat().replace("+00:00", "Z") for moment in found]
