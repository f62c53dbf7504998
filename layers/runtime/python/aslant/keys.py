"""Every key of both tables. Nothing else builds one.

A key starts with the tenant, so a session policy on `dynamodb:LeadingKeys` can confine a request to it. Parts that come
from outside are escaped, so that no id can reach into another key. Numbers are padded, so that they sort as numbers.

Executions table (stream of new and old images, time to live on `ttl`); all of an execution is one partition:

| what | pk | sk |
|---|---|---|
| execution | `<tenant>#execution#<id>` | `execution` |
| its input, its output | same | `input`, `output` |
| transition | same | `transition#<revision>` |
| run | same | `run#<number>` |
| step record | same | `step#<step>#<iteration>` |
| step record that a restore set aside | same | `aside#<run>#<step>#<iteration>` |
| checkpoint | same | `checkpoint#<number>` |
| approval | same | `approval#<step>#<iteration>#<attempt>` |
| child execution | same (the parent's) | `child#<id>` |
| gate: who has signalled, who waits | same | `gate#<state machine execution>#<waiting point>#<iteration>` |
| circuit breaker | `<tenant>#circuit#all` | `<tenant>#<endpoint>` |
| calls in a window of a rate limit | `<tenant>#rate#<endpoint>` | `window#<number>#<seconds>` |
| request to the API that may come again | `<tenant>#request#<hash>` | `request` |
| change by the API | `<tenant>#audit#<year>-<month>` | `<at>#<id>` |
| figures of a workflow's day | `<tenant>#stats#<workflow>` | `day#<date>` |
| figures of a step's day | same | `step#<date>#<step>` |
| event that was counted | `<tenant>#counted#<event id>` | `counted` |
| figures of the installation, in parts | `#stats` | `part#<number>` |
| kept result of a step | `<tenant>#cache#<hash>` | `cache` |
| place of a limit of running executions | `<tenant>#places#<limit>` | `place#<number>` |

Indexes of the executions table; an item is in one while it has its attributes:

| index | pk attribute | sk attribute | what is in it |
|---|---|---|---|
| `by_workflow` | `workflow_pk` = `<tenant>#workflow#<workflow>` | `started_sk` = `<started>#<id>` | executions |
| `by_tenant` | `tenant_pk` = `<tenant>#executions#<shard>` | `started_sk` | executions |
| `by_status` | `status_pk` = `<tenant>#status#<status>#<shard>` | `started_sk` | executions |
| `waiting` | `gsi_pk` = `<tenant>#approvals` | `gsi_sk` = `<asked at>#<approval id>` | approvals while they are pending |
| the same | `<tenant>#having#<workflow>#<status>` | `<started>#<id>` | executions |

Events table (time to live on `ttl`): the events of an execution are one partition, `<tenant>#events#<execution>`, in their
order. Connections table (the same): WebSocket connections by their id; the index `by_execution` has the partition key of their
execution in `execution_pk`.

Catalog table:

| what | pk | sk |
|---|---|---|
| workflow | `<tenant>#workflow#<workflow>` | `workflow` |
| version (`aslant.releases.Release`) | same | `version#<major>.<minor>.<patch>` |
| its definition as it was written | same | `definition#<major>.<minor>.<patch>` |
| version that a state machine was made of last | `<tenant>#machine#<ARN>` | `machine` |
| workflow that events of a topic may start | `<tenant>#triggers#<topic>` | `<workflow>` |
| version of a skill (`aslant.skill_specs.SkillSpec`) | `<tenant>#skills` | `<name>#<major>.<minor>.<patch>` |
| what the tenant's models cost in a month | `<tenant>#models#<year>-<month>` | `spending` |

Index of the catalog table: `by_tenant`, pk attribute `tenant_pk` = `<tenant>#workflows`, sk attribute `listed_sk` =
`<workflow>`, has the workflows that were given to the API.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

from aslant.errors import NotFoundError

SHARDS = 4  # partitions that a tenant's executions are spread over in the indexes by_tenant and by_status
STATS_SHARDS = 8  # items that the figures of the installation are spread over
EXECUTION = "execution"
ASIDE = "aside"  # of records that were set aside; also the status of what stays in their places
INPUT = "input"
OUTPUT = "output"
VERSIONS = "version#"  # what the sort keys of published versions begin with
DEFINITIONS = "definition#"  # what the sort keys of definitions begin with
APPROVALS = "approval#"  # what the sort keys of an execution's approvals begin with


class Key(NamedTuple):
    pk: str
    sk: str


class ApprovalRef(NamedTuple):
    """What an approval belongs to: attempt `attempt` of a step in an iteration of an execution."""

    execution: str
    step: str
    iteration: tuple[int, ...]
    attempt: int


def artifacts(tenant: str) -> str:
    """What every key in the bucket of artifacts starts with that belongs to a tenant."""
    return quote(tenant, safe="") + "/"


def artifact(tenant: str, execution: str, name: str) -> str:
    """The key of an object in the bucket of artifacts."""
    return f"{artifacts(tenant)}{quote(execution, safe=':')}/{quote(name)}"


def prompt(tenant: str, name: str) -> str:
    """The key of a stored prompt in the bucket of artifacts. No execution's objects are there: `@` is escaped in an id."""
    return f"{artifacts(tenant)}@prompts/{quote(name, safe='')}"


