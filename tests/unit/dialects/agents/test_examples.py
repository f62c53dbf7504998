"""Whole agents definitions, one for each pattern."""

from __future__ import annotations

import pytest

from tests.unit.dialects.tasks.reading import Data, data_file, lowered, places, steps


@pytest.fixture(scope="module")
def digest() -> Data:
    return lowered(data_file(__file__, "digest.yaml"), "agents")[0]


def test_metadata(digest: Data) -> None:
    assert {key: digest[key] for key in ("id", "name", "version", "description")} == {
        "id": "wf_digest", "name": "Job board digest", "version": "1.2.0",
        "description": "Reads job pages and mails the wanted trades"}
    assert digest["labels"] == {"created_by": "user_17", "created_at": "2026-02-03T08:00:00Z",
        "updated_at": "2026-02-04T08:00:00Z", "tags": ["jobs", "digest"], "pattern": "sequential"}


def test_state_schema(digest: Data) -> None:
    assert digest["inputs"] == {
        "pages": {"type": "array", "items": {"type": "string"}, "min_items": 1, "required": True},
        "reader": {"type": "string"}}
    assert digest["output_types"] == {"trades_json": {"type": "array"}, "mailed": {"type": "boolean"}}
    assert digest["outputs"] == {"trades_json": "{{ state.trades_json }}"}


def test_settings(digest: Data) -> None:
    assert digest["settings"] == {
        "checkpoint": {"policy": "every_n", "every": 5}, "on_error": "fail", "track_cost": True, "track_duration": False,
        "alert_on_sla_breach": True, "sla": 240, "max_parallel": 2, "timeout": 500}
    (notification,) = digest["notifications"]
    assert notification["on"] == ["failed"]
    assert notification["config"]["channel"] == "slack"
    assert notification["config"]["url"] == "{{ secrets.slack_webhook_url }}"


def test_nodes(digest: Data) -> None:
    by_id = steps(digest)
    assert by_id["read_pages"] == {
        "id": "read_pages", "description": "Reads the pages", "type": "scrape", "output_key": "pages_html", "timeout": 90,
        "config": {"urls": "{{ input.pages }}", "selector": ".job", "wait_for_load": True, "timeout": 20},
        "retry": {"max_attempts": 4, "strategy": "linear"}}
    assert by_id["find_trades"]["config"] == {"model": "gpt-4", "temperature": 0.2, "output_format": "json",
        "prompt": 'Name the trades in these pages as a JSON list like ["mason"], or {"none": true}.\n'
            "{{ state.pages_html }}\n"}
    assert by_id["mail_reader"]["config"]["subject"] == "Trades wanted by {{ workflow.name }}"
    assert [by_id[name].get("depends_on") for name in by_id] == [None, ["read_pages"], ["find_trades"]]


def test_what_stays_open_is_said() -> None:
    _, found = lowered(data_file(__file__, "digest.yaml"))
    assert [code for code, _, _ in places(found)] == ["D115", "D113"]


def test_sequential() -> None:
    data, found = lowered(data_file(__file__, "sequential.json"), "agents")
    by_id = steps(data)
    assert found == []
    assert data["name"] == "Menu allergens"
    assert by_id["list_allergens"]["config"] == {
        "model": "gpt-4", "prompt": "List the allergens of {{ menus_html }}", "output_format": "json_array"}
    assert by_id["write_guest"]["config"]["to"] == "{{ context.user.email }}"
    assert by_id["write_guest"]["depends_on"] == ["list_allergens"]


def test_map_reduce() -> None:
    data, found = lowered(data_file(__file__, "map_reduce.json"), "agents")
    by_id = steps(data)
    assert found == []
    assert by_id["map_mood"] == {
        "id": "map_mood", "type": "foreach", "depends_on": ["collect_letters"], "output_key": "moods", "max_parallel": 8,
        "items": "{{ state.letters }}", "item_name": "letter",
        "steps": [{"id": "map_mood_each", "type": "agent",
            "config": {"model": "gpt-3.5", "prompt": "Which mood has this letter: {{ letter }}"}}]}
    assert by_id["sum_up"]["config"] == {
        "aggregation": "summarize", "format": "markdown_report", "results": "{{ state.moods }}"}


def test_conditional() -> None:
    data, found = lowered(data_file(__file__, "conditional.json"), "agents")
    by_id = steps(data)
    assert by_id["decide"]["cases"] == [{"name": "true", "when": "reading.status_code != 200"}]
    assert by_id["decide"]["default"] == "false"
    assert by_id["ring"]["depends_on"] == [{"step": "decide", "on": ["true"]}]
    assert by_id["store"]["depends_on"] == [{"step": "decide", "on": ["false"]}]
    assert by_id["store"]["config"]["parameters"] == ["{{ reading.status_code }}"]
    assert by_id["ask_sensor"]["config"]["expected_status"] == "100-599"  # or the router could never see another one
    assert sorted(code for code, _, _ in places(found)) == ["D110", "D110", "D123"]
