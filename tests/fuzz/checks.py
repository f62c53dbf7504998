"""What must hold of executions when everything is at rest, whatever was done to them."""

from __future__ import annotations

import hashlib
import uuid
from collections import Counter
from typing import Any

from aslant import bootstrap, serving
from aslant.executions.naming import keyed_id
from aslant.executions.records import Execution
from aslant.executions.states import FINAL, TRANSITIONS
from aslant.ports import StepKey
from infra.local import provision

TENANT = provision.TENANT
_ERRORS = {"RuntimeError", "Runtime.ExitError", "ApprovalRejected", "RollbackIncomplete"}
_TELLS = {
    "paused": "workflow_paused", "completed": "workflow_completed", "failed": "workflow_failed",
    "cancelled": "workflow_cancelled", "timed_out": "workflow_timed_out", "rolled_back": "workflow_rolled_back",
}


def idempotency_key(key: StepKey, since: int) -> str:
    """What `StepRun.idempotency_key` is documented to be: of tenant, execution, step, iteration, and the run since which it acts
    again."""
    text = "\x00".join((key.tenant, key.execution, key.step, *map(str, key.iteration), *([f"since {since}"] if since else [])))
    return str(uuid.UUID(bytes=hashlib.sha256(text.encode()).digest()[:16], version=5))


def running(cloud: Any) -> list[str]:
    """ARNs of the executions that the engine runs."""
    states = cloud.client("stepfunctions")
    found = []
    for page in states.get_paginator("list_state_machines").paginate():
        for machine in page["stateMachines"]:
            pages = states.get_paginator("list_executions").paginate(
                stateMachineArn=machine["stateMachineArn"], statusFilter="RUNNING"
            )
            found += [str(row["executionArn"]) for each in pages for row in each["executions"]]
    return found


def everything(service: Any) -> list[Execution]:
    """All executions, children too."""
    found: list[Execution] = []
    cursor = None
    while True:
        page = service.list(TENANT, limit=1000, cursor=cursor)
        found += page.items
        if (cursor := page.next) is None:
            return found


def wrong(dev: Any, world: Any, flows: Any, ids: list[str]) -> list[str]:
    """Everything that does not hold."""
    service = bootstrap.executions(dev.settings)
    problems: list[str] = []
    roots = {keyed_id(TENANT, key): (key, number) for number, key in enumerate(ids)}
    known = {one.id: one for one in everything(service)}
    problems += [f"{id} ({key}) is gone" for id, (key, _) in roots.items() if id not in known]
    for one in known.values():
        where = f"{one.workflow} {one.id} [{one.status}, run {one.run}, {dict(world.touched.get(one.id, {}))}]"
        root = one.parent is None
        world.counted[f"ended {one.status}" if root else f"child ended {one.status}"] += 1
        for problem in _one(dev, service, world, one, flows[one.workflow], roots[one.id][1] if root and one.id in roots else None):
            problems.append(f"{where}: {problem}")
        if one.parent is not None:
            parent = known.get(one.parent.execution)
            if parent is None:
                problems.append(f"{where}: its parent is gone")
            elif parent.status in FINAL and one.status not in FINAL:
                problems.append(f"{where}: outlives its parent, which is {parent.status} in run {parent.run}")
    left = running(dev.cloud)
    problems += [f"still runs: {arn}" for arn in left]
    items = _items(dev)
    for key, times in world.effects.items():
        explained = 1 + world.lost[key] + world.overtaken[key]
        if times > explained:
            step = world.steps.get(key)
            problems.append(f"the effect of {step} happened {times} times; {world.lost[key]} kills")
    pending = [item for item in items if item["sk"].startswith("approval#") and item["status"] == "pending"]
    problems += [f"a question is left: {item['pk']} {item['sk']}" for item in pending]
    return problems


def _one(dev: Any, service: Any, world: Any, one: Execution, flow: Any, n: int | None) -> list[str]:
    problems: list[str] = []
    done = world.touched.get(one.id, {})
    changes = service.transitions(TENANT, one.id)
    for before, after in zip(changes, changes[1:], strict=False):
        if after.before != before.after or after.revision != before.revision + 1:
            problems.append(f"the transitions have a gap: {before} {after}")
        if after.after != after.before and after.after not in TRANSITIONS[after.before]:
            problems.append(f"no legal transition: {after}")
    if not changes or changes[-1].after != one.status or changes[-1].revision != one.revision:
        problems.append(f"its last transition is {changes[-1:]}, revision {one.revision}")
    if one.status not in FINAL:
        return [*problems, "it has not ended"]
    if one.preparing:
        problems.append(f"it is still preparing {dict(one.preparing)}")
    if one.status == "completed":
        output = service.output(TENANT, one.id)
        given = n if n is not None else service.input(TENANT, one.id)["n"]
        if output != {"total": flow.total(given)}:
            problems.append(f"it gave {output} for {given}, not {flow.total(given)}")
    if one.status == "failed":
        error = one.error
        stopped = any(world.touched.get(child.id, {}).keys() & {"stop", "cancel"} for child in service.children(TENANT, one.id))
        if stopped and error is not None and error.error in ("Console", "Cancelled"):
            pass  # the failure of a child that somebody ended
        elif error is None or error.error not in _ERRORS:
            problems.append(f"it failed with {error}")
        elif error.error in ("RuntimeError", "Runtime.ExitError") and not flow.fails and not one.not_undone:
            problems.append(f"nothing in it fails, but it did: {error}")
    if one.status == "timed_out":
        problems.append("nothing in it has a limit of time")
    if one.status == "cancelled" and one.parent is None and not done.get("cancel") and not done.get("stop"):
        problems.append(f"nobody cancelled it: {changes[-1]}")
    if one.status == "rolled_back" and not flow.undoes:
        problems.append("it has nothing to undo")
    for record in service.steps(TENANT, one.id):
        if record.status == "running" and one.status == "completed":
            problems.append(f"the step {record.label} is left running")
        if record.status == "completed" and record.type == "skill" and not record.native:
            key = idempotency_key(StepKey(TENANT, one.id, record.step, record.iteration), record.since)
            if not world.effects[key]:
                problems.append(f"the step {record.label} completed without its effect")
    runs = service.runs(TENANT, one.id)
    problems += [f"run {run.number} ({run.why}) has no end" for run in runs if not run.status and run.number == one.run]
    numbers = [point.number for point in service.checkpoints(TENANT, one.id)]
    last = service.store.last_checkpoint(TENANT, one.id)
    if len(set(numbers)) != len(numbers) or numbers and max(numbers) > (last.number if last else 0):
        problems.append(f"the checkpoints are numbered {numbers}")
    rows = [detail for _, detail in serving.event_log(dev.settings).read(TENANT, one.id)]
    return problems + _rollback_steps(dev, service, one, flow, rows) + _events(dev, one, changes, numbers, rows)


