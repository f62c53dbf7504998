"""A definition's way through the API: written, published, run, answered, changed, taken back."""

from __future__ import annotations

import time
from typing import Any

from aslant import bootstrap
from aslant.skill_specs import SkillSpec
from infra.cli.publishing import publish_files
from infra.cli.siblings import compile_with_siblings
from infra.local.provision import TENANT
from tests.integration.api.conftest import Api, definition
from translator.pipeline import Source


def waiting(api: Api, execution: str) -> dict[str, Any]:
    end = time.monotonic() + 30
    while True:
        found = [one for one in api.call("GET", "/approvals").body["items"] if one["execution"] == execution]
        if found:
            return dict(found[0])
        assert time.monotonic() < end, "nobody is asked"
        time.sleep(0.05)


def ended(api: Api, execution: str) -> dict[str, Any]:
    end = time.monotonic() + 30
    while (one := api.call("GET", f"/executions/{execution}").body)["status"] in ("running", "pending", "rolling_back"):
        assert time.monotonic() < end, one
        time.sleep(0.05)
    return dict(one)


def test_from_a_definition_to_an_output(api: Api) -> None:
    made = api.call("POST", "/workflows", definition("journey"))
    assert (made.status, made.body["status"], made.body["published"], made.body["owner"]) == (201, "draft", None, "ann")
    assert made.headers["Location"] == "/api/v1/workflows/journey" and made.headers["ETag"] == '"1"'
    assert api.call("POST", "/workflows/journey/execute", {}).status == 404, "nothing is published yet"
    assert api.call("POST", "/workflows/journey/publish").body["published"] == "1.0.0"
    started = api.call("POST", "/workflows/journey/execute", {"input": {"who": "Eve"}}, headers={"Idempotency-Key": "k1"})
    again = api.call("POST", "/workflows/journey/execute", {"input": {"who": "Eve"}}, headers={"Idempotency-Key": "k1"})
    assert (started.status, again.body["id"]) == (202, started.body["id"])
    other = api.call("POST", "/workflows/journey/execute", {"input": {"who": "Bob"}}, headers={"Idempotency-Key": "k1"})
    assert (other.status, other.body["code"]) == (409, "conflict_error")
    request = waiting(api, started.body["id"])
    refused = api.call("POST", f"/approvals/{request['id']}/approve", {})
    assert refused.status == 403, "whoever starts it does not approve it"
    said = api.call("POST", f"/approvals/{request['id']}/approve", {"comment": "go"}, user="ben", roles=["approver"])
    assert (said.status, said.body["approved"], said.body["by"]) == (200, True, "ben")
    done = ended(api, started.body["id"])
    assert (done["status"], done["output"], done["input"]) == ("completed", {"text": "hello Eve"}, {"who": "Eve"})
    assert [step["step"] for step in api.call("GET", f"/executions/{done['id']}/timeline").body] == ["ask", "greet"]
    assert [one["after"] for one in api.call("GET", f"/executions/{done['id']}/transitions").body] == ["running", "completed"]


