"""What stacks tell each other: ARNs and names, most of them known before anything is made."""

from __future__ import annotations

from dataclasses import dataclass

from aws_cdk import Stack
from aws_cdk import aws_apigatewayv2 as gateway
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sns as sns


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """Where things are kept. ARNs are those that other stacks import."""

    executions: dynamodb.ITable
    catalog: dynamodb.ITable
    events: dynamodb.ITable
    connections: dynamodb.ITable
    bucket: s3.IBucket
    key: kms.IKey
    topic: sns.ITopic
    executions_arn: str
    catalog_arn: str
    events_arn: str
    connections_arn: str
    bucket_arn: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """What functions and state machines run with and talk over."""

    bus_name: str
    bus_arn: str
    scheduler_role: iam.IRole
    machine_role: iam.IRole
    sockets: gateway.WebSocketApi  # its routes are made where its function is known
    sockets_id: str                # as other stacks import it
    sockets_url: str               # where connections are managed


def arn(stack: Stack, service: str, resource: str, *, separator: str = ":") -> str:
    """The ARN of something of this account and region; `resource` is `type:name`, or `type/name` with that separator."""
    kind, _, name = resource.partition(separator)
    return f"arn:{stack.partition}:{service}:{stack.region}:{stack.account}:{kind}{separator}{name}"


def function_arn(stack: Stack, name: str) -> str:
    """Functions call each other by their names, so their ARNs are known before they are there."""
    return arn(stack, "lambda", f"function:{name}")
