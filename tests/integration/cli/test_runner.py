"""The local runner, called from Python: progress, approvals at their deadline, sub-workflows, isolation."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

from aslant import skills
from infra.local.approvals import Decision, Request
from infra.local.progress import Progress, Status
from infra.local.provision import machine_name
from infra.local.runner import RunResult, run
from translator.pipeline import MissingWorkflow, Source, compile_sources


def ran(*texts: str, input: dict[str, Any] | None = None, **options: Any) -> RunResult:
    return run(compile_sources([Source(text, f"{number}.yaml") for number, text in enumerate(texts)]), input or {},
        **options)


ASK = """\
dialect: canonical
name: exp
steps:
  - {id: ask, type: approval, timeout: TIMEOUT, config: {message: ok, on_reject: continue}}
  - {id: slow, type: wait, depends_on: [ask], seconds: 4}
  - id: show
    type: transform
    depends_on: [slow]
    config: {expression: "{'who': steps.ask.output.by, 'ok': steps.ask.output.approved}"}
outputs: {show: "{{ steps.show.output }}"}
"""


class Notes:
    """An observer that keeps what it is told."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.seen: list[dict[str, Status]] = []

    def start(self, progress: Progress, started: datetime) -> None:
        self._progress = progress

    def update(self, now: datetime) -> None:
        self.seen.append({run.label: run.status for run in self._progress.ordered()})

    def note(self, text: str) -> None:
        self.said.append(text)

    def pause(self) -> None:
        pass

    def stop(self) -> None:
        self.seen.append({})


def after(seconds: float, decision: Decision | None) -> Callable[[Request], Decision | None]:
    def answer(request: Request) -> Decision | None:
        time.sleep(seconds)
        return decision

    return answer


def test_an_answer_in_time_stands_when_the_deadline_passes_later() -> None:
    result = ran(ASK.replace("TIMEOUT", "3"), approver=after(0.2, Decision("approve")), user="ada")
    assert result.output == {"show": {"who": "ada", "ok": True}}
    assert result.seconds >= 4


def test_a_late_answer_changes_nothing() -> None:
    notes = Notes()
    result = ran(ASK.replace("TIMEOUT", "3"), approver=after(4.5, Decision("approve")), observer=notes)
    assert result.output == {"show": {"who": "timeout", "ok": False}}
    assert [decided.outcome for decided in result.approvals] == ["open"]
    assert any("too late" in text for text in notes.said)


def test_no_answer_is_a_no_by_timeout() -> None:
    result = ran(ASK.replace("TIMEOUT", "60"), time_scale=60)
    assert result.output == {"show": {"who": "timeout", "ok": False}}
    assert result.seconds >= 60


def test_an_answer_for_a_stopped_run_is_refused() -> None:
    def stop_then_answer(request: Request) -> Decision:
        import boto3

        client = boto3.client("stepfunctions", region_name="us-east-1")
        machine = client.list_state_machines()["stateMachines"][0]["stateMachineArn"]
        execution = client.list_executions(stateMachineArn=machine)["executions"][0]["executionArn"]
        client.stop_execution(executionArn=execution, error="Stopped", cause="by a test")
        return Decision("approve")

    notes = Notes()
    result = ran(ASK.replace("TIMEOUT", "60"), approver=stop_then_answer, observer=notes)
    assert result.status == "cancelled" and result.error is not None and result.error.error == "Stopped"
    assert any("too late" in text for text in notes.said)
    states = {step.step: step.status for step in result.steps}
    assert states == {"ask": Status.CANCELLED, "slow": Status.NOT_STARTED, "show": Status.NOT_STARTED}


def test_progress_shows_a_waiting_approval_and_ends_settled() -> None:
    notes = Notes()
    ran(ASK.replace("TIMEOUT", "60"), approver=after(0, Decision("reject", comment="not today")), observer=notes,
        time_scale=100)
    assert any(states.get("ask") is Status.WAITING for states in notes.seen)
    assert notes.seen[-1] == {}
    assert set(notes.seen[-2].values()) == {Status.COMPLETED}


NUMBERS = """\
dialect: canonical
name: ints
inputs: {n: {type: integer}, f: {type: number}}
steps:
  - id: a
    type: transform
    config:
      expression: "{'n': input.n, 'plus': input.n + 1, 'f': input.f}"
outputs: {a: "{{ steps.a.output }}", id: "id={{ input.n }}", percent: "{{ input.f }}%"}
"""


def test_numbers_keep_their_digits() -> None:
    result = ran(NUMBERS, input={"n": 20200219, "f": 100.0})
    assert json.dumps(result.output["a"]["n"]) == "20200219"
    assert result.output["id"] == "id=20200219" and result.output["a"]["plus"] == 20200220
    assert result.output["percent"] == "100%" and result.output["a"]["f"] == 100
    result = ran(NUMBERS, input={"n": 2**53 - 1, "f": 0.1})
    assert result.output["a"]["n"] == 9007199254740991 and result.output["percent"] == "0.1%"


