"""What each right of a function is in IAM's words. Least privilege: nothing is granted that no handler calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from aws_cdk import Stack
from aws_cdk import aws_iam as iam

from aslant.installation import schedule_group
from infra import inventory
from infra.constructs.estate import Engine, Store, arn, function_arn
from infra.inventory import Right
from infra.settings import StageSettings

READ = ("dynamodb:GetItem", "dynamodb:Query")
WRITE = ("dynamodb:PutItem", "dynamodb:UpdateItem")
DELETE = ("dynamodb:DeleteItem",)
_KEYED = frozenset({Right.EXECUTIONS, Right.LOOK, Right.CATALOG, Right.PUBLISH, Right.SPEND, Right.ARTIFACTS, Right.MESSAGES,
    Right.EVENT_LOG, Right.CONNECTIONS})  # fmt: skip
_PROVIDERS = ("anthropic", "amazon", "meta", "mistral", "cohere")

Rows = Sequence[tuple[Sequence[str], Sequence[str], Mapping[str, Mapping[str, str]] | None]]


def statements(
    rights: Iterable[Right], stack: Stack, store: Store, engine: Engine, settings: StageSettings
) -> list[iam.PolicyStatement]:
    """The statements of a function's role; the same for the same rights."""
    wanted = sorted(set(rights))
    rows = [row for right in wanted for row in _rows(right, stack, store, engine, settings)]
    if _KEYED & set(wanted):
        rows.append((("kms:Decrypt", "kms:GenerateDataKey"), (store.key.key_arn,), None))
    return [allow(actions, resources, conditions) for actions, resources, conditions in rows]


def allow(
    actions: Sequence[str], resources: Sequence[str], conditions: Mapping[str, Mapping[str, str]] | None = None
) -> iam.PolicyStatement:
    return iam.PolicyStatement(
        actions=list(actions), resources=list(resources),
        conditions={name: dict(value) for name, value in conditions.items()} if conditions else None,
    )  # fmt: skip


def _rows(right: Right, stack: Stack, store: Store, engine: Engine, settings: StageSettings) -> Rows:
    executions, catalog = store.executions_arn, store.catalog_arn
    machines, runs = arn(stack, "states", "stateMachine:*"), arn(stack, "states", "execution:*:*")
    match right:
        case Right.EXECUTIONS:
            return [((*READ, *WRITE), (executions, f"{executions}/index/*"), None)]
        case Right.LOOK:
            return [(READ, (executions, f"{executions}/index/*"), None)]
        case Right.FORGET:
            return [(DELETE, (executions,), None)]
        case Right.CATALOG:
            return [(READ, (catalog, f"{catalog}/index/*"), None)]
        case Right.PUBLISH:
            return [((*WRITE, *DELETE), (catalog,), None)]
        case Right.SPEND:
            return [(("dynamodb:UpdateItem",), (catalog,), None)]
        case Right.ARTIFACTS:
            return [(("s3:GetObject", "s3:PutObject"), (f"{store.bucket_arn}/*",), None)]
        case Right.SECRETS:
            secrets = arn(stack, "secretsmanager", f"secret:{settings.secret_prefix}*")
            parameters = arn(stack, "ssm", f"parameter/{settings.secret_prefix}*", separator="/")
            return [(("secretsmanager:GetSecretValue",), (secrets,), None), (("ssm:GetParameter",), (parameters,), None)]
        case Right.LINKS:
            secret = arn(stack, "secretsmanager", f"secret:{settings.secret_prefix}link-secret-*")
            return [(("secretsmanager:GetSecretValue", "secretsmanager:CreateSecret"), (secret,), None)]
        case Right.SEAL:
            return [(("kms:Encrypt", "kms:Decrypt"), (store.key.key_arn,), None)]
        case Right.MACHINES:
            return [
                (("states:StartExecution",), (machines,), None),
                (("states:DescribeExecution", "states:GetExecutionHistory", "states:StopExecution"), (runs,), None),
            ]
        case Right.CREATE_MACHINES:
            return [
                (("states:CreateStateMachine", "states:DescribeStateMachine"), (machines,), None),
                (("iam:PassRole",), (engine.machine_role.role_arn,), _passed("states")),
            ]
        case Right.CALLBACKS:
            return [(("states:SendTaskSuccess", "states:SendTaskFailure"), (machines,), None)]
        case Right.TIMERS:
            schedules = arn(stack, "scheduler", f"schedule/{schedule_group(settings.name)}/*", separator="/")
            return [
                (("scheduler:CreateSchedule", "scheduler:UpdateSchedule", "scheduler:DeleteSchedule"), (schedules,), None),
                (("iam:PassRole",), (engine.scheduler_role.role_arn,), _passed("scheduler")),
            ]
        case Right.BUS:
            return [(("events:PutEvents",), (engine.bus_arn,), None)]
        case Right.EVENT_LOG:
            return [(("dynamodb:PutItem", "dynamodb:Query"), (store.events_arn,), None)]
        case Right.CONNECTIONS:
            table = store.connections_arn
            sockets = arn(stack, "execute-api", f"{engine.sockets_id}/*/*/@connections/*", separator="/")
            return [
                (("dynamodb:PutItem", "dynamodb:GetItem", "dynamodb:DeleteItem"), (table,), None),
                (("dynamodb:Query",), (f"{table}/index/*",), None),
                (("execute-api:ManageConnections",), (sockets,), None),
            ]
        case Right.EVENTS:
            return [(("events:PutEvents",), (arn(stack, "events", "event-bus/*", separator="/"),), None)]
        case Right.MESSAGES:
            return [(("sns:Publish",), (store.topic.topic_arn,), None)]
        case Right.MAIL:
            if not settings.email_from:
                return []
            sender = {"StringEquals": {"ses:FromAddress": settings.email_from}}
            identities = (arn(stack, "ses", "identity/*", separator="/"), arn(stack, "ses", "template/*", separator="/"))
            return [(("ses:SendEmail", "ses:SendRawEmail"), identities, sender)]
        case Right.SKILLS:
            skills = settings.skill_functions or f"{settings.name}-skill-*"
            return [(("lambda:InvokeFunction",), (function_arn(stack, skills),), None)]
        case Right.PUBLISHER:
            return [(("lambda:InvokeFunction",), (function_arn(stack, settings.function(inventory.PUBLISH_DEFINITION)),), None)]
        case Right.MODELS:
            models = [f"arn:{stack.partition}:bedrock:*::foundation-model/{provider}.*" for provider in _PROVIDERS]
            profiles = arn(stack, "bedrock", "inference-profile/*", separator="/")
            return [(("bedrock:InvokeModel", "bedrock:InvokeModelWithResponseStream"), (*models, profiles), None)]
        case Right.CLUSTERS:
            return [
                (("eks:DescribeCluster",), (arn(stack, "eks", "cluster/*", separator="/"),), None),
                (("ecs:UpdateService", "ecs:DescribeServices"), (arn(stack, "ecs", "service/*", separator="/"),), None),
            ]
        case Right.CONTAINERS:
            return _containers(stack, settings)
        case Right.CONFINE:
            return []  # the role is made when its functions are: see `constructs/confined.py`
        case Right.DATABASES:
            return _databases(stack, settings)


