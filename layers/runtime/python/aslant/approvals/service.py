"""Approvals: who asks, who decides, and telling the waiting state machine, once.

Every change of a request is one conditional write, so of two answers at the same moment each sees the other. The one that
decides is written first, then the machine is called back; a call-back that is lost is made good by the request's timer
or by deciding the same again. The task token is encrypted and never leaves this module and its store.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from aslant import clock, keys
from aslant.approvals.rules import Decision, Person, check_person, decided, moment, outcome
from aslant.configs.approval import ApprovalConfig
from aslant.contracts import Json
from aslant.errors import ApprovalClosed, ConflictError, NotFoundError, PreconditionFailed, StepError
from aslant.ports import ApprovalStore, Callbacks, Cipher, Timers

if TYPE_CHECKING:
    from aslant.executions.family import Answered

FUNCTION = "aslant-approvals"  # what the timers call
_KEEP = 30 * 24 * 3600         # seconds that a request is kept after it expires
_TRIES = 30                    # of a change that others interfere with
_EARLY = 2                     # seconds that the machine, which counts whole ones, may be ahead of the end of a request
_AGAIN = 60                    # seconds until a notice or a call-back that got lost is tried again

Item = dict[str, Json]
Place = tuple[str, tuple[int, ...]]
Notify = Callable[[Item, str], None]  # the request, and asked, reminder or escalated


class Asked(NamedTuple):
    """A request, and whether its people were told already."""

    item: Item
    told: bool


@dataclass(frozen=True, slots=True)
class Approvals:
    """Asks and decides for one installation. `clock` gives epoch seconds.

    `goes_on` says of an execution (tenant, id) whether it has not ended: then an answer that nobody waits for at the moment
    is kept for its next run, which asks again.
    """

    store: ApprovalStore
    callbacks: Callbacks
    cipher: Cipher
    timers: Timers
    goes_on: Callable[[str, str], bool]
    clock: Callable[[], float] = clock.now

    def request(
        self, config: ApprovalConfig, *, tenant: str, ref: keys.ApprovalRef, token: str, workflow: str, requester: str,
        entered: float | None = None,
    ) -> Asked:
        """Stores a request; its time counts from when the machine entered the state, `entered` (epoch seconds).

        The same one again (a repeated call, or a later run of the execution) keeps what was decided.

        A request that waits gets the new token, and one that was decided answers it at once. One that was cancelled
        with its execution begins anew.
        """
        identifier = keys.approval_id(ref)
        sealed = self.cipher.encrypt(token, _context(tenant, identifier))
        now = self.clock() if entered is None else min(entered, self.clock())
        fresh = _new(config, tenant, ref, identifier, workflow, requester, now) | {"token": sealed}
        item = self.store.create(fresh)
        if item is None:
            self._arm(fresh)
            return Asked(fresh, False)
        for _ in range(_TRIES):
            if item["status"] == "expired":  # the machine's own limit is over too
                return Asked(item, True)
            anew = item["status"] == "cancelled"
            changes: Item = fresh | {"earlier": _earlier(item), "was": ""} if anew else {"token": sealed}
            after = self.store.change(item, changes)
            if after is not None:
                if after["status"] != "pending":
                    self._answer(after, token)
                else:
                    self._arm(after)
                return Asked(after, after.get("notified") is True)
            item = self._read(tenant, identifier)
        raise ConflictError("others keep changing this approval")

    def decide(
        self, tenant: str, approval_id: str, decision: Decision, *, by: Person, comment: str = "", answer: Json = None,
        revision: int | None = None,
    ) -> dict[str, Json]:
        """Adds a person's answer and, when that decides, tells the state machine.

        Gives what was decided (`approved`, `by`, `at`, `comment`, `answer`), or the answer with `missing`, how many more
        the quorum needs. A person's first answer counts; giving it again is no error. Raises NotFoundError,
        AuthorizationError, ValidationError (an answer that the request does not take), ApprovalClosed (decided
        otherwise, expired, or the execution has ended), PreconditionFailed (the request has another `revision` by now).
        """
        for _ in range(_TRIES):
            item, now = self._read(tenant, approval_id), self.clock()
            if revision is not None and revision != item["revision"]:
                raise PreconditionFailed("the request for approval has changed meanwhile")
            check_person(item["config"], by, item["requester"])
            made = decided(item["config"], decision, by=by.user, comment=comment, answer=answer, now=now)
            before = next((each for each in item["decisions"] if each["by"].casefold() == by.user.casefold()), None)
            if item["status"] != "pending":
                return self._repeated(item, made, before)
            if now >= item["expires_at"]:
                self._close(item, "expired")
                raise _expired(item)
            if before is not None:
                if not _same(before, made):
                    raise ApprovalClosed(f"{by.user} has answered the approval of {item['step']} already")
                return {**before, "missing": _missing(item)}
            decisions = [*item["decisions"], made]
            final = outcome(item["config"], decisions)
            changes: Item = {"decisions": decisions}
            if final is not None:
                status = "approved" if final["approved"] else "rejected"
                changes |= {"status": status, "decision": final, **_decided(now), "decided_by": by.user}
                self._make_good_soon(item)
            after = self.store.change(item, changes)
            if after is None:
                continue
            if final is None:
                return made | {"missing": _missing(after)}
            self._deliver(after)
            return final
        raise ConflictError("others keep changing this approval")

    def read(self, tenant: str, approval_id: str) -> Item:
        """A request without its token; one whose time is over is expired. Raises NotFoundError."""
        item = self._read(tenant, approval_id)
        if item["status"] == "pending" and self.clock() >= item["expires_at"]:
            item = self._close(item, "expired")
        return shown(item)

    def pending(
        self, tenant: str, *, person: Person | None = None, limit: int = 100, after: str | None = None
    ) -> tuple[list[Item], str | None]:
        """Requests that wait for an answer (of `person`), the oldest first, and where the following ones begin."""
        found: list[Item] = []
        now = self.clock()
        for place, item in self.store.waiting(tenant, after):
            if item["status"] == "pending" and now < item["expires_at"] and (person is None or _asks(item, person)):
                if len(found) == limit:
                    return found, found[-1]["place"]
                found.append(shown(item) | {"place": place})
        return found, None

    def cancel(self, tenant: str, execution: str) -> None:
        """Closes what waits for an answer in an execution that has ended."""
        for item in self.store.of_execution(tenant, execution):
            if item["status"] == "pending":
                self._close(item, self._over(item))
            elif item["status"] in ("approved", "rejected") and not item.get("delivered"):
                self._delivered(item)  # nobody is there any more

    def set_aside(
        self, tenant: str, execution: str, *, run: int, chosen: Callable[[str, tuple[int, ...], int], bool],
        asked_before: int | None = None,
    ) -> None:
        """Lets run number `run` ask anew where `chosen(step, iteration, when it was decided or asked)` holds.

        Moments are epoch milliseconds; with `asked_before` only what was asked before then is looked at. The answers so far
        are kept in the request's `earlier`. May be called again.
        """
        for item in self.store.of_execution(tenant, execution):
            if int(item.get("set_aside_for") or 0) >= run:
                continue  # that run has asked already, perhaps
            if asked_before is not None and item["requested_ms"] >= asked_before:
                continue
            at = _closed_ms(item)
            while item["status"] != "cancelled" and chosen(item["step"], tuple(item["iteration"]), at):
                after = self.store.change(item, {"status": "cancelled", "set_aside_for": run, "was": item["status"]})
                item = after if after is not None else self._read(tenant, item["approval_id"])

    def answered(self, tenant: str, execution: str) -> dict[Place, Answered]:
        """By step and iteration those whose latest request is decided; for an execution that rests, which cannot know."""
        from aslant.executions.family import Answered  # the step that asks needs no histories
        from aslant.history.steps import message_of

        latest: dict[Place, Item] = {}
        items = self.store.of_execution(tenant, execution)
        for item in sorted(items, key=lambda item: (item["requested_ms"], item["attempt"])):
            latest[item["step"], tuple(item["iteration"])] = item
        return {
            place: Answered(item["decision"]["approved"], _closed_ms(item), message_of(json.dumps(item["decision"])))
            for place, item in latest.items() if item["status"] in ("approved", "rejected")
        }

    def wake(self, tenant: str, approval_id: str, notify: Notify) -> None:
        """What a request's timer does: a lost call-back, the end of its time, a notice that is due."""
        try:
            item = self._read(tenant, approval_id)
        except NotFoundError:
            return
        if item["status"] in ("approved", "rejected"):
            if not item.get("delivered"):
                self._answer(item, self._token(item))
            return
        if item["status"] != "pending":
            return
        now = self.clock()
        if now >= item["expires_at"]:
            self._close(item, "expired")
            return
        if not item.get("notified"):
            self.tell(item, "asked", notify)
        elif now >= _next_reminder(item):
            self.tell(item, "reminder", notify)
        else:
            self._arm(item)

    def tell(self, item: Item, kind: str, notify: Notify) -> None:
        """Sends a notice about a request, and notes it. One that cannot be sent is tried again by the timer."""
        try:
            notify(item, kind)
        except StepError as error:
            self.timers.set(_timer(item), int(self.clock()) + _AGAIN, FUNCTION, _payload(item))
            self.store.change(item, {"notice_error": f"{type(error).__name__}: {error}"[:500]})
            return
        changes: Item = {"notified": True}
        if kind == "reminder":
            changes["reminded"] = int(item.get("reminded") or 0) + 1
        self._arm(self.store.change(item, changes) or item | changes)

    def _read(self, tenant: str, approval_id: str) -> Item:
        item = self.store.read(tenant, approval_id)
        if item is None:
            raise NotFoundError("there is no such approval")
        return item

    def _repeated(self, item: Item, made: Item, before: Item | None) -> Item:
        """An answer to a request that is closed: the same again, or too late."""
        if item["status"] in ("approved", "rejected") and before is not None and _same(before, made):
            if not item.get("delivered"):
                self._answer(item, self._token(item))
            final: Item = item["decision"]
            return final
        if item["status"] == "expired":
            raise _expired(item)
        if item.get("was"):
            raise ApprovalClosed(f"the approval of {item['step']} is about to be asked anew: its execution goes on")
        if item["status"] == "cancelled":
            raise ApprovalClosed(f"the approval of {item['step']} was cancelled: its execution has ended")
        raise ApprovalClosed(f"the approval of {item['step']} was {item['status']} by {item['decided_by']} already")

    def _deliver(self, item: Item) -> None:
        """Calls back for an answer that was given just now, in time.

        Nobody waits where the execution rests or has ended, where a later run is about to ask, or where the time is over by
        now: then the machine has gone another way.
        """
        try:
            self._call(item, self._token(item))
        except ApprovalClosed:
            if self.clock() < item["expires_at"] and self.goes_on(item["tenant"], item["execution"]):
                return
            if self._close(item, self._over(item))["status"] == "expired":  # with its execution: a later run asks anew
                raise _expired(item) from None
            raise
        self._delivered(item)

    def _answer(self, item: Item, token: str) -> None:
        """Calls back for an answer that was given earlier. That nobody waits means that it has arrived, or is of no use."""
        try:
            self._call(item, token)
        except ApprovalClosed:
            if self.goes_on(item["tenant"], item["execution"]):
                return
        self._delivered(item)

    def _make_good_soon(self, item: Item) -> None:
        """Sets the timer before an answer is written: whoever dies before the call-back has it made good for by that."""
        at = min(int(self.clock()) + _AGAIN, int(item["expires_at"]) + 1)
        with contextlib.suppress(StepError):  # the answer counts without it
            self.timers.set(_timer(item), at, FUNCTION, _payload(item))

    def _call(self, item: Item, token: str) -> None:
        decision = item["decision"]
        if decision["approved"] or item["config"].get("on_reject") == "continue":
            self.callbacks.success(token, decision)
        else:
            self.callbacks.failure(token, "ApprovalRejected", json.dumps(decision, ensure_ascii=False))

    def _over(self, item: Item) -> str:
        """How a request ends whose execution has ended: the machine may have stopped waiting a little before it expires."""
        early = max(_EARLY, clock.pace() / 10)  # and a tenth of a real second, where time runs faster
        return "expired" if self.clock() >= item["expires_at"] - early else "cancelled"

    def _delivered(self, item: Item) -> None:
        self.store.change(item, {"delivered": True})
        self.timers.cancel(_timer(item))

    def _close(self, item: Item, status: str) -> Item:
        """Ends a request without a decision, unless somebody was faster; the request as it is then."""
        for _ in range(_TRIES):
            after = self.store.change(item, {"status": status, **_decided(self.clock())})
            if after is not None:
                self.timers.cancel(_timer(item))
                return after
            before, item = item, self._read(item["tenant"], item["approval_id"])
            if item["status"] != before["status"]:
                return item
        raise ConflictError("others keep changing this approval")

    def _token(self, item: Item) -> str:
        return self.cipher.decrypt(item["token"], _context(item["tenant"], item["approval_id"]))

    def _arm(self, item: Item) -> None:
        at = min(_next_reminder(item), int(item["expires_at"])) + 1
        self.timers.set(_timer(item), at, FUNCTION, _payload(item))


