"""What calls functions by itself: streams of the tables, rules of the buses, and queues between."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aws_cdk import Duration, Stack
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.constructs.estate import Engine, Store
from infra.constructs.nag import DEAD_LETTERS, accept, accept_stars
from infra.constructs.rights import allow
from infra.inventory import (
    FUNCTIONS,
    NOTICES,
    PUBLISH_EVENTS,
    QUEUE_BATCH,
    QUEUES,
    RECORD_EXECUTION,
    RULES,
    STREAM_BATCH,
    STREAM_PARALLEL,
    QueueSpec,
)  # fmt: skip

_RECEIVE = ("sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ChangeMessageVisibility")
_FOLLOW = ("dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator")


class EventsStack(Stack):
    """`dead` are the queues of what failed for good."""

    def __init__(
        self, scope: Construct, id: str, *, store: Store, engine: Engine, functions: Mapping[str, lambda_.Function],
        dead_letters: sqs.IQueue, **stack: Any,
    ) -> None:
        super().__init__(scope, id, **stack)
        self.dead: dict[str, sqs.Queue] = {}
        bus = events.EventBus.from_event_bus_arn(self, "Bus", engine.bus_arn)
        for spec in QUEUES:
            self._queue(spec, store, functions[spec.function], bus)
        for rule in RULES:
            self._call(_id(rule.name), rule.pattern, functions[rule.function], bus)
        self._call("Notices", NOTICES, functions[RECORD_EXECUTION], None)
        publisher = functions[PUBLISH_EVENTS]
        streams = {"Executions": store.executions.table_stream_arn, "Catalog": store.catalog.table_stream_arn}
        rights = iam.Policy(self, "Streams", roles=[_role(publisher)], statements=[
            allow(_FOLLOW, [one for one in streams.values() if one]), allow(("dynamodb:ListStreams",), ("*",)),
        ])  # fmt: skip
        accept_stars(rights, [])
        for name, stream in streams.items():
            mapping = lambda_.EventSourceMapping(
                self, f"{name}Stream", target=publisher, event_source_arn=stream, batch_size=STREAM_BATCH,
                parallelization_factor=STREAM_PARALLEL, starting_position=lambda_.StartingPosition.TRIM_HORIZON,
                report_batch_item_failures=True, bisect_batch_on_error=False,  # it retries without end: order is kept
            )  # fmt: skip
            mapping.node.add_dependency(rights)

    def _call(
        self, id: str, pattern: Mapping[str, Any], function: lambda_.Function, bus: events.IEventBus | None
    ) -> None:
        """A rule that calls a function. The permission is made here: L2 would put it into the function's stack."""
        rule = _rule(self, f"{id}Rule", pattern, bus)
        rule.add_target(targets.LambdaFunction(
            lambda_.Function.from_function_arn(self, f"{id}Function", function.function_arn), retry_attempts=10,
            max_event_age=Duration.hours(24),
        ))  # fmt: skip
        lambda_.CfnPermission(
            self, f"{id}Permission", action="lambda:InvokeFunction", principal="events.amazonaws.com",
            function_name=function.function_arn, source_arn=rule.rule_arn,
        )  # fmt: skip

    def _queue(self, spec: QueueSpec, store: Store, function: lambda_.Function, bus: events.IEventBus) -> None:
        name = _id(spec.name)
        dead = sqs.Queue(
            self, f"{name}Dead", retention_period=Duration.days(14), enforce_ssl=True, encryption=sqs.QueueEncryption.KMS,
            encryption_master_key=store.key,
        )  # fmt: skip
        accept(dead, DEAD_LETTERS)
        queue = sqs.Queue(
            self, f"{name}Queue", enforce_ssl=True, encryption=sqs.QueueEncryption.KMS, encryption_master_key=store.key,
            # https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html: six times the function's timeout
            visibility_timeout=Duration.seconds(6 * FUNCTIONS[spec.function].timeout),
            dead_letter_queue=sqs.DeadLetterQueue(queue=dead, max_receive_count=spec.receives),
        )  # fmt: skip
        self.dead[spec.dead] = dead
        for number, pattern in enumerate(spec.rules.values(), 1):
            rule = _rule(self, f"{name}Rule{number}", pattern, bus)
            rule.add_target(targets.SqsQueue(queue))
        rights = iam.Policy(self, f"{name}Rights", roles=[_role(function)], statements=[
            allow(_RECEIVE, [queue.queue_arn]), allow(("kms:Decrypt",), [store.key.key_arn]),
        ])  # fmt: skip
        mapping = lambda_.EventSourceMapping(
            self, f"{name}Mapping", target=function, event_source_arn=queue.queue_arn, batch_size=QUEUE_BATCH,
            report_batch_item_failures=True,
        )  # fmt: skip
        mapping.node.add_dependency(rights)


def _role(function: lambda_.Function) -> iam.IRole:
    assert function.role is not None
    return function.role


def _id(name: str) -> str:
    return "".join(part.title() for part in name.removeprefix("aslant-").split("-"))


def _rule(scope: Construct, id: str, pattern: Mapping[str, Any], bus: events.IEventBus | None = None) -> events.Rule:
    """A rule with a pattern as the inventory has it: `$or` has no property in the L2 construct."""
    rule = events.Rule(scope, id, event_bus=bus, event_pattern=events.EventPattern(source=["-"]))
    low = rule.node.default_child
    assert isinstance(low, events.CfnRule)
    low.event_pattern = dict(pattern)
    return rule
