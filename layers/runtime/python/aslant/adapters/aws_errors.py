"""Failures of AWS calls as errors of steps."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from aslant.adapters.clients import error_code
from aslant.errors import (
    AuthorizationError,
    NetworkError,
    NotFoundError,
    RateLimited,
    ServerError,
    StepError,
    StepTimeout,
    ValidationError,
)

_THROTTLED = frozenset({
    "ThrottlingException", "Throttling", "TooManyRequestsException", "RequestLimitExceeded", "SlowDown",
    "ProvisionedThroughputExceededException", "ServiceQuotaExceededException", "LimitExceededException",
    "TransactionConflictException", "TransactionInProgressException",
})
_DENIED = frozenset({"AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "AuthorizationError",
                     "AuthorizationErrorException", "UnrecognizedClientException", "ExpiredTokenException"})
_MISSING = frozenset({"ResourceNotFoundException", "NotFound", "NotFoundException", "ParameterNotFound",
                      "ClusterNotFoundException", "ServiceNotFoundException", "ServiceNotActiveException"})
_SERVER = frozenset({"InternalServerException", "InternalServerError", "InternalFailure", "ServiceUnavailable",
                     "ServiceUnavailableException", "ModelNotReadyException", "ServiceException", "InternalError",
                     "ModelErrorException", "InternalServiceError"})


@contextlib.contextmanager
def calling(doing: str) -> Iterator[None]:
    """Around a boto3 call: its failures become errors of steps that say what was being done."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        yield
    except (BotoCoreError, ClientError) as error:
        raise step_error(error, doing) from None


def step_error(error: Exception, doing: str) -> StepError:
    """The step's error for a failure of boto3 or botocore while `doing` something."""
    kind = type(error).__name__
    if kind in ("ConnectTimeoutError", "ReadTimeoutError", "ModelTimeoutException"):
        return StepTimeout(f"{doing} took too long")
    if kind in ("EndpointConnectionError", "ConnectionClosedError", "ConnectionError", "HTTPClientError", "SSLError",
                "ProxyConnectionError"):
        return NetworkError(f"{doing} did not reach AWS")
    if kind in ("NoCredentialsError", "PartialCredentialsError"):
        return AuthorizationError(f"{doing} has no AWS credentials")
    code = error_code(error)
    response = getattr(error, "response", {})
    detail = str(response.get("Error", {}).get("Message", "")) if code else ""
    text = f"{doing} failed: {code} {detail}".strip() if code else f"{doing} failed: {kind}"
    status = response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0) if isinstance(response, dict) else 0
    if code in _THROTTLED or status == 429:
        return RateLimited(text)
    if code in _DENIED:
        return AuthorizationError(text)
    if code in _MISSING:
        return NotFoundError(text)
    if code == "ModelTimeoutException":
        return StepTimeout(text)
    if code in _SERVER or status >= 500:
        return ServerError(text)
    return ValidationError(text)