def test_versions_are_written_published_and_taken_back(api: Api) -> None:
    text = definition("lived")
    first = api.call("POST", "/workflows", text)
    assert api.call("POST", "/workflows", text).body["revision"] == first.body["revision"], "the same again"
    second = api.call("PUT", "/workflows/lived", text.replace("hello", "hi"), headers={"If-Match": first.headers["ETag"]})
    assert (second.status, second.body["latest"]) == (200, "1.0.1")
    late = api.call("PUT", "/workflows/lived", text.replace("hello", "ho"), headers={"If-Match": first.headers["ETag"]})
    assert (late.status, late.body["code"]) == (412, "precondition_failed")
    third = api.call("PUT", "/workflows/lived?version_increment=minor", text.replace("hello", "ho"))
    assert third.body["latest"] == "1.1.0"
    said = api.call("PUT", "/workflows/lived", text.replace("1.0.0", "3.0.0"))
    assert said.body["latest"] == "3.0.0", "what the definition says, when that is beyond"
    assert api.call("POST", "/workflows/lived/publish?version=1.0.1").body["published"] == "1.0.1"
    assert api.call("POST", "/workflows/lived/publish").body["published"] == "3.0.0"
    assert api.call("POST", "/workflows/lived/rollback").body["published"] == "1.1.0"
    assert [one["version"] for one in api.call("GET", "/workflows/lived/versions").body] == ["3.0.0", "1.1.0", "1.0.1", "1.0.0"]
    changed = api.call("GET", "/workflows/lived/diff?from=1.0.0&to=1.0.1").body
    assert '-  - {id: greet, type: transform, depends_on: [ask], config: {data: "hello {{ input.who }}"}}' in changed
    assert api.call("GET", "/workflows/lived/versions/1.0.0").body == text
    assert api.call("GET", "/workflows/lived/versions/9.9.9").status == 404
    assert api.call("POST", "/workflows/lived/deprecate").body["status"] == "deprecated"
    assert api.call("DELETE", "/workflows/lived").body["status"] == "archived"
    refused = [api.call("POST", "/workflows/lived/execute", body).status for body in ({}, {"version": "1.0.0"})]
    assert refused == [404, 409], "nothing new starts"
    assert api.call("PUT", "/workflows/lived", text).status == 409


def test_what_runs_keeps_its_version(api: Api) -> None:
    api.call("POST", "/workflows", definition("steady"))
    api.call("POST", "/workflows/steady/publish")
    running = api.call("POST", "/workflows/steady/execute", {}).body
    api.call("PUT", "/workflows/steady", definition("steady").replace("hello", "bye"))
    api.call("POST", "/workflows/steady/publish")
    later = api.call("POST", "/workflows/steady/execute", {}).body
    assert (running["version"], later["version"]) == ("1.0.0", "1.0.1")
    for one, text in ((running, "hello you"), (later, "bye you")):
        request = waiting(api, one["id"])
        api.call("POST", f"/approvals/{request['id']}/approve", user="ben")
        assert ended(api, one["id"])["output"] == {"text": text}


def test_control(api: Api) -> None:
    api.call("POST", "/workflows", definition("control"))
    api.call("POST", "/workflows/control/publish")
    id = api.call("POST", "/workflows/control/execute", {}).body["id"]
    waiting(api, id)
    assert api.call("POST", f"/executions/{id}/resume").status == 409
    paused = api.call("POST", f"/executions/{id}/pause", {"reason": "lunch"})
    assert (paused.body["status"], paused.body["reason"]) == ("paused", "lunch")
    plan = api.call("POST", f"/executions/{id}/resume", {"dry_run": True}).body
    assert plan["what"] == "resume" and "greet" not in {one["step"] for one in plan["steps"]}
    taken = api.call("POST", f"/executions/{id}/checkpoints", {"label": "mine"}).body
    assert [one["label"] for one in api.call("GET", f"/executions/{id}/checkpoints").body] == ["mine"]
    assert api.call("DELETE", f"/executions/{id}/checkpoints/{taken['number']}").status == 204
    assert api.call("DELETE", f"/executions/{id}/checkpoints/{taken['number']}").status == 404
    assert api.call("POST", f"/executions/{id}/resume").body["status"] == "running"
    cancelled = api.call("POST", f"/executions/{id}/cancel", {"reason": "enough"}).body
    assert cancelled["status"] == "cancelled"
    assert id in [one["id"] for one in api.call("GET", "/executions?status=cancelled").body["items"]]


def test_a_start_may_wait_for_the_end(api: Api) -> None:
    api.call("POST", "/workflows", "dialect: canonical\nid: quick\nsteps: [{id: one, type: transform, config: {data: 1}}]\n")
    api.call("POST", "/workflows/quick/publish")
    done = api.call("POST", "/workflows/quick/execute", {"async": False})
    assert (done.status, done.body["status"]) == (200, "completed")


def test_pages_of_workflows(api: Api) -> None:
    names = [f"page-{number}" for number in range(5)]
    for name in names:
        api.call("POST", "/workflows", definition(name), tenant="pages")
    found, cursor = [], ""
    while True:
        page = api.call("GET", f"/workflows?limit=2{cursor}", tenant="pages").body
        found += [one["id"] for one in page["items"]]
        if page["next"] is None:
            break
        cursor = f"&next={page['next']}"
    assert found == names


