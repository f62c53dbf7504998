"""What a set of compiled workflows needs of the local cloud: functions, machines, secrets, the table of executions."""

from __future__ import annotations

import hashlib
import importlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from aslant import keys
from aslant.settings import Settings
from infra.inventory import SERVICES, STEPS, FunctionSpec
from infra.local.cloud import LocalCloud
from infra.local.functions import ACCOUNT, Handler
from translator.pipeline import Compilation, MissingWorkflow

TENANT = "default"  # what a step takes without one, as in executions that were started by hand
NOTIFY_TOPIC = f"arn:aws:sns:us-east-1:{ACCOUNT}:aslant-notifications"
EMAIL_FROM = "workflows@example.com"

Wrap = Callable[[Handler], Handler]


def create_store(cloud: LocalCloud, settings: Settings, *, key: bool = True) -> None:
    """The tables and the bucket that steps and executions are kept with, and the key of approvals; what is there stays."""
    # By a request, which also loads what the first step would load within its time, which may run faster.
    there = set(cloud.client("dynamodb").list_tables()["TableNames"])
    for table in (
        keys.executions_table(settings.executions_table), keys.catalog_table(settings.catalog_table),
        keys.events_table(settings.events_table), keys.connections_table(settings.connections_table),
    ):
        if table["TableName"] not in there:
            cloud.table(table)
    if key:
        kms = cloud.client("kms")
        if settings.key not in {alias["AliasName"] for alias in kms.list_aliases()["Aliases"]}:
            kms.create_alias(AliasName=settings.key, TargetKeyId=kms.create_key()["KeyMetadata"]["KeyId"])
    cloud.client("s3").create_bucket(Bucket=settings.bucket)  # a repeated call changes nothing in us-east-1


def register_functions(
    cloud: LocalCloud, compilations: Sequence[Compilation], wrap: Wrap, *, warm: bool
) -> dict[str, str]:
    """Registers the function of every step type in use, each wrapped by `wrap`; their names by step type.

    Makes sure that there is a store: no step runs without it. `warm` imports them now: where time runs faster, the import
    of a first call would use up the step's timeout.
    """
    machines = [*compilations, *(one.rollback for one in compilations if one.rollback is not None)]
    types = {step_type for machine in machines for step_type in machine.functions.values()}
    create_store(cloud, Settings.read(), key="approval" in types)
    for step_type in sorted(types):
        _register(cloud, STEPS[step_type], wrap, warm)
    return {step_type: STEPS[step_type].name for step_type in types}


def register_everything(cloud: LocalCloud, wrap: Wrap, *, warm: bool) -> None:
    """Registers the functions of all step types, whatever is published later, and those that keep the records."""
    for spec in STEPS.values():
        _register(cloud, spec, wrap, warm)
    for spec in SERVICES:
        _register(cloud, spec, lambda handler: handler, warm)


def _register(cloud: LocalCloud, spec: FunctionSpec, wrap: Wrap, warm: bool) -> None:
    cloud.function(spec.name, wrap(_handler(spec.module, warm)), timeout=spec.timeout)


def _handler(module: str, warm: bool) -> Handler:
    handler: Handler = importlib.import_module(module).handler if warm else _lazy(module)
    return handler


def _lazy(module: str) -> Handler:
    """A handler whose module is imported by its first call, as in a cold Lambda."""

    def handler(event: dict[str, Any], context: Any) -> Any:
        return importlib.import_module(module).handler(event, context)

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
    undoing: dict[str, str] = {}

    def create(workflow: str, caller: str) -> str:
        if workflow in arns:
            return arns[workflow]
        if workflow not in by_id:
            if not simulate:
                raise MissingWorkflow(workflow, caller)
            arns[workflow] = cloud.state_machine(machine_name(workflow), _stand_in(workflow))
            return arns[workflow]
        one = by_id[workflow]
        arns[workflow] = cloud.state_machine(machine_name(workflow), bound(one), type=one.type)
        return arns[workflow]

    def undo(workflow: str) -> str:
        """The machine that undoes executions of a workflow."""
        if workflow not in undoing:
            rollback = by_id[workflow].rollback
            assert rollback is not None
            undoing[workflow] = cloud.state_machine(rollback_name(workflow), bound(rollback))
        return undoing[workflow]

    def bound(compilation: Compilation) -> str:
        targets = {place: functions[step_type] for place, step_type in compilation.functions.items()}
        targets |= {place: create(child, compilation.workflow.id) for place, child in compilation.workflows.items()}
        targets |= {place: undo(workflow) for place, workflow in compilation.rollbacks.items()}
        known = by_id.get(compilation.workflow.id)
        names = part_names(compilation, undoes=known is not None and compilation is known.rollback)
        targets |= {place: f"arn:aws:states:{cloud.region}:{ACCOUNT}:stateMachine:{name}" for place, name in names.items()}
        for place, text in compilation.bind_parts(targets).items():
            cloud.state_machine(names[place], text)
        return compilation.bind(targets)

    for compilation in compilations:
        create(compilation.workflow.id, "")
        if compilation.rollback is not None:
            undo(compilation.workflow.id)
    return arns


def machine_name(workflow: str) -> str:
    """A legal name of a state machine: the workflow's id where it is one, else the nearest with a mark of the id."""
    legal = re.sub(r"[^A-Za-z0-9_-]+", "-", workflow).strip("-")[:60]
    if legal and legal == workflow:
        return legal
    return f"{legal or 'workflow'}-{hashlib.sha256(workflow.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def part_names(compilation: Compilation, *, undoes: bool) -> dict[str, str]:
    """The names of the state machines that run parts of a workflow's, or of the one that undoes it, by their placeholders."""
    prefix = f"{machine_name(compilation.workflow.id)}-{'u' if undoes else 'p'}"
    return {place: prefix + place.rpartition("_")[2] for place in compilation.parts}


def rollback_name(workflow: str) -> str:
    """The name of the state machine that undoes executions of a workflow."""
    return f"{machine_name(workflow)}-rollback"


def rollback_arn(machine: str, workflow: str) -> str:
    """The ARN of the state machine that undoes what `machine`, that of the workflow, did."""
    return f"{machine.rpartition(':')[0]}:{rollback_name(workflow)}"


def _stand_in(workflow: str) -> dict[str, Any]:
    name = workflow if not workflow.startswith("{%") else f" {workflow}"  # never read as code
    output = {"simulated": True, "workflow": name, "input": "{% $states.input.input %}"}
    return {"QueryLanguage": "JSONata", "StartAt": "simulated",
        "States": {"simulated": {"Type": "Pass", "Output": output, "End": True}}}


def create_channels(cloud: LocalCloud, compilations: Sequence[Compilation], settings: Settings) -> None:
    """The topic and the email sender that notifications use when they name none."""
    if not any({"notify", "approval", "email"} & {*compilation.functions.values()} for compilation in compilations):
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
