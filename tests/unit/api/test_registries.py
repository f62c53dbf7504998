"""Triggers and skills by their own addresses."""

from __future__ import annotations

from typing import Any

import pytest

from aslant.adapters import clients
from tests.served.api import FLOW, REGION, Served


def schedules(api: Served) -> dict[str, str]:
    """What EventBridge Scheduler has, by what it calls: expressions by triggers."""
    client: Any = clients.client("scheduler", REGION)
    found = [client.get_schedule(Name=row["Name"], GroupName=row["GroupName"]) for row in client.list_schedules()["Schedules"]]
    return {row["Target"]["Input"].partition('"trigger":"')[2].partition('"')[0]: row["ScheduleExpression"] for row in found}


def test_a_schedule_is_made_changed_and_removed(api: Served) -> None:
    api.workflow("timed")
    made = api.call("POST", "/schedules", {"workflow": "timed", "schedule": "daily at 9am", "timezone": "Europe/Berlin"})
    assert (made.status, made.body["id"], made.body["version"]) == (201, "timed:schedule-1", "1.0.1")
    assert len(made.body["next"]) == 5 and schedules(api) == {"schedule-1": "cron(0 9 * * ? *)"}
    assert api.call("GET", "/workflows/timed").body["published"] == "1.0.1"
    off = api.call("PATCH", "/schedules/timed:schedule-1", {"config": {"enabled": False}})
    assert off.body["enabled"] is False and off.body["next"] == [] and schedules(api) == {}
    every = api.call("PUT", "/schedules/timed:schedule-1", {"config": {"every": "2 hours"}})
    assert every.body["config"] == {"every": "2 hours"} and schedules(api) == {"schedule-1": "rate(2 hours)"}
    stale = api.call("DELETE", "/schedules/timed:schedule-1", headers={"If-Match": off.headers["ETag"]})
    assert stale.status == 412
    assert api.call("DELETE", "/schedules/timed:schedule-1", headers={"If-Match": every.headers["ETag"]}).status == 204
    assert schedules(api) == {} and api.call("GET", "/schedules?workflow=timed").body["items"] == []
    assert api.call("GET", "/schedules/timed:schedule-1").status == 404


def test_triggers_of_all_kinds(api: Served) -> None:
    api.workflow("called", tenant="kinds")
    for body in (
        {"type": "webhook", "config": {"secret": "hook"}}, {"type": "event", "config": {"event": "order.*"}},
        {"type": "event", "config": {"event": "cart.*"}}, {"type": "workflow", "config": {"workflow": "other"}},
    ):
        assert api.call("POST", "/triggers", {"workflow": "called", **body}, tenant="kinds").status == 201, body
    items = api.call("GET", "/triggers", tenant="kinds").body["items"]
    assert [one["id"] for one in items] == [
        "called:webhook-1", "called:event-1", "called:event-2", "called:workflow-1",
    ]  # fmt: skip
    assert items[0]["url"].startswith("https://api.example.com/api/v1/hooks/") and api.call("GET", "/schedules", tenant="kinds").body["items"] == []
    assert api.call("GET", "/schedules/called:event-1", tenant="kinds").status == 404
    api.call("DELETE", "/triggers/called:event-1", tenant="kinds")
    assert api.call("GET", "/triggers/called:event-1", tenant="kinds").status == 404
    assert api.call("GET", "/triggers/called:event-2", tenant="kinds").body["config"] == {"event": "cart.*"}, "it keeps its id"
    made = api.call("POST", "/triggers", {"workflow": "called", "type": "event", "config": {"event": "bill.*"}}, tenant="kinds")
    assert made.body["id"] == "called:event-3", "an id that somebody had is not given to another one"


def test_a_trigger_keeps_its_id_when_others_come_before_it(api: Served) -> None:
    def publish(*triggers: str) -> dict[str, str]:
        """What the workflow's triggers are about, by their ids."""
        text = FLOW.format(id="ordered") + "triggers:\n" + "".join(f"  - {one}\n" for one in triggers)
        created = api.call("POST" if first else "PUT", "/workflows" if first else "/workflows/ordered", text)
        assert created.status < 300 and api.call("POST", "/workflows/ordered/publish").status == 200, created.body
        items = api.call("GET", "/triggers?workflow=ordered").body["items"]
        shown = api.call("GET", "/workflows/ordered/triggers").body
        assert {one["id"] for part in shown.values() for one in part} == {one["id"].rpartition(":")[2] for one in items}
        assert set(schedules(api)) == {one["id"] for one in shown["schedules"]}
        return {one["id"].rpartition(":")[2]: str(next(iter(one["config"].values()))) for one in items}

    first = True
    hook, day = "{type: webhook, config: {secret: %s}}", "{type: schedule, config: {schedule: 'daily at %s'}}"
    assert publish(hook % "a", day % "8:00") == {"webhook-1": "a", "schedule-1": "daily at 8:00"}
    first = False
    found = publish("{type: manual}", hook % "b", day % "7:00", hook % "a", day % "8:00")
    assert found == {"webhook-1": "a", "webhook-2": "b", "schedule-1": "daily at 8:00", "schedule-2": "daily at 7:00"}
    found = publish(day % "9:00", hook % "b", day % "8:00")
    assert found == {"webhook-2": "b", "schedule-1": "daily at 8:00", "schedule-2": "daily at 9:00"}, "one was changed, one taken out"
    changed = api.call("PATCH", "/triggers/ordered:webhook-2", {"config": {"secret": "c"}})
    assert (changed.body["id"], changed.body["config"]["secret"]) == ("ordered:webhook-2", "c")
    api.call("POST", "/workflows/ordered/rollback?version=1.0.0")
    items = api.call("GET", "/triggers?workflow=ordered").body["items"]
    assert [one["id"] for one in items] == ["ordered:webhook-1", "ordered:schedule-1"], "as it was published before"


