"""Every repository on DynamoDB and S3 with the same ids at many tenants: each finds its own, and nothing else."""

from __future__ import annotations

import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from aslant import adapters, keys
from aslant.adapters.aws_approvals import DynamoApprovals
from aslant.adapters.dynamo_audit import DynamoAudit
from aslant.adapters.dynamo_catalog import DynamoCatalog
from aslant.adapters.dynamo_definitions import DynamoDefinitions
from aslant.adapters.dynamo_event_log import DynamoConnections, DynamoEventLog
from aslant.adapters.dynamo_executions import DynamoExecutions
from aslant.adapters.dynamo_gates import DynamoGates
from aslant.adapters.dynamo_guards import DynamoRates, DynamoResults, PowertoolsCircuits
from aslant.adapters.dynamo_places import DynamoPlaces
from aslant.adapters.dynamo_repeats import DynamoRepeats
from aslant.adapters.dynamo_skills import DynamoSkills
from aslant.adapters.dynamo_spending import DynamoSpending
from aslant.adapters.dynamo_stats import DynamoStats
from aslant.adapters.dynamo_steps import DynamoSteps
from aslant.adapters.dynamo_templates import DynamoTemplates
from aslant.adapters.dynamo_triggers import DynamoSubscriptions
from aslant.adapters.s3_artifacts import S3Artifacts
from aslant.analytics import Tally
from aslant.audit import AuditRecord
from aslant.catalog import Change, DefinitionRecord, WorkflowRecord
from aslant.configs.guard import CircuitBreaker
from aslant.errors import BudgetExceeded, CircuitOpen, NotFoundError
from aslant.event_log import Connection
from aslant.executions.admission import Place
from aslant.executions.records import Execution, Run
from aslant.gates import GateKey
from aslant.ports import StepKey
from aslant.skill_specs import SkillSpec
from aslant.templates import TemplateRecord
from tests.unit.moto_aws import moto_aws

REGION, TABLE, CATALOG, BUCKET = "us-east-1", "executions", "catalog", "artifacts"
EVENTS, CONNECTIONS = "events", "connections"
# Each holds what separates parts of keys, or looks like the beginning of another one's keys.
TENANTS = ("acme", "acme#workflow", "acme%23workflow", "acme#execution#x", "acme/", "", "😀")
WORKFLOW, EXECUTION = "x#workflow%", "x#y/z%"
AT = 1_790_000_000_000
MACHINE = "arn:aws:states:us-east-1:1:stateMachine:m"
REF = keys.ApprovalRef(EXECUTION, "ask", (), 0)


class Kept(NamedTuple):
    """Something that a repository keeps: written under ids that are the same for all, with the tenant's mark in it."""

    store: Any
    write: Callable[[str], object]
    read: Callable[[str], list[str]]  # the marks that a tenant finds


def found(call: Callable[[], Any], *none: type[Exception]) -> list[str]:
    try:
        value = call()
    except (NotFoundError, *none):
        return []
    return [] if value is None else list(value) if isinstance(value, list | tuple) else [value]


