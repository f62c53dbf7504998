"""What guards calls, and what is kept, reaches the functions that it is for."""

from __future__ import annotations

import json

from translator.pipeline import compile_source

CANONICAL = """
dialect: canonical
name: w
settings: {rate_limit: {calls: 5}, circuit_breaker: {failure_threshold: 2, recovery_timeout: 30}}
steps:
- {id: a, type: http, config: {url: "https://example.com"}, cache: {ttl: 60, key: "{{ input.k }}"}}
- {id: b, type: skill, depends_on: [a], config: {skill: s}}
- {id: c, type: transform, depends_on: [b], config: {script: "return 1", data: 1}, cache: true}
"""
GRAPH = {
    "name": "g", "nodes": [{"id": "a", "type": "http", "properties": {"url": "https://example.com"}}],
    "settings": {"circuit_breaker": {"failure_threshold": 3, "recovery_timeout": 1500}},
}


def payloads(text):
    compiled = compile_source(text)
    assert [found.code for found in compiled.diagnostics if found.severity in ("unsupported", "warning")] == []
    return {name: state["Arguments"]["Payload"] for name, state in compiled.definition["States"].items() if state["Type"] == "Task"}


def test_http_steps_and_skills_are_guarded():
    found = payloads(CANONICAL)
    guard = {"circuit_breaker": {"failure_threshold": 2, "recovery_timeout": 30}, "rate_limit": {"calls": 5}}
    assert [found[name].get("guard") for name in "abc"] == [guard, guard, None]
    assert found["a"]["cache"]["ttl"] == 60 and found["a"]["cache"]["key"].startswith("{%")
    assert found["c"]["cache"] == {"ttl": 3600} and "cache" not in found["b"]


def test_a_graph_says_milliseconds():
    assert payloads(json.dumps(GRAPH))["a"]["guard"] == {"circuit_breaker": {"failure_threshold": 3, "recovery_timeout": 1.5}}
