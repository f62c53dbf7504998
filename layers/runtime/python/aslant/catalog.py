"""Definitions and their versions: what was written, by whom, and what of it is published.

A version never changes. One rule numbers them, whether they come by the API or from a file: the number that the text says,
where it is beyond all that there are; else the highest one raised (by a patch, if nobody says otherwise). The same contents
keep the number that they have. A workflow's record counts its changes, so that of two people who edit it one is told.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, Protocol

from aslant.errors import ConflictError, InvalidTransition, NotFoundError, PreconditionFailed, ValidationError

Increment = Literal["major", "minor", "patch"]
WorkflowStatus = Literal["draft", "published", "deprecated", "archived"]
_VERSION = re.compile(r"(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})")
_KEPT = re.compile(r"[0-9A-Za-z][0-9A-Za-z.+-]{0,99}")  # versions of definitions that came by `adopt` may be other ones
_TRIES = 10
MAX_DEFINITION = 1_000_000  # bytes of a definition's text
MAX_LOOK = 2_000  # workflows that a page looks at for those that are wanted


@dataclass(frozen=True, slots=True)
class WorkflowRecord:
    """Moments are epoch milliseconds. `latest` is the version written last, `published` the one that new executions take."""

    tenant: str
    id: str
    name: str
    status: WorkflowStatus
    latest: str
    owner: str
    created_at: int
    changed_at: int
    revision: int
    description: str = ""
    published: str = ""
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DefinitionRecord:
    """A version as it was written."""

    workflow: str
    version: str
    text: str
    dialect: str
    sha256: str
    created_by: str
    created_at: int


class Change(NamedTuple):
    """What is written of a workflow at once: its record in the place of `before`, and a version that is not there yet.

    `before` is None for a workflow that is not there. With the same record twice nothing changes, if it is still so.
    """

    before: WorkflowRecord | None
    after: WorkflowRecord
    definition: DefinitionRecord | None = None


class DefinitionStore(Protocol):
    """Every call takes the tenant; what another one has is not there."""

    def read(self, tenant: str, workflow: str) -> WorkflowRecord | None:
        """A workflow that has definitions."""

    def write(self, change: Change) -> None:
        """In one transaction. Raises ConflictError when it is not as `change` says any more."""

    def definition(self, tenant: str, workflow: str, version: str) -> DefinitionRecord | None: ...

    def versions(self, tenant: str, workflow: str) -> tuple[DefinitionRecord, ...]:
        """All versions without their texts, in any order."""

    def page(self, tenant: str, *, limit: int, after: str | None) -> tuple[WorkflowRecord, ...]:
        """Workflows in the order of their ids, those after an id."""


@dataclass(frozen=True, slots=True)
class Written:
    """A definition that compiles: what the catalog keeps of it. `version` is what the text says."""

    id: str
    name: str
    description: str
    version: str
    text: str
    dialect: str
    sha256: str
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Catalog:
    """`clock` gives epoch milliseconds."""

    store: DefinitionStore
    clock: Callable[[], int]

    def get(self, tenant: str, workflow: str) -> WorkflowRecord:
        found = self.store.read(tenant, workflow) if 0 < len(workflow) <= 500 else None
        if found is None:
            raise NotFoundError(f"there is no workflow {workflow}")
        return found

    def definition(self, tenant: str, workflow: str, version: str | None = None) -> DefinitionRecord:
        """A version, or the latest one."""
        number = version or self.get(tenant, workflow).latest
        found = self.store.definition(tenant, workflow, number) if _KEPT.fullmatch(number) else None
        if found is None:
            raise NotFoundError(f"there is no version {number} of {workflow}")
        return found

    def versions(self, tenant: str, workflow: str) -> tuple[DefinitionRecord, ...]:
        """All versions without their texts, the newest first."""
        found = self.store.versions(tenant, self.get(tenant, workflow).id)
        return tuple(sorted(found, key=lambda one: (one.created_at, parts_of(one.version)), reverse=True))

    def create(self, tenant: str, written: Written, *, by: str) -> WorkflowRecord:
        """A new workflow, as a draft. The same definition again gives what is there; another one is a ConflictError."""
        found = self.store.read(tenant, written.id)
        if found is not None:
            first = self.store.definition(tenant, written.id, found.latest)
            if first is not None and first.sha256 == written.sha256 and found.owner == by:
                return found
            raise ConflictError(f"there is a workflow {written.id} already; replace it, or give this one another id")
        version = checked(written.version)
        now = self.clock()
        made = WorkflowRecord(
            tenant, written.id, written.name, "draft", version, by, now, now, 1, written.description, "", written.tags,
        )
        self.store.write(Change(None, made, _record(written, version, by, now)))
        return made

    def replace(
        self, tenant: str, workflow: str, written: Written, *, by: str, revision: int | None, increment: Increment
    ) -> WorkflowRecord:
        """A further version: the one that the text says if that is beyond the highest, else the highest incremented.

        `revision` is that of the record which the caller has seen. Raises PreconditionFailed when it has changed since.
        """

        def further(before: WorkflowRecord) -> Change:
            if written.id != workflow:
                raise ValidationError(f"the definition is that of {written.id}, not of {workflow}")
            if before.status == "archived":
                raise InvalidTransition(f"{workflow} is archived")
            latest = self.store.definition(tenant, workflow, before.latest)
            if latest is not None and latest.sha256 == written.sha256:
                return Change(before, before)
            said = checked(written.version)
            highest = max((one.version for one in self.store.versions(tenant, workflow)), key=parts_of, default=before.latest)
            version = said if parts_of(said) > parts_of(highest) else incremented(highest, increment)
            now = self.clock()
            return Change(before, replace(
                before, name=written.name, description=written.description, latest=version, changed_at=now,
                tags=written.tags or before.tags, revision=before.revision + 1,
            ), _record(written, version, by, now))  # fmt: skip

        return self._changed(tenant, workflow, revision, further)

    def mark(
        self, tenant: str, workflow: str, status: Literal["deprecated", "archived"], *, revision: int | None = None
    ) -> WorkflowRecord:
        """Another status. `revision` as for `replace`."""

        def marked(before: WorkflowRecord) -> Change:
            if status == "deprecated" and before.status not in ("published", "deprecated"):
                raise InvalidTransition(f"{workflow} is {before.status}; only what is published can be deprecated")
            return self._with(before, status=status)

        return self._changed(tenant, workflow, revision, marked)

    def tag(self, tenant: str, workflow: str, tags: tuple[str, ...], *, revision: int | None = None) -> WorkflowRecord:
        """Other tags; its versions stay as they are. `revision` as for `replace`."""
        return self._changed(tenant, workflow, revision, lambda before: self._with(before, tags=tags))

    def publishing(self, tenant: str, workflow: str, version: str, *, revision: int | None = None) -> Change:
        """What is written when a version becomes the published one. `revision` as for `replace`."""
        before = self.get(tenant, workflow)
        self._same(before, revision)
        if before.status == "archived":
            raise InvalidTransition(f"{workflow} is archived")
        return self._with(before, status="published", published=version)

    def adopting(self, tenant: str, written: Written, version: str, *, by: str, revision: int | None = None) -> Change:
        """What is written when a definition that the catalog may not have, such as a file's, becomes the published version.

        `revision` as for `replace`.
        """
        before, now = self.store.read(tenant, written.id), self.clock()
        kept = None if self.store.definition(tenant, written.id, version) else _record(written, version, by, now)
        if before is None:
            return Change(None, WorkflowRecord(
                tenant, written.id, written.name, "published", version, by, now, now, 1, written.description, version,
                written.tags,
            ), kept)  # fmt: skip
        self._same(before, revision)
        if kept is None and (before.status, before.published) == ("published", version):
            return Change(before, before)
        return Change(before, replace(
            before, name=written.name, description=written.description, status="published", published=version,
            latest=before.latest if kept is None else version, changed_at=now, revision=before.revision + 1,
            tags=written.tags or before.tags,
        ), kept)  # fmt: skip

    def page(
        self, tenant: str, *, limit: int, after: str | None, wanted: Callable[[WorkflowRecord], bool] = lambda record: True
    ) -> tuple[tuple[WorkflowRecord, ...], str | None]:
        """Some workflows by id, and the id that the next page goes on after. A page is full, unless MAX_LOOK were looked at."""
        kept: list[WorkflowRecord] = []
        looked = 0
        while looked < MAX_LOOK:
            found = self.store.page(tenant, limit=limit + 1, after=after)
            for place, record in enumerate(found[:limit], 1):
                after, looked = record.id, looked + 1
                if wanted(record):
                    kept.append(record)
                if len(kept) == limit:
                    return tuple(kept), after if place < len(found) else None
            if len(found) <= limit:
                return tuple(kept), None
        return tuple(kept), after

    def published_ids(self, tenant: str) -> list[str]:
        """The ids of all workflows of which a version is published, as far as MAX_LOOK goes."""
        found, _ = self.page(tenant, limit=MAX_LOOK, after=None, wanted=lambda one: bool(one.published))
        return [one.id for one in found]

    def _changed(
        self, tenant: str, workflow: str, revision: int | None, change: Callable[[WorkflowRecord], Change]
    ) -> WorkflowRecord:
        """Writes what `change` makes of a workflow's record; of the one that is there then, when somebody was faster."""
        for _ in range(_TRIES):
            before = self.get(tenant, workflow)
            self._same(before, revision)
            made = change(before)
            if made.after == before:
                return before
            try:
                self.store.write(made)
            except ConflictError:
                continue
            return made.after
        raise ConflictError(f"the workflow {workflow} keeps changing")

    def _with(self, before: WorkflowRecord, **columns: Any) -> Change:
        after = replace(before, **columns)
        if after == before:
            return Change(before, before)
        return Change(before, replace(after, changed_at=self.clock(), revision=before.revision + 1))

    @staticmethod
    def _same(record: WorkflowRecord, revision: int | None) -> None:
        if revision is not None and revision != record.revision:
            raise PreconditionFailed(f"{record.id} has changed meanwhile: its revision is {record.revision}")


def checked(version: str) -> str:
    """A semantic version (semver.org) without suffixes. Raises ValidationError."""
    if _VERSION.fullmatch(version):
        return version
    raise ValidationError(f"{version!r} is no version; write MAJOR.MINOR.PATCH, as in 1.2.0")


def incremented(version: str, increment: Increment) -> str:
    major, minor, patch = parts_of(version)[:3]
    after = {"major": (major + 1, 0, 0), "minor": (major, minor + 1, 0), "patch": (major, minor, patch + 1)}[increment]
    return ".".join(map(str, after))


def parts_of(version: str) -> list[int]:
    """What versions are ordered by; 1.2.0-3 comes after 1.2.0."""
    core, _, rest = version.partition("-")
    numbers = [int(part) if part.isdecimal() else 0 for part in core.split(".")]
    return [*numbers, 0, 0, 0][:3] + [int(part) for part in rest.split("-") if part.isdecimal()]


def _record(written: Written, version: str, by: str, now: int) -> DefinitionRecord:
    return DefinitionRecord(written.id, version, written.text, written.dialect, written.sha256, by, now)
