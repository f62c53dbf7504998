"""What an installation consists of, described once: the local cloud and the CDK stacks both build this.

Imports neither moto nor CDK. Tables and their indexes are in `aslant.keys`, rules of the bus in `aslant.triggers`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from aslant import analytics, completions, event_log, sla, triggers
from aslant.approvals import service as approvals
from aslant.step_types import INTERNAL, STEP_TYPES, function_name

PUBLISH_EVENTS, RECORD_EXECUTION, API = "aslant-publish-events", "aslant-record-execution", "aslant-api"
PUBLISH_DEFINITION, REGISTER = "aslant-publish-definition", "aslant-register-workflow"

# What Step Functions says about executions goes to RECORD_EXECUTION.
NOTICES: Mapping[str, Any] = {"source": ["aws.states"], "detail-type": ["Step Functions Execution Status Change"]}
STREAM_BATCH = 100       # records of a table's stream that PUBLISH_EVENTS gets at once, at most
STREAM_PARALLEL = 4      # calls at once for each shard; records of one partition keep their order
QUEUE_BATCH = 10         # events that the router gets at once, at most


class Right(StrEnum):
    """What a function may do beside logging and tracing. The CDK app says what each is in IAM's words."""

    EXECUTIONS = "executions"    # read and write the table of executions
    LOOK = "look"                # read it only
    FORGET = "forget"            # delete from it
    CATALOG = "catalog"          # read the catalog
    PUBLISH = "publish"          # write the catalog
    SPEND = "spend"              # count what models cost, in the catalog
    ARTIFACTS = "artifacts"      # read and write objects in the bucket
    SECRETS = "secrets"          # read tenants' secrets
    LINKS = "links"              # make and read the secret that signs links
    SEAL = "seal"                # encrypt and decrypt task tokens
    MACHINES = "machines"        # start, stop, describe executions and read their histories
    CREATE_MACHINES = "create"   # create state machines that run with the machines' role
    CALLBACKS = "callbacks"      # answer task tokens
    TIMERS = "timers"            # make schedules that call functions of the installation
    BUS = "bus"                  # put events on the installation's bus
    EVENT_LOG = "event_log"      # keep events of executions in their table, and read them
    CONNECTIONS = "connections"  # know and reach those who follow an execution over a WebSocket
    EVENTS = "events"            # put events on any bus of the account that a step names
    MESSAGES = "messages"        # publish to topics
    MAIL = "mail"                # send as the sender of the installation
    SKILLS = "skills"            # call the Lambda functions that are skills
    PUBLISHER = "publisher"      # call PUBLISH_DEFINITION
    MODELS = "models"            # ask models of Bedrock
    CLUSTERS = "clusters"        # look up EKS clusters, update and look at ECS services
    CONTAINERS = "containers"    # run tasks of ECS that are skills
    CONFINE = "confine"          # assume the role that reaches the data of one tenant
    DATABASES = "databases"      # what ASLANT_DATABASE_ALLOW names: RDS, DynamoDB, Athena


class Packages(StrEnum):
    """Sets of third-party packages, a layer each; `layers/<name>/requirements.txt` lists them."""

    CORE = "dependencies"
    DATABASES = "databases"
    PAGES = "pages"


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionSpec:
    """A Lambda function. `memory` is MiB, `timeout` seconds; `concurrency` is reserved where that protects something."""

    name: str
    module: str
    rights: frozenset[Right]
    memory: int = 512
    timeout: int = 60
    packages: tuple[Packages, ...] = (Packages.CORE,)
    concurrency: int | None = None
    asynchronous: bool = False  # called by events, whose failures go to a dead-letter queue

    @property
    def folder(self) -> str:
        """The folder of its handler."""
        return self.module.rpartition(".")[0].replace(".", "/")


# The wrapper around steps reads and writes records, kept results and large values, and puts secrets in.
_STEP = frozenset({Right.EXECUTIONS, Right.ARTIFACTS, Right.SECRETS})
_ENGINE = frozenset({
    Right.EXECUTIONS, Right.CATALOG, Right.ARTIFACTS, Right.MACHINES, Right.TIMERS, Right.CALLBACKS, Right.SEAL,
})  # fmt: skip
_TELL = frozenset({Right.LINKS, Right.MESSAGES, Right.MAIL, Right.EVENTS, Right.SECRETS})
_LONG = 900  # seconds: Lambda's most; a state's TimeoutSeconds ends it earlier


def _step(type: str, *rights: Right, memory: int = 512, timeout: int = _LONG, packages: Packages | None = None) -> FunctionSpec:
    kind = INTERNAL[type] if type in INTERNAL else STEP_TYPES[type]
    place = "functions" if type in INTERNAL else "functions.steps"
    return FunctionSpec(
        name=function_name(type), module=f"{place}.{kind.folder}.handler", rights=_STEP | frozenset(rights), memory=memory,
        timeout=timeout, packages=(Packages.CORE,) if packages is None else (Packages.CORE, packages),
    )  # fmt: skip