def leading(tenant: str) -> str:
    """What every partition key of a tenant starts with, in the tables and their indexes."""
    return _part(tenant) + "#"


def _part(text: str) -> str:
    return text.replace("%", "%25").replace("#", "%23")


def _path(iteration: Iterable[int]) -> str:
    return ".".join(f"{index:08d}" for index in iteration)


def partition(tenant: str, execution: str) -> str:
    """The partition key of everything that belongs to an execution."""
    return f"{_part(tenant)}#execution#{_part(execution)}"


def owner(pk: str) -> tuple[str, str, str]:
    """What a partition is of: the tenant, execution, workflow or circuit, and its id. Raises ValueError for another text."""
    tenant, kind, identifier = pk.split("#")
    if kind not in ("execution", "workflow", "circuit"):
        raise ValueError(f"no partition of either table: {kind}")
    return _whole(tenant), kind, _whole(identifier)


def _whole(part: str) -> str:
    return part.replace("%23", "#").replace("%25", "%")


def execution(tenant: str, identifier: str) -> Key:
    return Key(partition(tenant, identifier), EXECUTION)


def execution_input(tenant: str, identifier: str) -> Key:
    return Key(partition(tenant, identifier), INPUT)


def execution_output(tenant: str, identifier: str) -> Key:
    return Key(partition(tenant, identifier), OUTPUT)


def transition(tenant: str, execution: str, revision: int) -> Key:
    return Key(partition(tenant, execution), f"transition#{revision:06d}")


def run(tenant: str, execution: str, number: int) -> Key:
    return Key(partition(tenant, execution), f"run#{number:06d}")


def step(tenant: str, execution: str, step: str, iteration: Sequence[int] = ()) -> Key:
    return Key(partition(tenant, execution), f"step#{_part(step)}#{_path(iteration)}")


def aside(tenant: str, execution: str, run: int, step: str, iteration: Sequence[int] = ()) -> Key:
    """Where the record of a step goes that run number `run` does not count any more."""
    return Key(partition(tenant, execution), f"{ASIDE}#{run:06d}#{_part(step)}#{_path(iteration)}")


def checkpoint(tenant: str, execution: str, number: int) -> Key:
    return Key(partition(tenant, execution), f"checkpoint#{number:08d}")


def child(tenant: str, parent: str, identifier: str) -> Key:
    return Key(partition(tenant, parent), f"child#{_part(identifier)}")


