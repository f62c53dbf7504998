"""Runs compiled workflows on the local cloud and tells what became of each step."""

from __future__ import annotations

import os
import time
import uuid
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from aslant import bootstrap, skills
from aslant.adapters import clients
from aslant.compensation import UNDOING, Outcome, label, outcome
from aslant.contracts import MAX_PAYLOAD
from aslant.executions.launch import fitted
from aslant.settings import Settings
from infra.local import provision, reasons
from infra.local.approvals import Approvals, Approver, Decided
from infra.local.cloud import ExecutionHandle, LocalCloud, Result
from infra.local.family import Family
from infra.local.functions import Handler
from infra.local.progress import Child, Progress, StepRun
from infra.local.tracking import error_of, message_of
from translator.diagnostics import NOWHERE, Position
from translator.pipeline import Compilation
from translator.release import inputs_looked_into
from translator.rollback.build import FINISH, PLAN

POLL = 0.02  # seconds between looks at a running execution
TICK = 0.1  # seconds between updates of an observer while nothing changes
_STATUS = {"SUCCEEDED": "completed", "FAILED": "failed", "TIMED_OUT": "timed_out", "ABORTED": "cancelled"}

Json = Any


class Observer(Protocol):
    """Is told how a run goes on. All calls come from the thread that called `run`; `now` is the cloud's time."""

    def start(self, progress: Progress, started: datetime) -> None: ...
    def update(self, now: datetime) -> None: ...
    def note(self, text: str) -> None: ...
    def pause(self) -> None: ...
    def stop(self) -> None: ...


