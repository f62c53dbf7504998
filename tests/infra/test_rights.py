"""Least privilege: the roles of the functions against the calls that their handlers made in tests (`tests/calls.py`)."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

import pytest

from infra.inventory import FUNCTIONS, RECORD_EXECUTION, SERVICES, STEPS, Right
from tests.calls import known
from tests.infra.conftest import Assembly
from tests.infra.test_stacks import listed, statements, text

pytestmark = pytest.mark.timeout(450)

# boto3's name of a call -> what IAM calls it, where that is not `service:Operation`.
_SERVICES = {
    "stepfunctions": "states", "sesv2": "ses", "bedrock-runtime": "bedrock", "apigatewaymanagementapi": "execute-api",
}
_ACTIONS = {
    "lambda:Invoke": "lambda:InvokeFunction", "s3:HeadObject": "s3:GetObject", "ses:SendTemplatedEmail": "ses:SendEmail",
    "bedrock:Converse": "bedrock:InvokeModel", "bedrock:ConverseStream": "bedrock:InvokeModelWithResponseStream",
    "execute-api:PostToConnection": "execute-api:ManageConnections",
}
_FREE = {"sts:GetCallerIdentity"}  # anybody may call it
# Calls that need rights beside their own.
_PASSES = {"scheduler:CreateSchedule", "scheduler:UpdateSchedule", "states:CreateStateMachine", "ecs:RunTask"}


def action(call: str) -> tuple[str, str]:
    """IAM's action, and the kind of table."""
    name, _, table = call.partition(" ")
    service, _, operation = name.partition(":")
    named = f"{_SERVICES.get(service, service)}:{operation}"
    return _ACTIONS.get(named, named), table


def allowed(assembly: Assembly) -> dict[str, list[tuple[str, str]]]:
    """Actions and resources by function, as all stacks together say."""
    template = assembly.templates["functions"]
    found: dict[str, list[tuple[str, str]]] = {}
    for _, one in assembly.of_type("AWS::Lambda::Function", "functions"):
        name, role = one["Properties"]["FunctionName"], one["Properties"]["Role"]["Fn::GetAtt"][0]
        rows = statements(template, role)
        found[name] = [(each, text(place)) for row in rows for each in listed(row["Action"]) for place in listed(row["Resource"])]
    return found


@pytest.fixture(scope="module")
def rights(assembly: Assembly) -> dict[str, list[tuple[str, str]]]:
    return allowed(assembly)


def on_table(resource: str, table: str) -> bool:
    """Whether a resource is a table of that kind, or its indexes."""
    kind, _, index = table.partition("/")
    logical = {"executions": "Executions", "catalog": "Catalog", "events": "Events", "connections": "Connections"}.get(kind)
    return logical is None or (f"{logical}" in resource and ("/index/" in resource) == bool(index))


def test_recorded_calls_are_those_of_functions_that_there_are() -> None:
    calls = known()
    assert {function for function, _ in calls} <= FUNCTIONS.keys() and len({function for function, _ in calls}) > 15


@pytest.mark.parametrize("function", sorted(FUNCTIONS))
def test_a_function_may_do_what_it_does(rights: dict[str, list[tuple[str, str]]], function: str) -> None:
    refused = []
    for call in sorted(call for name, call in known() if name == function):
        wanted, table = action(call)
        matching = [place for each, place in rights[function] if fnmatchcase(wanted, each)]
        opened = _OPENED.get(wanted) in FUNCTIONS[function].rights
        if wanted not in _FREE and not opened and not any(on_table(place, table) if table else True for place in matching):
            refused.append(call)
        if wanted in _PASSES and not any(each == "iam:PassRole" for each, _ in rights[function]):
            refused.append(f"iam:PassRole for {call}")
    assert refused == []


# Calls that a setting opens (`infra/settings.py`), which the templates of the tests do not have.
_OPENED = {"ses:SendEmail": Right.MAIL}

