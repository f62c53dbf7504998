"""The composition root: the one place that connects ports with adapters. `aslant.serving` has those of the service alone.

Each function gives the adapter of a port for some settings. Adapters are imported here, when they are needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aslant.installation import schedule_group
from aslant.settings import OFFLINE, Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from aslant import ports
    from aslant.adapters.jwt_tokens import JwtTokens
    from aslant.approvals.links import Links
    from aslant.approvals.service import Approvals, Notify
    from aslant.catalog import Catalog
    from aslant.claims import Claims
    from aslant.command_ports import Commands
    from aslant.configs.agent import AgentConfig
    from aslant.configs.email import Smtp
    from aslant.contracts import Json
    from aslant.database_ports import Database, DatabaseAddress
    from aslant.executions.records import Execution
    from aslant.executions.service import Executions
    from aslant.executions.store import ExecutionStore
    from aslant.executions.view import Views
    from aslant.gates import Gates
    from aslant.guards import GuardPorts
    from aslant.http_ports import Http, Signer
    from aslant.kept import Results
    from aslant.kubernetes import Kubernetes
    from aslant.mail_ports import Post, TemplatePost
    from aslant.messages import Ports as Messages
    from aslant.model_ports import ModelEndpoint, Models, Spending
    from aslant.page_ports import Browser, PageReader
    from aslant.recording import Recorder
    from aslant.releases import Release
    from aslant.secrets import Redactor
    from aslant.skill_specs import SkillStore
    from aslant.triggers import Schedules


def secrets(settings: Settings) -> ports.Secrets:
    from aslant.adapters.aws_secrets import AwsSecrets

    return AwsSecrets(settings.region, settings.secret_prefix)


def http(settings: Settings) -> Http:
    from aslant.adapters.guarded_http import GuardedHttp

    return GuardedHttp(settings.http_allow)


def signer() -> Signer:
    """AWS's Signature Version 4, by botocore."""
    from aslant.adapters.sigv4 import SigV4

    return SigV4()


def pages(settings: Settings) -> PageReader:
    """libxml2, in a process of its own."""
    from aslant.adapters.page_reader import SeparateReader

    return SeparateReader()


def browser(settings: Settings) -> Browser:
    """Chromium, whose only way out is the guard of http steps."""
    from aslant.adapters.chromium import Chromium

    return Chromium(settings.browser, settings.browser_sandbox, settings.http_allow)


def functions(settings: Settings) -> ports.Functions:
    from aslant.adapters.aws_lambda import AwsLambda

    return AwsLambda(settings.region)


def containers(settings: Settings, tenant: str) -> ports.Containers:
    from aslant.adapters.ecs_tasks import EcsTasks

    return EcsTasks(settings.region, settings.bucket, settings.containers, tenant, artifacts(settings))


def commands(settings: Settings) -> Commands:
    from aslant.commands import SealedCommands

    return SealedCommands(settings.commands)


def database(settings: Settings, where: DatabaseAddress) -> Database:
    """A server that is connected to. Raises StepTypeUnavailable when its driver is not installed."""
    from importlib.util import find_spec

    from aslant.errors import StepTypeUnavailable

    driver = {"postgresql": "psycopg", "mysql": "pymysql", "redis": "redis", "mongodb": "pymongo"}[where.kind]
    if find_spec(driver) is None:
        raise StepTypeUnavailable(f"this installation has no driver of {where.kind} (the Python package {driver})")
    if where.kind == "postgresql":
        from aslant.adapters.databases.postgres import Postgres

        return Postgres(where, settings.database_allow)
    if where.kind == "mysql":
        from aslant.adapters.databases.mysql import MySql

        return MySql(where, settings.database_allow)
    if where.kind == "mongodb":
        from aslant.adapters.databases.mongo import Mongo

        return Mongo(where, settings.database_allow)
    from aslant.adapters.databases.redis_server import Redis

    return Redis(where, settings.database_allow)


def data_api(settings: Settings, kind: str, resource: str, secret: str, name: str, tenant: str) -> Database:
    from aslant.adapters.databases.data_api import RdsDataApi

    return RdsDataApi(settings.region, kind, resource, secret, name, tenant, settings.database_allow)


def partiql(settings: Settings, tenant: str) -> Database:
    from aslant.adapters.databases.partiql import DynamoPartiQl

    own = (settings.executions_table, settings.catalog_table)
    return DynamoPartiQl(settings.region, tenant, settings.database_allow, own)


def athena(settings: Settings, workgroup: str, catalog: str, name: str, tenant: str) -> Database:
    from aslant.adapters.databases.athena import Athena

    return Athena(settings.region, workgroup, catalog, name, tenant, settings.database_allow)


def models(settings: Settings, config: AgentConfig, endpoint: ModelEndpoint | None = None) -> Models:
    """Bedrock, or a server that speaks OpenAI's language; the offline model where ASLANT_MODEL=offline."""
    if settings.model == OFFLINE:
        from aslant.adapters.offline_model import OfflineModel

        return OfflineModel(config.output_format, config.output_schema)
    if endpoint is not None:
        from aslant.adapters.openai_models import OpenAiModels

        return OpenAiModels(endpoint, http(settings))
    from aslant.adapters.bedrock import Bedrock

    return Bedrock(settings.region)


