"""The workflows that ship: state machines, and what is known of them in the catalog, with schedules and webhooks."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from aws_cdk import CfnOutput, CustomResource, Stack
from constructs import Construct

from functions.register_workflow.logic import packed
from infra.cli.publishing import written_of
from infra.constructs.estate import Store, function_arn
from infra.constructs.function import log_group
from infra.constructs.machines import Machine, MachineFacts
from infra.inventory import REGISTER, STEPS
from infra.local.provision import machine_name, part_names, rollback_name
from infra.settings import StageSettings
from translator.asl.needs import Needs
from translator.pipeline import Compilation, MissingWorkflow
from translator.release import release_of


def shares(compilations: Sequence[Compilation], count: int) -> list[list[Compilation]]:
    """Workflows by stack: each goes by its id, those that call each other stay together."""
    group: dict[str, str] = {one.workflow.id: one.workflow.id for one in compilations}

    def head(id: str) -> str:
        while group[id] != id:
            id = group[id]
        return id

    for one in compilations:
        for called in {*one.workflows.values(), *one.rollbacks.values()} & group.keys():
            first, second = sorted((head(one.workflow.id), head(called)))
            group[second] = first
    found: list[list[Compilation]] = [[] for _ in range(count)]
    for one in compilations:
        number = int.from_bytes(hashlib.sha256(head(one.workflow.id).encode()).digest()[:4], "big") % count
        found[number].append(one)
    return found


class WorkflowsStack(Stack):
    """`machines` by the id of the workflow: those that executions are started of."""

    def __init__(
        self, scope: Construct, id: str, *, settings: StageSettings, store: Store,
        compilations: Sequence[Compilation], **stack: Any,
    ) -> None:
        super().__init__(scope, id, **stack)
        self._settings, self._store = settings, store
        # Step Functions takes log groups of machines by this prefix without a policy for each.
        self._log = log_group(self, "Logs", settings, name=f"/aws/vendedlogs/states/{self.stack_name}")
        self._by_id = {one.workflow.id: one for one in compilations}
        self.machines: dict[str, Machine] = {}
        self._rollbacks: dict[str, Machine] = {}
        for one in compilations:
            self._make(one.workflow.id, "")

    def _make(self, id: str, caller: str) -> Machine:
        """The machine of a workflow, those that it calls first. Raises MissingWorkflow."""
        if id in self.machines:
            return self.machines[id]
        if id not in self._by_id:
            raise MissingWorkflow(id, caller)
        one = self._by_id[id]
        undoing = self._undo(id, caller) if one.rollback is not None else None
        machine, parts = self._machine(one, self._settings.machine(machine_name(id)), "", undoes=False)
        self.machines[id] = machine
        self._register(one, machine, undoing, parts)
        return machine

    def _undo(self, id: str, caller: str) -> Machine:
        """The machine that undoes executions of a workflow."""
        if id not in self._rollbacks:
            rollback = self._by_id[id].rollback if id in self._by_id else None
            if rollback is None:
                raise MissingWorkflow(id, caller)
            self._rollbacks[id], _ = self._machine(
                rollback, self._settings.machine(rollback_name(id)), "Rollback", undoes=True
            )
        return self._rollbacks[id]

    def _machine(self, one: Compilation, name: str, suffix: str, *, undoes: bool) -> tuple[Machine, list[Machine]]:
        caller = one.workflow.id
        targets = {place: self._settings.function(STEPS[step_type].name) for place, step_type in one.functions.items()}
        machines = {place: self._make(id, caller) for place, id in one.workflows.items()}
        machines |= {place: self._undo(id, caller) for place, id in one.rollbacks.items()}
        names, needs, parts = part_names(one, undoes=undoes), one.part_needs, dict[str, Machine]()

        def known() -> dict[str, str]:
            return targets | {place: machine.version_arn for place, machine in machines.items()}

        def part(place: str) -> None:
            for inner in sorted(needs[place].starts & one.parts.keys() - parts.keys()):
                part(inner)
            id, body = f"{_id(caller)}{suffix}{place.title().replace('_', '')}", one.bind_part(place, known())
            part_name = self._settings.machine(names[place])
            parts[place] = machines[place] = self._one(id, part_name, body, needs[place], targets, "STANDARD", machines)

        for place in sorted(one.parts):
            if place not in parts:
                part(place)
        made = self._one(f"{_id(caller)}{suffix}", name, one.bind(known()), one.needs, targets, one.type, machines)
        return made, [*parts.values()]

    def _one(
        self, id: str, name: str, definition: str, needs: Needs, targets: Mapping[str, str], kind: str,
        machines: Mapping[str, Machine],
    ) -> Machine:
        starts = [machines[place].machine.state_machine_arn for place in sorted(needs.starts)]
        facts = MachineFacts(
            name=name, definition=definition, kind=kind, functions=[targets[place] for place in needs.functions],
            starts=[arn for each in starts for arn in (each, f"{each}:*")], runs_itself=needs.runs_itself,
            objects=needs.reads_objects or needs.writes_objects,
        )  # fmt: skip
        return Machine(
            self, id, facts=facts, mark=_mark(self, definition), store=self._store,
            log_group=self._log, tracing=self._settings.tracing,
        )  # fmt: skip

    def _register(self, one: Compilation, machine: Machine, undoing: Machine | None, parts: Sequence[Machine]) -> None:
        release = release_of(
            one, machine="", rollback="-" if undoing is not None else "", retention=None, parts=["-" for _ in parts]
        )
        CustomResource(
            self, f"{_id(one.workflow.id)}Release", resource_type="Custom::AslantWorkflow",
            service_token=function_arn(self, self._settings.function(REGISTER)),
            properties={
                "Tenant": self._settings.tenant, "Machine": machine.version_arn, "Workflow": packed(release, written_of(one)),
                "Rollback": undoing.version_arn if undoing is not None else "", "Parts": [part.version_arn for part in parts],
            },
        )  # fmt: skip
        about = f"{one.workflow.id} {one.workflow.version}"
        CfnOutput(self, f"{_id(one.workflow.id)}Arn", value=machine.alias_arn, description=about)


def _id(workflow: str) -> str:
    """A part of logical ids: letters and digits of the id, with a mark of the whole."""
    text = "".join(part.title() for part in machine_name(workflow).replace("_", "-").split("-"))
    return text[:60] + hashlib.sha256(workflow.encode()).hexdigest()[:6]


def _mark(stack: Stack, definition: str) -> str:
    """A hash of a definition in which a called machine stands with its version, so that a changed child changes its parent."""
    return hashlib.sha256(json.dumps(stack.resolve(definition), sort_keys=True).encode()).hexdigest()[:12]
