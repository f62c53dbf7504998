"""What the report says of cost and of the kind of execution."""

from __future__ import annotations

import pytest

from translator.asl.execution_type import reason
from translator.costs import may_be_express, usd_per_1000
from translator.diagnostics import TranslatorError
from translator.pipeline import Compilation, Source, compile_sources

HEAD = "dialect: canonical\nid: w\n"
CHILD = "dialect: canonical\nid: child\nsettings: {execution: express}\nsteps: [{id: s, type: skill, config: {skill: x}}]\n"


def compiled(text: str) -> Compilation:
    return compile_sources([Source(HEAD + text)])[0]


def refusals(*texts: str) -> list[str]:
    with pytest.raises(TranslatorError) as raised:
        compile_sources([Source(text) for text in texts])
    return [found.message for found in raised.value.diagnostics if found.code == "A011"]


def test_a_standard_execution_costs_its_transitions_and_calls() -> None:
    one = compiled("steps: [{id: a, type: skill, config: {skill: x}}, {id: b, type: skill, depends_on: [a], config: {skill: x}}]")
    low, high = usd_per_1000(one)
    # 2 transitions of $25 a million; 2 calls of $0.20 a million, each 0.2 s of half a GB at $0.0000133334 a GB second
    assert low == high == pytest.approx(1000 * 2 * (25e-6 + 0.2e-6 + 0.1 * 0.0000133334))


def test_an_express_execution_costs_its_request_and_its_time() -> None:
    one = compiled("settings: {execution: express}\nsteps: [{id: a, type: wait, seconds: 10}]")
    assert one.type == "EXPRESS"
    # $1 a million requests; 10 s and 0.02 s for a state, of a sixteenth of a GB at $0.00001667
    assert usd_per_1000(one)[1] == pytest.approx(1000 * (1e-6 + 10.02 / 16 * 0.00001667))


def test_auto_is_standard_and_says_why() -> None:
    one = compiled("steps: [{id: a, type: wait, seconds: 10}]")
    assert one.type == "STANDARD" and may_be_express(one, {})
    assert "cannot be paused" in reason(one.workflow, {})
    asks = compiled("steps: [{id: ask, type: approval, config: {message: ok}}, {id: long, type: wait, seconds: 301}]")
    assert not may_be_express(asks, {})
    assert reason(asks.workflow, {}) == (
        "Express is not possible: the step 'ask' cannot run in an Express execution, and 1 more"
    )


@pytest.mark.parametrize(("steps", "words"), [
    ("{id: s, type: approval, config: {message: ok}}", "the step 's' cannot run"),
    ("{id: s, type: wait, seconds: 301}", "the step 's' may take 301 s"),
    ("{id: s, type: skill, timeout: 400, config: {skill: x}}", "the step 's' may take 400 s"),
])  # fmt: skip
def test_what_express_cannot_do_is_refused(steps: str, words: str) -> None:
    (message,) = refusals(HEAD + f"settings: {{execution: express}}\nsteps: [{steps}]")
    assert words in message


def test_nobody_can_wait_for_an_express_execution() -> None:
    parent = HEAD + "steps: [{id: call, type: workflow, workflow: child}]"
    assert refusals(parent, CHILD) == [
        "the step 'call' of 'w' waits for it, which is not possible with an Express execution"
    ]
    told = HEAD + "steps: [{id: call, type: workflow, workflow: child, wait_for_completion: false}]"
    assert [one.type for one in compile_sources([Source(told), Source(CHILD)])] == ["STANDARD", "EXPRESS"]
