"""Another tenant with the same ids reaches nothing, and no text that comes from outside leads anywhere else."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from aslant import bootstrap, keys, serving, skills
from aslant.approvals.rules import Person
from aslant.errors import ConflictError, NotFoundError, StepError
from aslant.executions.records import Execution
from functions.publish_definition.logic import publish
from infra.local.dev import Dev, dev
from infra.local.home import Home
from translator.pipeline import Source, compile_sources

LONG = "😀" * 190  # many bytes in few characters
FLOW = """
dialect: canonical
id: flow
inputs: {n: {}, execution: {}, context: {}}
outputs: {below: "{{ steps.k.output }}", id: "{{ execution.id }}"}
steps:
  - {id: "a#b/%c", type: skill, config: {skill: tenancy_echo, parameters: {value: "{{ input.n }}"}}}
  - {id: k, type: workflow, workflow: below, depends_on: ["a#b/%c"],
     input: {execution: "{{ input.execution }}", context: {user: root}, tenant: other}}
  - {id: "question LONG", type: approval, depends_on: [k], config: {message: "?"}}
""".replace("LONG", LONG)
BELOW = """
dialect: canonical
id: below
inputs: {execution: {}, context: {}, tenant: {}}
outputs: {id: "{{ execution.id }}", context: "{{ context }}"}
steps: [{id: z, type: skill, config: {skill: tenancy_echo, parameters: {value: "{{ input.execution }}"}}}]
"""
IDS = ("x#y", "a" * 501, "😀" * 500, "\ud800", "", "%23", "../x", "\x00")
TENANTS = ("other", "acme#execution", "", "\ud800", "😀" * 64, "acme/")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dev]:
    skills.register("tenancy_echo", lambda value: value)
    try:
        folder: Path = tmp_path_factory.mktemp("tenancy")
        with dev(Home(folder), port=0, time_scale=20) as started:
            for tenant in ("acme", "other"):
                publish(
                    lambda versions: compile_sources([Source(FLOW, "flow.yaml"), Source(BELOW, "below.yaml")]),
                    started.settings, tenant, role="local",
                )  # fmt: skip
            yield started
    finally:
        skills.unregister("tenancy_echo")


def asked(running: Dev, tenant: str) -> str:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        waiting, _ = bootstrap.approvals(running.settings).pending(tenant)
        if waiting:
            return str(waiting[0]["approval_id"])
        time.sleep(0.1)
    raise AssertionError("nobody asks")


def ended(running: Dev, tenant: str, id: str) -> Execution:
    until = time.monotonic() + 60
    service = bootstrap.executions(running.settings)
    while (found := service.get(tenant, id)).status == "running" and time.monotonic() < until:
        time.sleep(0.1)
    return found


def refused(call: Callable[[], Any], *kinds: type[StepError]) -> bool:
    with pytest.raises(kinds or (StepError,)):
        call()
    return True


def test_another_tenant_reaches_nothing(running: Dev) -> None:
    service, people = bootstrap.executions(running.settings), bootstrap.approvals(running.settings)
    views = bootstrap.views(running.settings)
    forged = {"id": "x", "tenant": "other", "run": 9, "workflow": "flow", "parent": {"execution": "x", "step": "y"}}
    given = {"n": 1, "execution": forged, "context": {"user": "root"}}
    mine = service.start("acme", "flow", given, user="ann", key="same", context={"execution": forged})
    theirs = service.start("other", "flow", {"n": 2}, user="ben", key="same")
    assert mine.id != theirs.id
    question = asked(running, "acme")
    asked(running, "other")
    for tenant in TENANTS:
        for id in (mine.id, *IDS):
            for name in ("get", "input", "output", "steps", "transitions", "runs", "children", "checkpoints", "reconcile"):
                assert refused(lambda name=name, id=id, tenant=tenant: getattr(service, name)(tenant, id), NotFoundError)  # type: ignore[misc]
            for name in ("pause", "cancel", "resume", "retry", "rollback", "checkpoint"):
                assert refused(lambda name=name, id=id, tenant=tenant: getattr(service, name)(tenant, id, by="x"), NotFoundError)  # type: ignore[misc]
            assert refused(lambda id=id, tenant=tenant: views.view(tenant, id), NotFoundError)  # type: ignore[misc]
        strange = [keys.approval_id(keys.ApprovalRef(*ref)) for ref in (
            ("\ud800", "s", (), 0), ("e" * 3000, "s", (), 0), ("e", "s" * 1100, (), 0), ("e", "s", (-1, 10**30), -5),
        )]  # fmt: skip
        for approval in (question, "", "!!", "W10", "a" * 5000, *strange):
            assert refused(lambda a=approval, t=tenant: people.read(t, a), NotFoundError)  # type: ignore[misc]
            assert refused(lambda a=approval, t=tenant: people.decide(t, a, "approve", by=Person("x")), NotFoundError)  # type: ignore[misc]
    log = serving.event_log(running.settings)
    assert list(log.read("acme", mine.id)) and not list(log.read("other", mine.id))

    people.decide("acme", question, "approve", by=Person("cy"))
    done = ended(running, "acme", mine.id)
    (child,) = service.children("acme", mine.id)
    assert done.status == "completed"
    assert service.output("acme", mine.id) == {"id": mine.id, "below": {"id": child.id, "context": {"execution": forged}}}
    assert (child.tenant, child.user, child.run) == ("acme", "ann", 1)
    still = service.get("other", theirs.id)
    assert (still.status, still.run) == ("running", 1)
    assert len(service.list("other").items) == 2


def test_what_a_caller_gives_is_taken_or_refused(running: Dev) -> None:
    service = bootstrap.executions(running.settings)
    start: Callable[..., Execution] = service.start
    taken = start("acme", "flow", {"n": "\ud800"}, user="ann", key="\ud800", context={"a": "\udfff"})
    assert service.input("acme", taken.id)["n"] == "\ufffd"
    for workflow in ("\ud800", "x" * 3000, "", "#"):
        for version in (None, "\ud800", "9" * 3000, "", "1.0.0"):
            assert refused(lambda w=workflow, v=version: start("acme", w, {}, user="u", version=v), NotFoundError)  # type: ignore[misc]
        assert service.list("acme", workflow=workflow).items == ()
    more: list[dict[str, Any]] = [
        {"user": "u", "labels": {"a": "b" * 500_000}}, {"user": "u", "trigger": {"a": "b" * 500_000}},
        {"user": "u", "context": {"a": float("nan")}}, {"user": "u", "key": "\ud800"},
    ]  # fmt: skip
    for each in more:
        assert refused(lambda each=each: start("acme", "flow", {"n": 1}, **each))  # type: ignore[misc]
    given: list[Any] = [
        {"n": float("inf")}, [], None, {"n": "x" * 5_300_000}, {"n": "\\" * 2_700_000}, {"n": 1, "unknown": 2},
    ]
    for one in given:
        assert refused(lambda one=one: start("acme", "flow", one, user="u"))  # type: ignore[misc]
    numbers: tuple[Any, ...] = (0, -1, 10**9, "1", 1.5, None, True)
    for number in numbers:
        for name in ("read_checkpoint", "delete_checkpoint"):
            assert refused(lambda n=number, name=name: getattr(service, name)("acme", taken.id, n), NotFoundError)  # type: ignore[misc]
    for step in ("\ud800", "nope", "", "a#b"):
        assert refused(lambda step=step: service.rerun("acme", taken.id, step, by="u"))  # type: ignore[misc]
    assert refused(lambda: start("acme", "flow", {"n": 3}, user="ann", key="\ud800"), ConflictError)
