"""Everything that must survive: tables, the bucket, the key, the topic, and who may come in."""

from __future__ import annotations

from typing import Any

from aws_cdk import Duration, RemovalPolicy, Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sns as sns
from constructs import Construct

from aslant import keys
from infra.constructs.estate import Store
from infra.constructs.identity import Identity
from infra.constructs.nag import accept
from infra.settings import StageSettings

_SERVICES = ("events", "sns", "scheduler", "cloudwatch", "delivery.logs")  # that put messages into encrypted queues and topics


class DataStack(Stack):
    """`store` is where things are kept, `identity` who signs the tokens of the API's callers."""

    def __init__(self, scope: Construct, id: str, *, settings: StageSettings, **stack: Any) -> None:
        super().__init__(scope, id, **stack)
        removal = RemovalPolicy.RETAIN if settings.keep_data else RemovalPolicy.DESTROY
        key = kms.Key(self, "Key", enable_key_rotation=True, removal_policy=removal, description="Tables, objects, tokens")
        key.add_to_resource_policy(iam.PolicyStatement(
            actions=["kms:Decrypt", "kms:GenerateDataKey*"], resources=["*"],
            principals=[iam.ServicePrincipal(f"{name}.amazonaws.com") for name in _SERVICES],
            conditions={"StringEquals": {"aws:SourceAccount": self.account}},
        ))  # fmt: skip
        executions = _table(self, "Executions", keys.executions_table("-"), key, removal)
        catalog = _table(self, "Catalog", keys.catalog_table("-"), key, removal)
        events = _table(self, "Events", keys.events_table("-"), key, removal)
        connections = _table(self, "Connections", keys.connections_table("-"), key, RemovalPolicy.DESTROY)
        logs = s3.Bucket(
            self, "AccessLogs", encryption=s3.BucketEncryption.S3_MANAGED, enforce_ssl=True, removal_policy=removal,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            lifecycle_rules=[s3.LifecycleRule(expiration=Duration.days(settings.log_days))],
        )  # fmt: skip
        accept(logs, {"AwsSolutions-S1": "it is the bucket of access logs itself"})
        bucket = s3.Bucket(
            self, "Artifacts", encryption=s3.BucketEncryption.KMS, encryption_key=key, bucket_key_enabled=True,
            enforce_ssl=True, minimum_tls_version=1.2, versioned=True, removal_policy=removal,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            server_access_logs_bucket=logs, server_access_logs_prefix="artifacts/",
            lifecycle_rules=[s3.LifecycleRule(
                expiration=Duration.days(settings.artifact_days), noncurrent_version_expiration=Duration.days(7),
                abort_incomplete_multipart_upload_after=Duration.days(2),
            )],
        )  # fmt: skip
        topic = sns.Topic(self, "Notifications", master_key=key, enforce_ssl=True)
        self.store = Store(
            executions=executions, catalog=catalog, events=events, connections=connections, bucket=bucket, key=key, topic=topic,
            executions_arn=_exported(self, executions.table_arn), catalog_arn=_exported(self, catalog.table_arn),
            events_arn=_exported(self, events.table_arn), connections_arn=_exported(self, connections.table_arn),
            bucket_arn=_exported(self, bucket.bucket_arn),
        )  # fmt: skip
        self.identity = Identity(self, "Identity", settings=settings, removal=removal)


def _exported(stack: Stack, arn: str) -> str:
    return str(stack.export_value(arn))


def _table(scope: Construct, id: str, described: dict[str, Any], key: kms.IKey, removal: RemovalPolicy) -> dynamodb.Table:
    """A table as `aslant.keys` describes it for DynamoDB's CreateTable."""
    streamed = described.get("StreamSpecification")
    table = dynamodb.Table(
        scope, id, **_keys(described), billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
        stream=dynamodb.StreamViewType(streamed["StreamViewType"]) if streamed else None,
        encryption=dynamodb.TableEncryption.CUSTOMER_MANAGED, encryption_key=key, time_to_live_attribute="ttl",
        point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(point_in_time_recovery_enabled=True),
        removal_policy=removal, deletion_protection=removal is RemovalPolicy.RETAIN,
    )  # fmt: skip
    for index in described.get("GlobalSecondaryIndexes", ()):
        table.add_global_secondary_index(index_name=index["IndexName"], **_keys(index))
    return table


def _keys(described: dict[str, Any]) -> dict[str, dynamodb.Attribute]:
    names = {"HASH": "partition_key", "RANGE": "sort_key"}
    return {
        names[row["KeyType"]]: dynamodb.Attribute(name=row["AttributeName"], type=dynamodb.AttributeType.STRING)
        for row in described["KeySchema"]
    }
