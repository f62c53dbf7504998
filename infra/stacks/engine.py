"""What functions and state machines run with: the bus, the role of timers, the role of machines that the API publishes."""

from __future__ import annotations

from typing import Any

from aws_cdk import Stack
from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from constructs import Construct

from aslant import sla, triggers
from aslant.approvals import service as approvals
from infra.constructs.estate import Engine, Store, arn, function_arn
from infra.constructs.machines import machine_role
from infra.constructs.rights import allow
from infra.inventory import STEPS

_CALLED_LATER = (approvals.FUNCTION, sla.FUNCTION, triggers.FUNCTION)


class EngineStack(Stack):
    def __init__(self, scope: Construct, id: str, *, store: Store, **stack: Any) -> None:
        super().__init__(scope, id, **stack)
        bus = events.EventBus(self, "Bus", description="Events of executions, approvals and workflows")
        timers = iam.Role(self, "Timers", assumed_by=_service("scheduler", self.account), description="Calls functions later")
        timers.add_to_policy(allow(
            ("lambda:InvokeFunction",), [function_arn(self, name) for name in _CALLED_LATER],
        ))  # fmt: skip
        machines = machine_role(
            self, "Machines", store=store, functions=[spec.name for spec in STEPS.values()],
            starts=[arn(self, "states", "stateMachine:*")], runs_itself=True,
        )  # fmt: skip
        self.engine = Engine(
            bus_name=bus.event_bus_name, bus_arn=bus.event_bus_arn, scheduler_role=timers, machine_role=machines,
        )  # fmt: skip


def _service(name: str, account: str) -> iam.IPrincipal:
    return iam.ServicePrincipal(f"{name}.amazonaws.com", conditions={"StringEquals": {"aws:SourceAccount": account}})
