"""What the executions table knows: plain frozen records, as services hand them around.

Moments are epoch milliseconds unless a name says otherwise; moments of steps are epoch microseconds, since their order is
the order of completion that compensation and checkpoints go by.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from aslant.executions.states import Status

Json = Any
StepStatus = Literal["running", "completed", "failed", "skipped"]


@dataclass(frozen=True, slots=True)
class Failure:
    """Why something failed: an error's name, its message, and the step where it is known."""

    error: str
    message: str = ""
    step: str = ""
    iteration: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Parent:
    """The step of the execution that started this one."""

    execution: str
    step: str
    iteration: tuple[int, ...] = ()
    attempt: int = 0


@dataclass(frozen=True, slots=True)
class Execution:
    """One execution of a workflow. It may take several runs, each one execution of a state machine.

    `revision` counts its transitions and guards each of them. `machine` is the state machine's ARN and `arn` that of the
    run that goes on (or went last). `undone` and `not_undone` are labels of steps whose compensation succeeded or failed.
    """

    tenant: str
    id: str
    workflow: str
    version: str
    status: Status
    revision: int
    run: int
    machine: str
    arn: str
    user: str
    started_at: int
    changed_at: int
    finished_at: int | None = None
    input_hash: str = ""
    reason: str = ""
    error: Failure | None = None
    parent: Parent | None = None
    trigger: Mapping[str, Json] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    undone: tuple[str, ...] = ()
    not_undone: tuple[str, ...] = ()
    usage: Mapping[str, float] = field(default_factory=dict)
    sla_due: int | None = None
    sla_breached: bool = False
    ttl: int | None = None  # epoch seconds
    # The next run while records are set aside for it: run, why, detail, by, version. Whoever calls next goes on with it.
    preparing: Mapping[str, Json] = field(default_factory=dict)
    # What its start asked for besides: timeout_seconds, webhook_url, priority.
    options: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Run:
    """One execution of the state machine. `entered` is what it was given; see `aslant.contracts.ExecutionInfo`.

    `detail` is the step of a rerun, the number of the checkpoint of a restore, or that of the run that recover goes on with;
    "finally" for a rollback that runs `finally` too.
    """

    number: int
    arn: str
    machine: str
    version: str
    why: str  # start, resume, retry, restore, rerun, recover; rollback, or finally after a cancel
    by: str
    started_at: int
    ended_at: int | None = None
    status: str = ""  # as Step Functions says it: SUCCEEDED, FAILED, TIMED_OUT, ABORTED; empty while it runs
    detail: str = ""
    entered: Mapping[str, int] = field(default_factory=dict)
    transitions: int = 0  # of states, as AWS bills them; known at the end

    @property
    def own(self) -> bool:
        """Whether it is one of the workflow's own machine, not of that which undoes or ends an execution."""
        return self.why not in ("rollback", "finally")


@dataclass(frozen=True, slots=True)
class Child:
    """An execution that a step of another one started: `attempt` counts the starts of that step, from 0."""

    id: str
    step: str
    iteration: tuple[int, ...] = ()
    attempt: int = 0


@dataclass(frozen=True, slots=True)
class Transition:
    revision: int
    before: str  # empty for the first
    after: Status
    at: int
    by: str
    reason: str
    run: int


@dataclass(frozen=True, slots=True)
class StepRecord:
    """What is known of one step in one iteration. Times are epoch microseconds.

    `attempts` counts the begins of this run, the first of which was at `first_at` (of native steps only where `begun_at` is
    of an earlier run); `total_attempts` those of all runs. A failure is `settled` when the workflow went on after it: a
    later run finds it again as a failure and does not repeat the step. `native` steps were filled in from the history.
    `since` is the run for which the record before it was set aside, so that the step acts again; 0 for none. `output` is
    only there when it was asked for. What is running was cut short at `stopped_at`, and what is `late` was recorded when
    the end of its execution had been told.
    """

    step: str
    iteration: tuple[int, ...]
    status: StepStatus
    type: str = ""
    run: int = 1
    attempts: int = 0
    total_attempts: int = 0
    started_at: int = 0
    begun_at: int = 0
    finished_at: int | None = None
    lease_until: int | None = None
    owner: str = ""
    output: Json = None
    output_sha256: str = ""
    output_ref: str = ""
    error: Failure | None = None
    settled: bool = False
    native: bool = False
    outcome: str = ""  # what a choice chose, if that can be told
    usage: Mapping[str, float] = field(default_factory=dict)
    since: int = 0
    first_at: int = 0
    stopped_at: int | None = None
    late: bool = False

    @property
    def label(self) -> str:
        """`step`, or `step[2][0]` inside of loops."""
        return self.step + "".join(f"[{index}]" for index in self.iteration)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A point to go back to: what had completed at `at` (epoch microseconds). `sha256` is over those records.

    `reason` is every_node, every_n, interval, on_failure, step, manual or before_<type>; `steps` are the labels of what had
    completed, newest last.
    """

    number: int
    at: int
    reason: str
    by: str
    run: int
    steps: tuple[str, ...]
    sha256: str
    label: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """Some executions, the newest first; `next` is the cursor of the following ones, None at the end."""

    items: tuple[Execution, ...]
    next: str | None = None