def shown(item: Item) -> Item:
    """A request without what is nobody's business."""
    return {key: value for key, value in item.items() if key not in ("token", "ttl", "requested_ms", "decided_ms")}


def _expired(item: Item) -> ApprovalClosed:
    return ApprovalClosed(f"the approval of {item['step']} expired at {moment(item['expires_at'])}")


def _new(
    config: ApprovalConfig, tenant: str, ref: keys.ApprovalRef, identifier: str, workflow: str, requester: str, at: float
) -> Item:
    now = int(at)
    expires = now + max(1, round(config.timeout))
    return {
        "tenant": tenant, "approval_id": identifier, "execution": ref.execution, "step": ref.step,
        "iteration": list(ref.iteration), "attempt": ref.attempt, "workflow": workflow, "requester": requester,
        "status": "pending", "requested_at": now, "requested_ms": round(at * 1000), "expires_at": expires,
        "ttl": expires + _KEEP,
        "config": config.model_dump(exclude_none=True), "decisions": [], "decision": None, "decided_at": 0, "decided_by": "",
        "delivered": False, "notified": False, "reminded": 0,
    }


def _decided(now: float) -> Item:
    """When a request was closed: in seconds, and in milliseconds for what is told of it."""
    return {"decided_at": int(now), "decided_ms": round(now * 1000)}