@pytest.mark.parametrize(("body", "status"), [
    ({"schedule": "sometimes"}, 422), ({}, 422), ({"schedule": "daily at 9am", "cron": "* * * * *"}, 422),
    ({"schedule": "daily at 9am", "timezone": "Mars/Olympus"}, 422), ({"every": "1 hour", "surplus": 1}, 422),
])
def test_a_schedule_that_cannot_be(api: Served, body: dict[str, Any], status: int) -> None:
    api.workflow("refused")
    assert api.call("POST", "/schedules", {"workflow": "refused", **body}).status == status
    assert api.call("GET", "/workflows/refused").body["latest"] == "1.0.0"


def test_triggers_start_only_what_is_published(api: Served) -> None:
    api.workflow("drafted", published=False)
    body = {"workflow": "drafted", "every": "1 hour"}
    assert api.call("POST", "/schedules", body).status == 409
    api.call("POST", "/workflows/drafted/publish")
    api.call("PATCH", "/workflows/drafted", {"description": "a draft beside it"})
    answer = api.call("POST", "/schedules", body)
    assert answer.status == 409 and "1.0.1 is a draft" in answer.body["detail"], "nobody's draft is published unasked"
    assert api.call("POST", "/schedules", {"workflow": "nothing", "every": "1 hour"}).status == 404


AGENT = {
    "organization_id": "acme", "agent_name": "my_custom_agent", "description": "For a task",
    "tool_specification": {
        "parameters": {"param1": {"type": "string"}, "param2": {"type": "integer", "default": 10}},
        "returns": {"type": "object", "properties": {"result": {"type": "string"}}},
    },
    "implementation": {"type": "python_function", "code": "def execute(param1, param2):\n    return {'result': param1}"},
}  # fmt: skip


def test_skills_in_either_spelling(api: Served) -> None:
    made = api.call("POST", "/workflows/agents/register", AGENT)
    assert made.status == 201 and made.body["parameters"]["properties"].keys() == {"param1", "param2"}
    second = {"name": "my_custom_agent", "version": "2.0.0", "target": "https://example.com/run"}
    assert api.call("POST", "/skills", second).status == 201
    assert api.call("POST", "/skills", {**second, "target": "https://example.com/other"}).status == 409, "a version stays"
    assert api.call("GET", "/skills/my_custom_agent").body["version"] == "2.0.0"
    assert [one["version"] for one in api.call("GET", "/skills/my_custom_agent/versions").body] == ["1.0.0", "2.0.0"]
    shown = api.call("GET", "/skills/my_custom_agent?version=1.0.0")
    changed = api.call("PATCH", "/skills/my_custom_agent", {"status": "deprecated", "version": "1.0.0"},
        headers={"If-Match": shown.headers["ETag"]})  # fmt: skip
    assert changed.body["status"] == "deprecated" and changed.body["code"] == made.body["code"]
    assert api.call("PATCH", "/skills/my_custom_agent", {"owner": "x"}, headers={"If-Match": shown.headers["ETag"]}).status == 412
    assert api.call("DELETE", "/skills/my_custom_agent").status == 204
    assert {one["status"] for one in api.call("GET", "/skills/my_custom_agent/versions").body} == {"inactive"}
    assert api.call("GET", "/skills", tenant="other").body == []


@pytest.mark.parametrize("body", [
    {}, {"name": "a"}, {"name": "a", "target": "ftp://x"}, {"name": "a", "code": "x = 1"}, {"agent_name": "a", "implementation": {}},
    {"name": "a", "target": "https://example.com", "parameters": {"type": "array"}}, {"name": 1, "target": "https://example.com"},
])  # fmt: skip
def test_a_skill_that_cannot_be(api: Served, body: dict[str, Any]) -> None:
    assert api.call("POST", "/skills", body).status == 422
