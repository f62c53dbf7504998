"""State machines of compiled workflows: each with a role that may call exactly what it calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aws_cdk import RemovalPolicy, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from aws_cdk import aws_stepfunctions as sfn
from constructs import Construct

from infra.constructs.estate import Store, arn, function_arn
from infra.constructs.nag import accept_stars
from infra.constructs.rights import allow

_NESTED = "rule/StepFunctionsGetEventsForStepFunctionsExecutionRule"


def machine_role(
    scope: Construct, id: str, *, store: Store, functions: Sequence[str], starts: Sequence[str], runs_itself: bool = False,
    objects: bool = True,
) -> iam.Role:
    """A role of state machines. `functions`: names; `starts`: ARNs of state machines, whose executions are awaited, too."""
    stack = Stack.of(scope)
    role = iam.Role(scope, id, assumed_by=iam.ServicePrincipal(
        "states.amazonaws.com", conditions={"StringEquals": {"aws:SourceAccount": stack.account}},
    ))  # fmt: skip
    statements = []
    if functions:
        statements.append(allow(("lambda:InvokeFunction",), [function_arn(stack, name) for name in sorted(functions)]))
    if starts:
        statements.append(allow(("states:StartExecution",), list(starts)))
    if starts or runs_itself:
        runs, rule = arn(stack, "states", "execution:*:*"), arn(stack, "events", _NESTED, separator="/")
        statements.append(allow(("states:DescribeExecution", "states:StopExecution"), (runs,)))
        statements.append(allow(("events:PutTargets", "events:PutRule", "events:DescribeRule"), (rule,)))
    if objects:
        statements.append(allow(("s3:GetObject", "s3:PutObject"), (f"{store.bucket_arn}/*",)))
        statements.append(allow(("kms:Decrypt", "kms:GenerateDataKey"), (store.key.key_arn,)))
    for statement in statements:
        role.add_to_policy(statement)
    accept_stars(role, statements)
    return role


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineFacts:
    """A state machine to be made. `definition` is complete but for tokens."""

    name: str
    definition: str
    kind: str            # STANDARD or EXPRESS
    functions: Sequence[str]
    starts: Sequence[str]
    runs_itself: bool
    objects: bool


class Machine(Construct):
    """A state machine with a version and the alias `live`. Old versions stay, so that their executions can be gone on with.

    `version_arn` is what executions are started of.
    """

    def __init__(
        self, scope: Construct, id: str, *, facts: MachineFacts, mark: str, store: Store, log_group: logs.ILogGroup,
        tracing: bool,
    ) -> None:
        super().__init__(scope, id)
        stack = Stack.of(self)
        role = machine_role(
            self, "Role", store=store, functions=facts.functions, starts=facts.starts, runs_itself=facts.runs_itself,
            objects=facts.objects,
        )  # fmt: skip
        machine = sfn.StateMachine(
            self, "Machine", state_machine_name=facts.name, role=role, tracing_enabled=tracing,
            definition_body=sfn.DefinitionBody.from_string(facts.definition),
            state_machine_type=sfn.StateMachineType[facts.kind],
            logs=sfn.LogOptions(destination=log_group, level=sfn.LogLevel.ALL, include_execution_data=False),
        )  # fmt: skip
        if facts.runs_itself:
            role.add_to_policy(allow(("states:StartExecution",), (arn(stack, "states", f"stateMachine:{facts.name}"),)))
        version = sfn.CfnStateMachineVersion(
            self, f"Version{mark}", state_machine_arn=machine.state_machine_arn,
            state_machine_revision_id=machine.state_machine_revision_id, description=mark,
        )  # fmt: skip
        version.apply_removal_policy(RemovalPolicy.RETAIN)
        self.version_arn = version.ref
        alias = sfn.CfnStateMachineAlias(
            self, "Live", name="live",
            deployment_preference=sfn.CfnStateMachineAlias.DeploymentPreferenceProperty(
                state_machine_version_arn=version.ref, type="ALL_AT_ONCE",
            ),
        )  # fmt: skip
        self.alias_arn, self.machine = alias.ref, machine