def _closed_ms(item: Item) -> int:
    """When a request was closed, or asked if it was not (epoch milliseconds)."""
    return int(item.get("decided_ms") or 1000 * item["decided_at"] or item["requested_ms"])


def _earlier(item: Item) -> list[Item]:
    """What became of a request before it was asked anew."""
    kept = ("requested_at", "decided_at", "decision", "decisions")
    return [*item.get("earlier", ()), {name: item[name] for name in kept} | {"status": item.get("was") or item["status"]}]


def _same(one: Mapping[str, Json], other: Mapping[str, Json]) -> bool:
    return all(one.get(key) == other.get(key) for key in ("approved", "comment", "answer"))


def _missing(item: Item) -> int:
    agreed = sum(1 for each in item["decisions"] if each["approved"])
    return max(1, int(item["config"].get("quorum") or 1) - agreed)


def _asks(item: Item, person: Person) -> bool:
    try:
        check_person(item["config"], person, item["requester"])
    except StepError:
        return False
    return all(each["by"].casefold() != person.user.casefold() for each in item["decisions"])


def _next_reminder(item: Item) -> int:
    """When the next reminder is due; the end of the request's time when there is none."""
    reminders = item["config"].get("reminders") or {}
    sent = int(item.get("reminded") or 0)
    if not reminders or sent >= int(reminders.get("count", 3)):
        return int(item["expires_at"])
    return int(item["requested_at"] + float(reminders["every"]) * (sent + 1))


def _context(tenant: str, approval_id: str) -> dict[str, str]:
    return {"tenant": tenant, "approval": approval_id}


def _timer(item: Item) -> str:
    text = f"{item['tenant']}\x00{item['approval_id']}"
    return "approval-" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:40]


def _payload(item: Item) -> dict[str, Json]:
    return {"tenant": item["tenant"], "approval": item["approval_id"]}
