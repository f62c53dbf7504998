"""Several who change the same thing at the same moment. Each has passed every check before any of them writes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from aslant import serving
from aslant.adapters.dynamo_audit import DynamoAudit
from tests.served.api import FLOW, Answer, Served
from tests.unit.runtime.fakes import one_write_at_a_time

Call = Callable[[], Answer]


@pytest.fixture(autouse=True)
def atomic() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        one_write_at_a_time(patch)
        yield


def at_once(calls: Sequence[Call]) -> list[Answer]:
    """The answers. All calls wait for one another where the audit trail notes them: behind `If-Match`, before the route."""
    barrier, passed = threading.Barrier(len(calls), timeout=60), threading.local()

    class Trail(DynamoAudit):
        def put(self, *args: object) -> None:
            super().put(*args)  # type: ignore[arg-type]
            if not getattr(passed, "once", False):
                passed.once = True
                barrier.wait()

    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(len(calls)) as pool:
        patch.setattr(serving, "audit_store", lambda settings: Trail(settings.region, settings.executions_table))
        return [done.result() for done in [pool.submit(call) for call in calls]]


def statuses(answers: Sequence[Answer]) -> list[int]:
    return sorted(answer.status for answer in answers)


def test_of_those_who_control_one_state_of_an_execution_one_does(api: Served) -> None:
    api.workflow("controlled")
    for paths in (("pause", "cancel", "pause", "cancel"), ("resume", "cancel", "rollback")):
        id = api.execution("controlled")
        if "resume" in paths:
            api.call("POST", f"/executions/{id}/pause", {})
        seen = {"If-Match": api.call("GET", f"/executions/{id}").headers["ETag"]}

        def control(path: str, id: str = id, seen: dict[str, str] = seen) -> Answer:
            return api.call("POST", f"/executions/{id}/{path}", {}, headers=seen)

        answers = at_once([lambda path=path: control(path) for path in paths])  # type: ignore[misc]
        # What undoes nothing refuses to roll back, whoever is first.
        lost = [answer for answer in answers if answer.status != 200]
        assert len(lost) == len(paths) - 1 and {answer.status for answer in lost} <= {412, 409}, [one.body for one in lost]
        changes = api.call("GET", f"/executions/{id}/transitions").body
        assert len(changes) == (2 if "pause" in paths else 3), "one change of the state that all of them saw"


def test_of_those_who_publish_one_state_of_a_workflow_one_does(api: Served) -> None:
    api.workflow("raced")
    for version in ("1.0.1", "1.0.2", "1.0.3"):
        assert api.call("PUT", "/workflows/raced", FLOW.format(id="raced").replace("hello", version)).body["latest"] == version
    seen = {"If-Match": api.call("GET", "/workflows/raced").headers["ETag"]}
    answers = at_once([
        lambda: api.call("POST", "/workflows/raced/publish?version=1.0.1", headers=seen),
        lambda: api.call("POST", "/workflows/raced/publish", headers=seen),
        lambda: api.call("POST", "/workflows/raced/rollback?version=1.0.2", headers=seen),
        lambda: api.call("DELETE", "/workflows/raced", headers=seen),
    ])  # fmt: skip
    assert statuses(answers) == [200, 412, 412, 412], [answer.body for answer in answers]
    (done,) = [answer.body for answer in answers if answer.status == 200]
    record = api.call("GET", "/workflows/raced").body
    assert (record["status"], record["published"]) == (done["status"], done["published"])
    if record["status"] == "published":
        assert api.call("POST", "/workflows/raced/execute", {}).body["version"] == record["published"], "what is said is what runs"


def test_publishing_the_latest_and_writing_a_further_one(api: Served) -> None:
    api.workflow("moving")
    api.call("PUT", "/workflows/moving", FLOW.format(id="moving").replace("hello", "second"))
    answers = at_once([
        lambda: api.call("POST", "/workflows/moving/publish"),
        lambda: api.call("PUT", "/workflows/moving", FLOW.format(id="moving").replace("hello", "third")),
        lambda: api.call("POST", "/workflows/moving/publish"),
    ])  # fmt: skip
    assert statuses(answers) == [200, 200, 200], [answer.body for answer in answers]
    record = api.call("GET", "/workflows/moving").body
    assert record["latest"] == "1.0.2" and record["published"] in ("1.0.1", "1.0.2")
    assert api.call("POST", "/workflows/moving/execute", {}).body["version"] == record["published"]


def test_nobody_who_changes_a_part_overwrites_another_part(api: Served) -> None:
    api.workflow("parts", published=False)
    additions = [{"operations": [{"op": "add_step", "step": {"id": f"s{number}", "type": "wait", "seconds": 1}}]} for number in range(3)]
    answers = at_once([lambda one=one: api.call("PATCH", "/workflows/parts", one) for one in additions])  # type: ignore[misc]
    assert statuses(answers) == [200, 200, 200], [answer.body for answer in answers]
    text = api.call("GET", "/workflows/parts").body["definition"]
    assert all(f"s{number}" in text for number in range(3))
    seen = {"If-Match": api.call("GET", "/workflows/parts").headers["ETag"]}
    described = at_once([
        lambda: api.call("PATCH", "/workflows/parts", {"description": "one"}, headers=seen),
        lambda: api.call("PATCH", "/workflows/parts", {"tags": ["two"]}, headers=seen),
    ])  # fmt: skip
    assert statuses(described) == [200, 412]


def test_of_those_who_change_one_state_of_another_thing_one_does(api: Served) -> None:
    api.workflow("things")
    api.call("POST", "/schedules", {"workflow": "things", "every": "7 days"})
    api.call("POST", "/skills", {"name": "raced", "target": "https://example.com/fetch"})
    template = {"id": "raced", "definition": FLOW.format(id="raced")}
    api.call("POST", "/templates", template)
    asked = api.approval(api.execution("things"), requester="bob")
    for path, calls in (
        ("/templates/raced", [("PUT", "", {**template, "name": "a"}), ("PUT", "", {**template, "name": "b"}), ("DELETE", "", None)]),
        ("/skills/raced", [("PATCH", "", {"owner": "a"}), ("PATCH", "", {"description": "b"}), ("DELETE", "", None)]),
        (f"/approvals/{asked}", [("POST", "/approve", {}), ("POST", "/reject", {"comment": "no"})]),
        ("/schedules/things:schedule-1", [("PATCH", "", {"config": {"enabled": False}}), ("DELETE", "", None)]),
    ):
        seen = {"If-Match": api.call("GET", path).headers["ETag"]}
        users = iter(("ann", "cleo", "dan"))
        answers = at_once([
            lambda method=method, end=end, body=body, user=user, path=path, seen=seen: api.call(  # type: ignore[misc]
                method, path + end, body, headers=seen, user=user
            )
            for (method, end, body), user in zip(calls, users, strict=False)
        ])  # fmt: skip
        done = [one.status for one in answers if one.status < 300]
        assert len(done) == 1, (path, [one.body for one in answers])
        # What somebody has removed is not there any more, whatever state of it was asked for.
        assert {one.status for one in answers} <= {*done, 412, *([404] if done == [204] else [])}, path


def test_a_change_without_if_match_is_made_after_the_other(api: Served) -> None:
    api.call("POST", "/skills", {"name": "both", "target": "https://example.com/fetch"})
    answers = at_once([
        lambda: api.call("PATCH", "/skills/both", {"owner": "a"}), lambda: api.call("PATCH", "/skills/both", {"description": "b"}),
    ])  # fmt: skip
    assert statuses(answers) == [200, 200]
    found = api.call("GET", "/skills/both").body
    assert (found["owner"], found["description"]) == ("a", "b")


def test_starts_at_once_get_no_more_places_than_there_are(api: Served) -> None:
    assert api.call("POST", "/workflows", FLOW.format(id="narrow") + "settings: {concurrency: 3}\n").status == 201
    assert api.call("POST", "/workflows/narrow/publish").status == 200
    answers = at_once([lambda: api.call("POST", "/workflows/narrow/execute", {})] * 8)
    assert statuses(answers) == [202] * 3 + [429] * 5
    assert len(api.call("GET", "/workflows/narrow/executions?status=running").body["items"]) == 3
    ended, resumed = (answer.body["id"] for answer in [one for one in answers if one.status == 202][:2])
    api.call("POST", f"/executions/{ended}/cancel", {})
    again = at_once([lambda: api.call("POST", "/workflows/narrow/execute", {})] * 4)
    assert statuses(again) == [202] + [429] * 3
    api.call("POST", f"/executions/{resumed}/pause", {})
    assert api.call("POST", f"/executions/{resumed}/resume", {}).body["status"] == "running"
    assert api.call("POST", "/workflows/narrow/execute", {}).status == 429
