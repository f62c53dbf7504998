"""What functions and state machines run with: the bus, the role of timers, the role of machines that the API publishes."""

from __future__ import annotations

from typing import Any

from aws_cdk import Stack
from aws_cdk import aws_apigatewayv2 as gateway
from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from aws_cdk import aws_scheduler as scheduler
from constructs import Construct

from aslant import sla, triggers
from aslant.approvals import service as approvals
from aslant.installation import schedule_group
from infra.constructs.estate import Engine, Store, arn, function_arn
from infra.constructs.function import access_logs
from infra.constructs.machines import machine_role
from infra.constructs.rights import allow
from infra.inventory import STEPS
from infra.settings import StageSettings

_FIELDS = ("requestId", "ip", "requestTime", "routeKey", "status", "connectionId", "eventType", "integrationErrorMessage")
_CALLED_LATER = (approvals.FUNCTION, sla.FUNCTION, triggers.FUNCTION)


class EngineStack(Stack):
    def __init__(self, scope: Construct, id: str, *, settings: StageSettings, store: Store, **stack: Any) -> None:
        super().__init__(scope, id, **stack)
        bus = events.EventBus(self, "Bus", description="Events of executions, approvals and workflows")
        timers = iam.Role(self, "Timers", assumed_by=_service("scheduler", self.account), description="Calls functions later")
        timers.add_to_policy(allow(
            ("lambda:InvokeFunction",), [function_arn(self, settings.function(name)) for name in _CALLED_LATER],
        ))  # fmt: skip
        if (group := schedule_group(settings.name)) != "default":
            scheduler.CfnScheduleGroup(self, "Schedules", name=group)
        machines = machine_role(
            self, "Machines", store=store, functions=[settings.function(spec.name) for spec in STEPS.values()],
            starts=[arn(self, "states", "stateMachine:*")], runs_itself=True,
        )  # fmt: skip
        sockets = gateway.WebSocketApi(self, "Sockets", description="Events of an execution, as they happen")
        stage = gateway.WebSocketStage(
            self, "SocketsStage", web_socket_api=sockets, stage_name="live", auto_deploy=True,
            throttle=gateway.ThrottleSettings(rate_limit=settings.api_rate, burst_limit=settings.api_burst),
        )  # fmt: skip
        access_logs(self, "SocketsLogs", stage, settings, _FIELDS)
        self.engine = Engine(
            sockets=sockets, sockets_id=str(self.export_value(sockets.api_id)), sockets_url=stage.callback_url,
            bus_name=bus.event_bus_name, bus_arn=bus.event_bus_arn, scheduler_role=timers, machine_role=machines,
        )  # fmt: skip


def _service(name: str, account: str) -> iam.IPrincipal:
    return iam.ServicePrincipal(f"{name}.amazonaws.com", conditions={"StringEquals": {"aws:SourceAccount": account}})
