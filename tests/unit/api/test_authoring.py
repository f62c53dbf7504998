"""Changing definitions by parts, and making them of templates and of other workflows."""

from __future__ import annotations

from typing import Any

import pytest

from tests.served.api import FLOW, Served

STEPS = """\
name: wordy
version: 1.0.0
steps:
  - {id: one, type: transform, config: {data: "1"}}
  - {id: two, type: transform, config: {data: "2"}}
  - {id: three, type: transform, config: {data: "{{ steps.one.output }}"}}
"""


def patch(api: Served, id: str, *operations: dict[str, Any], **more: Any) -> Any:
    return api.call("PATCH", f"/workflows/{id}", {"operations": list(operations), **more})


def changes(api: Served, id: str, earlier: str, later: str) -> set[tuple[str, str]]:
    found = api.call("GET", f"/workflows/{id}/diff?from={earlier}&to={later}&format=json").body
    return {(one["kind"], "/".join(one["path"])) for one in found["changes"]}


def test_parts_are_changed_as_further_versions(api: Served) -> None:
    api.workflow("parts", published=False)
    added = {"id": "shout", "type": "transform", "depends_on": ["greet"], "config": {"data": "!"}}
    first = patch(api, "parts", {"op": "add_step", "step": added}, {"op": "set", "set": {"settings": {"max_parallel": 3}}})
    assert (first.status, first.body["latest"]) == (200, "1.0.1")
    assert changes(api, "parts", "1.0.0", "1.0.1") == {("added", "steps/shout"), ("added", "settings")}
    second = patch(
        api, "parts", {"op": "update_step", "step": "rest", "set": {"seconds": 5}},
        {"op": "remove_connection", "from": "greet", "to": "shout"}, {"op": "add_connection", "from": "rest", "to": "shout"},
        description="told", version_increment="minor",
    )  # fmt: skip
    assert second.body["latest"] == "1.1.0"
    assert changes(api, "parts", "1.0.1", "1.1.0") == {
        ("changed", "steps/rest/seconds"), ("changed", "steps/shout/depends_on"), ("added", "description"),
    }
    third = patch(api, "parts", {"op": "remove_step", "step": "rest"})
    assert third.status == 200
    assert api.call("GET", "/workflows/parts/diff?from=1.1.0&to=1.1.1&format=json").body["changes"][0]["step"] == "rest"
    text = api.call("GET", "/workflows/parts/diff?from=1.0.0&to=1.0.1")
    assert text.headers["Content-Type"].startswith("text/plain") and "+  - id: shout" in text.body


def test_the_dialect_stays_and_what_waited_goes_on(api: Served) -> None:
    api.call("POST", "/workflows", STEPS)
    answer = patch(api, "wordy", {"op": "remove_step", "step": "two"})
    assert answer.body["dialect"] == "steps" and "depends_on" not in answer.body["definition"]
    assert [row["id"] for row in api.call("GET", "/workflows/wordy/asl").body["States"].values() if "id" in row] == []
    again = patch(api, "wordy", {"op": "remove_step", "step": "one"})
    assert again.status == 422 and again.body["code"] == "definition_invalid", "three reads what is gone"
    assert api.call("GET", "/workflows/wordy").body["latest"] == "1.0.1", "nothing of it is kept"


@pytest.mark.parametrize(("operation", "says"), [
    ({"op": "remove_step", "step": "gret"}, "did you mean greet"),
    ({"op": "add_connection", "from": "rset", "to": "greet"}, "did you mean rest"),
    ({"op": "remove_connection", "from": "greet", "to": "rest"}, "does not wait"),
    ({"op": "add_step", "step": {"id": "rest", "type": "wait"}}, "already"),
    ({"op": "add_step", "step": {"type": "wait"}}, "an `id`"),
    ({"op": "update_step", "step": "rest", "set": {"id": "a"}}, "stays"),
])
def test_a_change_that_cannot_be_made(api: Served, operation: dict[str, Any], says: str) -> None:
    api.call("POST", "/workflows", FLOW.format(id="firm"))
    answer = patch(api, "firm", {"op": "update_step", "step": "rest", "set": {"seconds": 9}}, operation)
    assert answer.status == 422 and says in answer.body["detail"]
    assert answer.body["errors"][0]["pointer"] == "/body/operations/1"
    assert api.call("GET", "/workflows/firm").body["latest"] == "1.0.0"


def test_tags_and_searching(api: Served) -> None:
    for number in range(6):
        assert api.call("POST", f"/workflows?tags=red,n{number % 2}", FLOW.format(id=f"tagged-{number}"), tenant="lists").status == 201
    assert api.call("PATCH", "/workflows/tagged-5", {"tags": ["blue"]}, tenant="lists").body["tags"] == ["blue"]

    def ids(query: str) -> list[str]:
        return [one["id"][-1] for one in api.call("GET", f"/workflows?{query}", tenant="lists").body["items"]]

    assert ids("tags=red,n1") == ["1", "3"] and ids("tag=blue") == ["5"] and ids("q=TAGGED-2") == ["2"] and ids("status=active") == []
    assert ids("page=2&per_page=4") == ["4", "5"] and ids("offset=1&limit=2") == ["1", "2"] and ids("page=9") == []
    page = api.call("GET", "/workflows?tags=n1&limit=1", tenant="lists").body
    assert ids(f"tags=n1&limit=5&next={page['next']}") == ["3"], "pages are full, whatever the filter leaves out"
    for wrong in ("page=2&offset=1", "page=0", "offset=5000", "per_page=101"):
        assert api.call("GET", f"/workflows?{wrong}", tenant="lists").status in (400, 422), wrong


