"""`python -m tests.bench.soak [EXECUTIONS] [SEED]`: many executions at once on the local cloud, while everything goes wrong.

Functions are killed at every point of a step, DynamoDB throttles, notices come twice, late and in another order, the
publisher is killed, and executions are paused and resumed at random. At the end every execution must have completed with
its right output, and every side effect must have happened as often as it can be explained: once, and once more for each time
that a function was killed after its effect and before it could be recorded. Then the callee's idempotency key is the same.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from aslant import bootstrap, serving, skills
from aslant.approvals.rules import Person
from aslant.errors import ApprovalClosed, InvalidTransition, StepError
from aslant.ports import StepKey
from functions.publish_definition.logic import publish
from infra import inventory
from infra.local import provision
from infra.local.dev import Dev, dev
from infra.local.home import Home
from tests.fuzz.checks import idempotency_key
from tests.mortal import Killed, MortalSteps
from translator.pipeline import Source, compile_sources

TENANT = provision.TENANT
SCALE = 20  # waits and pauses before retries run faster; what handlers do takes its real time

DEFINITION = """
dialect: canonical
id: soak
inputs: {n: {type: integer, required: true}}
settings: {retry: {max_attempts: 12, delay: 1, max_delay: 20, on: ["*"]}}
outputs: {total: "{{ steps.total.output }}", by: "{{ steps.ask.output.approved }}", last: "{{ steps.s20.output }}"}
steps:
  - {id: s1, type: skill, timeout: 3, config: {skill: effect, parameters: {value: "{{ input.n }}"}}}
  - {id: s2, type: skill, timeout: 3, depends_on: [s1], config: {skill: effect, parameters: {value: "{{ steps.s1.output + 1 }}"}}}
  - id: fork
    type: parallel
    depends_on: [s2]
    branches:
      - {steps: [{id: a1, type: skill, timeout: 3, config: {skill: effect, parameters: {value: "{{ steps.s2.output }}"}}}, {id: a2, type: skill, timeout: 3, depends_on: [a1], config: {skill: effect, parameters: {value: "{{ steps.a1.output * 2 }}"}}}]}
      - {steps: [{id: b1, type: skill, timeout: 3, config: {skill: effect, parameters: {value: 5}}}, {id: b2, type: wait, depends_on: [b1], seconds: 3}]}
      - {steps: [{id: c1, type: skill, timeout: 3, config: {skill: effect, parameters: {value: 7}}}]}
  - {id: route, type: choice, depends_on: [fork], cases: [{name: even, when: "input.n % 2 == 0"}], default: odd}
  - {id: even, type: skill, timeout: 3, depends_on: [{step: route, on: [even]}], config: {skill: effect, parameters: {value: 100}}}
  - {id: odd, type: skill, timeout: 3, depends_on: [{step: route, on: [odd]}], config: {skill: effect, parameters: {value: 200}}}
  - {id: ask, type: approval, depends_on: [even, odd], timeout: 36000, config: {message: "Go on?"}}
  - id: loop
    type: foreach
    depends_on: [ask]
    items: [1, 2, 3]
    max_parallel: 3
    steps:
      - {id: l1, type: skill, timeout: 3, config: {skill: effect, parameters: {value: "{{ item }}"}}}
      - {id: l2, type: skill, timeout: 3, depends_on: [l1], config: {skill: effect, parameters: {value: "{{ steps.l1.output + input.n }}"}}}
  - {id: pause, type: wait, depends_on: [loop], seconds: 5}
  - {id: sums, type: transform, depends_on: [pause], config: {expression: "sum(steps.loop.output)"}}
  - {id: total, type: transform, depends_on: [sums], config: {expression: "steps.sums.output + (steps.even.output ?? 0) + (steps.odd.output ?? 0) + steps.a2.output"}}
  - {id: s20, type: skill, timeout: 3, depends_on: [total], config: {skill: effect, parameters: {value: "{{ steps.total.output }}"}}}