def gate(tenant: str, execution: str, machine: str, point: str, iteration: Sequence[int] = ()) -> Key:
    """A waiting point of one run. `machine` is the ARN of the state machine's execution, which no other run has."""
    mark = hashlib.sha256(machine.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return Key(partition(tenant, execution), f"gate#{mark}#{_part(point)}#{_path(iteration)}")


def approval(tenant: str, ref: ApprovalRef) -> Key:
    return Key(
        partition(tenant, ref.execution), f"approval#{_part(ref.step)}#{_path(ref.iteration)}#{ref.attempt:05d}"
    )


def events(tenant: str, execution: str) -> str:
    """The partition of an execution's events; an empty id for those of no execution."""
    return f"{_part(tenant)}#events#{_part(execution)}"


def waiting(tenant: str, requested_at: int, approval_id: str) -> Key:
    """The key of a pending approval in the index `waiting`. `requested_at` is epoch seconds."""
    # A sort key takes 1,024 bytes, and an approval's id may be longer.
    mark = approval_id if len(approval_id) <= 512 else hashlib.sha256(approval_id.encode()).hexdigest()
    return Key(f"{_part(tenant)}#approvals", f"{requested_at:012d}#{mark}")


def started(at: int, identifier: str) -> str:
    """The sort key of an execution in all indexes. `at` is epoch milliseconds; the id makes the order total."""
    return f"{at:015d}#{_part(identifier)}"


def by_workflow(tenant: str, workflow: str) -> str:
    return f"{_part(tenant)}#workflow#{_part(workflow)}"


def by_tenant(tenant: str, shard: int) -> str:
    return f"{_part(tenant)}#executions#{shard}"


def by_status(tenant: str, status: str, shard: int) -> str:
    return f"{_part(tenant)}#status#{status}#{shard}"


def having(tenant: str, workflow: str, status: str) -> str:
    """The partition of a workflow's executions with a status, in the index `waiting`."""
    return f"{_part(tenant)}#having#{_part(workflow)}#{status}"


def shard(identifier: str) -> int:
    """The shard of an execution, from 0; the same on every machine."""
    return hashlib.sha256(identifier.encode("utf-8", "surrogatepass")).digest()[0] % SHARDS


def workflow(tenant: str, identifier: str) -> Key:
    return Key(f"{_part(tenant)}#workflow#{_part(identifier)}", "workflow")


def version(tenant: str, identifier: str, number: str) -> Key:
    """A version of a workflow; `number` is semantic (`1.2.3`), a suffix after it sorts behind."""
    return Key(f"{_part(tenant)}#workflow#{_part(identifier)}", f"{VERSIONS}{_ordered(number)}")


def definition(tenant: str, identifier: str, number: str) -> Key:
    """The text of a version."""
    return Key(f"{_part(tenant)}#workflow#{_part(identifier)}", f"{DEFINITIONS}{_ordered(number)}")


def workflows(tenant: str) -> str:
    """The partition of a tenant's workflows in the index by_tenant of the catalog."""
    return f"{_part(tenant)}#workflows"


def _ordered(number: str) -> str:
    """A semantic version so that texts sort as versions do."""
    core, _, rest = number.partition("-")
    padded = ".".join(f"{part:0>8}" for part in core.split("."))
    return padded + ("-" + _part(rest) if rest else "~")


def machine(tenant: str, arn: str) -> Key:
    """Which version a state machine was made of."""
    return Key(f"{_part(tenant)}#machine#{_part(arn)}", "machine")


def topic(tenant: str, topic: str) -> str:
    """The partition of the workflows that events of a topic may start."""
    return f"{_part(tenant)}#triggers#{_part(topic)}"


def subscription(tenant: str, topic_name: str, workflow: str) -> Key:
    return Key(topic(tenant, topic_name), _part(workflow))


def spending(tenant: str, month: str) -> Key:
    """What the tenant's models cost in a month (`2026-11`)."""
    return Key(f"{_part(tenant)}#models#{month}", "spending")


def circuits(tenant: str) -> str:
    """The partition of a tenant's circuit breakers."""
    return f"{_part(tenant)}#circuit#all"


def circuit(tenant: str, endpoint: str) -> str:
    """The sort key of a circuit breaker. It starts with the tenant, since failures are counted in memory under it."""
    return f"{_part(tenant)}#{_part(endpoint)}"


def circuit_endpoint(sort: str) -> str:
    """What a circuit breaker guards, of its sort key."""
    return _whole(sort.partition("#")[2])


def rate(tenant: str, endpoint: str, window: int, per: int) -> Key:
    """The count of calls in window `window` of `per` seconds."""
    return Key(f"{_part(tenant)}#rate#{_part(endpoint)}", f"window#{window}#{per}")


def places(tenant: str, limit: str) -> str:
    """The partition of the places of a limit: `all`, or a workflow's."""
    return f"{_part(tenant)}#places#{_part(limit)}"


def place(tenant: str, limit: str, number: int) -> Key:
    return Key(places(tenant, limit), f"place#{number:08d}")


def cached(tenant: str, digest: str) -> Key:
    """Where the result of a step is kept for others that are the same."""
    return Key(f"{_part(tenant)}#cache#{digest}", "cache")


def repeat(tenant: str, digest: str) -> Key:
    """What is known of a request that may come again."""
    return Key(f"{_part(tenant)}#request#{digest}", "request")


def day_stats(tenant: str, workflow: str, day: str) -> Key:
    """The figures of a workflow's day (`2026-11-28`)."""
    return Key(f"{_part(tenant)}#stats#{_part(workflow)}", f"day#{day}")


def step_stats(tenant: str, workflow: str, day: str, step: str) -> Key:
    return Key(f"{_part(tenant)}#stats#{_part(workflow)}", f"step#{day}#{_part(step)}")


def counted(tenant: str, event: str) -> Key:
    """A mark that an event was counted."""
    return Key(f"{_part(tenant)}#counted#{event}", "counted")


def installation_stats(shard: int) -> Key:
    """A part of the figures of all tenants together; no tenant's key begins so."""
    return Key("#stats", f"part#{shard:02d}")


def stats_shard(identifier: str) -> int:
    return hashlib.sha256(identifier.encode("utf-8", "surrogatepass")).digest()[1] % STATS_SHARDS


def audit(tenant: str, month: str, at: int, identifier: str) -> Key:
    """A record of the audit trail; `at` is epoch milliseconds."""
    return Key(f"{_part(tenant)}#audit#{month}", f"{at:015d}#{identifier}")


def skills(tenant: str) -> str:
    """The partition of all skills of a tenant."""
    return f"{_part(tenant)}#skills"


def skill_versions(name: str) -> str:
    """What the sort keys of all versions of a skill begin with."""
    return f"{_part(name)}#"


def skill(tenant: str, name: str, version: str) -> Key:
    return Key(skills(tenant), skill_versions(name) + ".".join(f"{part:0>6}" for part in version.split(".")))


def templates(tenant: str) -> str:
    """The partition of a tenant's templates."""
    return f"{_part(tenant)}#templates"


def template(tenant: str, identifier: str) -> Key:
    return Key(templates(tenant), _part(identifier))


def approval_id(ref: ApprovalRef) -> str:
    """An id that says which approval it is. It is no secret: the tenant is not part of it, but of every look-up."""
    data = json.dumps([ref.execution, ref.step, list(ref.iteration), ref.attempt], separators=(",", ":"))
    return base64.urlsafe_b64encode(data.encode()).decode().rstrip("=")


def approval_ref(identifier: str) -> ApprovalRef:
    """The approval that an id names. Raises NotFoundError for a text that is no id."""
    try:
        data = json.loads(base64.urlsafe_b64decode(identifier + "=" * (-len(identifier) % 4)))
        execution, step, iteration, attempt = data
        ref = ApprovalRef(str(execution), str(step), tuple(int(index) for index in iteration), int(attempt))
    except (ValueError, TypeError, RecursionError):
        raise NotFoundError("there is no such approval") from None
    return ref


def executions_table(name: str) -> dict[str, Any]:
    """The arguments of DynamoDB's CreateTable for the executions table; time to live is on the attribute `ttl`."""
    indexes = {
        "by_workflow": ("workflow_pk", "started_sk"), "by_tenant": ("tenant_pk", "started_sk"),
        "by_status": ("status_pk", "started_sk"), "waiting": ("gsi_pk", "gsi_sk"),
    }
    return _table(name, indexes)


def catalog_table(name: str) -> dict[str, Any]:
    """The arguments of DynamoDB's CreateTable for the catalog table."""
    return _table(name, {"by_tenant": ("tenant_pk", "listed_sk")})


def events_table(name: str) -> dict[str, Any]:
    """The arguments of CreateTable for kept events."""
    left_out = ("GlobalSecondaryIndexes", "StreamSpecification")
    return {key: value for key, value in _table(name, {}).items() if key not in left_out}


def connections_table(name: str) -> dict[str, Any]:
    """The arguments of CreateTable for WebSocket connections."""
    index = {"IndexName": "by_execution", "Projection": {"ProjectionType": "ALL"},
             "KeySchema": [{"AttributeName": "execution_pk", "KeyType": "HASH"}]}
    return {
        "TableName": name, "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": each, "AttributeType": "S"} for each in ("pk", "execution_pk")],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}], "GlobalSecondaryIndexes": [index],
    }  # fmt: skip


def _table(name: str, indexes: Mapping[str, tuple[str, str]]) -> dict[str, Any]:
    """`indexes`: the names of the two key attributes of each."""
    attributes = dict.fromkeys(["pk", "sk", *(each for pair in indexes.values() for each in pair)])
    return {
        "TableName": name,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": each, "AttributeType": "S"} for each in attributes],
        "KeySchema": _schema("pk", "sk"),
        "GlobalSecondaryIndexes": [
            {"IndexName": index, "KeySchema": _schema(pk, sk), "Projection": {"ProjectionType": "ALL"}}
            for index, (pk, sk) in indexes.items()
        ],
        "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    }


def _schema(pk: str, sk: str) -> list[dict[str, str]]:
    return [{"AttributeName": pk, "KeyType": "HASH"}, {"AttributeName": sk, "KeyType": "RANGE"}]
