"""The composition root of the service: adapters that no step needs. See `aslant.bootstrap`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aslant.settings import Settings

if TYPE_CHECKING:
    from aslant.adapters.dynamo_repeats import DynamoRepeats
    from aslant.analytics import Stats
    from aslant.audit import AuditStore
    from aslant.event_log import Connections, EventLog, Sender
    from aslant.templates import TemplateStore
    from aslant.triggers import Subscriptions


def subscriptions(settings: Settings) -> Subscriptions:
    """The catalog table."""
    from aslant.adapters.dynamo_triggers import DynamoSubscriptions

    return DynamoSubscriptions(settings.region, settings.catalog_table)


def repeats(settings: Settings) -> DynamoRepeats:
    """Requests to the API that may come again, in the executions table."""
    from aslant.adapters.dynamo_repeats import DynamoRepeats

    return DynamoRepeats(settings.region, settings.executions_table)


def audit_store(settings: Settings) -> AuditStore:
    """The executions table."""
    from aslant.adapters.dynamo_audit import DynamoAudit

    return DynamoAudit(settings.region, settings.executions_table)


def event_log(settings: Settings) -> EventLog:
    from aslant.adapters.dynamo_event_log import DynamoEventLog

    return DynamoEventLog(settings.region, settings.events_table)


def connections(settings: Settings) -> Connections:
    from aslant.adapters.dynamo_event_log import DynamoConnections

    return DynamoConnections(settings.region, settings.connections_table)


def sender(settings: Settings) -> Sender:
    """API Gateway, at the stage of the WebSocket API."""
    from aslant.adapters.dynamo_event_log import GatewaySender

    return GatewaySender(settings.region, settings.stream_url)


def stats(settings: Settings) -> Stats:
    """Figures in the executions table."""
    from aslant.adapters.dynamo_stats import DynamoStats

    return DynamoStats(settings.region, settings.executions_table)


def templates(settings: Settings) -> TemplateStore:
    """The catalog table."""
    from aslant.adapters.dynamo_templates import DynamoTemplates

    return DynamoTemplates(settings.region, settings.catalog_table)
