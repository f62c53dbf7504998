"""`python -m tests.fuzz.executions [--rounds N] [--seed S]`: random workflows under random control, while processes die.

Several threads start, pause, resume, cancel, retry, restore, rerun and roll back executions, take and delete checkpoints,
answer questions and stop runs behind the service's back. The service, the functions and the steps are killed between any
two of their calls. In the end everything is brought to rest, and looked at: see `checks`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

from aslant import bootstrap, clock, skills
from aslant.approvals.rules import Person
from aslant.errors import StepError
from aslant.executions.naming import keyed_id
from aslant.executions.records import Execution, StepRecord
from aslant.executions.states import FINAL
from aslant.ports import StepKey, StepStore
from functions.publish_definition.logic import publish
from infra.local import provision
from infra.local.dev import Dev, dev
from infra.local.home import Home
from tests.fuzz import checks
from tests.fuzz.flows import Flow, flow
from tests.mortal import Killed, MortalSteps
from translator.pipeline import Source, compile_sources

TENANT = provision.TENANT
SCALE = 20
OPS = (
    "pause", "pause", "resume", "resume", "cancel", "retry", "retry", "restore", "rerun", "rollback", "checkpoint", "drop",
    "approve", "approve", "reject", "stop", "start", "reconcile", "plan",
)  # fmt: skip


@dataclass(slots=True)
class World:
    """What is known of everything that went wrong, and of every effect."""

    random: Random
    kill_steps: float = 0.0    # probability at each of the points of a step
    kill_service: float = 0.0  # and at each call of the service or a function
    quiet: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)
    effects: Counter[str] = field(default_factory=Counter)   # by idempotency key
    lost: Counter[str] = field(default_factory=Counter)      # of them, killed before they were recorded
    overtaken: Counter[str] = field(default_factory=Counter)  # of them, by attempts whose lease was over
    steps: dict[str, StepKey] = field(default_factory=dict)  # by idempotency key
    failed: set[str] = field(default_factory=set)            # flaky steps that have failed, by idempotency key
    touched: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))  # successful operations
    counted: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    def maybe_kill(self, probability: float, where: str) -> None:
        with self.lock:
            killed = not self.quiet and self.random.random() < probability
            self.counted[f"killed {where}"] += killed
        if killed:
            raise Killed(where)

    def effect(self, value: Any, idempotency_key: str) -> Any:
        with self.lock:
            self.effects[idempotency_key] += 1
        return value

    def flaky(self, value: Any, idempotency_key: str) -> Any:
        with self.lock:
            first = idempotency_key not in self.failed
            self.failed.add(idempotency_key)
        if first:
            raise RuntimeError("not at the first time")
        return self.effect(value, idempotency_key)

    def breaks(self) -> Any:
        raise RuntimeError("it never works")


class Steps(MortalSteps):
    """Step records that note which step an idempotency key belongs to, and whose leases do not last."""

    def __init__(self, store: StepStore, world: World) -> None:
        super().__init__(store, lambda where: world.maybe_kill(world.kill_steps, where), self._lost)
        self.world = world

    def begin(self, key: StepKey, **given: Any) -> tuple[bool, StepRecord]:
        # Functions end after a few seconds here, as a timeout of theirs says on AWS: then a lease is over soon.
        given["lease_until"] = min(given["lease_until"], given["now"] + 8_000_000 * SCALE)
        mine, record = super().begin(key, **given)
        with self.world.lock:
            self.world.steps[checks.idempotency_key(key, record.since)] = key
        return mine, record

    def finished(self, key: StepKey, began: StepRecord, answer: StepRecord) -> None:
        if answer.owner != began.owner and not answer.settled:
            with self.world.lock:
                self.world.overtaken[checks.idempotency_key(key, began.since)] += 1
                if clock.now() * 1e6 < (began.lease_until or 0):
                    self.world.problems.append(f"{key} was done by somebody else under the lease of {began}")

    def _lost(self, key: StepKey, since: int) -> None:
        with self.world.lock:
            self.world.lost[checks.idempotency_key(key, since)] += 1


class Mortal:
    """A port whose caller may be killed before and after each call."""

    def __init__(self, port: Any, world: World) -> None:
        self._port, self._world = port, world

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._port, name)
        if not callable(found):
            return found

        def call(*given: Any, **more: Any) -> Any:
            where = f"{type(self._port).__name__}.{name}"
            self._world.maybe_kill(self._world.kill_service / 2, f"before {where}")
            answer = found(*given, **more)
            self._world.maybe_kill(self._world.kill_service / 2, f"after {where}")
            return answer

        return call


@contextmanager
def trouble(world: World) -> Iterator[None]:
    """Inside, every process may die at any moment."""
    kept = {name: getattr(bootstrap, name) for name in ("steps", "execution_store", "machines", "approvals")}
    own: dict[str, Callable[..., Any]] = {"effect": world.effect, "flaky": world.flaky, "breaks": world.breaks}
    before = {name: skills.find(name, {}) for name in own}

    def approvals(settings: Any) -> Any:
        service = kept["approvals"](settings)
        return replace(service, store=Mortal(service.store, world), callbacks=Mortal(service.callbacks, world))

    patched: dict[str, Any] = {
        "steps": lambda settings: Steps(kept["steps"](settings), world),
        "execution_store": lambda settings: Mortal(kept["execution_store"](settings), world),
        "machines": lambda settings: Mortal(kept["machines"](settings), world), "approvals": approvals,
    }  # fmt: skip
    for name, made in patched.items():
        setattr(bootstrap, name, made)
    for name, skill in own.items():
        skills.register(name, skill)
    try:
        yield
    finally:
        for name, made in kept.items():
            setattr(bootstrap, name, made)
        skills.unregister(*own)
        for name, earlier in before.items():
            if earlier is not None:
                skills.register(name, earlier)


@dataclass(slots=True)
class Controller(threading.Thread):
    """Does one random thing after another to random executions, as somebody at a command line whose process may die."""

    running: Dev
    world: World
    flows: dict[str, Flow]
    ids: list[str]
    random: Random
    over: threading.Event = field(default_factory=threading.Event)
    __hash__ = object.__hash__

    def __post_init__(self) -> None:
        threading.Thread.__init__(self, daemon=True, name="fuzz-controller")

    def run(self) -> None:
        while not self.over.wait(self.random.uniform(0, 0.06)):
            op = self.random.choice(OPS)
            try:
                self.one(op)
            except Killed:
                continue
            except StepError as error:
                with self.world.lock:
                    self.world.counted[f"{op}: {type(error).__name__}"] += 1
            except Exception:
                with self.world.lock:
                    self.world.problems.append(f"{op} ended with {traceback.format_exc(limit=-4)[-900:]}")

    def one(self, op: str) -> None:
        service = bootstrap.executions(self.running.settings)
        id = self.pick()
        if op in ("approve", "reject"):
            self.answer(op)
            return
        if op in ("pause", "resume", "cancel", "retry", "rollback"):
            self.touch(id, op)
            extra = {"compensate": True} if op == "cancel" and self.random.random() < 0.3 else {}
            getattr(service, op)(TENANT, id, by="fuzz", **extra)
        elif op == "restore":
            found = service.checkpoints(TENANT, id)
            if found:
                service.restore(TENANT, id, self.random.choice(found).number, by="fuzz")
        elif op in ("rerun", "plan"):
            steps = [step.step for step in service.steps(TENANT, id) if not step.step.startswith("undo ")]
            if steps:
                step = self.random.choice(steps)
                if op == "rerun":
                    service.rerun(TENANT, id, step, by="fuzz")
                else:
                    service.plan(TENANT, id, "rerun", step=step)
        elif op == "checkpoint":
            service.checkpoint(TENANT, id, by="fuzz")
        elif op == "drop":
            found = service.checkpoints(TENANT, id)
            if found:
                service.delete_checkpoint(TENANT, id, self.random.choice(found).number)
        elif op == "stop":
            self.touch(id, op)
            service.machines.stop(service.get(TENANT, id).arn, "Console", "somebody clicked")
        elif op == "start":
            key = self.random.choice(self.ids)
            start(service, self.flows, self.ids, self.ids.index(key))
        elif op == "reconcile":
            service.reconcile(TENANT, id)
        with self.world.lock:
            self.world.counted[op] += 1

    def touch(self, id: str, op: str) -> None:
        with self.world.lock:
            self.world.touched[id][op] += 1

    def pick(self) -> str:
        """An execution, seldom a child of it."""
        id = keyed_id(TENANT, self.random.choice(self.ids))
        if self.random.random() < 0.2:
            found = bootstrap.executions(self.running.settings).children(TENANT, id)
            if found:
                return self.random.choice(found).id
        return id

    def answer(self, op: str) -> None:
        service = bootstrap.approvals(self.running.settings)
        waiting, _ = service.pending(TENANT, limit=50)
        if not waiting or op == "reject" and self.random.random() < 0.7:
            return
        item = self.random.choice(waiting)
        self.touch(item["execution"], op)
        service.decide(TENANT, item["approval_id"], "approve" if op == "approve" else "reject", by=Person("ann"))
        with self.world.lock:
            self.world.counted[op] += 1


def start(service: Any, flows: dict[str, Flow], ids: list[str], number: int) -> Execution:
    key = ids[number]
    found: Execution = service.start(TENANT, key.split("/")[0], {"n": number}, user="fuzz", key=key)
    return found


class Watcher(threading.Thread):
    """Looks whether two runs of one execution go on at once."""

    def __init__(self, running: Dev, world: World) -> None:
        super().__init__(daemon=True, name="fuzz-watcher")
        self.running, self.world, self.over = running, world, threading.Event()

    def run(self) -> None:
        before: Counter[tuple[str, ...]] = Counter()
        while not self.over.wait(0.2):
            found: dict[tuple[str, str], list[str]] = defaultdict(list)
            for arn in checks.running(self.running.cloud):
                machine, _, name = arn.rpartition(":")
                found[machine, name.rpartition("-r")[0] if name.rpartition("-r")[2].isdigit() else name].append(arn)
            seen = {tuple(sorted(arns)) for arns in found.values() if len(arns) > 1}
            before = Counter({pair: before[pair] + 1 for pair in seen})
            for pair, times in before.items():
                if times == 5:
                    self.world.problems.append(f"two runs at once: {pair}")


def _retried(call: Callable[[], Any]) -> Any:
    for _ in range(20):
        try:
            return call()
        except StepError as error:
            if not error.retryable and type(error).__name__ not in ("InvalidTransition", "ConflictError"):
                raise
            time.sleep(0.1)
    return None


def rest(running: Dev, world: World, ids: list[str], limit: float) -> None:
    """Brings everything to an end: pauses are resumed, questions answered, what crashes left is finished."""
    service, people = bootstrap.executions(running.settings), bootstrap.approvals(running.settings)
    until, again = time.monotonic() + limit, {id: world.random.random() < 0.5 for id in ids}
    left = {keyed_id(TENANT, key) for key in ids}
    retried: Counter[str] = Counter()
    while left and time.monotonic() < until:
        for item in people.pending(TENANT, limit=100)[0]:
            try:
                people.decide(TENANT, item["approval_id"], "approve", by=Person("ann"))
            except StepError:
                continue
        for id in sorted(left):
            found = _retried(lambda id=id: service.reconcile(TENANT, id))  # type: ignore[misc]
            if found is None:
                continue
            if found.status == "paused":
                _retried(lambda id=id: service.resume(TENANT, id, by="rest"))  # type: ignore[misc]
            elif found.status in FINAL:
                key = next(key for key in ids if keyed_id(TENANT, key) == id)
                if found.status != "completed" and again[key] and retried[id] < 1:
                    retried[id] += 1
                    world.touched[id]["retry"] += 1
                    _retried(lambda id=id: service.retry(TENANT, id, by="rest"))  # type: ignore[misc]
                else:
                    left.discard(id)
        time.sleep(0.2)
    for id in sorted(left):
        one = service.get(TENANT, id)
        open_ = [record for record in service.steps(TENANT, id) if record.status == "running"]
        below = [(child.id, child.status, child.run, [record for record in service.steps(TENANT, child.id)
                 if record.status == "running"]) for child in service.children(TENANT, id)]  # fmt: skip
        last = list(service.machines.history(one.arn))[-3:]
        world.problems.append(f"{id} does not end: {one.status} run {one.run} {one.preparing} {open_} {below} {last}")


def round_(seed: int, *, flows: int = 3, each: int = 3, chaos: float = 6, limit: float = 120, kills: float = 1) -> tuple[World, list[Flow]]:
    """One cloud with a few workflows, several executions of each. `chaos` and `limit`: real seconds."""
    random = Random(seed)
    world = World(Random(seed + 1))
    world.kill_steps = 0.02 * kills
    world.kill_service = 0.04 * kills
    small = flow(random, "small", length=2)
    middle = flow(random, "middle", length=3, children=(small,))
    made = [flow(random, f"flow-{number}", length=6, children=(small, middle)) for number in range(flows)]
    every = [small, middle, *made]
    by_id = {one.id: one for one in every}
    ids = [f"{made[number % flows].id}/{number}" for number in range(flows * each)]
    with tempfile.TemporaryDirectory() as folder, trouble(world), dev(Home(Path(folder)), port=0, time_scale=SCALE) as running:
        publish(
            lambda versions: compile_sources([Source(one.text, f"{one.id}.yaml") for one in every]), running.settings, TENANT,
            role="local",
        )
        watcher = Watcher(running, world)
        watcher.start()
        for number in range(len(ids)):
            while True:
                try:
                    start(bootstrap.executions(running.settings), by_id, ids, number)
                    break
                except (Killed, StepError):
                    continue
        controllers = [Controller(running, world, by_id, ids, Random(seed * 100 + number)) for number in range(3)]
        for controller in controllers:
            controller.start()
        time.sleep(chaos)
        for controller in controllers:
            controller.over.set()
        for controller in controllers:
            controller.join(30)
        world.quiet = True
        rest(running, world, ids, limit)
        watcher.over.set()
        watcher.join(5)
        running.cloud.settle(20)
        for one in checks.everything(bootstrap.executions(running.settings)):  # what was told to nobody is found by looking
            _retried(lambda id=one.id: bootstrap.executions(running.settings).reconcile(TENANT, id))  # type: ignore[misc]
        running.cloud.settle(20)
        world.problems += checks.wrong(running, world, by_id, ids)
    return world, every


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.executions", description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kills", type=float, default=1, help="how often processes die, beside the usual")
    parser.add_argument("--chaos", type=float, default=8, help="seconds of random control")
    parser.add_argument("--show", action="store_true", help="print the definitions of a round with problems")
    options = parser.parse_args(arguments)
    bad = 0
    total: Counter[str] = Counter()
    for seed in range(options.seed, options.seed + options.rounds):
        began = time.monotonic()
        world, every = round_(seed, kills=options.kills, chaos=options.chaos)
        total += world.counted
        print(f"seed {seed}: {sum(world.effects.values())} effects, {time.monotonic() - began:.0f} s, "
              f"{len(world.problems)} problems", flush=True)
        for problem in world.problems[:12]:
            print(f"  WRONG: {problem}")
        if world.problems and options.show:
            for one in every:
                print(one.text)
        bad += bool(world.problems)
    print(", ".join(f"{count} {name}" for name, count in sorted(total.items()) if count))
    print("all right" if not bad else f"{bad} of {options.rounds} rounds are wrong")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
