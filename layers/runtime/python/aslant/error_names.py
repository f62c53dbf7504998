"""Error names: what a definition may write, and the names that the state machine matches.

A machine sees one name per failure (the class of `aslant.errors`, or a `States.*`, `Lambda.*`, `Sandbox.*` name of the
service). `canonical` gives every machine name that a written name stands for; a name that nobody knows passes through,
since a skill may raise any class.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

ALL = "States.ALL"

# Lambda's own failures: throttled, out of capacity, or restarted. A state that calls Lambda always retries these.
LAMBDA_SERVICE = [
    "Lambda.ServiceException", "Lambda.AWSLambdaException", "Lambda.SdkClientException", "Lambda.TooManyRequestsException",
]
TIMEOUTS = ["States.Timeout", "StepTimeout", "Sandbox.Timedout"]
HTTP = ["HttpError", "ServerError", "RateLimited", "AuthenticationError", "AuthorizationError", "NotFoundError"]

# A function's process that ended in the middle. Repeating is safe where the step itself is: its record says how far it got.
CRASHES = ["Lambda.Unknown", "Runtime.ExitError"]

# What is retried when a retry lists no errors.
RETRYABLE = ["NetworkError", "RateLimited", "ServerError", *TIMEOUTS, *CRASHES, "CommandFailed"]
# What is never retried, listed or not.
NEVER_RETRIED = frozenset({"ValidationError", "AuthenticationError", "AuthorizationError", "SecretNotFound"})

_MEANING: dict[str, list[str]] = {}


def _row(names: str, written: str) -> None:
    for name in written.split():
        _MEANING[name] = names.split()


_row(ALL, "all any * error exception throwable baseexception states.all default")
_row(" ".join(TIMEOUTS), "timeout timeouterror timeoutexception timedout timed_out steptimeout steptimeouterror "
     "states.timeout tasktimeout taskexecutiontimeout executiontimeout requesttimeout deadlineexceeded")
_row(" ".join(CRASHES), "crash crashed lambda.unknown runtime.exiterror")
_row("NetworkError", "network networkerror networkexception connection connectionerror connectionexception "
     "connectionrefused transportexception transportexceptioninterface dnserror connecttimeout")
_row("RateLimited", "ratelimited ratelimit rate_limit ratelimiterror ratelimitexception ratelimitexceeded "
     "throttling throttled throttlingexception throttlingerror toomanyrequests toomanyrequestsexception")
_row("ServerError", "servererror server_error serverexception internalservererror serviceunavailable 5xx")
_row(" ".join(HTTP), "httperror http_error httpexception")
_row("AuthenticationError", "authentication authenticationerror authenticationexception unauthenticated unauthorized")
_row("AuthorizationError", "authorization authorizationerror authorizationexception forbidden permissionerror "
     "permissiondenied accessdenied accessdeniedexception")
_row("NotFoundError", "notfound notfounderror notfoundexception resourcenotfound")
_row("ValidationError", "validation validationerror validationexception invalidargumentexception")
_row("PayloadTooLarge States.DataLimitExceeded", "payloadtoolarge datalimitexceeded states.datalimitexceeded")
_row("ExpressionError States.QueryEvaluationError",
     "expressionerror expressionexception evaluationerror states.queryevaluationerror")
_row("ApprovalRejected", "approvalrejected approvalrejectederror rejected approvaldenied")
_row("ApprovalExpired", "approvalexpired approvaltimeout approvalexpirederror expired")
_row("SandboxError", "sandboxerror scripterror")
_row("CommandFailed", "commandfailed commanderror commandexception nonzeroexit")
_row("SkillNotFound", "skillnotfound skillnotfounderror skillnotfoundexception")
_row("RolloutFailed", "rolloutfailed rollout_failed deploymentfailed")
_row("CircuitOpen", "circuitopen circuit_open circuitbreakeropen circuitbreakeropenexception circuitbreakeropenerror")
_row("SecretNotFound", "secretnotfound secretnotfounderror missingsecret")
_row("ModelError", "modelerror llmerror")
_row("BudgetExceeded", "budgetexceeded budgetexceedederror")
_row("StepTypeUnavailable", "steptypeunavailable")

_HTTP_STATUS = re.compile(r"(?:http_?error|http|status)?[._:]?([1-5][0-9x]{2})\Z", re.IGNORECASE)
_BY_STATUS = {
    "401": "AuthenticationError", "403": "AuthorizationError", "404": "NotFoundError", "429": "RateLimited",
}


def canonical(name: str) -> list[str]:
    """The machine's names for a written one, the most telling first: `HttpError.503` is `ServerError`.

    A status shares its class with others (see `aslant.errors.HttpError`), so `HttpError.503` matches every 5xx and
    `HttpError.418` every status that has no class of its own.
    """
    text = name.strip()
    known = _MEANING.get(text.lower())
    if known is not None:
        return list(known)
    match = _HTTP_STATUS.match(text)
    if match:
        status = match[1].lower()
        if status == "4xx":
            return [each for each in HTTP if each != "ServerError"]
        return ["ServerError"] if status.startswith("5") else [_BY_STATUS.get(status, "HttpError")]
    return [text]


def canonical_all(names: Iterable[str]) -> list[str]:
    """The same for several names: each machine name once, in order."""
    return list(dict.fromkeys(each for name in names for each in canonical(name)))


def is_retried(name: str, retryable: bool, listed: Iterable[str]) -> bool:
    """Whether a failure with this machine name is retried. `listed` are machine names; none means every retryable one."""
    if name in NEVER_RETRIED:
        return False
    names = set(listed)
    return (name in names or ALL in names or "States.TaskFailed" in names) if names else retryable
