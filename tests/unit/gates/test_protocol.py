"""Gates on DynamoDB by moto: whoever comes last lets the waiting branch go on, in whatever order, once or more often."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from aslant import keys
from aslant.adapters.dynamo_gates import DynamoGates
from aslant.adapters.s3_artifacts import S3Artifacts
from aslant.configs.gate import GateConfig
from aslant.errors import ApprovalClosed, NetworkError, ValidationError
from aslant.gates import GateKey
from aslant.settings import Settings
from aslant.step import StepRun
from functions.gates.logic import gate
from tests.unit.moto_aws import moto_aws

REGION, TABLE, BUCKET = "us-east-1", "aslant-executions", "aslant-artifacts"
NAMES = itertools.count()


@pytest.fixture(scope="module", autouse=True)
def aws() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch, moto_aws(patch):
        from aslant.adapters.clients import client

        client("dynamodb", REGION).create_table(**keys.executions_table(TABLE))
        client("s3", REGION).create_bucket(Bucket=BUCKET)
        yield


@pytest.fixture
def gates() -> DynamoGates:
    return DynamoGates(REGION, TABLE, S3Artifacts(REGION, BUCKET))


@dataclass
class Machine:
    """Who is called back; like Step Functions, each token is answered once."""

    answers: dict[str, Any] = field(default_factory=dict)
    broken: int = 0  # calls that do not arrive

    def success(self, token: str, output: Any) -> None:
        if self.broken:
            self.broken -= 1
            raise NetworkError("lost")
        if token in self.answers:
            raise ApprovalClosed("answered already")
        self.answers[token] = output

    def failure(self, token: str, error: str, cause: str) -> None:
        raise AssertionError("nothing fails a wait")


@dataclass
class World:
    gates: DynamoGates
    machine: Machine = field(default_factory=Machine)
    name: str = field(default_factory=lambda: f"gate {next(NAMES)}")
    run: str = "arn:aws:states:us-east-1:1:execution:m:one"

    def call(self, token: str | None = None, iteration: tuple[int, ...] = (), **config: Any) -> None:
        run = StepRun("g", "gate", "x", "acme", "w", iteration, 0, time.monotonic() + 9, token, Settings())
        gate(GateConfig.model_validate({"machine": self.run, **config}), run, self.gates, self.machine)

    def signal(self, by: str, need: int = 2, values: Any = None, **more: Any) -> None:
        self.call(signals=[{"gate": self.name, "by": by, "need": need, "values": values or {}}], **more)

    def wait(self, token: str = "t", need: int = 2, **more: Any) -> None:
        self.call(token, wait={"gate": self.name, "need": need}, **more)


@pytest.mark.parametrize("order", list(itertools.permutations(["a", "b", "wait"])), ids="-".join)
def test_the_wait_ends_when_all_have_come_in_any_order(gates: DynamoGates, order: tuple[str, ...]) -> None:
    world = World(gates)
    for position, who in enumerate(order):
        assert world.machine.answers == {}, f"before {order[position:]}"
        world.wait() if who == "wait" else world.signal(who, values={f"of {who}": [who, None, 0.1]})
    assert world.machine.answers == {"t": {"of a": ["a", None, 0.1], "of b": ["b", None, 0.1]}}


def test_who_signals_twice_counts_once(gates: DynamoGates) -> None:
    world = World(gates)
    world.wait()
    world.signal("a")
    world.signal("a")
    assert world.machine.answers == {}
    world.signal("b")
    world.signal("b")
    assert list(world.machine.answers) == ["t"]


@pytest.mark.parametrize("waits_first", [True, False])
def test_a_call_that_is_lost_is_made_again_by_the_retry(gates: DynamoGates, waits_first: bool) -> None:
    world = World(gates, Machine(broken=1))
    last = [lambda: world.signal("a", 1), world.wait] if not waits_first else [lambda: world.wait(need=1), lambda: world.signal("a", 1)]
    if not waits_first:
        last[1] = lambda: world.wait(need=1)
    last[0]()
    with pytest.raises(NetworkError):
        last[1]()
    last[1]()
    assert list(world.machine.answers) == ["t"]


def test_another_attempt_of_the_wait_takes_the_place_of_the_first(gates: DynamoGates) -> None:
    world = World(gates)
    world.wait("first")
    world.wait("second")
    world.signal("a")
    world.signal("b")
    assert list(world.machine.answers) == ["second"]


def test_another_run_and_another_iteration_have_gates_of_their_own(gates: DynamoGates) -> None:
    world = World(gates)
    world.signal("a", 1)
    world.run = "arn:aws:states:us-east-1:1:execution:m:two"
    world.wait(need=1)
    world.signal("a", 1, iteration=(3,))
    assert world.machine.answers == {}
    world.signal("a", 1)
    assert list(world.machine.answers) == ["t"]


def test_large_values_are_in_the_bucket_and_numbers_stay_exact(gates: DynamoGates) -> None:
    world = World(gates)
    large = {"text": "x" * 100_000, "number": 0.1 + 0.2}
    for by in "abcdef":  # more than an item holds
        world.signal(by, 6, {by: large})
    world.wait(need=6)
    assert world.machine.answers["t"] == dict.fromkeys("abcdef", large)


def test_signals_are_sent_before_the_same_state_waits(gates: DynamoGates) -> None:
    world = World(gates)
    other = f"{world.name} other"
    world.wait("first", need=1)
    world.call("second", signals=[{"gate": world.name, "by": "a", "need": 1}], wait={"gate": other, "need": 1})
    assert list(world.machine.answers) == ["first"]


def test_a_wait_needs_a_token(gates: DynamoGates) -> None:
    with pytest.raises(ValidationError):
        World(gates).wait(None)  # type: ignore[arg-type]


def test_items_go_away_after_the_longest_execution(gates: DynamoGates) -> None:
    key = GateKey("acme", "x", "arn", f"gate {next(NAMES)}")
    gates.signal(key, by="a", values={}, now=1_000)
    pk, sk = keys.gate("acme", "x", "arn", key.gate)
    item = gates._client.get_item(TableName=TABLE, Key={"pk": {"S": pk}, "sk": {"S": sk}})["Item"]
    assert int(item["ttl"]["N"]) > 1_000 + 366 * 24 * 3600


# Turns: at most so many steps at once


@dataclass
class Places(World):
    """Steps of one pool. Each waits for its turn at a point of its own."""

    limit: int = 2

    def of(self, step: str, priority: float = 0.0) -> dict[str, Any]:
        return {"pool": f"*{self.name}", "limit": self.limit, "priority": priority}

    def takes(self, step: str, priority: float = 0.0) -> None:
        self.call(step, wait={"gate": self.point(step), "need": 1, "turn": self.of(step, priority)})

    def gives(self, step: str) -> None:
        self.call(gives={"gate": self.point(step), **self.of(step)})

    def point(self, step: str) -> str:
        return f"={self.name} {step}"


def test_at_most_so_many_have_their_turn_and_the_most_important_is_next(gates: DynamoGates) -> None:
    world = Places(gates)
    for step, priority in (("a", 1), ("b", 1), ("c", 1), ("d", 5), ("e", 1)):
        world.takes(step, priority)
    assert [*world.machine.answers] == ["a", "b"]
    for ended in "abdce":
        world.gives(ended)
        world.gives(ended)  # another attempt of a state that had done it
    assert [*world.machine.answers] == ["a", "b", "d", "c", "e"]


@pytest.mark.parametrize("order", list(itertools.permutations(["a", "b", "wait"])), ids="-".join)
def test_a_turn_is_asked_for_when_all_are_there_and_somebody_waits(gates: DynamoGates, order: tuple[str, ...]) -> None:
    world = Places(gates, limit=1)
    world.takes("first")
    turn = world.of("next")
    def call(who: str) -> None:
        if who == "wait":
            world.call("next", wait={"gate": world.point("next"), "need": 3, "turn": turn})
        else:
            world.call(signals=[{"gate": world.point("next"), "by": who, "need": 3, "turn": turn}])

    for who in order[:2]:
        call(who)
    world.gives("first")  # the turn is nobody's: not all that it is for are there
    world.takes("other")
    assert [*world.machine.answers] == ["first", "other"]
    call(order[2])
    world.takes("late")
    world.gives("other")
    assert [*world.machine.answers] == ["first", "other", "next"]


@pytest.mark.parametrize("broken", [0, 1])
def test_a_turn_that_was_not_told_is_told_by_the_retry(gates: DynamoGates, broken: int) -> None:
    world = Places(gates, limit=1)
    world.takes("a")
    world.takes("b")
    world.machine.broken = broken
    if broken:
        with pytest.raises(NetworkError):
            world.gives("a")
    world.gives("a")
    world.gives("a")
    assert [*world.machine.answers] == ["a", "b"]


def test_who_asks_late_or_twice_takes_no_place_of_others(gates: DynamoGates) -> None:
    world = Places(gates, limit=1)
    world.takes("a")
    world.gives("a")
    world.takes("a")  # a call that Lambda repeats long after
    world.takes("b")
    assert [*world.machine.answers] == ["a", "b"]


def test_a_pool_that_others_change_at_the_same_time(gates: DynamoGates, monkeypatch: pytest.MonkeyPatch) -> None:
    world = Places(gates, limit=2)
    plain = DynamoGates._changed
    meanwhile = [lambda: world.takes("b"), lambda: world.takes("c")]

    def changed(self: DynamoGates, *given: Any) -> bool:
        if meanwhile:
            meanwhile.pop()()
        return plain(self, *given)

    monkeypatch.setattr(DynamoGates, "_changed", changed)
    world.takes("a")
    assert sorted(world.machine.answers) == ["b", "c"]
    world.gives("c")
    assert sorted(world.machine.answers) == ["a", "b", "c"]
