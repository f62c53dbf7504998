"""Publishes compiled workflows: their state machines in Step Functions, what is known of them in the catalog.

Only AWS's own calls are used, so the local cloud and an account are served alike. A state machine belongs to one version
and is never changed, so that what an execution began on can always be gone on with. What is published under a number that
something else has gets one of its own (`aslant.catalog`): results of steps that have changed are told from those that have not.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from aslant import bootstrap, serving, triggers
from aslant.adapters.clients import client, error_code
from aslant.catalog import Change, incremented, parts_of
from aslant.errors import ConflictError, NotFoundError
from aslant.installation import NAME, installed
from aslant.ports import Releases
from aslant.releases import Release
from aslant.settings import Settings
from aslant.step_types import function_name
from translator.pipeline import Compilation, MissingWorkflow
from translator.release import release_of

Compile = Callable[[Mapping[str, str]], list[Compilation]]  # with other versions than the definitions say, by workflow
Note = Callable[[str, str], Change]  # what the catalog writes of a workflow whose version is published
_TRIES = 10  # times that a record is written again because somebody else was faster


@dataclass(frozen=True, slots=True)
class Published:
    """`version` differs from `written`, what the definition says, when that was published with other contents before.

    `state`: new, changed (of a version that was published before) or unchanged.
    """

    workflow: str
    version: str
    written: str
    state: str
    machine: str
    rollback: str


def publish(
    compile: Compile, settings: Settings, tenant: str, *, role: str, versions: Mapping[str, str] | None = None,
    note: Note | None = None,
) -> list[Published]:
    """Publishes what `compile` gives. `role`: the name of the role that state machines run with.

    `versions`, by workflow, count in place of what the definitions say. Whether contents have changed does not depend on them.
    What `note` gives is written together with the version; it is asked again when somebody else was faster.

    Raises MissingWorkflow for a sub-workflow that is neither among them nor published, and StepErrors of AWS's calls.
    """
    compilations = compile({})
    catalog = bootstrap.releases(settings)
    contents = _contents(compilations)
    taken: dict[str, str] = {}
    states: dict[str, str] = {}
    written = {one.workflow.id: one.workflow.version for one in compilations}
    digests = {one.workflow.id: digest_of(one) for one in compilations}
    for id, version in {**written, **(versions or {})}.items():
        texts = {one.version: one.sha256 for one in bootstrap.catalog(settings).store.versions(tenant, id)}
        taken[id], states[id] = _version(catalog, tenant, id, version, contents[id], texts, digests[id])
    if taken != written:
        compilations = compile({id: version for id, version in taken.items() if version != written[id]})
    publisher = _Publisher(catalog, settings, tenant, role, compilations, contents, note)
    return [
        Published(release["workflow"], release["version"], written[release["workflow"]], states[release["workflow"]],
                  release["machine"], release.get("rollback", ""))
        for release in publisher.publish()
    ]  # fmt: skip


def _contents(compilations: Sequence[Compilation]) -> dict[str, str]:
    """A hash over all that makes up each workflow, those that it calls included."""
    by_id = {one.workflow.id: one for one in compilations}
    own = {id: _hash([
        one.definition, one.rollback.definition if one.rollback is not None else None,
        _without_names(release_of(one, machine="")),
        *one.parts.values(), *(one.rollback.parts.values() if one.rollback is not None else ()),
    ]) for id, one in by_id.items()}  # fmt: skip

    def called(id: str) -> set[str]:
        found, stack = {id}, [id]
        while stack:
            one = by_id[stack.pop()]
            inner = {*one.workflows.values(), *(one.rollback.workflows.values() if one.rollback is not None else ())}
            fresh = (inner & by_id.keys()) - found
            found |= fresh
            stack += fresh
        return found

    return {id: _hash([own[each] for each in (id, *sorted(called(id) - {id}))]) for id in by_id}


def _without_names(release: Release) -> Release:
    """Ids of triggers are carried on from one version to the next: they are nothing that a definition says."""
    return cast(Release, {name: value for name, value in release.items() if name != "named"})


def _version(
    catalog: Releases, tenant: str, id: str, version: str, contents: str, texts: Mapping[str, str], digest: str
) -> tuple[str, str]:
    """The version to publish it as, and whether that is new, changed or unchanged.

    `texts`: hashes of the definitions that the catalog has, by version; `digest`: that of this one.
    """

    def published(name: str) -> str | None:
        """The contents of a version."""
        try:
            return catalog.get(tenant, id, name).get("contents", "")
        except NotFoundError:
            return None

    for name in (version, *sorted((one for one in texts if texts[one] == digest), key=parts_of, reverse=True)):
        if published(name) == contents:
            return name, "unchanged"
    beyond = all(parts_of(one) < parts_of(version) for one in texts)
    if published(version) is None and (beyond or texts.get(version) == digest):
        return version, "new"
    name = max((version, *texts), key=parts_of)
    while True:
        name = incremented(name, "patch")
        found = published(name)  # by one who keeps no definitions
        if found in (None, contents):
            return name, "changed" if found is None else "unchanged"


def digest_of(one: Compilation) -> str:
    """SHA-256 of a definition as it was written."""
    text = one.source.text
    return hashlib.sha256(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text).hexdigest()


@dataclass(frozen=True, slots=True)
class _Publisher:
    catalog: Releases
    settings: Settings
    tenant: str
    role: str
    compilations: Sequence[Compilation]
    contents: Mapping[str, str]
    note: Note | None

    def publish(self) -> list[Release]:
        by_id = {one.workflow.id: one for one in self.compilations}
        account = client("sts", self.settings.region).get_caller_identity()
        partition = str(account["Arn"]).split(":")[1]
        prefix = f"arn:{partition}:states:{self.settings.region}:{account['Account']}:stateMachine:"
        role = f"arn:{partition}:iam::{account['Account']}:role/{self.role}"
        machines = {id: prefix + self._name(one) for id, one in by_id.items()}
        rollbacks = {id: machines[id] + "-rollback" for id, one in by_id.items() if one.rollback is not None}
        bound = [  # all of them first: nothing is made when a sub-workflow is missing
            (arn, definition, part.type)
            for id, one in by_id.items()
            for target, part, mark in ((machines[id], one, "-p"), (rollbacks.get(id, ""), one.rollback, "-u"))
            if part is not None
            for arn, definition in self._bound(part, target, part_arns(part, machines[id] + mark), machines, rollbacks).items()
        ]
        for arn, definition, kind in bound:
            self._create(arn, definition, kind, role)
        releases = []
        for id, one in by_id.items():
            release = release_of(
                one, machine=machines[id], rollback=rollbacks.get(id, ""),
                parts=[*part_arns(one, machines[id] + "-p").values()],
            )
            release["contents"] = self.contents[id]
            releases.append(release)
        for release in releases:
            before, kept = self._put(release)
            # A schedule that fires in between finds its trigger in the catalog, or does nothing.
            triggers.follow(
                bootstrap.schedules(self.settings), serving.subscriptions(self.settings), self.tenant, before, kept
            )
        return releases

    def _put(self, release: Release) -> tuple[Release | None, Release]:
        """What was published before, and what is now."""
        workflow = release["workflow"]
        for _ in range(_TRIES):
            change = self.note(workflow, release["version"]) if self.note is not None else None
            before, own = self._published(workflow), self._published(workflow, release["version"])
            kept = triggers.carried(own or before, release)
            try:
                self.catalog.put(self.tenant, kept, change)
            except ConflictError:
                continue
            return before, kept
        raise ConflictError(f"the workflow {workflow} keeps changing")

    def _published(self, workflow: str, version: str | None = None) -> Release | None:
        try:
            return self.catalog.get(self.tenant, workflow, version)
        except NotFoundError:
            return None

    def _name(self, one: Compilation) -> str:
        """A name of 71 characters at most, so that there is room for a suffix."""
        id, version = (re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-") for text in (one.workflow.id, one.workflow.version))
        own = [] if self.settings.name == NAME else [self.settings.name]  # its machines call functions of its own
        mark = _hash([*own, self.tenant, one.workflow.id, one.workflow.version, self.contents[one.workflow.id]])[:12]
        return f"{id[:40] or 'workflow'}-{version[:16]}-{mark}"

    def _bound(
        self, one: Compilation, target: str, parts: Mapping[str, str], machines: Mapping[str, str],
        rollbacks: Mapping[str, str],
    ) -> dict[str, str]:
        """The definitions of a machine and of its parts, by their ARNs."""
        targets = {place: installed(function_name(step_type), self.settings.name) for place, step_type in one.functions.items()}
        caller = one.workflow.id
        targets |= {place: machines.get(id) or self._known(id, caller)["machine"] for place, id in one.workflows.items()}
        for place, id in one.rollbacks.items():
            known = rollbacks.get(id) or self._known(id, caller).get("rollback")
            if not known:
                raise MissingWorkflow(id, caller)
            targets[place] = known
        targets |= parts
        return {parts[place]: text for place, text in one.bind_parts(targets).items()} | {target: one.bind(targets)}

    def _known(self, workflow: str, caller: str) -> Release:
        try:
            return self.catalog.get(self.tenant, workflow)
        except NotFoundError:
            raise MissingWorkflow(workflow, caller) from None

    def _create(self, arn: str, definition: str, kind: str, role: str) -> None:
        """Creates a state machine unless it is there; its name says what is in it."""
        from botocore.exceptions import ClientError

        states: Any = client("stepfunctions", self.settings.region)
        try:
            states.describe_state_machine(stateMachineArn=arn)
            return
        except ClientError as error:
            if error_code(error) != "StateMachineDoesNotExist":
                raise
        states.create_state_machine(name=arn.rpartition(":")[2], definition=definition, roleArn=role, type=kind)


def part_arns(one: Compilation, prefix: str) -> dict[str, str]:
    """ARNs (or names) of the machines that run parts of one, by their placeholders."""
    return {place: prefix + place.rpartition("_")[2] for place in one.parts}


def _hash(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()
