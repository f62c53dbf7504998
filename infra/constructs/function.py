"""A Lambda function of the inventory, with its role and its log group; logs of what calls them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_apigatewayv2 as gateway
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.assets import stage
from infra.constructs.nag import accept_stars
from infra.inventory import FunctionSpec
from infra.settings import StageSettings

RETENTION = {
    1: logs.RetentionDays.ONE_DAY, 7: logs.RetentionDays.ONE_WEEK, 14: logs.RetentionDays.TWO_WEEKS,
    30: logs.RetentionDays.ONE_MONTH, 90: logs.RetentionDays.THREE_MONTHS, 365: logs.RetentionDays.ONE_YEAR,
}  # fmt: skip


def log_group(scope: Construct, id: str, settings: StageSettings, *, name: str | None = None) -> logs.LogGroup:
    return logs.LogGroup(
        scope, id, log_group_name=name, retention=RETENTION[settings.log_days], removal_policy=RemovalPolicy.DESTROY
    )


def access_logs(
    scope: Construct, id: str, stage: gateway.HttpStage | gateway.WebSocketStage, settings: StageSettings, fields: Sequence[str]
) -> None:
    """Each request to the stage is a JSON line with these facts of API Gateway's `$context`."""
    low = stage.node.default_child
    assert isinstance(low, gateway.CfnStage)
    low.access_log_settings = gateway.CfnStage.AccessLogSettingsProperty(
        destination_arn=log_group(scope, id, settings).log_group_arn,
        format=json.dumps({name: f"$context.{name}" for name in fields}),
    )  # fmt: skip


class StepOrService(Construct):
    """`function` is called by its name, by state machines, schedules and other functions."""

    def __init__(
        self, scope: Construct, id: str, *, spec: FunctionSpec, statements: Sequence[iam.PolicyStatement],
        layers: Sequence[lambda_.ILayerVersion], environment: Mapping[str, str], settings: StageSettings,
        dead_letters: sqs.IQueue, image: str = "", tag: str = "latest",
    ) -> None:
        super().__init__(scope, id)
        group = log_group(self, "Logs", settings)
        self.role = iam.Role(self, "Role", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
        group.grant_write(self.role)
        for statement in statements:
            self.role.add_to_policy(statement)
        variables = {
            **environment, "POWERTOOLS_SERVICE_NAME": spec.name, "POWERTOOLS_METRICS_NAMESPACE": "Aslant",
            "POWERTOOLS_LOG_LEVEL": "INFO",
        }  # fmt: skip
        common = {
            "function_name": settings.function(spec.name), "description": f"{spec.module} of Aslant", "role": self.role,
            "log_group": group,
            "memory_size": spec.memory, "timeout": Duration.seconds(spec.timeout), "environment": variables,
            "architecture": lambda_.Architecture.ARM_64,
            "tracing": lambda_.Tracing.ACTIVE if settings.tracing else lambda_.Tracing.DISABLED,
            "reserved_concurrent_executions": spec.concurrency,
            "dead_letter_queue": dead_letters if spec.asynchronous else None,
        }  # fmt: skip
        if image:
            repository = ecr.Repository.from_repository_name(self, "Image", image)
            code = lambda_.DockerImageCode.from_ecr(repository, tag_or_digest=tag)
            self.function: lambda_.Function = lambda_.DockerImageFunction(self, "Function", code=code, **common)
        else:
            self.function = lambda_.Function(
                self, "Function", runtime=lambda_.Runtime.PYTHON_3_13, handler=f"{spec.module}.handler",
                code=lambda_.Code.from_asset(str(stage(spec))), layers=list(layers), **common,
            )  # fmt: skip
        accept_stars(self, statements)