def _passed(service: str) -> Mapping[str, Mapping[str, str]]:
    return {"StringEquals": {"iam:PassedToService": f"{service}.amazonaws.com"}}


def _containers(stack: Stack, settings: StageSettings) -> Rows:
    """Tasks of one cluster, where the installation has one for skills."""
    if not settings.container_cluster:
        return []
    cluster = arn(stack, "ecs", f"cluster/{settings.container_cluster}", separator="/")
    inside = {"ArnEquals": {"ecs:cluster": cluster}}
    roles = f"arn:{stack.partition}:iam::{stack.account}:role/{settings.name}-container-*"
    tasks = arn(stack, "ecs", f"task/{settings.container_cluster}/*", separator="/")
    return [
        (("ecs:RunTask",), (arn(stack, "ecs", f"task-definition/{settings.name}-*", separator="/"),), inside),
        (("ecs:DescribeTasks", "ecs:StopTask"), (tasks,), inside),
        (("ecs:DescribeTaskDefinition",), ("*",), None),  # it knows no resources
        (("iam:PassRole",), (roles,), _passed("ecs-tasks")),
    ]


def _databases(stack: Stack, settings: StageSettings) -> Rows:
    """What `database_allow` names: `dynamodb:TABLE`, `athena:WORKGROUP`, `rds:ARN`; servers need no rights."""
    found: list[tuple[Sequence[str], Sequence[str], Mapping[str, Mapping[str, str]] | None]] = []
    for entry in settings.database_allow.split(","):
        kind, _, name = entry.strip().partition(":")
        if kind == "dynamodb":
            verbs = ("Select", "Insert", "Update", "Delete")
            table = arn(stack, "dynamodb", f"table/{name}", separator="/")
            found.append(([f"dynamodb:PartiQL{verb}" for verb in verbs], (table, f"{table}/index/*"), None))
        elif kind == "athena":
            verbs = ("StartQueryExecution", "GetQueryExecution", "GetQueryResults", "StopQueryExecution")
            group = arn(stack, "athena", f"workgroup/{name}", separator="/")
            found.append(([f"athena:{verb}" for verb in verbs], (group,), None))
        elif kind == "rds":
            verbs = ("ExecuteStatement", "BeginTransaction", "CommitTransaction", "RollbackTransaction")
            found.append(([f"rds-data:{verb}" for verb in verbs], (name,), None))
    return found
