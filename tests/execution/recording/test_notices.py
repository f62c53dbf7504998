"""Executions on the local cloud whose records come from the engine's own notices, rules and timers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from aslant import bootstrap, clock, sla
from aslant.adapters import clients
from aslant.executions.records import Execution
from aslant.executions.service import Executions
from aslant.executions.view import ExecutionView, Views
from aslant.settings import Settings
from functions.record_execution.handler import handler as record_execution
from functions.watch_sla.handler import handler as watch_sla
from infra.local import provision
from infra.local.cloud import LocalCloud
from tests.execution.support import Skills, compile_text
from translator.release import release_of

NOTICES = {"source": ["aws.states"], "detail-type": ["Step Functions Execution Status Change"]}
TENANT = "acme"


class World:
    """A cloud with published workflows, and everything that writes records."""

    def __init__(self, cloud: LocalCloud, texts: tuple[str, ...]) -> None:
        self.cloud, self.settings = cloud, Settings.read()
        compilations = compile_text(*texts)
        functions = provision.register_functions(cloud, compilations, lambda handler: handler, warm=True)
        arns = provision.create_machines(cloud, compilations, functions, simulate=False)
        self.catalog = bootstrap.releases(self.settings)
        for compilation in compilations:
            for tenant in (TENANT, "default"):
                self.catalog.put(tenant, release_of(compilation, machine=arns[compilation.workflow.id]))
        cloud.function("aslant-record-execution", record_execution)
        cloud.function(sla.FUNCTION, watch_sla)
        cloud.rule("executions", NOTICES, "aslant-record-execution")
        self.arns = arns
        self.store = bootstrap.execution_store(self.settings)
        self.executions: Executions = bootstrap.executions(self.settings)

    def start(self, workflow: str, **input: Any) -> Execution:
        return self.executions.start(TENANT, workflow, input, user="ada")

    def until(self, id: str, *statuses: str, tenant: str = TENANT) -> Execution:
        """Waits for a status of the record."""
        found = self.wait(lambda: self.store.read(tenant, id), lambda one: one is not None and one.status in statuses)
        assert isinstance(found, Execution)
        assert self.cloud.settle(20)
        again = self.store.read(tenant, id)
        assert again is not None
        return again

    def wait(self, look: Callable[[], Any], enough: Callable[[Any], bool]) -> Any:
        end = time.monotonic() + 30
        while not enough(found := look()):
            assert time.monotonic() < end, f"it stays {found}"
            time.sleep(0.05)
        return found

    def view(self, id: str, tenant: str = TENANT) -> ExecutionView:
        views = Views(self.store, bootstrap.machines(self.settings), self.catalog, lambda: round(clock.now() * 1000))
        return views.view(tenant, id)


@contextmanager
def world(*texts: str, scale: float = 1, **environment: str) -> Iterator[World]:
    with LocalCloud(time_scale=scale, environment=environment) as cloud:
        clients.forget()
        yield World(cloud, texts)
    clients.forget()


FLOW = """
    id: flow
    inputs: {n: {type: integer, required: true}}
    steps:
      - {id: total, type: skill, config: {skill: echo, parameters: {value: "{{ input.n }}"}}}
      - id: route
        type: choice
        depends_on: [total]
        cases: [{name: big, when: "input.n > 2"}]
        default: small
      - {id: big, type: skill, depends_on: [{step: route, on: [big]}], config: {skill: echo, parameters: {value: 1}}}
      - {id: small, type: transform, depends_on: [{step: route, on: [small]}], config: {expression: "1"}}
      - id: each
        type: foreach
        depends_on: [big]
        items: [5, 6]
        steps:
          - {id: one, type: skill, config: {skill: echo, parameters: {value: "{{ item }}"}}}
          - {id: pause, type: wait, depends_on: [one], seconds: 1}
      - id: both
        type: parallel
        depends_on: [each]
        branches:
          - steps: [{id: left, type: skill, config: {skill: fail_if, parameters: {n: "{{ input.n }}", bad: 9}}}]
          - steps: [{id: right, type: transform, config: {expression: "2"}}]
