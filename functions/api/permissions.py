"""Who may call which route: one row each, and whose thing it is about. A route without a row is open to nobody."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from aslant import bootstrap, serving
from aslant.access import Action, Caller
from aslant.errors import NotFoundError
from aslant.settings import Settings

Owner = Callable[[Settings, Caller, Mapping[str, Any]], str]
Rule = tuple[Action, Owner | None]


def _of_execution(settings: Settings, caller: Caller, arguments: Mapping[str, str]) -> str:
    return bootstrap.executions(settings).get(caller.tenant, arguments["execution_id"]).user


def _of_workflow(settings: Settings, caller: Caller, arguments: Mapping[str, str]) -> str:
    return bootstrap.catalog(settings).get(caller.tenant, arguments["workflow_id"]).owner


def _of_trigger(settings: Settings, caller: Caller, arguments: Mapping[str, str]) -> str:
    return bootstrap.catalog(settings).get(caller.tenant, arguments["trigger_id"].rpartition(":")[0]).owner


def _of_body(settings: Settings, caller: Caller, arguments: Mapping[str, Any]) -> str:
    """The owner of the workflow that a body names."""
    return bootstrap.catalog(settings).get(caller.tenant, arguments["body"].workflow).owner


def _of_template(settings: Settings, caller: Caller, arguments: Mapping[str, str]) -> str:
    found = serving.templates(settings).read(caller.tenant, arguments["template_id"])
    if found is None:
        raise NotFoundError("there is no such template")
    return found.owner


# None: no token is needed, and nothing of a tenant is told.
ROUTES: Mapping[tuple[str, str], Rule | None] = {
    ("GET", "/health"): None,
    ("GET", "/ready"): None,
    ("GET", "/metrics"): None,
    ("GET", "/openapi.json"): None,
    ("GET", "/docs"): None,
    ("GET", "/approvals/answer"): None,   # its signed link is the right to see it
    ("POST", "/approvals/answer"): None,
    ("POST", "/hooks/{hook_id}"): None,   # its call is signed
    ("POST", "/workflows"): ("create", None),
    ("POST", "/workflows/create"): ("create", None),
    ("GET", "/workflows"): ("read", None),
    ("GET", "/workflows/{workflow_id}"): ("read", _of_workflow),
    ("PUT", "/workflows/{workflow_id}"): ("update", _of_workflow),
    ("PATCH", "/workflows/{workflow_id}"): ("update", _of_workflow),
    ("POST", "/workflows/{workflow_id}/versions"): ("update", _of_workflow),
    ("DELETE", "/workflows/{workflow_id}"): ("delete", _of_workflow),
    ("POST", "/workflows/{workflow_id}/validate"): ("read", _of_workflow),
    ("POST", "/workflows/{workflow_id}/publish"): ("update", _of_workflow),
    ("POST", "/workflows/{workflow_id}/deprecate"): ("update", _of_workflow),
    ("POST", "/workflows/{workflow_id}/rollback"): ("update", _of_workflow),
    ("GET", "/workflows/{workflow_id}/versions"): ("read", _of_workflow),
    ("GET", "/workflows/{workflow_id}/versions/{version}"): ("read", _of_workflow),
    ("GET", "/workflows/{workflow_id}/diff"): ("read", _of_workflow),
    ("GET", "/workflows/{workflow_id}/asl"): ("read", _of_workflow),
    ("GET", "/workflows/{workflow_id}/graph"): ("read", _of_workflow),
    ("GET", "/workflows/{workflow_id}/estimate"): ("read", _of_workflow),
    ("GET", "/workflows/{workflow_id}/schema"): ("read", _of_workflow),
    ("GET", "/workflows/{workflow_id}/metrics"): ("read", _of_workflow),
    ("GET", "/workflows/{workflow_id}/steps/metrics"): ("read", _of_workflow),
    ("GET", "/workflows/{workflow_id}/triggers"): ("read", _of_workflow),
    ("POST", "/workflows/{workflow_id}/execute"): ("execute", None),
    ("GET", "/workflows/{workflow_id}/executions"): ("read", _of_workflow),
    ("GET", "/executions"): ("read", None),
    ("GET", "/executions/{execution_id}"): ("read", _of_execution),
    ("GET", "/workflows/executions/{execution_id}"): ("read", _of_execution),
    ("GET", "/workflows/{workflow_id}/executions/{execution_id}"): ("read", _of_execution),
    ("GET", "/executions/{execution_id}/events"): ("read", _of_execution),
    ("GET", "/workflows/executions/{execution_id}/events"): ("read", _of_execution),
    ("GET", "/executions/{execution_id}/logs"): ("read", _of_execution),
    ("GET", "/executions/{execution_id}/timeline"): ("read", _of_execution),
    ("GET", "/executions/{execution_id}/transitions"): ("read", _of_execution),
    ("POST", "/executions/{execution_id}/pause"): ("execute", _of_execution),
    ("POST", "/workflows/executions/{execution_id}/pause"): ("execute", _of_execution),
    ("POST", "/executions/{execution_id}/cancel"): ("execute", _of_execution),
    ("POST", "/workflows/executions/{execution_id}/cancel"): ("execute", _of_execution),
    ("POST", "/executions/{execution_id}/resume"): ("execute", _of_execution),
    ("POST", "/workflows/executions/{execution_id}/resume"): ("execute", _of_execution),
    ("POST", "/executions/{execution_id}/retry"): ("execute", _of_execution),
    ("POST", "/workflows/executions/{execution_id}/retry"): ("execute", _of_execution),
    ("POST", "/executions/{execution_id}/rerun"): ("execute", _of_execution),
    ("POST", "/executions/{execution_id}/rollback"): ("execute", _of_execution),
    ("POST", "/workflows/executions/{execution_id}/rollback"): ("execute", _of_execution),
    ("GET", "/executions/{execution_id}/checkpoints"): ("read", _of_execution),
    ("POST", "/executions/{execution_id}/checkpoints"): ("execute", _of_execution),
    ("GET", "/executions/{execution_id}/checkpoints/{number}"): ("read", _of_execution),
    ("POST", "/executions/{execution_id}/checkpoints/{number}/restore"): ("execute", _of_execution),
    ("DELETE", "/executions/{execution_id}/checkpoints/{number}"): ("execute", _of_execution),
    ("GET", "/triggers"): ("read", None),
    ("POST", "/triggers"): ("update", _of_body),
    ("GET", "/triggers/{trigger_id}"): ("read", _of_trigger),
    ("PUT", "/triggers/{trigger_id}"): ("update", _of_trigger),
    ("PATCH", "/triggers/{trigger_id}"): ("update", _of_trigger),
    ("DELETE", "/triggers/{trigger_id}"): ("update", _of_trigger),
    ("GET", "/schedules"): ("read", None),
    ("POST", "/schedules"): ("update", _of_body),
    ("GET", "/schedules/{trigger_id}"): ("read", _of_trigger),
    ("PUT", "/schedules/{trigger_id}"): ("update", _of_trigger),
    ("PATCH", "/schedules/{trigger_id}"): ("update", _of_trigger),
    ("DELETE", "/schedules/{trigger_id}"): ("update", _of_trigger),
    ("GET", "/skills"): ("read", None),
    ("POST", "/skills"): ("create", None),
    ("POST", "/agents/register"): ("create", None),
    ("POST", "/workflows/agents/register"): ("create", None),
    ("GET", "/skills/{skill_name}"): ("read", None),
    ("GET", "/skills/{skill_name}/versions"): ("read", None),
    ("PATCH", "/skills/{skill_name}"): ("update", None),
    ("DELETE", "/skills/{skill_name}"): ("delete", None),
    ("GET", "/templates"): ("read", None),
    ("POST", "/templates"): ("create", None),
    ("GET", "/templates/{template_id}"): ("read", _of_template),
    ("PUT", "/templates/{template_id}"): ("update", _of_template),
    ("DELETE", "/templates/{template_id}"): ("delete", _of_template),
    ("POST", "/templates/{template_id}/instantiate"): ("create", None),
    ("POST", "/compose"): ("create", None),
    ("POST", "/optimize"): ("read", None),
    ("GET", "/audit"): ("audit", None),
    ("GET", "/approvals"): ("read", None),
    ("GET", "/approvals/{approval_id}"): ("read", None),
    ("POST", "/approvals/{approval_id}/approve"): ("approve", None),
    ("POST", "/approvals/{approval_id}/reject"): ("approve", None),
    ("POST", "/approvals/{approval_id}/answer"): ("approve", None),
}