@dataclass(frozen=True, slots=True)
class RunError:
    """Why an execution failed: the error's name, its message, and the step with its place in the file, if known.

    `workflow` is the id of the step's workflow. For a sub-workflow, `path` are the labels of the steps that called it, the
    outermost first. `hints` say what this run has to do with it: a retry that does not take the error, simulated data,
    fast time.
    """

    error: str
    message: str
    step: str = ""
    iteration: tuple[int, ...] = ()
    position: Position = NOWHERE
    hints: tuple[str, ...] = ()
    workflow: str = ""
    path: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        return self.step + "".join(f"[{index}]" for index in self.iteration)

    @property
    def place(self) -> str:
        """`label`, behind those of the steps that called: `call[1] > step`."""
        return " > ".join((*self.path, self.label))


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended: `status` is completed, failed, timed_out or cancelled; `seconds` are the cloud's.

    `steps` are those of the workflow itself; the steps of sub-workflows are in their `children`. `usage` sums what steps
    report (tokens_in, tokens_out, calls); `first_state` are the real seconds from the call until the first state was
    entered. `rollback` is what became of what the failed execution was to undo; None when it undid nothing.
    """

    status: str
    output: Json
    error: RunError | None
    steps: tuple[StepRun, ...]
    approvals: tuple[Decided, ...]
    simulated: tuple[str, ...]
    usage: Mapping[str, float]
    notes: tuple[str, ...]
    execution: str
    started: datetime
    stopped: datetime
    first_state: float
    rollback: Outcome | None = None

    @property
    def record(self) -> str:
        """The status under which an execution is recorded: `rolled_back` where all was undone that was to be."""
        left = self.rollback is None or self.rollback.not_undone or self.rollback.failed
        return self.status if left or self.status != "failed" else "rolled_back"

    @property
    def seconds(self) -> float:
        return max(0.0, (self.stopped - self.started).total_seconds())


class _Simulated(NamedTuple):
    """A step that gave a result in place of a real one. `execution` is the id of its execution."""

    execution: str
    workflow: str
    step: str
    iteration: tuple[int, ...]


@dataclass(slots=True)
class _Facts:
    """What handlers said, gathered from their threads: appending is atomic."""

    simulated: list[_Simulated] = field(default_factory=list)
    usage: list[Mapping[str, float]] = field(default_factory=list)
    # Iterations of what is undone, by execution; whoever follows one asks before they are known.
    plans: dict[str, list[tuple[int, ...]]] = field(default_factory=lambda: defaultdict(list))
    undone: dict[str, Outcome] = field(default_factory=dict)  # by the execution that was to be undone

    def wrap(self, handler: Handler) -> Handler:
        def observed(event: dict[str, Any], context: Any) -> Any:
            if event.get("step") == FINISH:  # before the call, which fails when something is left
                config = event["config"]
                self.undone[event["execution"]["id"]] = outcome(config["undo"], config["results"], config["steps"])
            result = handler(event, context)
            if isinstance(result, Mapping):
                output = result.get("output")
                if event.get("step") == PLAN and isinstance(output, Mapping):
                    self._plan(event, output)
                if isinstance(output, Mapping) and output.get("simulated") is True:
                    info = event.get("execution")
                    known = info if isinstance(info, Mapping) else {}
                    self.simulated.append(_Simulated(
                        str(known.get("id", "")), str(known.get("workflow", "")), str(event.get("step")),
                        tuple(event.get("iteration") or ()),
                    ))  # fmt: skip
                if isinstance(result.get("usage"), Mapping):
                    self.usage.append(result["usage"])
            return result

        return observed

    def _plan(self, event: Mapping[str, Any], output: Mapping[str, Json]) -> None:
        """What was to be undone counts as not undone until the end says otherwise."""
        if output["action"] in UNDOING:
            execution = event["execution"]["id"]
            self.plans[execution][:] = [tuple(one["iteration"]) for one in output["undo"]]
            self.undone[execution] = Outcome((), tuple(map(label, output["undo"])), tuple(output["steps"]))


def run(
    compilations: Sequence[Compilation],
    input: Mapping[str, Json],
    *,
    skill_modules: Sequence[str] = (),
    simulate: bool = False,
    approver: Approver | None = None,
    secrets: Mapping[str, str] | None = None,
    time_scale: float = 1.0,
    timeout: float | None = None,
    observer: Observer | None = None,
    user: str = "local",
) -> RunResult:
    """Runs the first of `compilations`; the others are there for it to call. `input` is complete and checked.

    `skill_modules` are Python modules or files, besides what is registered in `aslant.skills`. `approver` is asked
    about each approval, and may leave it open. `timeout`: real seconds, after which the execution is stopped. Raises
    provision.MissingWorkflow, and aslant.errors.ValidationError for skills that cannot be loaded. KeyboardInterrupt
    stops the execution with its children and passes on.
    """
    called = time.monotonic()
    facts = _Facts()
    with registered_skills(skill_modules), LocalCloud(time_scale=time_scale, environment=environment(simulate)) as cloud:
        clients.forget()  # one made outside would talk to AWS
        settings = Settings.read()
        functions = provision.register_functions(cloud, compilations, facts.wrap, warm=time_scale > 1)
        arns = provision.create_machines(cloud, compilations, functions, simulate=simulate)
        provision.create_channels(cloud, compilations, settings)
        provision.store_secrets(cloud, secrets or {}, settings.secret_prefix)
        needs_table = any("approval" in compilation.functions.values() for compilation in compilations)
        approvals = Approvals(cloud, settings, provision.TENANT, approver, user) if needs_table else None
        main = compilations[0]
        execution = str(uuid.uuid4())
        info = {"id": execution, "tenant": provision.TENANT, "workflow": main.workflow.id,
            "version": main.workflow.version, "run": 1, "user": user}
        claims = bootstrap.claims(settings, provision.TENANT)
        given = fitted(claims, inputs_looked_into(main), execution, {"input": dict(input)})
        handle = cloud.start(arns[main.workflow.id], {**given, "execution": info}, execution)
        first_state = time.monotonic() - called
        known = {compilation.workflow.id: compilation for compilation in compilations}
        machines = {arn.rpartition(":")[2]: known.get(workflow, workflow) for workflow, arn in arns.items()} | {
            provision.rollback_name(one.workflow.id): one.rollback for one in compilations if one.rollback is not None
        }
        loop = _Loop(cloud, handle, main, facts, approvals, observer, Family(cloud, machines, facts.plans))
        ended = loop.follow(timeout)
        return loop.result(ended, execution, first_state)


def environment(simulate: bool) -> dict[str, str]:
    """What handlers are told where the caller says nothing: an offline model, and where notifications go."""
    return {
        "ASLANT_MODEL": os.environ.get("ASLANT_MODEL") or "offline",
        "ASLANT_NOTIFY_TOPIC": os.environ.get("ASLANT_NOTIFY_TOPIC") or provision.NOTIFY_TOPIC,
        "ASLANT_EMAIL_FROM": os.environ.get("ASLANT_EMAIL_FROM") or provision.EMAIL_FROM,
        "ASLANT_START_RATE": os.environ.get("ASLANT_START_RATE") or "0",  # one's own machine needs no limit
        "ASLANT_SIMULATE": "1" if simulate else os.environ.get("ASLANT_SIMULATE", "0"),
    }


@contextmanager
def registered_skills(modules: Sequence[str]) -> Iterator[None]:
    """Skills of `modules` are registered inside; afterwards the registry is as it was."""
    with skills.kept():
        for module in modules:
            skills.load_module(module)
        yield


class _Loop:
    """Follows one execution, and those that it starts, until it ends."""

    def __init__(
        self, cloud: LocalCloud, handle: ExecutionHandle, main: Compilation, facts: _Facts,
        approvals: Approvals | None, observer: Observer | None, family: Family,
    ) -> None:
        self.cloud, self.handle, self.main, self.facts = cloud, handle, main, facts
        self.approvals, self.observer = approvals, observer
        self.family = family
        self.progress = family.lead(handle, main).progress
        self.next_tick = 0.0
        self.left: Sequence[Child] = ()  # what still ran at the end

    def follow(self, timeout: float | None) -> Result:
        end = None if timeout is None else time.monotonic() + timeout
        if self.observer is not None:
            self.observer.start(self.progress, self.cloud.clock.now())
        try:
            while True:
                ended = self._ended()
                self._look(ended)
                if ended is not None:
                    return ended
                if end is not None and time.monotonic() >= end:
                    self.cloud.stop(self.handle.arn, error="States.Timeout", cause=f"stopped after {timeout:g} s")
        except KeyboardInterrupt:
            self.approvals = None  # nobody is asked any more
            self.cloud.stop(self.handle.arn, error="Cancelled", cause="interrupted")
            self._look(self._ended())
            raise
        finally:
            if self.observer is not None:
                self.observer.stop()

    def _ended(self) -> Result | None:
        try:
            return self.handle.wait(POLL)
        except TimeoutError:
            return None

    def _look(self, ended: Result | None) -> None:
        news = self.family.look()
        if ended is not None:
            self.family.look()  # what it waited for has ended before it did
            self.left = self.family.close(ended.stopped)
        self._mark_simulated()
        if self.approvals is not None:
            news |= self.approvals.look(self.family, self.observer)
        tick = self.family.running and time.monotonic() >= self.next_tick
        if self.observer is not None and (news or tick or ended is not None):
            self.next_tick = time.monotonic() + TICK
            self.observer.update(self.cloud.clock.now() if ended is None else ended.stopped)

    def _mark_simulated(self) -> None:
        for one in self.facts.simulated:
            progress = self.family.progress(one.execution, one.step)
            if progress is not None:
                progress.run(one.step, one.iteration).simulated = True

    def _simulated(self, steps: Sequence[StepRun]) -> tuple[str, ...]:
        """Ids of simulated steps in the order of the definition; those of a child workflow as `workflow/step`."""
        own = [run.step for run in steps if run.simulated]
        others = [
            f"{one.workflow}/{one.step}" for one in self.facts.simulated
            if one.workflow not in ("", self.main.workflow.id)
        ]
        return tuple(dict.fromkeys([*own, *others]))

    def result(self, ended: Result, execution: str, first_state: float) -> RunResult:
        status = _STATUS[ended.status]
        if ended.error == "States.Timeout" and status == "cancelled":
            status = "timed_out"
        error = None if status == "completed" else self._error(ended, status)
        steps = tuple(self.progress.ordered())
        usage: dict[str, float] = {}
        for row in self.facts.usage:
            for name, value in row.items():
                usage[name] = usage.get(name, 0) + value
        whole = bootstrap.claims(Settings.read(), provision.TENANT)  # people see values, wherever these are kept
        output = whole.resolve(ended.output) if status == "completed" else None
        return RunResult(
            status=status, output=output, error=error, steps=steps,
            approvals=tuple(self.approvals.decided) if self.approvals else (),
            simulated=self._simulated(steps), usage=usage, notes=self._notes(),
            execution=execution, started=ended.started, stopped=ended.stopped,
            first_state=first_state, rollback=self.facts.undone.get(execution) if self.progress.rollback else None,
        )

    def _notes(self) -> tuple[str, ...]:
        """What a reader should know about how this run differs from one on AWS."""
        notes = []
        if "agent" in self.main.functions.values() and Settings.read().model == "offline":
            notes.append("agents were answered by the offline model; ASLANT_MODEL names another one")
        if self.main.type == "EXPRESS":
            notes.append("an Express workflow runs each state exactly once here; on AWS it may run one more than once")
        if self.cloud.clock.scale != 1:
            notes.append(f"time ran {self.cloud.clock.scale:g} times as fast; durations are those of the workflow")
        for child in self.left:
            notes.append(f"{child.workflow} still ran at the end, which nobody waited for; it was stopped with the run")
        return tuple(notes)

    def _error(self, ended: Result, status: str) -> RunError:
        whole = ended.status == "TIMED_OUT"  # the time of the execution ran out, whatever failed before
        chain = [] if whole else self.family.culprits(self.handle.arn, ended.error, ended.cause)
        member, failed = chain[-1] if chain else (None, None)
        name = error_of(ended.error, ended.cause)
        name = name or {"timed_out": "States.Timeout", "cancelled": "Cancelled"}.get(status, "Failed")
        message = message_of(ended.cause) or (failed.message if failed else "")
        if name == "States.DataLimitExceeded" and "assigned variables" not in message:
            message = f"{message} A state passes on {MAX_PAYLOAD:,} bytes of JSON at most.".strip()
        if whole and not message:
            message = f"the run took longer than its {self.main.definition.get('TimeoutSeconds', 0):g} s"
        progress = member.progress if member is not None else self.progress
        workflow = progress.workflow
        hints = reasons.hints(name, failed, progress, workflow, self.cloud.clock.scale)
        if failed is None:
            return RunError(name, message, position=workflow.at, hints=hints, workflow=workflow.id)
        return RunError(name, message, failed.step, failed.iteration, failed.position, hints, workflow.id, failed.path)
