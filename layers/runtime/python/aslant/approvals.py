"""Approvals: who asks, who decides, and telling the waiting state machine, once.

A decision is one conditional write (pending -> decided); then the machine is called back. A call-back that fails can be
repeated by deciding the same again. The task token never leaves this module and its store.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from aslant import keys
from aslant.configs.approval import ApprovalConfig
from aslant.contracts import Json
from aslant.errors import ApprovalClosed, NotFoundError, ValidationError
from aslant.ports import ApprovalStore, Callbacks

Decision = Literal["approve", "reject", "answer"]

MAX_TEXT = 4000             # characters of a comment or an answer
_KEEP = 30 * 24 * 3600      # seconds that a request is kept after it expires


@dataclass(frozen=True, slots=True)
class Approvals:
    """Decides on requests of one installation. Times are epoch seconds, given by the caller."""

    store: ApprovalStore
    callbacks: Callbacks

    def request(
        self, config: ApprovalConfig, *, tenant: str, ref: keys.ApprovalRef, token: str, workflow: str, now: int
    ) -> str:
        """Stores a request and gives its id. The same request again (a repeated invocation) changes nothing but the token."""
        identifier = keys.approval_id(ref)
        expires = now + max(1, round(config.timeout))
        self.store.create({
            "tenant": tenant, "approval_id": identifier, "execution": ref.execution, "step": ref.step,
            "iteration": list(ref.iteration), "attempt": ref.attempt, "workflow": workflow, "token": token,
            "status": "pending", "requested_at": now, "expires_at": expires, "ttl": expires + _KEEP,
            "config": config.model_dump(exclude_none=True),
        })
        return identifier

    def decide(
        self, tenant: str, approval_id: str, decision: Decision, *, by: str, comment: str = "", answer: Json = None,
        now: int,
    ) -> dict[str, Json]:
        """Writes a decision and tells the state machine; gives `approved`, `by`, `at`, `comment`, `answer`.

        Deciding the same again is no error and calls back once more if that is still due. Raises NotFoundError,
        ValidationError (an answer that the request does not take), ApprovalClosed (decided otherwise, expired, or the
        execution has ended).
        """
        item = self.store.read(tenant, approval_id)
        if item is None:
            raise NotFoundError("there is no such approval")
        made = decided(item["config"], decision, by=by, comment=comment, answer=answer, now=now)
        if not self.store.close(tenant, approval_id, made, now):
            item = self.store.read(tenant, approval_id) or item
            before = item.get("decision")
            if before is None:
                raise ApprovalClosed(f"the approval of {item['step']} expired at {_moment(item['expires_at'])}")
            if any(before.get(key) != made[key] for key in ("approved", "by", "comment", "answer")):
                outcome = "approved" if before.get("approved") else "rejected"
                raise ApprovalClosed(f"the approval of {item['step']} was {outcome} by {before.get('by')} already")
            made = before
        if not item.get("delivered"):
            self._deliver(item, made)
            self.store.delivered(tenant, approval_id)
        return made

    def pending(self, tenant: str, limit: int = 100) -> list[dict[str, Json]]:
        """Requests that wait for a decision, the oldest first, without their tokens."""
        return [{key: value for key, value in item.items() if key in _SHOWN} for item in self.store.pending(tenant, limit)]

    def _deliver(self, item: Mapping[str, Json], decision: Mapping[str, Json]) -> None:
        if decision["approved"] or item["config"].get("on_reject") == "continue":
            self.callbacks.success(item["token"], dict(decision))
        else:
            self.callbacks.failure(item["token"], "ApprovalRejected", json.dumps(decision, ensure_ascii=False))


_SHOWN = frozenset({"tenant", "approval_id", "execution", "step", "iteration", "attempt", "workflow", "status",
                    "requested_at", "expires_at", "config"})


def decided(
    config: Mapping[str, Json], decision: Decision, *, by: str, comment: str, answer: Json, now: int
) -> dict[str, Json]:
    """A decision as it is stored and given to the machine. Raises ValidationError when the request does not take it."""
    if decision not in ("approve", "reject", "answer"):
        raise ValidationError(f"a decision is approve, reject or answer, not {str(decision)[:40]!r}")
    if not by:
        raise ValidationError("a decision needs to say who made it")
    if len(comment) > MAX_TEXT:
        raise ValidationError(f"the comment is longer than {MAX_TEXT:,} characters")
    kind = config.get("approval_type", "approve_reject")
    if decision == "reject":
        answer = None
    elif kind == "approve_reject":
        if decision == "answer" or answer is not None:
            raise ValidationError("this approval takes approve or reject, and no answer")
    elif kind == "text_input":
        if not isinstance(answer, str) or not answer.strip():
            raise ValidationError("this approval takes a text as its answer")
        if len(answer) > MAX_TEXT:
            raise ValidationError(f"the answer is longer than {MAX_TEXT:,} characters")
    elif answer not in config.get("options", []) or not isinstance(answer, str):
        options = ", ".join(str(option) for option in config.get("options", []))
        raise ValidationError(f"this approval takes one of: {options}")
    return {"approved": decision != "reject", "by": by, "at": _moment(now), "comment": comment, "answer": answer}


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