def test_words_are_refused_with_the_reason(api: Served) -> None:
    api.workflow("spoken", published=False)
    words = {"description": "Use another model in step 2", "organization_id": "acme", "version_increment": "patch"}
    for method, path in (("POST", "/workflows/create"), ("PUT", "/workflows/spoken")):
        answer = api.call(method, path, words)
        assert (answer.status, answer.body["code"]) == (422, "not_offered") and "no language model" in answer.body["detail"]


TEMPLATE = {
    "id": "greeter", "category": "demo", "definition": FLOW.format(id="greeter").replace("seconds: 1", 'seconds: "<<pause>>"')
    .replace("hello", "<<word>>, "),
    "parameters": {"pause": {"type": "integer", "default": 3, "maximum": 60}, "word": {"type": "string", "required": True}},
}  # fmt: skip


def test_a_workflow_of_a_template(api: Served) -> None:
    made = api.call("POST", "/templates", TEMPLATE)
    assert made.status == 201 and made.headers["Location"] == "/api/v1/templates/greeter"
    evil = '"}}, {id: evil, type: wait, seconds: 1}'
    answer = api.call("POST", "/templates/greeter/instantiate", {"id": "hi", "parameters": {"word": evil}})
    assert answer.status == 201, answer.body
    definition = api.call("GET", "/workflows/hi").body
    assert "seconds: 3" in definition["definition"] and "id: evil" in definition["definition"]
    states = api.call("GET", "/workflows/hi/schema").body
    assert states["inputs"].keys() == {"who"}
    assert {one["step"] for one in api.call("GET", "/workflows/hi/diff?from=1.0.0&to=1.0.0&format=json").body["changes"]} == set()
    graph = api.call("GET", "/workflows/hi/graph?format=dot").body
    assert "evil" not in graph, "a value is no step, whatever it says"
    assert api.call("POST", "/templates", TEMPLATE).status == 409
    assert [one["id"] for one in api.call("GET", "/templates?category=demo").body] == ["greeter"]


@pytest.mark.parametrize(("parameters", "pointer"), [
    ({}, "/body/parameters/word"), ({"word": "a", "pause": 61}, "/body/parameters/pause"),
    ({"word": "a", "paus": 1}, "/body/parameters/paus"),
])
def test_values_of_a_template_are_checked(api: Served, parameters: dict[str, Any], pointer: str) -> None:
    api.call("POST", "/templates", TEMPLATE)
    answer = api.call("POST", "/templates/greeter/instantiate", {"parameters": parameters})
    assert answer.status == 422 and pointer in {one["pointer"] for one in answer.body["errors"]}


def test_a_template_changes_and_goes(api: Served) -> None:
    body = {**TEMPLATE, "id": "going"}
    first = api.call("POST", "/templates", body)
    changed = api.call("PUT", "/templates/going", {**body, "name": "Going"}, headers={"If-Match": first.headers["ETag"]})
    assert changed.body["name"] == "Going"
    stale = api.call("DELETE", "/templates/going", headers={"If-Match": first.headers["ETag"]})
    assert (stale.status, stale.body["code"]) == (412, "precondition_failed")
    assert api.call("DELETE", "/templates/going", headers={"If-Match": changed.headers["ETag"]}).status == 204
    assert api.call("GET", "/templates/going").status == 404
    wrong = api.call("POST", "/templates", {**body, "parameters": {"pause": {"type": "number"}, "more": {"type": "nonsense"}}})
    assert wrong.status == 422 and len(wrong.body["errors"]) == 3, "a strange type, a place without one, one without a place"


def test_a_workflow_of_workflows(api: Served) -> None:
    for id in ("build", "ship"):
        api.workflow(id)
    body = {"id": "both", "inputs": {"tag": {"type": "string"}}, "parts": [
        {"workflow": "build", "input": {"who": "{{ input.tag }}"}}, {"workflow": "ship", "when": "input.tag != 'draft'"},
    ]}  # fmt: skip
    assert api.call("POST", "/compose", {**body, "dry_run": True}).status == 200
    assert api.call("POST", "/compose", body).status == 201
    assert api.call("POST", "/workflows/both/publish").body["status"] == "published"
    states = api.call("GET", "/workflows/both/asl").body
    assert "${workflow_build}" in str(states) and "${workflow_ship}" in str(states)


def test_ways_to_run_a_graph(api: Served) -> None:
    steps = "".join(
        f"  - {{id: {id}, type: wait, seconds: {seconds}, depends_on: [{after}]}}\n"
        for id, seconds, after in (("a", 5, ""), ("b", 1, ""), ("c", 1, "a, b"), ("d", 9, "b"), ("e", 1, "c, d"))
    )
    answer = api.call("POST", "/optimize", {"definition": f"dialect: canonical\nid: odd\nsteps:\n{steps}"}).body
    spans = {one["strategy"]: one["makespan"] for one in answer["strategies"]}
    assert len(spans) > 1 and spans[answer["best"]] == min(spans.values())
    assert api.call("POST", "/optimize", {}).status == 422
    api.workflow("plain", published=False)
    assert api.call("POST", "/optimize", {"workflow": "plain"}).body["strategies"] == []