def repositories() -> list[Kept]:
    catalog, definitions = DynamoCatalog(REGION, CATALOG), DynamoDefinitions(REGION, CATALOG)
    templates = DynamoTemplates(REGION, CATALOG)
    skills, subscriptions, spending = (kind(REGION, CATALOG) for kind in (DynamoSkills, DynamoSubscriptions, DynamoSpending))
    artifacts = S3Artifacts(REGION, BUCKET)
    rates, circuits, results = DynamoRates(REGION, TABLE), PowertoolsCircuits(REGION, TABLE), DynamoResults(REGION, TABLE)
    repeats, audit, gates = DynamoRepeats(REGION, TABLE), DynamoAudit(REGION, TABLE), DynamoGates(REGION, TABLE, artifacts)
    approvals, steps = DynamoApprovals(REGION, TABLE), DynamoSteps(REGION, TABLE, artifacts)
    executions, places = DynamoExecutions(REGION, TABLE, artifacts), DynamoPlaces(REGION, TABLE)
    log, connections, stats = DynamoEventLog(REGION, EVENTS), DynamoConnections(REGION, CONNECTIONS), DynamoStats(REGION, CATALOG)
    breaker = CircuitBreaker(failure_threshold=1, recovery_timeout=600)

    def define(tenant: str) -> None:
        made = WorkflowRecord(tenant, WORKFLOW, tenant, "draft", "1.0.0", "ann", AT, AT, 1)
        definitions.write(Change(None, made, DefinitionRecord(WORKFLOW, "1.0.0", tenant, "steps", "h", "ann", AT)))

    def defined(tenant: str) -> list[str]:
        record, text = definitions.read(tenant, WORKFLOW), definitions.definition(tenant, WORKFLOW, "1.0.0")
        listed = definitions.page(tenant, limit=100, after=None)
        assert [one.name for one in listed] == ([record.name] if record else [])
        assert len(definitions.versions(tenant, WORKFLOW)) == (1 if text else 0)
        return [one for one in (record and record.name, text and text.text) if one is not None]

    def release(tenant: str) -> Any:
        return {"workflow": WORKFLOW, "version": "1.0.0", "hash": tenant, "machine": MACHINE, "steps": {}, "states": {}, "settings": {}}

    def spend(tenant: str) -> None:
        spending.reserve(tenant, "2026-11", 1.0, 1.0)

    def spent(tenant: str) -> list[str]:
        try:
            spending.reserve(tenant, "2026-11", 0.5, 1.0)
        except BudgetExceeded:
            return [tenant]
        spending.settle(tenant, "2026-11", -0.5)
        return []

    def failing() -> None:
        raise OSError("it fails")

    def break_(tenant: str) -> None:
        with pytest.raises(OSError, match="it fails"):
            circuits.call(failing, tenant, "http:a", breaker, lambda error: True)

    def broken(tenant: str) -> list[str]:
        try:
            circuits.call(lambda: 1, tenant, "http:a", breaker, lambda error: True)
        except CircuitOpen:
            return [tenant]
        return []

    def ask(tenant: str) -> None:
        identifier = keys.approval_id(REF)
        assert approvals.create({
            "tenant": tenant, "approval_id": identifier, "execution": EXECUTION, "step": "ask", "iteration": [], "attempt": 0,
            "status": "pending", "requested_at": AT // 1000, "expires_at": AT // 1000 + 60, "ttl": AT, "config": {},
            "decisions": [], "decision": None, "workflow": tenant, "delivered": False, "token": b"t",
        }) is None  # fmt: skip

    def asked(tenant: str) -> list[str]:
        own = approvals.read(tenant, keys.approval_id(REF))
        others = [*approvals.of_execution(tenant, EXECUTION), *(item for _, item in approvals.waiting(tenant, None))]
        return [one["workflow"] for one in ([own] if own else []) + others]

    def start(tenant: str) -> None:
        made = Execution(tenant, EXECUTION, WORKFLOW, "1.0.0", "running", 0, 1, MACHINE, "arn", tenant, AT, AT)
        assert executions.create(made, {"input": tenant}, Run(1, "arn", MACHINE, "1.0.0", "start", tenant, AT))[0]

    def started(tenant: str) -> list[str]:
        own = executions.read(tenant, EXECUTION)
        pages = [executions.page(tenant, workflow=workflow, status=status, limit=100, before=None)
            for workflow, status in ((None, None), (WORKFLOW, None), (None, "running"))]
        return [one.user for one in [*([own] if own else []), *(one for page in pages for _, one in page)]] + [
            run.by for run in executions.runs(tenant, EXECUTION)
        ]

    def begin(tenant: str) -> None:
        mine, _ = steps.begin(StepKey(tenant, EXECUTION, "s"), type="http", run=1, owner=tenant, now=AT * 1000, lease_until=AT * 2000)
        assert mine, "somebody else's lease is in the way"

    def count(tenant: str) -> None:
        assert stats.add(tenant, WORKFLOW, Tally("2026-11-28", {f"of {tenant}": 1}, {"s": {f"of {tenant}": 1}}), event="e", shard=0)

    def counted(tenant: str) -> list[str]:
        rows = [look(tenant, WORKFLOW, "2026-11-01", "2026-11-30") for look in (stats.days, stats.steps)]
        return [name.removeprefix("of ") for found in rows for _, counts in found for name in counts]

    def stored(tenant: str) -> list[str]:
        key = keys.artifact("acme", EXECUTION, "n") if tenant == "other" else keys.artifact(tenant, EXECUTION, "n")
        return found(lambda: artifacts.get(tenant, key).decode("utf-8", "surrogatepass"))

    return [
        Kept(catalog, lambda t: catalog.put(t, release(t)), lambda t: [
            *found(lambda: catalog.get(t, WORKFLOW)["hash"]), *found(lambda: catalog.get(t, WORKFLOW, "1.0.0")["hash"]),
            *found(lambda: catalog.of_machine(t, MACHINE)["hash"]),
        ]),
        Kept(definitions, define, defined),
        Kept(skills, lambda t: skills.put(t, SkillSpec(name="s", target="https://a.example", owner=f"of {t}")),
            lambda t: [one.owner.removeprefix("of ") for one in (*skills.of(t, "s"), *skills.all(t))]),
        Kept(subscriptions, lambda t: subscriptions.add(t, "orders", f"of {t}"),
            lambda t: [one.removeprefix("of ") for one in subscriptions.workflows(t, ["orders"])]),
        Kept(templates, lambda t: templates.write(t, None, TemplateRecord("m", "steps: []", t, AT, AT, 1)),
            lambda t: [one.owner for one in (*templates.all(t), *filter(None, [templates.read(t, "m")]))]),
        Kept(spending, spend, spent),
        Kept(rates, lambda t: rates.take(t, "http:a", 1, 60, 1), lambda t: []),
        Kept(circuits, break_, broken),
        Kept(results, lambda t: results.put(t, "d", t, AT), lambda t: found(lambda: results.get(t, "d", 1))),
        Kept(repeats, lambda t: repeats.begin(t, "d", t, now=1, lease=9, keep=99), lambda t: []),
        Kept(audit, lambda t: audit.put(t, "2026-11", AuditRecord("r", AT, t, (), "POST /x", {})),
            lambda t: [one.user for _, one in audit.page(t, "2026-11", before=None, user=None, limit=100)]),
        Kept(gates, lambda t: gates.signal(GateKey(t, EXECUTION, "m", "g"), by="a", values={"v": t}, now=1),
            lambda t: list(gates.values(GateKey(t, EXECUTION, "m", "g")).values())),
        Kept(approvals, ask, asked),
        Kept(executions, start, started),
        Kept(places, lambda t: places.take(t, WORKFLOW, 0, None, Place(t, 1)),
            lambda t: [one.execution for one in places.taken(t, WORKFLOW).values()]),
        Kept(steps, begin, lambda t: [one.owner for one in executions.steps(t, EXECUTION)]),
        Kept(log, lambda t: log.put({"tenant_id": t, "execution_id": EXECUTION, "sequence": "1", "event_type": "x", "event_id": "e"}, AT),
            lambda t: [one["tenant_id"] for _, one in log.read(t, EXECUTION)]),
        Kept(connections, lambda t: connections.add(Connection(f"of {t}", t, EXECUTION, "ann", AT)),
            lambda t: [one.tenant for one in connections.of(t, EXECUTION)]),
        Kept(stats, count, counted),
        Kept(artifacts, lambda t: artifacts.put(t, EXECUTION, "n", t.encode("utf-8", "surrogatepass")), stored),
    ]  # fmt: skip


