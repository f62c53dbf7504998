"""What a set of compiled workflows needs of the local cloud: functions, machines, secrets, the table of executions."""

from __future__ import annotations

import hashlib
import importlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from aslant.settings import Settings
from aslant.step_types import STEP_TYPES, function_name
from infra.local.cloud import LocalCloud
from infra.local.functions import ACCOUNT, Handler
from translator.pipeline import Compilation

TENANT = "default"  # what a step takes without one, as in executions that were started by hand
NOTIFY_TOPIC = f"arn:aws:sns:us-east-1:{ACCOUNT}:aslant-notifications"
EMAIL_FROM = "workflows@example.com"

Wrap = Callable[[Handler], Handler]


class MissingWorkflow(Exception):
    """A sub-workflow that is called, but among no definitions. `workflow` is its id, `caller` who calls it."""

    def __init__(self, workflow: str, caller: str) -> None:
        self.workflow, self.caller = workflow, caller
        super().__init__(f"{caller} calls the workflow {workflow}, which is not among the definitions")


def register_functions(
    cloud: LocalCloud, compilations: Sequence[Compilation], wrap: Wrap, *, warm: bool
) -> dict[str, str]:
    """Registers the function of every step type in use, each wrapped by `wrap`; their names by step type.

    `warm` imports them now: where time runs faster, the import of a first call would use up the step's timeout.
    """
    types = {step_type for compilation in compilations for step_type in compilation.functions.values()}
    for step_type in sorted(types):
        folder = STEP_TYPES[step_type].folder or "unavailable"
        handler = importlib.import_module(f"functions.steps.{folder}.handler").handler if warm else _lazy(folder)
        cloud.function(function_name(step_type), wrap(handler))
    return {step_type: function_name(step_type) for step_type in types}


def _lazy(folder: str) -> Handler:
    """A handler whose module is imported by its first call, as in a cold Lambda."""

    def handler(event: dict[str, Any], context: Any) -> Any:
        return importlib.import_module(f"functions.steps.{folder}.handler").handler(event, context)

    return handler


def create_machines(
    cloud: LocalCloud, compilations: Sequence[Compilation], functions: Mapping[str, str], *, simulate: bool
) -> dict[str, str]:
    """Creates a state machine per workflow, children before parents; ARNs by workflow id.

    A sub-workflow that nobody defines gets a machine that returns a marked result with `simulate`; without, it raises
    MissingWorkflow.
    """
    by_id = {compilation.workflow.id: compilation for compilation in compilations}
    arns: dict[str, str] = {}

    def create(workflow: str, caller: str) -> str:
        if workflow in arns:
            return arns[workflow]
        if workflow not in by_id:
            if not simulate:
                raise MissingWorkflow(workflow, caller)
            arns[workflow] = cloud.state_machine(machine_name(workflow), _stand_in(workflow))
            return arns[workflow]
        compilation = by_id[workflow]
        targets = {place: functions[step_type] for place, step_type in compilation.functions.items()}
        targets |= {place: create(child, workflow) for place, child in compilation.workflows.items()}
        arns[workflow] = cloud.state_machine(machine_name(workflow), compilation.bind(targets))
        return arns[workflow]

    for compilation in compilations:
        create(compilation.workflow.id, "")
    return arns


def machine_name(workflow: str) -> str:
    """A legal name of a state machine: the workflow's id where it is one, else the nearest with a mark of the id."""
    legal = re.sub(r"[^A-Za-z0-9_-]+", "-", workflow).strip("-")[:60]
    if legal and legal == workflow:
        return legal
    return f"{legal or 'workflow'}-{hashlib.sha256(workflow.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def _stand_in(workflow: str) -> dict[str, Any]:
    name = workflow if not workflow.startswith("{%") else f" {workflow}"  # never read as code
    output = {"simulated": True, "workflow": name, "input": "{% $states.input.input %}"}
    return {"QueryLanguage": "JSONata", "StartAt": "simulated",
        "States": {"simulated": {"Type": "Pass", "Output": output, "End": True}}}


def create_channels(cloud: LocalCloud, compilations: Sequence[Compilation], settings: Settings) -> None:
    """The topic and the email sender that notifications use when they name none."""
    if not any("notify" in compilation.functions.values() for compilation in compilations):
        return
    if settings.notify_topic == NOTIFY_TOPIC:
        cloud.client("sns").create_topic(Name=NOTIFY_TOPIC.rpartition(":")[2])
    cloud.client("ses").verify_email_identity(EmailAddress=settings.email_from)


def store_secrets(cloud: LocalCloud, secrets: Mapping[str, str], prefix: str) -> None:
    """Puts secrets where steps of this tenant look for them."""
    if secrets:
        client = cloud.client("secretsmanager")
        for name, value in secrets.items():
            client.create_secret(Name=f"{prefix}{TENANT}/{name}", SecretString=value)
