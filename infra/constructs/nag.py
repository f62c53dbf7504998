"""Findings of cdk-nag that are accepted, each with its reason. Others fail the synthesis."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from aws_cdk import Acknowledgment, Stack, Validations
from aws_cdk import aws_iam as iam
from constructs import IConstruct

# Why a statement's resource may have a star in it, by the service of its actions.
_STARS: Mapping[str, str] = {
    "athena": "the settings name the work group",
    "bedrock": "definitions choose among the models of these providers, and inference profiles lead to any region",
    "dynamodb": "the indexes of one table",
    "ecs": "clusters, services and task definitions are named by definitions; ASLANT_CLUSTERS and ASLANT_CONTAINERS bound them",
    "eks": "clusters are named by the settings of the functions",
    "events": "a notification may name any bus of this account",
    "execute-api": "connections of one WebSocket API",
    "iam": "roles of containers that are skills, by their prefix",
    "lambda": "functions that are skills, by their prefix",
    "s3": "objects of one bucket have names of their own",
    "scheduler": "timers and schedules have names of their own",
    "secretsmanager": "secrets of tenants, by the prefix of the installation",
    "ses": "templates and identities; the sender is bound by a condition",
    "ssm": "parameters of tenants, by the prefix of the installation",
    "states": "workflows are published at run time, and executions have names of their own",
}
DEAD_LETTERS = {"AwsSolutions-SQS3": "it is a dead-letter queue", "Serverless-SQSRedrivePolicy": "so it has none"}
_NOWHERE = "AwsSolutions-IAM5[Resource::*]"


def accept(construct: IConstruct, reasons: Mapping[str, str]) -> None:
    """`reasons` by the rule's id, or by `rule[finding]`."""
    Validations.of(construct).acknowledge(*(Acknowledgment(id=rule, reason=reason) for rule, reason in reasons.items()))


def accept_stars(construct: IConstruct, statements: Iterable[iam.PolicyStatement]) -> None:
    """Accepts the resources of these statements that have a star, and what X-Ray and the delivery of logs need."""
    stack = Stack.of(construct)
    found = {_NOWHERE: "X-Ray, ListStreams and the delivery of logs know no resources"}
    for statement in statements:
        service = statement.actions[0].partition(":")[0]
        for resource in statement.resources:
            text = _flat(stack.resolve(resource))
            if "*" in text and text != "*":
                found[f"AwsSolutions-IAM5[Resource::{text}]"] = _STARS[service]
    accept(construct, found)


def _flat(value: Any) -> str:
    """A resource as cdk-nag writes it: references in angle brackets."""
    if isinstance(value, str):
        return value
    ((kind, inner),) = value.items()
    if kind == "Fn::Join":
        return str(inner[0]).join(_flat(each) for each in inner[1])
    if kind == "Ref":
        return f"<{inner}>"
    if kind == "Fn::GetAtt":
        return f"<{'.'.join(inner)}>"
    return _flat(inner)  # Fn::ImportValue


def accept_everywhere(app: IConstruct) -> None:
    """What holds for all stacks."""
    accept(app, {
        "AwsSolutions-L1": "Python 3.13 on arm64 is the newest that all packages have wheels for",
        "Serverless-LambdaLatestVersion": "Python 3.13 on arm64 is the newest that all packages have wheels for",
        "Serverless-LambdaDLQ": "who calls synchronously is told; streams and queues have dead letters of their own",
        "Serverless-LambdaEventSourceMappingDestination": "streams are tried without end, so that order is kept",
        "Serverless-EventBusDLQ": "rules of the bus fill queues, which have dead letters; notices are repaired by the records",
    })  # fmt: skip