# Rights that no recorded test uses, with the reason why they are there. `*` is any function.
UNUSED: dict[tuple[str, str], str] = {
    ("*", "xray:PutTraceSegments"): "the X-Ray daemon calls it",
    ("*", "xray:PutTelemetryRecords"): "the X-Ray daemon calls it",
    ("*", "logs:CreateLogStream"): "Lambda itself writes the logs",
    ("*", "logs:PutLogEvents"): "Lambda itself writes the logs",
    ("*", "kms:Decrypt"): "what reads an encrypted table, bucket, topic or queue",
    ("*", "kms:GenerateDataKey"): "what writes into an encrypted table, bucket, topic or queue",
    ("*", "iam:PassRole"): "checked beside the calls that pass one",
    ("*", "sqs:SendMessage"): "Lambda itself puts failed events into the dead-letter queue",
    ("*", "s3:GetObject"): "a value of an execution that is too large for the table",
    ("*", "s3:PutObject"): "a value of an execution that is too large for the table",
    ("*", "ssm:GetParameter"): "a secret that is kept as a parameter; the tests have theirs in Secrets Manager",
    ("*", "states:SendTaskFailure"): "a rejection; tests of the wrapper and of approvals use a fake of the port",
    ("*", "states:SendTaskSuccess"): "an approval that a timer decides",
    ("*", "kms:Encrypt"): "a token that is handed on when an execution goes on in another run",
    ("*", "sns:Publish"): "a topic that a step, a reminder or an SLA names",
    ("*", "scheduler:CreateSchedule"): "a timer of approvals, SLAs and schedules",
    ("*", "scheduler:UpdateSchedule"): "a timer that is there already", ("*", "scheduler:DeleteSchedule"): "a timer that is over",
    ("*", "secretsmanager:CreateSecret"): "the secret of links, made by whoever needs it first",
    ("aslant-api", "sts:AssumeRole"): "the role of a tenant, which the local cloud has none of; see test_session_policy.py",
    ("aslant-agent", "bedrock:InvokeModel"): "models run on AWS alone", ("aslant-agent", "lambda:InvokeFunction"): "a tool is a skill",
    ("aslant-agent", "bedrock:InvokeModelWithResponseStream"): "models run on AWS alone",
    ("aslant-skill", "lambda:InvokeFunction"): "skills of the tests are Python functions; see test_aws_adapters.py",
    ("*", "eks:DescribeCluster"): "clusters are servers in tests", ("*", "ecs:DescribeServices"): "ECS has unit tests with stubs",
    ("*", "ecs:UpdateService"): "ECS has unit tests with stubs",
    ("aslant-publish-events", "dynamodb:PutItem"): "checkpoints, which definitions ask for",
    ("aslant-publish-events", "dynamodb:UpdateItem"): "checkpoints, which definitions ask for",
    ("aslant-push-events", "dynamodb:GetItem"): "of the connections, with those who follow",
    **{(name, "dynamodb:Query"): "one of two ways to read" for name in (
        "aslant-publish-events", "aslant-notify-completion", "aslant-publish-definition",
    )},
    ("aslant-approvals", "events:PutEvents"): "a reminder by event", ("aslant-approvals", "secretsmanager:GetSecretValue"): "links",
    **{(name, f"dynamodb:{each}"): "called by timers and custom resources, which the recorded tests have none of"
       for name in ("aslant-approvals", "aslant-register-workflow") for each in ("GetItem", "PutItem", "Query", "UpdateItem")},
    **{(name, "dynamodb:DeleteItem"): "subscriptions of events that a version has no more" for name in (
        "aslant-publish-definition", "aslant-register-workflow",
    )},
}


def group(function: str) -> set[str]:
    """Functions that run the same code around their own: the wrapper of steps, or the engine of executions."""
    if FUNCTIONS[function] in STEPS.values():
        return {one.name for one in STEPS.values()}
    engine = FUNCTIONS[RECORD_EXECUTION].rights
    return {one.name for one in SERVICES if engine <= one.rights} if engine <= FUNCTIONS[function].rights else {function}


def unused(rights: dict[str, list[tuple[str, str]]]) -> Iterator[tuple[str, str]]:
    used = {(function, action(call)[0]) for function, call in known()}
    for function, rows in rights.items():
        for each in sorted({name for name, _ in rows}):
            if not any((one, each) in used for one in group(function)) and (function, each) not in UNUSED and ("*", each) not in UNUSED:
                yield function, each


def test_a_function_may_do_nothing_that_it_never_does(rights: dict[str, list[tuple[str, str]]]) -> None:
    assert [*unused(rights)] == []


def test_every_reason_is_about_a_right_that_is_given(rights: Any) -> None:
    given = {(function, each) for function, rows in rights.items() for each, _ in rows}
    stale = [key for key in UNUSED if key not in given and not (key[0] == "*" and key[1] in {each for _, each in given})]
    assert stale == []