def _rollback_steps(dev: Any, service: Any, one: Execution, flow: Any, rows: list[Any]) -> list[str]:
    """What stands under `rollback` runs where what happened is a rollback: one that was asked for, of a parent too, or that
    is the policy of what failed. A cancel and other failures leave it.
    """
    if "rollback" not in flow.definition:
        return []
    failed = {row["payload"]["step"] for row in rows if row["event_type"] == "node_failed"}
    policies = {flow.own.get(step, flow.on_error) for step in failed}
    asked = any(run.why == "rollback" for run in service.runs(TENANT, one.id))
    above = one
    while not asked and above.parent is not None:
        above = service.get(TENANT, above.parent.execution)
        asked = any(change.after == "rolling_back" for change in service.transitions(TENANT, above.id))
    back = [record for record in service.steps(TENANT, one.id) if record.step == "back"]
    ever = back or any(row["payload"].get("step") == "back" for row in rows)
    if ever and not asked and "rollback" not in policies:
        return [f"its rollback steps ran, though what failed was {failed}"]
    culprit = one.error.step if one.error is not None else ""
    if one.status == "rolled_back" and culprit in flow.own and flow.own[culprit] == "rollback" and not back:
        return [f"its rollback steps did not run, though {culprit} failed"]
    return []


def _events(dev: Any, one: Execution, changes: Any, checkpoints: list[int], rows: list[Any]) -> list[str]:
    problems = []
    counted = Counter(str(detail["event_type"]) for detail in rows)
    ids = Counter(detail["event_id"] for detail in rows)
    # An attempt of a stopped run may begin a step once more after its record was set aside.
    begun_again = {item["step"] for item in _items(dev) if item["sk"].startswith("aside#") and item["execution"] == one.id}
    problems += [
        f"an event is there twice: {detail}" for detail in rows
        if ids[detail["event_id"]] > 1 and detail["payload"].get("step") not in begun_again
    ]  # fmt: skip
    wanted: Counter[str] = Counter(
        _TELLS[change.after] for change in changes if change.after in _TELLS and change.after != change.before
    )
    for name in _TELLS.values():
        if counted[name] != wanted[name]:
            problems.append(f"{counted[name]} events {name} for {wanted[name]} transitions")
    goes = sum(1 for change in changes if change.after == "running")
    if counted["workflow_started"] + counted["workflow_resumed"] != goes:
        problems.append(f"{counted['workflow_started']} starts and {counted['workflow_resumed']} resumptions are {goes} transitions")
    told = {detail["payload"]["number"] for detail in rows if detail["event_type"] == "checkpoint_created"}
    if told != set(range(1, len(told) + 1)):
        problems.append(f"the checkpoints {sorted(told)} have gaps")
    if not set(checkpoints) <= told:
        problems.append(f"checkpoints without an event: {set(checkpoints) - told}")
    return problems + _story(rows, one.status in FINAL)


def _story(rows: list[Any], over: bool) -> list[str]:
    """Each step that has started ends in some event, and after the end of the workflow nothing of that run begins."""
    problems, open_, ended = [], {}, 0
    for row in rows:
        name, payload = row["event_type"], row["payload"]
        place = (payload.get("step"), tuple(payload.get("iteration") or ()))
        if name in ("workflow_started", "workflow_resumed"):
            ended = 0
        elif name in _TELLS.values() and name != "workflow_paused":
            ended = payload["run"]
        elif name in ("node_started", "node_retrying"):
            open_[place] = row
            if payload["run"] <= ended:
                problems.append(f"it begins after the end of run {ended}: {row}")
        elif name.startswith("node_"):
            open_.pop(place, None)
    return problems + [f"the end of it is not told: {row}" for row in open_.values() if over]


def _items(dev: Any) -> list[dict[str, Any]]:
    pages = dev.cloud.client("dynamodb").get_paginator("scan").paginate(TableName=dev.settings.executions_table)
    return [
        {name: next(iter(value.values())) for name, value in row.items()} for page in pages for row in page["Items"]
    ]
