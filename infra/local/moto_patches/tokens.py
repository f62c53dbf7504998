"""Task tokens: one for each attempt, answered once, refused when the task is over."""

from __future__ import annotations

import json
from typing import Any

from moto.core.exceptions import AWSError
from moto.stepfunctions.parser.asl.component.state.exec.execute_state import ExecutionState
from moto.stepfunctions.parser.asl.component.state.exec.state_task.service.resource import ResourceCondition
from moto.stepfunctions.parser.asl.component.state.exec.state_task.service.state_task_service import StateTaskService
from moto.stepfunctions.parser.asl.eval.callback.callback import (
    CallbackOutcomeFailure,
    CallbackOutcomeSuccess,
    CallbackOutcomeTimedOut,
    HeartbeatTimedOut,
)

from infra.local.moto_patches.registry import patch
from infra.local.runtime import current


class InvalidToken(AWSError):
    TYPE = "InvalidToken"
    STATUS = 400


class InvalidOutput(AWSError):
    TYPE = "InvalidOutput"
    STATUS = 400


class TaskTimedOut(AWSError):
    TYPE = "TaskTimedOut"
    STATUS = 400


_CALLBACK = "parser.asl.component.state.exec.state_task.service.state_task_service_callback:StateTaskServiceCallback."
_BACKEND = "parser.models:StepFunctionsParserBackend."


@patch(
    _CALLBACK + "_eval_body",
    gap="one token for all attempts of a state: the answer to the first one ends the second",
    fingerprint="1565ede7010d",
)
def callback_body(self: Any, env: Any) -> None:
    if self._is_integration_pattern():
        self._assert_integration_pattern_is_supported()
    StateTaskService._eval_body(self, env=env)
    env.states.context_object.context_object_data.pop("Task", None)


@patch(
    _CALLBACK + "_evaluate_with_timeout",
    gap="a token outlives its attempt",
    fingerprint="c56deda08a42",
)
def attempt_with_token(self: Any, env: Any) -> None:
    endpoint = None
    if self._is_integration_pattern() and ResourceCondition.WaitForTaskToken in self._supported_integration_patterns:
        token = env.states.context_object.update_task_token()
        endpoint = env.callback_pool_manager.add(token)
        endpoint.over = False
        current().tokens[token] = endpoint
    try:
        ExecutionState._evaluate_with_timeout(self, env)
    finally:
        if endpoint is not None:
            endpoint.over = True


@patch(
    _CALLBACK + "_eval_wait_for_task_token",
    gap="the wait for an answer is real time and goes on after the end of the state",
    fingerprint="061c4a80d1bd",
)
def wait_for_token(self: Any, env: Any, timeout_seconds: Any, callback_endpoint: Any, heartbeat_endpoint: Any) -> Any:
    clock, ended = current().clock, env.program_state_event
    answer = callback_endpoint._notify_event
    ended.wake(answer)
    if heartbeat_endpoint is None:
        answer.wait(clock.real(timeout_seconds))
    else:
        beat = heartbeat_endpoint._next_heartbeat_event
        ended.wake(beat)
        while env.is_running() and callback_endpoint.get_outcome() is None:
            if not beat.wait(clock.real(heartbeat_endpoint._heartbeat_seconds)):
                callback_endpoint.over = True
                return HeartbeatTimedOut()
            beat.clear()
    return callback_endpoint.get_outcome() or CallbackOutcomeTimedOut(callback_id=callback_endpoint.callback_id)


def _answer(token: str, outcome: Any) -> None:
    """Give `outcome` to the task of a token; None is a heartbeat."""
    runtime = current()
    with runtime.lock:  # of two answers at the same time, one is the first
        endpoint = runtime.tokens.get(token)
        if endpoint is None:
            raise InvalidToken("Invalid Token: 'Invalid token'")
        if endpoint.over or endpoint.get_outcome() is not None:
            raise TaskTimedOut("Task Timed Out: 'Provided task does not exist anymore'")
        if outcome is None:
            endpoint.notify_heartbeat()
        else:
            endpoint.notify(outcome)


@patch(
    _BACKEND + "send_task_success", gap="a used token is accepted again, an expired one is unknown", fingerprint="2e95c66f0d67"
)
def send_success(self: Any, task_token: str, outcome: str) -> None:
    try:
        json.loads(outcome)
    except (TypeError, ValueError) as error:
        raise InvalidOutput(f"Invalid Output: '{error}'") from None
    _answer(task_token, CallbackOutcomeSuccess(callback_id=task_token, output=outcome))


@patch(
    _BACKEND + "send_task_failure", gap="a used token is accepted again, an expired one is unknown", fingerprint="2d5a9597cf1d"
)
def send_failure(self: Any, task_token: str, error: str | None = None, cause: str | None = None) -> None:
    _answer(task_token, CallbackOutcomeFailure(callback_id=task_token, error=error or "", cause=cause or ""))


@patch(_BACKEND + "send_task_heartbeat", gap="an expired token is unknown", fingerprint="279ad79cd7a2")
def send_heartbeat(self: Any, task_token: str) -> None:
    _answer(task_token, None)


@patch(
    _CALLBACK + "_eval_sync",
    gap="a thread waits for a token that a .sync task does not have, beyond the end of the state",
    fingerprint="b8f76de4d514",
)
def eval_sync(
    self: Any, env: Any, sync_resolver: Any, timeout_seconds: Any, callback_endpoint: Any, heartbeat_endpoint: Any
) -> Any:
    while env.is_running():
        result = sync_resolver()
        if result:
            return result
        env.program_state_event.wait(0.5)  # only services without a notice of their end get here
    return None
