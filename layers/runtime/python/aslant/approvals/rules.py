"""Who may answer an approval, what an answer is, and when the answers decide. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from aslant.contracts import Json
from aslant.errors import AuthorizationError, ValidationError

Decision = Literal["approve", "reject", "answer"]

MAX_TEXT = 4000  # characters of a comment or an answer
ROLE = "role:"   # in front of the name of a role in a list of approvers


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who answers. `everybody` is for a local run, whose user answers for all who are asked."""

    user: str
    email: str = ""
    roles: tuple[str, ...] = ()
    everybody: bool = False

    def is_named(self, approvers: Sequence[str]) -> bool:
        """Whether a list of users, email addresses and `role:<name>` means this person."""
        names = {name for name in (self.user.casefold(), self.email.casefold()) if name and not name.startswith(ROLE)}
        names |= {f"{ROLE}{role}".casefold() for role in self.roles}
        return any(approver.strip().casefold() in names for approver in approvers)


def approvers(config: Mapping[str, Json]) -> list[str]:
    """Who is asked; nobody means everybody."""
    given = config.get("approvers") or ()
    return [given] if isinstance(given, str) else [str(each) for each in given]


def check_person(config: Mapping[str, Json], person: Person, requester: str) -> None:
    """Raises AuthorizationError for somebody who may not answer."""
    if person.everybody:
        return
    asked = approvers(config)
    if asked and not person.is_named(asked):
        raise AuthorizationError(f"{person.user} is not among those who are asked: {', '.join(asked)[:500]}")
    if requester and person.user.casefold() == requester.casefold() and not config.get("allow_requester"):
        raise AuthorizationError(f"{person.user} started the execution, and somebody else has to approve it")


def decided(
    config: Mapping[str, Json], decision: Decision, *, by: str, comment: str, answer: Json, now: float
) -> dict[str, Json]:
    """A person's answer as it is stored and given to the machine. Raises ValidationError when the request does not take it."""
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
    return {"approved": decision != "reject", "by": by, "at": moment(now), "comment": comment, "answer": answer}


def outcome(config: Mapping[str, Json], decisions: Sequence[Mapping[str, Json]]) -> dict[str, Json] | None:
    """What the answers so far decide, or None while they do not. A choice is made when one option has the quorum."""
    quorum = max(1, int(config.get("quorum") or 1))
    refusals = [each for each in decisions if not each["approved"]]
    if len(refusals) >= max(1, int(config.get("reject_quorum") or 1)):
        final = dict(refusals[-1])
    else:
        agreed = [each for each in decisions if each["approved"]]
        if config.get("approval_type") == "multiple_choice":
            votes = Counter(each["answer"] for each in agreed)
            agreed = [each for each in agreed if votes[each["answer"]] >= quorum]
        if len(agreed) < quorum:
            return None
        final = dict(agreed[-1])
    if quorum > 1 or len(decisions) > 1:
        final["decisions"] = [dict(each) for each in decisions]
    return final


def moment(seconds: float) -> str:
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