STEPS: Mapping[str, FunctionSpec] = {
    "http": _step("http"),
    "agent": _step("agent", Right.MODELS, Right.SKILLS, Right.BUS, Right.EVENTS, Right.CATALOG, Right.SPEND),
    "scrape": _step("scrape", memory=2048, packages=Packages.PAGES),
    "transform": _step("transform", timeout=300),
    "aggregate": _step("aggregate", timeout=300),
    "notify": _step("notify", Right.MESSAGES, Right.MAIL, Right.EVENTS, timeout=300),
    "email": _step("email", Right.MAIL, timeout=300),
    "query": _step("query", Right.DATABASES, packages=Packages.DATABASES),
    "command": _step("command", memory=1024),
    "deploy": _step("deploy", Right.CLUSTERS),
    "scale": _step("scale", Right.CLUSTERS),
    "approval": _step("approval", Right.SEAL, Right.TIMERS, Right.CALLBACKS, *_TELL),
    "skill": _step("skill", Right.SKILLS, Right.CATALOG, Right.CONTAINERS),
    "compensate": _step("compensate"),  # it waits for what is still done beside a failure
    "loop": _step("loop", memory=1024, timeout=300),
    "gate": _step("gate", Right.CALLBACKS, timeout=60),
}


def _service(
    name: str, folder: str, *rights: Right, memory: int = 512, timeout: int = 60, asynchronous: bool = False
) -> FunctionSpec:
    return FunctionSpec(
        name=name, module=f"functions.{folder}.handler", rights=frozenset(rights), memory=memory, timeout=timeout,
        asynchronous=asynchronous,
    )  # fmt: skip


SERVICES: tuple[FunctionSpec, ...] = (
    _service(PUBLISH_EVENTS, "publish_events", Right.BUS, Right.EXECUTIONS, Right.CATALOG, Right.ARTIFACTS),
    _service(RECORD_EXECUTION, "record_execution", *_ENGINE, memory=1024, timeout=300, asynchronous=True),
    _service(
        approvals.FUNCTION, "approvals", Right.EXECUTIONS, Right.ARTIFACTS, Right.SEAL, Right.TIMERS, Right.CALLBACKS, *_TELL,
        asynchronous=True,
    ),
    _service(sla.FUNCTION, "watch_sla", *_ENGINE, Right.MESSAGES, asynchronous=True),
    _service(triggers.FUNCTION, "start_execution", *_ENGINE, asynchronous=True),
    _service(triggers.ROUTER, "route_event", *_ENGINE),
    _service(
        completions.FUNCTION, "notify_completion", Right.LOOK, Right.ARTIFACTS, Right.SECRETS, timeout=300
    ),
    _service(analytics.FUNCTION, "count_executions", Right.EXECUTIONS, Right.ARTIFACTS, asynchronous=True),
    _service(event_log.FUNCTION, "push_events", Right.EVENT_LOG, Right.CONNECTIONS, asynchronous=True),
    _service(event_log.STREAM, "stream", Right.EVENT_LOG, Right.CONNECTIONS, Right.LOOK),  # a WebSocket API calls it
    _service(
        PUBLISH_DEFINITION, "publish_definition", Right.CATALOG, Right.PUBLISH, Right.CREATE_MACHINES, Right.TIMERS,
        memory=1024, timeout=300,
    ),
    _service(REGISTER, "register_workflow", Right.CATALOG, Right.PUBLISH, Right.TIMERS),
    # API Gateway gives up after 30 seconds.
    _service(
        API, "api", *_ENGINE, Right.PUBLISH, Right.PUBLISHER, Right.SECRETS, Right.LINKS, Right.EVENT_LOG,
        Right.CONFINE, Right.FORGET, memory=1024,
        timeout=29,
    ),
)  # fmt: skip
FUNCTIONS: Mapping[str, FunctionSpec] = {spec.name: spec for spec in (*STEPS.values(), *SERVICES)}


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueSpec:
    """A queue that rules of the bus fill and a function empties; what failed `receives` times goes to the queue `dead`."""

    name: str
    dead: str
    function: str
    receives: int
    rules: Mapping[str, Mapping[str, Any]]  # patterns by the rules' names


QUEUES = (
    QueueSpec(
        name=triggers.QUEUE, dead=triggers.DEAD, function=triggers.ROUTER, receives=triggers.MAX_RECEIVES,
        rules=triggers.RULES,
    ),
    QueueSpec(
        name=completions.QUEUE, dead=completions.DEAD, function=completions.FUNCTION, receives=completions.MAX_RECEIVES,
        rules={completions.RULE: completions.PATTERN},
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleSpec:
    """A rule of the installation's bus that calls a function."""

    name: str
    pattern: Mapping[str, Any]
    function: str


RULES = (
    RuleSpec(name=analytics.RULE, pattern=analytics.PATTERN, function=analytics.FUNCTION),
    RuleSpec(name=event_log.RULE, pattern=event_log.PATTERN, function=event_log.FUNCTION),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where the functions of an installation find things: names, or ARNs where the field says so."""

    executions_table: str
    catalog_table: str
    events_table: str
    connections_table: str
    bucket: str
    key: str               # an id, an ARN or an alias
    event_bus: str
    scheduler_role: str    # an ARN
    machine_role: str
    notify_topic: str      # an ARN
    token_issuer: str = ""
    token_audience: str = ""
    token_keys: str = ""
    email_from: str = ""
    public_url: str = ""
    stream_url: str = ""   # the stage of the WebSocket API
    database_allow: str = ""
    name: str = ""         # of the installation, where it has another one


def environment(places: Places) -> dict[str, str]:
    """The variables that `aslant.settings` reads; what is empty is left out."""
    given = {name: getattr(places, name) for name in places.__slots__}
    return {f"ASLANT_{name.upper()}": value for name, value in given.items() if value}
