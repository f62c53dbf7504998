"""Runs cases on one local cloud and compares each with the reference interpreter."""

from __future__ import annotations

import json
import threading
import time
import uuid
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from aslant import skills
from aslant.adapters import clients
from infra.local import provision
from infra.local.cloud import ExecutionHandle, LocalCloud
from infra.local.family import Family
from infra.local.runner import environment
from infra.local.tracking import error_of
from tests.fuzz.workflow_cases import Case, without_undos
from tests.reference.interpreter import (
    COMPLETED,
    FAILED,
    NOT_STARTED,
    SKIPPED,
    Execution,
    Interpreter,
    Place,
    Scope,
    StepFailed,
    ancestors,
)
from translator.diagnostics import Findings, TranslatorError
from translator.model.build import build
from translator.model.workflow import Step, Workflow
from translator.pipeline import Compilation, Source, canonical_data, compile_sources

SCALE = 100
AT_ONCE = 8
SECONDS = 240  # real ones that an execution may take, also beside other work
_ENDS = {"SUCCEEDED": COMPLETED, "FAILED": FAILED, "TIMED_OUT": "timed_out", "ABORTED": "cancelled"}


class NoisyError(Exception):
    pass


class OtherError(Exception):
    pass


_RAISED = {"NoisyError": NoisyError, "OtherError": OtherError}


def mixed(name: str, value: Any) -> int:
    """What `act` gives: a small number that tells what it was given."""
    return zlib.crc32(json.dumps([name, value], sort_keys=True).encode()) % 100


def reference_act(parameters: Mapping[str, Any], attempt: int) -> Any:
    if attempt <= parameters.get("times", 0):
        raise StepFailed(parameters["error"])
    return mixed(parameters["name"], parameters.get("value"))