@pytest.fixture(scope="module")
def aws() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch, moto_aws(patch):
        from aslant.adapters.clients import client

        client("dynamodb", REGION).create_table(**keys.executions_table(TABLE))
        client("dynamodb", REGION).create_table(**keys.catalog_table(CATALOG))
        client("dynamodb", REGION).create_table(**keys.events_table(EVENTS))
        client("dynamodb", REGION).create_table(**keys.connections_table(CONNECTIONS))
        client("s3", REGION).create_bucket(Bucket=BUCKET)
        yield


def test_each_tenant_finds_its_own_and_nothing_else(aws: None) -> None:
    for kept in repositories():
        name = type(kept.store).__name__
        for tenant in TENANTS:
            assert kept.read(tenant) == [], f"{name}: {tenant!r} finds something of others"
            kept.write(tenant)
        for tenant in TENANTS:
            own = set() if name in ("DynamoRates", "DynamoRepeats") else {tenant}
            assert set(kept.read(tenant)) == own, f"{name}: {tenant!r}"
    # What is only counted, or answered once.
    rates, repeats, artifacts = DynamoRates(REGION, TABLE), DynamoRepeats(REGION, TABLE), S3Artifacts(REGION, BUCKET)
    for number, tenant in enumerate(TENANTS):
        assert [rates.take(tenant, "http:b", 1, 60, 1) for _ in range(2)] == [True, False]
        assert repeats.begin(tenant, "e", tenant, now=1, lease=9, keep=99) is None
        repeats.finish(tenant, "e", str(number))
    for number, tenant in enumerate(TENANTS):
        known = repeats.begin(tenant, "e", "other", now=2, lease=9, keep=99)
        assert known is not None and (known.asked, known.answer) == (tenant, str(number))
    for one, other in combinations(TENANTS, 2):
        for mine, theirs in ((one, other), (other, one)):
            with pytest.raises(NotFoundError):
                artifacts.get(mine, keys.artifact(theirs, EXECUTION, "n"))


def test_no_repository_is_left_out(aws: None) -> None:
    modules = [import_module(f"{adapters.__name__}.{found.name}") for found in pkgutil.iter_modules(adapters.__path__)]
    kinds = {
        kind.__name__ for module in modules for name, kind in inspect.getmembers(module, inspect.isclass)
        if kind.__module__ == module.__name__ and {"table", "bucket"} & set(getattr(kind, "__dataclass_fields__", ()))
    }
    kinds.remove("EcsTasks")  # names its objects by keys.artifact too, and keeps none
    assert len(kinds) >= 14 and kinds == {type(kept.store).__name__ for kept in repositories()}


def test_every_kind_of_key_stands_in_the_tables_of_the_readme() -> None:
    source = inspect.getsource(keys)
    readme = (Path(keys.__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    kinds = set(re.findall(r'[#"]([a-z]+)#', source)) | set(re.findall(r'#([a-z]+)"', source))
    assert {"step", "approval", "audit", "skills"} <= kinds
    assert sorted(kind for kind in kinds if f"#{kind}" not in readme and f"{kind}#" not in readme) == []
