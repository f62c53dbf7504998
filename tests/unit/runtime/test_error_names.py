"""What written error names mean to a state machine."""

from __future__ import annotations

import inspect

import pytest

from aslant import errors
from aslant.error_names import HTTP, NEVER_RETRIED, RETRYABLE, TIMEOUTS, canonical, canonical_all, is_retried


@pytest.mark.parametrize(("written", "names"), [
    ("*", ["States.ALL"]), ("all", ["States.ALL"]), ("ALL", ["States.ALL"]), ("Exception", ["States.ALL"]),
    ("timeout", TIMEOUTS), ("TimeoutException", TIMEOUTS), ("StepTimeout", TIMEOUTS), ("States.Timeout", TIMEOUTS),
    ("NetworkError", ["NetworkError"]), ("ConnectionException", ["NetworkError"]),
    ("AuthenticationException", ["AuthenticationError"]), ("ValidationException", ["ValidationError"]),
    ("RateLimitError", ["RateLimited"]), ("ThrottlingException", ["RateLimited"]), ("HttpError.429", ["RateLimited"]),
    ("HttpError.503", ["ServerError"]), ("HttpError.5xx", ["ServerError"]), ("HttpError.404", ["NotFoundError"]),
    ("HttpError.401", ["AuthenticationError"]), ("HttpError.418", ["HttpError"]), ("HttpError", HTTP), ("503", ["ServerError"]),
    ("DeploymentError", ["DeploymentError"]), ("HealthCheckFailed", ["HealthCheckFailed"]), ("States.Permissions",
    ["States.Permissions"]), ("HttpError.9000", ["HttpError.9000"]),
])
def test_canonical(written, names):
    assert canonical(written) == names


def test_lists_keep_their_order_and_repeat_nothing():
    assert canonical_all(["HttpError.503", "timeout", "503", "States.Timeout"]) == ["ServerError", *TIMEOUTS]


def test_callers_cannot_change_the_table():
    canonical("timeout").append("x")
    assert canonical("timeout") == TIMEOUTS


def test_every_error_class_can_be_written_by_its_own_name():
    for name, kind in inspect.getmembers(errors, inspect.isclass):
        if issubclass(kind, errors.StepError) and kind is not errors.StepError:
            assert name in canonical(name), name


def test_the_default_retries_are_the_retryable_classes():
    classes = {name for name, kind in inspect.getmembers(errors, inspect.isclass)
               if issubclass(kind, errors.StepError) and kind.retryable}
    # StepInProgress leaves the function under a name that every state retries.
    assert classes - {"StepInProgress"} == {name for name in RETRYABLE if "." not in name}
    assert not NEVER_RETRIED & set(RETRYABLE)


@pytest.mark.parametrize(("name", "retryable", "listed", "retried"), [
    ("ServerError", True, [], True), ("Odd", False, [], False), ("Odd", False, ["States.ALL"], True),
    ("ServerError", True, ["Odd"], False), ("ValidationError", False, ["ValidationError"], False),
])
def test_is_retried(name, retryable, listed, retried):
    assert is_retried(name, retryable, listed) is retried


@pytest.mark.parametrize(("status", "kind"), [(400, errors.HttpError), (401, errors.AuthenticationError),
                                              (429, errors.RateLimited), (500, errors.ServerError)])
def test_http_errors_agree_with_their_names(status, kind):
    error = errors.http_error(status, "x", retry_after=3)
    assert type(error) is kind and error.retry_after == 3
    assert type(error).__name__ in canonical(f"HttpError.{status}")