def test_what_is_published_from_a_file_is_in_the_catalog_too(api: Api) -> None:
    def push(text: str) -> str:
        source = Source(text, "filed.yaml")
        (published,) = publish_files(compile_with_siblings([source]), api.running.settings, by="ann")
        return published.version

    text = definition("filed")
    assert push(text) == "1.0.0"
    found = api.call("GET", "/workflows/filed", tenant=TENANT)
    assert (found.status, found.body["status"], found.body["published"], found.body["definition"]) == (200, "published", "1.0.0", text)
    assert api.call("POST", "/workflows", text.replace("hello", "hi"), tenant=TENANT).status == 409
    assert push(text) == "1.0.0" and api.call("GET", "/workflows/filed", tenant=TENANT).headers["ETag"] == found.headers["ETag"]
    assert push(text.replace("hello", "hi")) == "1.0.1"
    changed = api.call("PUT", "/workflows/filed", text.replace("hello", "ho"), tenant=TENANT).body
    assert (changed["published"], changed["latest"]) == ("1.0.1", "1.0.2"), "one rule numbers both"
    assert api.call("POST", "/workflows/filed/publish", tenant=TENANT).body["published"] == "1.0.2"
    rolled = api.call("POST", "/workflows/filed/rollback?version=1.0.1", tenant=TENANT)
    assert (rolled.status, rolled.body["published"]) == (200, "1.0.1")
    started = api.call("POST", "/workflows/filed/execute", {}, tenant=TENANT).body["id"]
    assert api.call("GET", f"/executions/{started}", tenant=TENANT).body["version"] == "1.0.1", "what is said to be published runs"
    assert api.call("POST", f"/executions/{started}/cancel", {}, tenant=TENANT).status == 200
    assert push(text.replace("hello", "hey")) == "1.0.3" and push(text.replace("hello", "hi")) == "1.0.1"
    assert push(text.replace("hello", "hey")) == "1.0.3", "what was published keeps its number"
    versions = [(one["version"], one["status"]) for one in api.call("GET", "/workflows/filed/versions", tenant=TENANT).body]
    assert versions == [(f"1.0.{number}", "published" if number == 3 else "superseded") for number in (3, 2, 1, 0)]
    patched = api.call("PATCH", "/workflows/filed", {"description": "greets"}, tenant=TENANT).body
    assert patched["latest"] == "1.0.4" and "hey" in patched["definition"], "changes go on from what was written last"
    api.call("PUT", "/workflows/filed", text.replace("hello", "ha"), tenant=TENANT)
    assert push(text.replace("1.0.0", "1.0.5")) == "1.0.6", "1.0.5 is the draft of somebody else"
    statuses = [one["status"] for one in api.call("GET", "/workflows/filed/versions", tenant=TENANT).body]
    assert statuses == ["published", "draft", "draft", *["superseded"] * 4]
    assert push(text.replace("1.0.0", "1.1.0")) == "1.1.0" and push(text.replace("1.0.0", "1.0.9")) == "1.1.1"


def test_skills_are_looked_up_in_the_registry_before_a_version_is_published(api: Api) -> None:
    store = bootstrap.skill_store(api.running.settings)
    store.put("acme", SkillSpec(name="off", target="https://off.example.com", status="inactive"))
    text = "dialect: canonical\nid: calls\nversion: 1.0.0\nsteps:\n  - {id: a, type: skill, config: {skill: %s}}\n"
    api.call("POST", "/workflows", text % "off")
    refused = api.call("POST", "/workflows/calls/publish")
    assert (refused.status, [each["code"] for each in refused.body["errors"]]) == (422, ["R003"])
    assert [each["code"] for each in api.call("POST", "/workflows/calls/validate").body] == ["R003"]
    store.put("acme", SkillSpec(name="off", target="https://off.example.com", status="deprecated"))
    published = api.call("POST", "/workflows/calls/publish").body
    assert (published["published"], [each["code"] for each in published["findings"]]) == ("1.0.0", ["R005"])