def spending(settings: Settings) -> Spending:
    """The catalog table."""
    from aslant.adapters.dynamo_spending import DynamoSpending

    return DynamoSpending(settings.region, settings.catalog_table)


def topics(settings: Settings) -> ports.Topics:
    from aslant.adapters.aws_messages import SnsTopics

    return SnsTopics(settings.region)


def mailer(settings: Settings) -> ports.Mailer:
    from aslant.adapters.aws_messages import SesMailer

    return SesMailer(settings.region)


def post(settings: Settings) -> Post:
    """SES."""
    from aslant.adapters.ses_post import SesPost

    return SesPost(settings.region)


def template_post(settings: Settings) -> TemplatePost:
    """The templates of SES."""
    from aslant.adapters.ses_post import SesPost

    return SesPost(settings.region)


def smtp_post(settings: Settings, smtp: Smtp) -> Post:
    """A mail server, at an address that steps may talk to."""
    from aslant.adapters.smtp_post import SmtpPost

    return SmtpPost(smtp.host, smtp.port, smtp.security, smtp.username, smtp.password, settings.http_allow)


def events(settings: Settings) -> ports.Events:
    from aslant.adapters.aws_messages import EventBus

    return EventBus(settings.region)


def bus(settings: Settings) -> ports.Bus:
    """The bus that the installation's own events go to."""
    from aslant.adapters.event_bus import EventBridgeBus

    return EventBridgeBus(settings.region, settings.event_bus)


def messages(settings: Settings) -> Messages:
    """Every way a message can go; each port is made when it is first used."""
    from aslant.messages import Ports

    return Ports(
        topics=lambda: topics(settings), mailer=lambda: mailer(settings), events=lambda: events(settings),
        http=lambda: http(settings),
    )


def approvals(settings: Settings) -> Approvals:
    """Requests in the executions table, answers to the state machines of this account."""
    from aslant.adapters.aws_approvals import DynamoApprovals, StepFunctionsCallbacks
    from aslant.adapters.kms import KmsCipher
    from aslant.approvals.service import Approvals
    from aslant.executions.states import FINAL

    def goes_on(tenant: str, execution: str) -> bool:
        record = execution_store(settings).read(tenant, execution)
        return record is not None and record.status not in FINAL

    return Approvals(
        DynamoApprovals(settings.region, settings.executions_table), StepFunctionsCallbacks(settings.region),
        KmsCipher(settings.region, settings.key), timers(settings), goes_on,
    )


def approval_notices(settings: Settings) -> Notify:
    """Tells people of requests."""

    def notify(item: dict[str, Json], kind: str) -> None:
        from aslant.approvals import notices

        notices.notify(item, kind, settings, messages(settings), lambda: links(settings))

    return notify


def links(settings: Settings) -> Links | None:
    """Signed links; None where the installation has no address that people reach."""
    from aslant.adapters.link_secret import link_secret
    from aslant.approvals.links import Links

    if not settings.public_url:
        return None
    return Links(settings.public_url, link_secret(settings.region, settings.secret_prefix))


def timers(settings: Settings) -> ports.Timers:
    from aslant.adapters.aws_scheduler import SchedulerTimers

    return SchedulerTimers(settings.region, settings.scheduler_role, schedule_group(settings.name), settings.name)


def schedules(settings: Settings) -> Schedules:
    from aslant.adapters.aws_scheduler import SchedulerTimers

    return SchedulerTimers(settings.region, settings.scheduler_role, schedule_group(settings.name), settings.name)


def artifacts(settings: Settings) -> ports.Artifacts:
    from aslant.adapters.s3_artifacts import S3Artifacts

    return S3Artifacts(settings.region, settings.bucket)


def claims(settings: Settings, tenant: str) -> Claims:
    """Large values of a tenant's executions, in the bucket."""
    from aslant.claims import Claims

    return Claims(artifacts(settings), settings.bucket, tenant)


def steps(settings: Settings) -> ports.StepStore:
    """Step records in the executions table, large outputs in the bucket."""
    from aslant.adapters.dynamo_steps import DynamoSteps

    return DynamoSteps(settings.region, settings.executions_table, artifacts(settings))


def gates(settings: Settings) -> Gates:
    """Waiting points in the executions table, large values in the bucket."""
    from aslant.adapters.dynamo_gates import DynamoGates

    return DynamoGates(settings.region, settings.executions_table, artifacts(settings))


def callbacks(settings: Settings) -> ports.Callbacks:
    from aslant.adapters.aws_approvals import StepFunctionsCallbacks

    return StepFunctionsCallbacks(settings.region)


def execution_store(settings: Settings) -> ExecutionStore:
    """Executions in their table, large values in the bucket."""
    from aslant.adapters.dynamo_executions import DynamoExecutions

    return DynamoExecutions(settings.region, settings.executions_table, artifacts(settings))