PARENT = """\
dialect: canonical
name: Der Große / parent
id: "große/eltern"
steps:
  - {id: each, type: foreach, items: [1, 2], max_parallel: 2,
     steps: [{id: call, type: workflow, workflow: "kind 1", input: {x: "{{ item }}"}}]}
outputs: {all: "{{ steps.each.output }}"}
"""
CHILD = """\
dialect: canonical
id: "kind 1"
name: kind
inputs: {x: {type: integer}}
steps:
  - {id: ask, type: approval, config: {message: "item {{ input.x }}"}}
  - {id: work, type: skill, depends_on: [ask], config: {skill: nobody-has-this, parameters: {x: "{{ input.x }}"}}}
outputs: {x: "{{ steps.work.output.parameters.x }}", ok: "{{ steps.ask.output.approved }}"}
"""


def test_children_ask_and_work_too_whatever_they_are_called() -> None:
    asked: list[str] = []

    def answer(request: Request) -> Decision:
        asked.append(request.message)
        return Decision("approve")

    result = ran(PARENT, CHILD, simulate=True, approver=answer, timeout=30)
    assert result.output == {"all": [{"x": 1, "ok": True}, {"x": 2, "ok": True}]}
    assert sorted(asked) == ["item 1", "item 2"]
    assert len(result.approvals) == 2


def test_a_child_that_nobody_defines() -> None:
    with pytest.raises(MissingWorkflow, match="kind 1"):
        ran(PARENT)
    result = ran(PARENT, simulate=True)
    assert [row["workflow"] for row in result.output["all"]] == ["kind 1", "kind 1"]
    assert result.simulated == ("call",)


@pytest.mark.parametrize("workflow", ["plain-id_1", "große/eltern", "a b", "", "x" * 300, "a.b", "日本"])
def test_machine_names_are_legal_and_different(workflow: str) -> None:
    name = machine_name(workflow)
    assert 1 <= len(name) <= 80 and name.isascii() and not set(name) & set(' <>{}[]?*"#%\\^|~`$&,;:/.')
    assert machine_name(workflow + "!") != name and machine_name(workflow) == name


def test_runs_leave_nothing_behind(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.py").write_text("def only_here(): return 1\ndef shared(): return 'file'\n", encoding="utf-8")
    monkeypatch.delenv("ASLANT_MODEL", raising=False)
    skills.register("shared", lambda: "own")
    flow = ("dialect: canonical\nname: n\nsteps: [{id: a, type: skill, config: {skill: shared, parameters: {}}}]\n"
        'outputs: {a: "{{ steps.a.output }}"}\n')
    before = {thread.name for thread in threading.enumerate()}
    try:
        assert ran(flow, skill_modules=[str(tmp_path / "mine.py")]).output == {"a": "file"}
        assert "only_here" not in skills.names()
        assert ran(flow).output == {"a": "own"}
    finally:
        skills.unregister("shared")
    assert "ASLANT_MODEL" not in os.environ and "ASLANT_SIMULATE" not in os.environ
    assert {thread.name for thread in threading.enumerate()} <= before


def test_an_agent_is_answered_offline_and_the_result_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ASLANT_MODEL", raising=False)
    flow = ("dialect: canonical\nname: n\nsteps: [{id: a, type: agent, config: {prompt: hi}}]\n"
        'outputs: {a: "{{ steps.a.output }}"}\n')
    one, two = ran(flow), ran(flow)
    assert one.output == two.output
    assert any("offline" in note for note in one.notes)
    assert one.usage.get("calls", 0) >= 1 or one.usage.get("tokens_in", 0) > 0


LOOP = """\
dialect: canonical
name: loop
steps:
  - id: each
    type: foreach
    items: [1, 5]
    max_parallel: 1
    steps:
      - {id: begin, type: wait, seconds: 1}
      - {id: big, type: wait, seconds: 1, depends_on: [begin], when: "item > 3"}
      - {id: small, type: wait, seconds: 1, depends_on: [begin], when: "item < 3"}
"""


def test_steps_that_an_iteration_skipped_are_among_its_steps() -> None:
    result = ran(LOOP, time_scale=60)
    statuses = {(one.step, one.iteration): one.status.value for one in result.steps}
    assert (statuses["big", (0,)], statuses["big", (1,)]) == ("skipped", "completed")
    assert (statuses["small", (0,)], statuses["small", (1,)]) == ("completed", "skipped")
    assert {statuses["begin", (index,)] for index in (0, 1)} == {"completed"}


def test_an_express_workflow_runs_as_one_and_says_what_differs() -> None:
    text = "dialect: canonical\nname: fast\nsettings: {execution: express}\nsteps: [{id: w, type: wait, seconds: 1}]\n"
    result = ran(text, time_scale=60)
    assert result.status == "completed"
    assert any("Express" in note for note in result.notes)