"""
EFFECTS = len(["s1", "s2", "a1", "a2", "b1", "c1"]) + 1 + 2 * 3 + 1


def expected(n: int) -> dict[str, Any]:
    """What an execution must give, worked out by hand from the definition."""
    total = sum(item + n for item in (1, 2, 3)) + (100 if n % 2 == 0 else 200) + (n + 1) * 2
    return {"total": total, "by": True, "last": total}


@dataclass(slots=True)
class Chances:
    """How often what goes wrong, of 1."""

    kill: float = 0.02        # at each of the four points of a step
    throttle: float = 0.01    # of the requests to DynamoDB
    again: float = 0.2        # notices that come twice
    late: float = 0.2         # notices that come late
    publisher: float = 0.02   # batches of the publisher that are killed
    pause: float = 0.3        # executions that are paused and resumed


@dataclass(slots=True)
class World:
    chances: Chances
    random: random.Random
    lock: threading.Lock = field(default_factory=threading.Lock)
    effects: Counter[str] = field(default_factory=Counter)          # calls by idempotency key
    lost: Counter[str] = field(default_factory=Counter)             # of them, kills before they were recorded
    counted: Counter[str] = field(default_factory=Counter)          # faults by kind
    store_calls: int = 0
    overhead: list[float] = field(default_factory=list)             # seconds of a handler outside of its skill
    inside: threading.local = field(default_factory=threading.local)

    def chance(self, probability: float) -> bool:
        with self.lock:
            return self.random.random() < probability

    def maybe_kill(self, where: str) -> None:
        with self.lock:
            self.store_calls += where in ("after begin", "after finish")
        if self.chance(self.chances.kill):
            with self.lock:
                self.counted[f"killed {where}"] += 1
            raise Killed(where)

    def effect(self, value: Any, idempotency_key: str) -> Any:
        started = time.perf_counter()
        with self.lock:
            self.effects[idempotency_key] += 1
        self.inside.seconds = time.perf_counter() - started
        return value

    def note_lost(self, key: StepKey, since: int) -> None:
        with self.lock:
            self.lost[idempotency_key(key, since)] += 1


@contextmanager
def trouble(world: World, running: Dev) -> Iterator[None]:
    """Everything that can go wrong does, inside."""
    from moto.dynamodb.responses import DynamoHandler

    steps, call_action = bootstrap.steps, DynamoHandler.call_action
    refused: tuple[int, dict[str, str], str] = (400, {}, json.dumps({
        "__type": "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException", "message": "slow down",
    }))

    def throttled(self: Any) -> Any:
        if world.chance(world.chances.throttle):
            with world.lock:
                world.counted["throttled"] += 1
            return refused
        return call_action(self)

    bootstrap.steps = lambda settings: MortalSteps(steps(settings), world.maybe_kill, world.note_lost)
    DynamoHandler.call_action = throttled  # type: ignore[method-assign]
    functions = running.cloud._runtime.functions
    for name, wrap in ((inventory.RECORD_EXECUTION, _unreliable), (inventory.PUBLISH_EVENTS, _mortal_publisher)):
        running.cloud.function(name, wrap(world, functions.find(name).handler))
    skill = functions.find("aslant-skill").handler
    running.cloud.function("aslant-skill", _measured(world, skill))
    try:
        yield
    finally:
        bootstrap.steps, DynamoHandler.call_action = steps, call_action  # type: ignore[method-assign]


def _measured(world: World, handler: Callable[..., Any]) -> Callable[..., Any]:
    def measured(event: dict[str, Any], context: Any) -> Any:
        world.inside.seconds = 0.0
        started = time.perf_counter()
        result = handler(event, context)
        with world.lock:
            world.overhead.append(time.perf_counter() - started - world.inside.seconds)
        return result

    return measured


def _unreliable(world: World, handler: Callable[..., Any]) -> Callable[..., Any]:
    """Notices that come twice or late, the later ones first."""

    def deliver(event: dict[str, Any], context: Any) -> Any:
        if world.chance(world.chances.late):
            with world.lock:
                world.counted["late notices"] += 1
                pause = world.random.uniform(0, 0.5)
            time.sleep(pause)
        answer = handler(event, context)
        if world.chance(world.chances.again):
            with world.lock:
                world.counted["repeated notices"] += 1
            answer = handler(event, context)
        return answer

    return deliver


def _mortal_publisher(world: World, handler: Callable[..., Any]) -> Callable[..., Any]:
    def publishing(event: dict[str, Any], context: Any) -> Any:
        if world.chance(world.chances.publisher):
            with world.lock:
                world.counted["publisher killed before"] += 1
            raise Killed("before")
        answer = handler(event, context)
        if world.chance(world.chances.publisher):
            with world.lock:
                world.counted["publisher killed after"] += 1
            raise Killed("after")
        return answer

    return publishing


class _Approver(threading.Thread):
    """Approves whatever is asked, now and then twice and by two people at once."""

    def __init__(self, running: Dev) -> None:
        super().__init__(daemon=True, name="soak-approver")
        self.running, self.over = running, threading.Event()

    def run(self) -> None:
        while not self.over.wait(0.2):
            service = bootstrap.approvals(self.running.settings)
            try:
                waiting, _ = service.pending(TENANT, limit=50)
            except StepError:
                continue
            for item in waiting:
                for user in ("ann", "ben"):
                    try:
                        service.decide(TENANT, item["approval_id"], "approve", by=Person(user))
                    except (ApprovalClosed, StepError):
                        continue


class _Pauser(threading.Thread):
    """Pauses executions at random moments, and resumes them."""

    def __init__(self, running: Dev, world: World, ids: list[str]) -> None:
        super().__init__(daemon=True, name="soak-pauser")
        self.running, self.world, self.ids, self.over = running, world, ids, threading.Event()
        self.chosen = {id for id in ids if world.random.random() < world.chances.pause}

    def run(self) -> None:
        service = bootstrap.executions(self.running.settings)
        rest = sorted(self.chosen)
        while rest and not self.over.wait(self.world.random.uniform(0.02, 0.2)):
            id = rest.pop(self.world.random.randrange(len(rest)))
            try:
                service.pause(TENANT, id, by="soak")
            except (InvalidTransition, StepError):
                continue
            with self.world.lock:
                self.world.counted["paused"] += 1
            self.over.wait(self.world.random.uniform(0, 0.5))
            self._resume(service, id)

    def _resume(self, service: Any, id: str) -> None:
        for _ in range(50):
            try:
                service.resume(TENANT, id, by="soak")
                return
            except InvalidTransition:
                return
            except StepError:
                time.sleep(0.05)


@dataclass(frozen=True, slots=True)
class Report:
    executions: int
    seconds: float
    problems: tuple[str, ...]
    faults: Mapping[str, int]
    effects: int
    repeated: int
    explained: int
    store_calls: float
    overhead: tuple[float, float]
    events: int


def soak(count: int, seed: int, *, chances: Chances | None = None, at_once: int = 24, limit: float = 3600) -> Report:
    """Runs `count` executions, at most `at_once` together, and looks at what came of them. `limit`: real seconds."""
    world = World(chances or Chances(), random.Random(seed))
    before = skills.find("effect", {})
    skills.register("effect", world.effect)
    try:
        with tempfile.TemporaryDirectory() as folder, dev(Home(Path(folder)), port=0, time_scale=SCALE) as running:
            return _run(running, world, count, at_once, limit)
    finally:
        skills.unregister("effect")
        if before is not None:
            skills.register("effect", before)


def _run(running: Dev, world: World, count: int, at_once: int, limit: float) -> Report:
    publish(
        lambda versions: compile_sources([Source(DEFINITION, "soak.yaml")]), running.settings, TENANT, role="local"
    )
    service = bootstrap.executions(running.settings)
    ids = [f"soak-{number:05}" for number in range(count)]
    started = time.monotonic()
    with trouble(world, running):
        approver = _Approver(running)
        approver.start()
        left = list(enumerate(ids))
        active: dict[str, int] = {}
        pausers: list[_Pauser] = []
        ended: dict[str, Any] = {}
        told = time.monotonic()
        while left or active:
            if time.monotonic() - started > limit:
                break
            if left and len(active) < at_once:
                batch = [left.pop(0) for _ in range(min(len(left), at_once - len(active)))]
                for number, id in batch:
                    _insist(partial(service.start, TENANT, "soak", {"n": number}, user="soak", key=id))
                    active[_id_of(service, id)] = number
                pauser = _Pauser(running, world, [_id_of(service, id) for _, id in batch])
                pauser.start()
                pausers.append(pauser)
            for id in list(active):
                execution = _insist(partial(service.get, TENANT, id))
                if execution.status in ("completed", "failed", "cancelled", "timed_out"):
                    ended[id] = (active.pop(id), execution)
            if time.monotonic() - told > 10 and sys.stderr.isatty():
                told = time.monotonic()
                print(f"  {len(ended)} of {count} after {told - started:.0f} s", file=sys.stderr)
            time.sleep(0.2)
        for pauser in pausers:
            pauser.over.set()
            pauser.join(10)
        approver.over.set()
        approver.join(10)
    seconds = time.monotonic() - started
    running.cloud.settle(60)
    problems = [*_wrong_ends(service, ended, active), *_wrong_effects(service, world, ended)]
    events, gaps = _events(running, ended)
    overhead = sorted(world.overhead) or [0.0]
    return Report(
        count, seconds, tuple(problems + gaps), dict(sorted(world.counted.items())), len(world.effects),
        sum(calls - 1 for calls in world.effects.values()), sum(world.lost.values()),
        world.store_calls / max(1, len(world.effects)),
        (overhead[len(overhead) // 2], overhead[min(len(overhead) - 1, int(len(overhead) * 0.95))]), events,
    )


def _id_of(service: Any, key: str) -> str:
    from aslant.executions.naming import keyed_id

    return keyed_id(TENANT, key)


def _insist(call: Callable[[], Any]) -> Any:
    """What a caller does whose request is throttled: it asks again."""
    for _ in range(100):
        try:
            return call()
        except StepError as error:
            if not error.retryable:
                raise
            time.sleep(0.05)
    return call()


def _wrong_ends(service: Any, ended: Mapping[str, Any], active: Mapping[str, int]) -> list[str]:
    problems = [f"{id} has not ended: {service.get(TENANT, id).status}" for id in active]
    for id, (number, execution) in ended.items():
        output = service.output(TENANT, id)
        if execution.status != "completed":
            problems.append(f"{id} ended as {execution.status}: {execution.error}")
        elif output != expected(number):
            problems.append(f"{id} gave {output}, not {expected(number)}")
        records = service.steps(TENANT, id)
        locked = [record.label for record in records if record.status == "running"]
        if locked:
            problems.append(f"{id} has steps that still run: {locked}")
    return problems


def _wrong_effects(service: Any, world: World, ended: Mapping[str, Any]) -> list[str]:
    problems = []
    for id in ended:
        records = [record for record in service.steps(TENANT, id) if record.type == "skill" and record.status == "completed"]
        keys = {idempotency_key(StepKey(TENANT, id, record.step, record.iteration), record.since) for record in records}
        if len(keys) != EFFECTS or not keys <= world.effects.keys():
            problems.append(f"{id} had {len(keys & world.effects.keys())} side effects, not {EFFECTS}")
    if len(world.effects) != EFFECTS * len(ended):
        problems.append(f"there were {len(world.effects)} side effects, not {EFFECTS * len(ended)}")
    for key, calls in world.effects.items():
        if calls != 1 + world.lost[key]:
            problems.append(f"a side effect happened {calls} times, of which {world.lost[key]} are explained")
    return problems


def _events(running: Dev, ended: Mapping[str, Any]) -> tuple[int, list[str]]:
    """How many events there are, and what is missing."""
    problems, count = [], 0
    log = serving.event_log(running.settings)
    for id in ended:
        kinds: Counter[str] = Counter(detail["event_type"] for _, detail in log.read(TENANT, id))
        count += sum(kinds.values())
        if kinds["workflow_completed"] != 1 or kinds["workflow_started"] != 1:
            problems.append(f"{id} has the events {dict(kinds)}")
        if kinds["node_completed"] < EFFECTS or kinds["approval_granted"] != 1:
            problems.append(f"{id} misses events: {dict(kinds)}")
        if kinds["workflow_paused"] != kinds["workflow_resumed"]:
            problems.append(f"{id} was paused and resumed differently often: {dict(kinds)}")
    return count, problems


def main(arguments: list[str]) -> int:
    count = int(arguments[0]) if arguments else 500
    seed = int(arguments[1]) if len(arguments) > 1 else 1
    report = soak(count, seed)
    print(f"Soak: {report.executions} executions of 20 steps, seed {seed}")
    print(f"  {report.seconds:.0f} s, {report.executions / report.seconds:.1f} executions a second, {report.events} events")
    print("  faults: " + ", ".join(f"{number} {name}" for name, number in report.faults.items()))
    print(f"  {report.effects} side effects; {report.repeated} repeated, {report.explained} by kills before they were recorded")
    print(f"  step records: {report.store_calls:.2f} requests a step")
    print(f"  a step's function without its skill: p50 {report.overhead[0] * 1000:.1f} ms, p95 {report.overhead[1] * 1000:.1f} ms")
    for problem in report.problems[:50]:
        print(f"  WRONG: {problem}")
    print("  all right" if not report.problems else f"  {len(report.problems)} problems")
    return 1 if report.problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
