"""The errors a step can end with. A class's name is the error name that the state machine sees.

Retry and Catch in the machine, and `error_handlers` in a definition, name these classes. A fault of
our own (a bug) is never one of them: it stays a built-in exception.
"""

from __future__ import annotations

from collections.abc import Sequence


class StepError(Exception):
    """Anything that makes a step fail for a reason its user can act on.

    `retryable` says whether a retry without listed errors applies; `retry_after` (seconds) is what the other
    side asked for, honoured by the `adaptive` strategy.
    """

    retryable = False

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ValidationError(StepError):
    """The step's configuration or input is not what the step takes."""


class InvalidInput(ValidationError):
    """An input that a workflow does not take. `problems` are JSON pointers into the input, and what is wrong there."""

    def __init__(self, problems: Sequence[tuple[str, str]]) -> None:
        shown = [f"{pointer or 'input'}: {message}" for pointer, message in problems[:5]]
        super().__init__("; ".join(shown) + (f" (and {len(problems) - 5} more)" if len(problems) > 5 else ""))
        self.problems = tuple(problems)


class AuthenticationError(StepError):
    """The other side does not know who we are (HTTP 401, a wrong secret)."""


class AuthorizationError(StepError):
    """The other side knows who we are and refuses (HTTP 403, IAM, a private address)."""


class NotFoundError(StepError):
    """What the step names does not exist."""


class HttpError(StepError):
    """An HTTP answer outside of the step's accepted statuses.

    A machine sees exactly one name per failure, so a status has one class: 401 `AuthenticationError`, 403
    `AuthorizationError`, 404 `NotFoundError`, 429 `RateLimited`, 5xx `ServerError`, every other one `HttpError` itself
    (`http_error` decides). A definition may write `HttpError.503` or `HttpError`; `aslant.error_names` gives the
    classes that this means.
    """

    status = 0


class ServerError(HttpError):
    """An HTTP 5xx answer."""

    retryable = True


class RateLimited(HttpError):
    """HTTP 429, or a service's own throttling error."""

    status = 429
    retryable = True


class NetworkError(StepError):
    """No connection, no DNS answer, or a connection that broke."""

    retryable = True


class StepTimeout(StepError):
    """The attempt ran out of its time."""

    retryable = True


class PayloadTooLarge(StepError):
    """A result or configuration larger than a state may pass on (262,144 bytes of JSON)."""


class ExpressionError(StepError):
    """An expression that has no value: ordering on null, mismatched types, division by zero, too much work."""


class ApprovalRejected(StepError):
    """A person said no."""


class ApprovalExpired(StepError):
    """Nobody answered in time."""


class SandboxError(StepError):
    """A script that failed, or broke one of the sandbox's limits."""


class CommandFailed(StepError):
    """A command whose exit code is none that its step accepts."""

    retryable = True


class SkillNotFound(StepError):
    """A skill that nobody registered; the message lists what is registered."""


class RolloutFailed(StepError):
    """What was deployed does not come up."""


class CircuitOpen(StepError):
    """Calls of an endpoint or a skill that failed repeatedly are not made for a while (`aslant.guards`).

    It is not retried unless its name is listed: failing at once is what it is for.
    """


class SecretNotFound(StepError):
    """A secret that the tenant does not have."""


class StepTypeUnavailable(StepError):
    """What the step needs is not set up in this installation; the message names it."""


class StepInProgress(StepError):
    """Another attempt of the same step holds its lease.

    It leaves the function as one of Lambda's own failures, which every state that calls Lambda tries again
    (`aslant.step.WAITS`).
    """

    retryable = True


class ModelError(StepError):
    """A language model that gave no usable answer (refused, cut off, or not the format that was asked for)."""


class BudgetExceeded(StepError):
    """A call of a model that would take the tenant beyond what its models may cost this month."""


class ApprovalClosed(StepError):
    """A decision on an approval that is decided already, has expired, or whose execution has ended."""


class InvalidTransition(StepError):
    """A change that an execution's status does not allow; the message names both statuses."""


class RollbackIncomplete(StepError):
    """Something that was to be undone could not be; the message lists it."""


class ConflictError(StepError):
    """The same key with other contents, or a record that somebody else changed in between."""


class PreconditionFailed(ConflictError):
    """What is to be changed is not as its caller has seen it any more (HTTP 412)."""


def http_error(status: int, message: str, *, retry_after: float | None = None) -> StepError:
    """The error for an HTTP status that the step does not accept. `retry_after` is in seconds."""
    kind: type[StepError] = ServerError if status >= 500 else _BY_STATUS.get(status, HttpError)
    error = kind(message, retry_after=retry_after)
    if isinstance(error, HttpError):
        error.status = status
    return error


def retry_after(header: str | None, now: float) -> float | None:
    """Seconds to wait that a Retry-After header asks for; it holds seconds or a date. `now` is epoch seconds."""
    if header is None:
        return None
    text = header.strip()
    if text.isascii() and text.isdigit():
        return min(float(text), 86_400.0)
    from email.utils import parsedate_to_datetime  # slow, and few answers hold a date

    try:
        return min(max(0.0, parsedate_to_datetime(text).timestamp() - now), 86_400.0)
    except (ValueError, OverflowError):
        return None


_BY_STATUS: dict[int, type[StepError]] = {
    401: AuthenticationError,
    403: AuthorizationError,
    404: NotFoundError,
    429: RateLimited,
}


def named(name: str, message: str, *, retry_after: float | None = None) -> StepError:
    """An error whose class has any name: `Retry.2`, or what a remote function called its own error."""
    kind = type(name[:256] or "Error", (StepError,), {"__doc__": "An error that is known by its name only."})
    error: StepError = kind(message, retry_after=retry_after)
    return error