def machines(settings: Settings) -> ports.Machines:
    from aslant.adapters.aws_machines import StepFunctionsMachines

    return StepFunctionsMachines(settings.region)


def releases(settings: Settings) -> ports.Releases:
    """The catalog table."""
    from aslant.adapters.dynamo_catalog import DynamoCatalog

    return DynamoCatalog(settings.region, settings.catalog_table)


def catalog(settings: Settings) -> Catalog:
    """Definitions and their versions."""
    from aslant import clock
    from aslant.adapters.dynamo_definitions import DynamoDefinitions
    from aslant.catalog import Catalog

    return Catalog(DynamoDefinitions(settings.region, settings.catalog_table), lambda: round(clock.now() * 1000))


def tokens(settings: Settings) -> JwtTokens:
    """What checks the tokens of the API's callers."""
    from aslant.adapters.jwt_tokens import JwtTokens

    return JwtTokens(settings.token_issuer, settings.token_audience, settings.token_keys)


def views(settings: Settings) -> Views:
    """Executions as people look at them."""
    from aslant import clock
    from aslant.executions.view import Views

    return Views(
        execution_store(settings), machines(settings), releases(settings), lambda: round(clock.now() * 1000),
        approvals(settings),
    )


def recorder(settings: Settings) -> Recorder:
    """What notices of Step Functions are told to."""
    from aslant import clock
    from aslant.recording import Recorder

    return Recorder(
        execution_store(settings), machines(settings), releases(settings), timers(settings),
        lambda: round(clock.now() * 1000), approvals(settings), lambda tenant: claims(settings, tenant),
    )


def executions(settings: Settings) -> Executions:
    """The service on the tables and state machines of these settings."""
    from aslant import clock, sla, timeouts
    from aslant.adapters.dynamo_places import DynamoPlaces
    from aslant.contracts import INPUT_SHARE
    from aslant.executions.admission import Admission, Limits
    from aslant.executions.launch import fitted
    from aslant.executions.service import Executions
    from aslant.notices import notice_of
    from aslant.values import size

    def now() -> int:
        return round(clock.now() * 1000)

    def started(execution: Execution, release: Release) -> None:
        sla.arm(timers(settings), execution, release)
        timeouts.arm(timers(settings), execution)

    def admit(release: Release, tenant: str, user: str, id: str, facts: Mapping[str, Json]) -> None:
        priority = str(facts.get("priority") or release["settings"].get("priority") or "normal")
        limits = Limits(settings.start_rate, settings.tenant_start_rate, settings.max_running)
        places = DynamoPlaces(settings.region, settings.executions_table)
        Admission(limits, guard_ports(settings).rates(), places, store, clock.now).check(
            tenant, release, id=id, user=user, trigger=str(facts.get("type", "")), priority=priority
        )

    store, engine, catalog = execution_store(settings), machines(settings), releases(settings)

    def fit(execution: Execution, version: str, given: Mapping[str, Json]) -> Mapping[str, Json]:
        if size(dict(given)) <= INPUT_SHARE:
            return given
        release = catalog.get(execution.tenant, execution.workflow, version)
        return fitted(claims(settings, execution.tenant), release.get("looked_into", [""]), execution.id, given)

    return Executions(
        store, engine, catalog, now, approvals(settings),
        on_start=started, admit=admit, fit=fit,
        on_end=lambda execution: sla.disarm(timers(settings), execution),
        record_end=lambda execution, described: recorder(settings).record(notice_of(execution.arn, described)),
    )


def guard_ports(settings: Settings) -> GuardPorts:
    """Counts of calls and circuit breakers, in the executions table."""
    from aslant.adapters.dynamo_guards import DynamoRates, PowertoolsCircuits
    from aslant.guards import GuardPorts

    return GuardPorts(
        lambda: DynamoRates(settings.region, settings.executions_table),
        lambda: PowertoolsCircuits(settings.region, settings.executions_table),
    )


def results(settings: Settings) -> Results:
    """Kept results of steps, in the executions table."""
    from aslant.adapters.dynamo_guards import DynamoResults

    return DynamoResults(settings.region, settings.executions_table)


def skill_store(settings: Settings) -> SkillStore:
    """The registry in the catalog table."""
    from aslant.adapters.dynamo_skills import DynamoSkills

    return DynamoSkills(settings.region, settings.catalog_table)


def cluster(
    settings: Settings, name: str | None, tenant: str, redactor: Redactor, remaining: Callable[[], float]
) -> Kubernetes:
    """A cluster of the installation; its address may be private, whoever installs has named it."""
    from urllib.parse import urlsplit

    from aslant.adapters.eks import eks_access
    from aslant.adapters.guarded_http import GuardedHttp
    from aslant.clusters import access
    from aslant.kubernetes import Kubernetes

    found = access(name, settings, tenant, secrets(settings), lambda eks: eks_access(eks, settings.region), redactor)
    return Kubernetes(found, GuardedHttp((*settings.http_allow, urlsplit(found.server).hostname or "")), remaining)


def ecs_services(settings: Settings) -> ports.EcsServices:
    from aslant.adapters.ecs import AwsEcs

    return AwsEcs(settings.region)
