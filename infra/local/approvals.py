"""Approvals of a local run: found in the executions table, put to an approver, decided as on AWS."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from aslant import bootstrap
from aslant.approvals.rules import ROLE, Person
from aslant.errors import ApprovalClosed
from aslant.executions.replay import asked_about
from aslant.settings import Settings
from infra.local.cloud import LocalCloud
from infra.local.progress import Status

if TYPE_CHECKING:
    from infra.local.family import Family
    from infra.local.runner import Observer

Json = Any
PAUSE = 0.1  # seconds between looks at the table


@dataclass(frozen=True, slots=True)
class Request:
    """A question. `kind` is approve_reject, text_input or multiple_choice; `expires` is real time."""

    id: str
    workflow: str
    step: str
    iteration: tuple[int, ...]
    message: str
    kind: str
    options: tuple[str, ...]
    approvers: tuple[str, ...]
    data: Json
    expires: datetime
    execution: str = ""

    @property
    def label(self) -> str:
        return self.step + "".join(f"[{index}]" for index in self.iteration)


class Decision(NamedTuple):
    """What an approver says: approve, reject, or an answer (a text, or one of the options)."""

    decision: Literal["approve", "reject", "answer"]
    answer: Json = None
    comment: str = ""


Approver = Callable[[Request], Decision | None]  # None leaves the question open


@dataclass(slots=True)
class Decided:
    """A question and what became of it: `outcome` is approved, rejected, or open when nobody answered."""

    request: Request
    outcome: str = "open"
    by: str = ""
    at: str = ""
    comment: str = ""
    answer: Json = None

    def as_dict(self) -> dict[str, Json]:
        return {
            "step": self.request.step, "iteration": list(self.request.iteration), "message": self.request.message,
            "outcome": self.outcome, "by": self.by or None, "at": self.at or None, "answer": self.answer,
        }


@dataclass(slots=True)
class Approvals:
    """The open questions of the running execution and its children. `by` is who answers."""

    cloud: LocalCloud
    settings: Settings
    tenant: str
    approver: Approver | None
    by: str
    decided: list[Decided] = field(default_factory=list)
    _seen: dict[str, Decided] = field(default_factory=dict)
    _next: float = 0.0

    def look(self, family: Family, observer: Observer | None) -> bool:
        """Puts new questions to the approver and carries out what it decides; True when there is something new."""
        news = False
        if time.monotonic() >= self._next:
            waiting, _ = bootstrap.approvals(self.settings).pending(self.tenant)
            for item in waiting:
                if item["approval_id"] not in self._seen:
                    news = True
                    family.look()  # the question may be newer than the last look
                    self._put(_request(item), family, observer)
            self._next = time.monotonic() + PAUSE
        for entry in self.decided:
            if entry.outcome == "open":
                _mark(family, entry.request)
        return news

    def _put(self, request: Request, family: Family, observer: Observer | None) -> None:
        entry = self._seen[request.id] = Decided(request)
        self.decided.append(entry)
        _mark(family, request)
        if observer is not None:
            observer.update(self.cloud.clock.now())
            observer.pause()
        choice = self.approver(request) if self.approver is not None else None
        if choice is None:
            if observer is not None:
                observer.note(f"{request.label} waits for an answer: {request.message}")
            return
        try:
            made = self._decide(request, choice)
        except ApprovalClosed as error:
            if observer is not None:
                observer.note(f"too late for {request.label}: {error}")
            return
        entry.outcome = "approved" if made["approved"] else "rejected"
        entry.by, entry.at = str(made["by"]), str(made["at"])
        entry.comment, entry.answer = str(made["comment"]), made["answer"]

    def _decide(self, request: Request, choice: Decision) -> dict[str, Json]:
        """Answers for as many people as it takes: whoever runs a workflow locally answers for all who are asked."""
        service = bootstrap.approvals(self.settings)
        people = [name for name in request.approvers if not name.casefold().startswith(ROLE)]
        number = 0
        while True:
            user = self.by if not number else people[number] if number < len(people) else f"{self.by} {number + 1}"
            made = service.decide(
                self.tenant, request.id, choice.decision, by=Person(user, everybody=True), comment=choice.comment,
                answer=choice.answer,
            )
            if not made.get("missing"):
                return made
            number += 1


def _mark(family: Family, request: Request) -> None:
    step = asked_about(request.step)
    progress = family.progress(request.execution, step)
    if progress is not None:
        run = progress.run(step, request.iteration)
        if run.status is Status.RUNNING:
            run.status = Status.WAITING


def _request(item: Mapping[str, Json]) -> Request:
    config = item["config"]
    approvers = config.get("approvers") or ()
    return Request(
        id=item["approval_id"], workflow=str(item.get("workflow", "")), step=item["step"],
        iteration=tuple(int(index) for index in item["iteration"]), message=str(config.get("message", "")),
        kind=str(config.get("approval_type", "approve_reject")),
        options=tuple(str(option) for option in config.get("options") or ()),
        approvers=(approvers,) if isinstance(approvers, str) else tuple(map(str, approvers)),
        data=config.get("data"), expires=datetime.fromtimestamp(int(item["expires_at"]), UTC),
        execution=str(item.get("execution", "")),
    )