@dataclass(slots=True)
class Acts:
    """Every call of `act`: when it began and ended, by workflow, and there by step, iteration and idempotency key."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    spans: dict[str, dict[tuple[str, tuple[Any, ...]], list[tuple[float, float]]]] = field(default_factory=dict)

    def act(
        self, name: str, value: Any = None, place: Sequence[int] = (), error: str = "", times: int = 0, idempotency_key: str = "",
    ) -> Any:
        began = time.monotonic()
        workflow, _, step = name.partition("/")
        with self.lock:
            spans = self.spans.setdefault(workflow, {}).setdefault((step, (*place, idempotency_key)), [])
            attempt = len(spans) + 1
            spans.append((began, began))
        time.sleep(zlib.crc32(f"{name}{place}".encode()) % 4 / 1000)  # who is faster is not in the order of the definition
        with self.lock:
            spans[attempt - 1] = (began, time.monotonic())
        if attempt <= times:
            raise _RAISED[error](f"attempt {attempt}")
        return mixed(name, value)

    def of(
        self, workflow: str, steps: set[str], iteration: tuple[int, ...], stopped: Collection[Place] = (),
    ) -> list[tuple[float, float]]:
        """The calls of some steps in an iteration, and in those inside of it, aside from those that are `stopped`."""
        return [
            span for (step, place), spans in self.spans.get(workflow, {}).items()
            if step in steps and place[:len(iteration)] == iteration and (step, place[:-1]) not in stopped for span in spans
        ]


def compiled(case: Case) -> list[Compilation]:
    return compile_sources([Source(json.dumps(one), f"{case.seed}.yaml") for one in case.definitions])


def expected(case: Case, models: Mapping[str, Workflow]) -> Execution:
    main = models[case.definitions[0]["id"]]
    return Interpreter(main, models, {"act": reference_act}).run(case.input)


def models(case: Case) -> dict[str, Workflow]:
    """The canonical models, as the definitions say them."""
    found = {}
    for one in map(without_undos, case.definitions):
        findings = Findings()
        read = canonical_data(Source(json.dumps(one)), findings)
        assert read is not None, findings.sorted()
        workflow = build(read[1], findings)
        found[workflow.id] = workflow
    return found


@contextmanager
def cloud() -> Iterator[tuple[LocalCloud, Acts]]:
    acts = Acts()
    skills.register("act", acts.act)
    try:
        with LocalCloud(time_scale=SCALE, environment=environment(False)) as running:
            clients.forget()
            yield running, acts
    finally:
        skills.unregister("act")


def problems(cases: Sequence[Case]) -> dict[str, list[str]]:
    """What is wrong with each case, by its seed; runs them side by side on one cloud."""
    found: dict[str, list[str]] = {}
    with cloud() as (running, acts):
        ready: list[tuple[Case, list[Compilation]]] = []
        for case in cases:
            try:
                ready.append((case, compiled(case)))
            except TranslatorError as error:
                found[case.seed] = [f"refused: {one.code} {one.message}" for one in error.diagnostics if one.severity.value == "error"]
            except Exception as error:  # a traceback is a finding of this test
                found[case.seed] = [f"the compiler raised {error!r}"]
        everything = [one for _, compilations in ready for one in compilations]
        functions = provision.register_functions(running, everything, lambda handler: handler, warm=True)
        arns = provision.create_machines(running, everything, functions, simulate=False)
        for at in range(0, len(ready), AT_ONCE):
            waiting: list[tuple[Case, list[Compilation], ExecutionHandle]] = []
            for case, compilations in ready[at:at + AT_ONCE]:
                workflow, execution = compilations[0].workflow.id, str(uuid.uuid4())
                info = {
                    "id": execution, "tenant": provision.TENANT, "workflow": workflow, "version": "1.0.0", "run": 1, "user": "fuzz",
                }  # fmt: skip
                given = {"input": case.input, "execution": info}
                waiting.append((case, compilations, running.start(arns[workflow], given, execution)))
            until = time.monotonic() + SECONDS
            for _, _, handle in waiting:
                with suppress(TimeoutError):
                    handle.wait(max(0.0, until - time.monotonic()))
            for case, compilations, handle in waiting:
                machines = {arns[one.workflow.id].rpartition(":")[2]: one for one in compilations}
                if told := _compare(running, case, compilations, machines, handle, acts):
                    found[case.seed] = told
    return found


def _compare(
    running: LocalCloud, case: Case, compilations: Sequence[Compilation], machines: Mapping[str, Any], handle: ExecutionHandle, acts: Acts,
) -> list[str]:
    try:
        ended = handle.wait(0.01)
    except TimeoutError:
        running.stop(handle.arn)
        return ["it does not end"]
    try:
        want = expected(case, models(case))
    except Exception as error:
        return [f"the reference raised {error!r}"]
    family = Family(running, machines, {})
    progress = family.lead(handle, compilations[0]).progress
    family.look()
    family.look()
    family.close(ended.stopped)
    found = []
    status = _ENDS[ended.status]
    if status != want.status:
        return [f"ended {status} ({ended.error}: {(ended.cause or '')[:300]}), not {want.status} {sorted(want.errors)}"]
    if status == COMPLETED and not (want.output == ended.output and _same_types(want.output, ended.output)):
        found.append(f"output {json.dumps(ended.output)}, not {want.output!r}")
    if status == FAILED:
        name = error_of(ended.error, ended.cause)
        if name not in {error for error, _ in want.errors}:
            found.append(f"failed with {name}, not {sorted(want.errors)}")
    places = want.places()
    seen = {(run.step, run.iteration): str(run.status) for run in progress.ordered()}
    for place, ran in places.items():
        got = seen.pop(place, NOT_STARTED)
        allowed = {ran.status}
        if ran.status == SKIPPED:
            allowed.add(NOT_STARTED)  # nobody told of it: it was in something that did not run
        if ran.status == NOT_STARTED:
            allowed.add(SKIPPED)
        if not ran.certain:
            allowed |= {NOT_STARTED, "cancelled", SKIPPED, FAILED}  # failed: stopped between two attempts
        if got not in allowed:
            found.append(f"{place} {got}, not {' or '.join(sorted(allowed))}")
    found += [f"{place} {got}, which nothing leads to" for place, got in seen.items() if got in (COMPLETED, FAILED) and not place[0].endswith(" edges")]
    if not found:
        found += _calls(case, want, acts)
    return found


def _same_types(one: Any, other: Any) -> bool:
    """Python has `1 == True`; JSON has not."""
    if isinstance(one, dict) and isinstance(other, dict):
        return all(_same_types(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return all(map(_same_types, one, other))
    return isinstance(one, bool) == isinstance(other, bool)


def _calls(case: Case, want: Execution, acts: Acts) -> list[str]:
    """How often each step called its skill, and whether the order that edges ask for was kept."""
    found: list[str] = []
    main = case.definitions[0]["id"]
    # A function that runs goes on when its state is stopped.
    stopped = {place for place, ran in want.places().items() if not ran.certain}
    for top in (want.body, want.ending):
        for scope in top.all() if top is not None else ():
            for step in scope.steps:
                if step.type != "skill":
                    continue
                count = len(acts.of(main, {step.id}, scope.iteration))
                ran = scope.ran[step.id]
                if count != ran.attempts if ran.certain else count > ran.attempts:
                    found.append(f"{step.id} {scope.iteration} was called {count} times, not {ran.attempts}")
            found += _order(scope, main, acts, stopped)
    found += _undone(want, main, acts)
    if want.ending is not None:
        before, after = _hull(want.body.steps, (), main, acts, stopped), _hull(want.ending.steps, (), main, acts)
        if before and after and after[0] < before[1] and not want.errors:
            found.append("finally began before the body had ended")
    return found


def _undone(want: Execution, main: str, acts: Acts) -> list[str]:
    """Undos that ran more often than what they undo, or though nothing had failed."""
    found = []
    settled = [(step, scope.ran[step.id]) for scope in want.body.all() for step in scope.steps if step.compensation is not None]
    for step in {step.id: step for step, _ in settled}.values():
        assert step.compensation is not None
        most = sum(ran.status == COMPLETED or not ran.certain for other, ran in settled if other.id == step.id)
        count = len(acts.of(main, {step.compensation.id}, ()))
        if count > (most if want.status == FAILED else 0):
            found.append(f"{step.id} was undone {count} times, and had run {most} times")
    if len(acts.of(main, {"back"}, ())) > (want.status == FAILED):
        found.append("rolled back more often than it failed")
    return found


def _order(scope: Scope, main: str, acts: Acts, stopped: Collection[Place]) -> list[str]:
    found = []
    for step in scope.steps:
        after = _hull([step], scope.iteration, main, acts, stopped)
        for name in ancestors(scope.steps, step.id) if after else ():
            before = _hull([one for one in scope.steps if one.id == name], scope.iteration, main, acts, stopped)
            if before and after and after[0] < before[1]:
                found.append(f"{step.id} {scope.iteration} began before {name} had ended")
        if step.type == "foreach" and step.max_parallel:
            hulls = [_hull(step.steps, (*scope.iteration, index), main, acts, stopped) for index in range(len(scope.inner.get(step.id, ())))]
            at_once = _most([hull for hull in hulls if hull])
            if at_once > step.max_parallel:
                found.append(f"{step.id} ran {at_once} iterations at once")
    return found


def _hull(
    steps: Sequence[Step], iteration: tuple[int, ...], main: str, acts: Acts, stopped: Collection[Place] = (),
) -> tuple[float, float] | None:
    """From the first call inside of these steps to the last."""
    spans = acts.of(main, {one.id for one in _all(steps) if one.type == "skill"}, iteration, stopped)
    return (min(began for began, _ in spans), max(ended for _, ended in spans)) if spans else None


def _all(steps: Sequence[Step]) -> Iterator[Step]:
    for step in steps:
        yield step
        for inner in step.inner():
            yield from _all(inner)


def _most(hulls: Sequence[tuple[float, float]]) -> int:
    return max((sum(began <= at < ended for began, ended in hulls) for at, _ in hulls), default=0)