"""


def statuses(view: ExecutionView) -> dict[str, str]:
    return {step.label: step.status for step in view.walk()}


def test_records_of_native_states_and_the_end_come_from_the_engine(skills: Skills) -> None:
    with world(FLOW, scale=10) as made:
        id = made.start("flow", n=3).id
        ended = made.until(id, "completed", "failed")
        view = made.view(id)
        records = {record.label: record for record in made.store.steps(TENANT, id, outputs=True)}
        output = made.executions.output(TENANT, id)
        (run,) = made.store.runs(TENANT, id)
    assert (ended.status, ended.error) == ("completed", None)
    assert set(output) == {"small", "both"}
    assert statuses(view) == {
        "total": "completed", "route": "completed", "big": "completed", "small": "skipped", "each": "completed",
        "one[0]": "completed", "pause[0]": "completed", "one[1]": "completed", "pause[1]": "completed", "both": "completed",
        "left": "completed", "right": "completed",
    }
    assert (view.done, view.total, view.substate) == (12, 12, "")
    assert {label for label, record in records.items() if record.native} == {
        "route", "small", "each", "pause[0]", "pause[1]", "both", "right",
    }
    assert records["route"].outcome == "big" and records["route"].output == {"outcome": "big"}
    assert records["right"].output == 2
    assert records["both"].output == output["both"]
    pause = next(step for step in view.walk() if step.label == "pause[0]")
    assert pause.duration is not None and 900 <= pause.duration < 60_000
    assert [root.step for root in view.steps] == ["total", "route", "big", "small", "each", "both"]
    loop = next(step for step in view.steps if step.step == "each")
    assert [step.label for step in loop.steps] == ["one[0]", "pause[0]", "one[1]", "pause[1]"]
    started = [step.label for step in view.timeline]
    assert started.index("total") < started.index("route") < started.index("each") < started.index("both")
    assert run.status == "SUCCEEDED" and run.transitions == ended.usage["state_transitions"] == view.usage["state_transitions"]
    assert run.transitions >= 11  # what belongs to steps; the ends of branches count as well
    assert ended.usage["cost_usd"] > run.transitions * 0.000025


def test_a_failure_inside_of_a_parallel_is_told_with_its_step(skills: Skills) -> None:
    with world(FLOW, scale=10) as made:
        id = made.start("flow", n=9).id
        ended = made.until(id, "completed", "failed")
        view = made.view(id)
    assert ended.status == "failed" and ended.error is not None
    assert (ended.error.error, ended.error.step) == ("NoisyError", "left")
    assert "9 is bad" in ended.error.message
    assert statuses(view)["left"] == "failed"


def test_one_that_was_started_and_stopped_in_the_console(skills: Skills) -> None:
    flow = """
        id: slow
        steps: [{id: pause, type: wait, seconds: 600}]
    """
    with world(flow) as made:
        arn = made.cloud.start(made.arns["slow"], {"input": {}}, "by-hand").arn
        made.until(arn, "running", tenant="default")
        live = made.view(arn, "default")
        made.cloud.stop(arn, error="Mine", cause="enough")
        ended = made.until(arn, "cancelled", tenant="default")
        after = made.view(arn, "default")
    assert (live.substate, statuses(live), live.done, live.total) == ("executing", {"pause": "running"}, 0, 1)
    assert ended.error is not None and (ended.error.error, ended.error.message) == ("Mine", "enough")
    assert statuses(after) == {"pause": "not_started"} or statuses(after) == {"pause": "cancelled"}


def test_children_get_records_of_their_own(skills: Skills) -> None:
    kid = """
        id: kid
        steps: [{id: work, type: skill, config: {skill: echo, parameters: {value: 1}}}]
    """
    parent = """
        id: parent
        steps:
          - id: twice
            type: foreach
            items: [1, 2]
            steps: [{id: call, type: workflow, workflow: kid}]
    """
    with world(parent, kid, scale=10) as made:
        id = made.start("parent").id
        made.until(id, "completed")
        children = made.executions.children(TENANT, id)
        view = made.view(id)
    assert [(child.workflow, child.status) for child in children] == [("kid", "completed")] * 2
    assert {(child.parent.step, child.parent.iteration) for child in children if child.parent} == {("call", (0,)), ("call", (1,))}
    calls = [step for step in view.walk() if step.step == "call"]
    assert [(step.status, len(step.executions)) for step in calls] == [("completed", 1)] * 2
    assert {step.executions[0] for step in calls} == {child.id for child in children}


def test_a_running_step_is_seen_while_it_runs(skills: Skills) -> None:
    gate, entered = threading.Event(), threading.Event()

    def hold() -> str:
        entered.set()
        gate.wait(20)
        return "done"

    from aslant import skills as registry

    registry.register("hold", hold)
    flow = """
        id: held
        steps:
          - {id: first, type: transform, config: {expression: "1"}}
          - {id: hold, type: skill, depends_on: [first], config: {skill: hold}}
          - {id: last, type: transform, depends_on: [hold], config: {expression: "2"}}
    """
    with world(flow) as made:
        id = made.start("held").id
        assert entered.wait(20)
        live = made.view(id)
        gate.set()
        made.until(id, "completed")
        after = made.view(id)
    assert statuses(live) == {"first": "completed", "hold": "running", "last": "not_started"}
    assert (live.done, live.total, live.substate) == (1, 3, "executing")
    running = next(step for step in live.walk() if step.step == "hold")
    assert running.duration is not None and running.finished_at is None
    assert statuses(after) == {"first": "completed", "hold": "completed", "last": "completed"}


def test_one_that_is_late_is_marked_once_and_told_of_once() -> None:
    flow = """
        id: late
        settings: {sla: 20}
        steps: [{id: pause, type: wait, seconds: 90}]
    """
    topic = provision.NOTIFY_TOPIC
    with world(flow, scale=30, ASLANT_NOTIFY_TOPIC=topic) as made:
        sns, sqs = made.cloud.client("sns"), made.cloud.client("sqs")
        sns.create_topic(Name=topic.rpartition(":")[2])
        queue = sqs.create_queue(QueueName="told")["QueueUrl"]
        sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint="arn:aws:sqs:us-east-1:123456789012:told")
        execution = made.start("late")
        assert execution.sla_due == execution.started_at + 20_000
        marked = made.wait(lambda: made.store.read(TENANT, execution.id), lambda one: one.sla_breached)
        assert marked.status == "running"
        again = watch_sla({"tenant": TENANT, "execution": execution.id, "run": 1}, None)
        ended = made.until(execution.id, "completed")
        messages = sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10).get("Messages", [])
        schedules = made.cloud.client("scheduler").list_schedules()["Schedules"]
    assert again == {"breached": False}
    assert ended.sla_breached
    assert len(messages) == 1 and execution.id in messages[0]["Body"]
    assert schedules == []


def test_the_timer_of_one_that_ends_in_time_is_gone() -> None:
    flow = """
        id: prompt
        settings: {sla: 3600}
        steps: [{id: one, type: transform, config: {expression: "1"}}]
    """
    with world(flow) as made:
        execution = made.start("prompt")
        made.until(execution.id, "completed")
        schedules = made.cloud.client("scheduler").list_schedules()["Schedules"]
        read = made.store.read(TENANT, execution.id)
    assert schedules == [] and read is not None and not read.sla_breached


FAMILY = (
    """
        id: parent
        steps: [{id: call, type: workflow, workflow: kid}]
    """,
    """
        id: kid
        steps:
          - {id: work, type: skill, config: {skill: echo, parameters: {value: 1}}}
          - {id: pause, type: wait, depends_on: [work], seconds: 20}
    """,
)  # fmt: skip


def one_child(made: World, id: str, status: str) -> Execution:
    def look() -> Any:
        return [child for child in made.executions.children(TENANT, id) if child.status == status]

    (child,) = made.wait(look, lambda found: len(found) == 1)
    assert isinstance(child, Execution)
    return child


def test_children_are_paused_and_go_on_with_their_parent(skills: Skills) -> None:
    with world(*FAMILY, scale=5) as made:
        id = made.start("parent").id
        child = one_child(made, id, "running")
        made.wait(lambda: skills.count("echo"), lambda count: count == 1)
        made.executions.pause(TENANT, id, by="ada")
        assert made.cloud.settle(20)
        paused = [made.store.read(TENANT, each) for each in (id, child.id)]
        assert [one.status for one in paused if one] == ["paused", "paused"]
        made.executions.resume(TENANT, id, by="ada")
        ended = made.until(id, "completed", "failed")
        after = made.store.read(TENANT, child.id)
        runs = [(run.number, run.status) for run in made.store.runs(TENANT, child.id)]
    assert ended.status == "completed" and after is not None and after.status == "completed"
    assert runs == [(1, "ABORTED"), (2, "SUCCEEDED")]
    assert skills.count("echo") == 1


def test_children_are_cancelled_with_their_parent(skills: Skills) -> None:
    with world(*FAMILY) as made:
        id = made.start("parent").id
        child = one_child(made, id, "running")
        made.executions.cancel(TENANT, id, by="ada")
        assert made.cloud.settle(20)
        ended = [made.store.read(TENANT, each) for each in (id, child.id)]
        runs = [run.status for run in made.store.runs(TENANT, child.id)]
    assert [one.status for one in ended if one] == ["cancelled", "cancelled"]
    assert runs == ["ABORTED"]


def test_what_is_stopped_in_the_console_takes_its_children_along(skills: Skills) -> None:
    with world(*FAMILY) as made:
        execution = made.start("parent")
        child = one_child(made, execution.id, "running")
        made.cloud.stop(execution.arn, error="Mine", cause="enough")
        made.until(execution.id, "cancelled")
        ended = made.store.read(TENANT, child.id)
    assert ended is not None and ended.status == "cancelled"
