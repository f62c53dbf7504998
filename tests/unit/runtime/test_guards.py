"""Rate limits, circuit breakers and kept results on DynamoDB by moto; the breaker is powertools' own."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from aslant import bootstrap, clock, keys
from aslant.adapters.dynamo_guards import DynamoRates, DynamoResults, PowertoolsCircuits
from aslant.configs.guard import Guard
from aslant.errors import CircuitOpen, HttpError, NotFoundError, RateLimited, ServerError, ValidationError
from aslant.events import events_of
from aslant.guards import GuardPorts, guarded, host_of
from aslant.kept import Kept
from tests.unit.moto_aws import moto_aws

REGION, TABLE = "us-east-1", "aslant-executions"


@pytest.fixture(scope="module", autouse=True)
def aws():
    with pytest.MonkeyPatch.context() as patch, moto_aws(patch):
        from aslant.adapters.clients import client

        client("dynamodb", REGION).create_table(**keys.executions_table(TABLE))
        yield


@dataclass
class Time:
    now: float = 1_790_000_000.0


@pytest.fixture
def time():
    at = Time()
    clock.use(lambda: at.now)
    yield at
    clock.use()


PORTS = GuardPorts(lambda: DynamoRates(REGION, TABLE), lambda: PowertoolsCircuits(REGION, TABLE))


def run(tenant="acme"):
    return SimpleNamespace(tenant=tenant)


def test_a_rate_limit_is_one_for_all_of_a_tenant(time):
    guard = Guard.model_validate({"rate_limit": {"calls": 2, "per": 60}})
    calls = [guarded(lambda: "yes", "http:a", run(), guard, PORTS) for _ in range(2)]
    with pytest.raises(RateLimited) as caught:
        guarded(lambda: pytest.fail("called"), "http:a", run(), guard, PORTS)
    assert calls == ["yes", "yes"]
    assert caught.value.retry_after == pytest.approx(60 - time.now % 60)
    assert guarded(lambda: 1, "http:b", run(), guard, PORTS) == 1
    assert guarded(lambda: 1, "http:a", run("other"), guard, PORTS) == 1
    time.now += 60
    assert guarded(lambda: 2, "http:a", run(), guard, PORTS) == 2


def told(endpoint, before=None):
    """The events that the item of a breaker makes, as powertools has written it."""
    from aslant.adapters.clients import client

    key = {"pk": {"S": keys.circuits("acme")}, "sk": {"S": keys.circuit("acme", endpoint)}}
    item = client("dynamodb", REGION).get_item(TableName=TABLE, Key=key)["Item"]
    assert int(item["ttl"]["N"]) > 0
    change = {"Keys": key, "NewImage": item, "SequenceNumber": "1" * 21} | ({"OldImage": before} if before else {})
    return [event.type for event in events_of({"dynamodb": change})]


def failing(error):
    def call():
        raise error

    return call


def test_a_breaker_opens_fails_at_once_and_closes(monkeypatch):
    """Powertools reads the wall clock: its own view of it is moved."""
    from aws_lambda_powertools.utilities.circuit_breaker import base

    guard = Guard.model_validate({"circuit_breaker": {"failure_threshold": 2, "recovery_timeout": 30, "success_threshold": 2}})

    def attempt(call):
        return guarded(call, "http:down", run(), guard, PORTS)

    with pytest.raises(NotFoundError):  # the other side answers
        attempt(failing(NotFoundError("404")))
    for _ in range(2):
        with pytest.raises(ServerError, match="503"):
            attempt(failing(ServerError("503")))
    with pytest.raises(CircuitOpen, match="http:down has failed repeatedly") as caught:
        attempt(lambda: pytest.fail("called"))
    assert 0 < caught.value.retry_after <= 31
    assert told("http:down") == ["circuit_opened"]
    assert guarded(lambda: 1, "http:up", run(), guard, PORTS) == 1
    assert guarded(lambda: 1, "http:down", run("other"), guard, PORTS) == 1
    now = base.CircuitBreakerHandler._now()
    monkeypatch.setattr(base.CircuitBreakerHandler, "_now", staticmethod(lambda: now + 31))
    with ThreadPoolExecutor() as threads:  # calls of the local cloud come from any thread
        assert [threads.submit(attempt, lambda: "probe").result(), attempt(lambda: "probe")] == ["probe", "probe"]
    monkeypatch.undo()
    assert attempt(lambda: "closed") == "closed"
    assert told("http:down", {"circuit": {"S": "HALF_OPEN"}}) == ["circuit_closed"]


@pytest.mark.parametrize("error", [ValidationError("bad"), HttpError("418"), RateLimited("own limit")])
def test_what_does_not_count(error):
    guard = Guard.model_validate({"circuit_breaker": {"failure_threshold": 1}})
    endpoint = f"http:{type(error).__name__}"
    with pytest.raises(type(error)):
        guarded(failing(error), endpoint, run(), guard, PORTS)
    if isinstance(error, RateLimited):  # a 429 of the other side is one
        with pytest.raises(CircuitOpen):
            guarded(lambda: 1, endpoint, run(), guard, PORTS)
    else:
        assert guarded(lambda: 1, endpoint, run(), guard, PORTS) == 1


def test_errors_of_a_skill_count():
    guard = Guard.model_validate({"circuit_breaker": {"failure_threshold": 1}})
    with pytest.raises(ZeroDivisionError):
        guarded(lambda: 1 / 0, "skill:x", run(), guard, PORTS)
    with pytest.raises(CircuitOpen):
        guarded(lambda: 1, "skill:x", run(), guard, PORTS)


@pytest.mark.parametrize(("url", "host"), [
    ("https://API.Example.com/x?y", "api.example.com"), ("http://a:80/", "a"), ("https://a:80/", "a:80"),
    ("https://[::1]:9/", "::1:9"), ("nothing", ""), ("https://a:bad/", ""),
])
def test_hosts(url, host):
    assert host_of(url) == host


def test_results_are_kept_for_their_time(time, monkeypatch):
    monkeypatch.setattr(bootstrap, "results", lambda settings: DynamoResults(REGION, TABLE))

    def kept(step="s", tenant="acme", workflow="w", config=None, plan={"ttl": 10}):  # noqa: B006 - read only
        run = SimpleNamespace(tenant=tenant, workflow=workflow, step=step, type="http", settings=None)
        return Kept.of(plan, config or {"url": "u"}, {}, run)

    assert kept().read() is None
    kept().write({"n": None})
    assert kept().read() == ({"n": None},)
    assert [kept(step="t").read(), kept(tenant="b").read(), kept(workflow="v").read(), kept(config={"url": "v"}).read()] == [None] * 4
    keyed = {"plan": {"ttl": 10, "key": "k"}}
    kept(**keyed).write(1)
    assert kept(config={"other": 1}, **keyed).read() == (1,)
    time.now += 11
    assert kept().read() is None
    assert kept(plan=None) is None
    for ttl in (0, True, "1", None, 1e12):
        with pytest.raises(ValidationError):
            kept(plan={"ttl": ttl})
    kept().write("x" * 400_000)
    assert kept().read() is None


def test_our_own_limit_opens_no_breaker(time):
    guard = Guard.model_validate({"rate_limit": {"calls": 1}, "circuit_breaker": {"failure_threshold": 1}})
    assert guarded(lambda: 1, "http:both", run(), guard, PORTS) == 1
    for _ in range(3):
        with pytest.raises(RateLimited):
            guarded(lambda: 1, "http:both", run(), guard, PORTS)
