"""The canonical spelling as a dialect of its own."""

from __future__ import annotations

import pytest

from tests.unit.dialects.common.reading import canonical, problems, read_all


def test_what_is_tidied() -> None:
    data = canonical("""
dialect: canonical
name: x
version: "1.2"
x-parked: &r {max_attempts: 2, delay: 1m, on: []}
settings: {timeout: 2h, sla: PT90S, on_error: fail, checkpoint: {policy: interval, interval: 30s}, priority: null}
steps:
  - {id: "e\u0301", type: wait, seconds: 1, name: "", config: {}, depends_on: [], when: null}
  - id: b
    type: skill
    config: {skill: x}
    depends_on: ["e\u0301", {step: "\u00e9"}, {step: r, on: [high]}, {step: "\u00e9", when: "{{ input.a }}"}]
    when: "${{ input.b }}"
    timeout: 1m30s
    heartbeat: 10
    retry: *r
    on_failure: {action: retry, max_retries: 1, then: null}
    cache: {ttl: 1d}
  - {id: r, type: choice, cases: [{name: high, when: "{{ input.n > 1 }}"}], default: low}
rollback: []
""")
    assert data == {
        "name": "x", "version": "1.2.0",
        "settings": {"timeout": 7200, "sla": 90, "on_error": "fail", "checkpoint": {"policy": "interval", "interval": 30}},
        "steps": [
            {"id": "\u00e9", "type": "wait", "seconds": 1},
            {"id": "b", "type": "skill", "config": {"skill": "x"},
                "depends_on": ["\u00e9", {"step": "r", "on": ["high"]}, {"step": "\u00e9", "when": "input.a"}],
                "when": "input.b", "timeout": 90, "heartbeat": 10, "retry": {"max_attempts": 2, "delay": 60},
                "on_failure": {"action": "retry", "max_retries": 1}, "cache": {"ttl": 86_400}},
            {"id": "r", "type": "choice", "cases": [{"name": "high", "when": "input.n > 1"}], "default": "low"},
        ],
    }


def test_without_its_name_it_is_a_steps_definition() -> None:
    text = "name: x\nsteps:\n  - {id: a, type: skill, config: {skill: x}}\n  - {id: b, type: skill, config: {skill: x}}\n"
    assert "depends_on" not in canonical("dialect: canonical\n" + text)["steps"][1]
    assert canonical(text)["steps"][1]["depends_on"] == ["a"]


@pytest.mark.parametrize(("line", "code"), [
    ("version: ^1.0", "D012"),
    ("settings: {timeout: ^soon}", "D022"),
    ("^workflow: {}", "D010"),
    ("inputs: {a: {type: ^text}}", "D013"),
    ("error_handlers: [{errors: ^5, action: fail}]", "D012"),
])
def test_mistakes(line: str, code: str) -> None:
    """`^` stands before the place."""
    text = "dialect: canonical\nsteps: [{id: a, type: skill, config: {skill: x}}]\n" + line.replace("^", "") + "\n"
    assert problems(text) == [(code, 3, line.index("^") + 1)]


def test_empty_values_are_findings_or_absent() -> None:
    data, found = read_all("dialect: canonical\nname:\nsteps:\n")
    assert data is None
    assert {diagnostic.code for diagnostic in found} == {"D012"}
