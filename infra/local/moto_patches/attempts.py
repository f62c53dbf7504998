"""Attempts of a Task, Map or Parallel, and which errors a Retry and a Catch see."""

from __future__ import annotations

import threading
import time
from typing import Any

from moto.stepfunctions.parser.api import HistoryEventType
from moto.stepfunctions.parser.asl.component.common.catch.catch_outcome import CatchOutcome
from moto.stepfunctions.parser.asl.component.common.error_name.failure_event import FailureEventException
from moto.stepfunctions.parser.asl.component.common.retry.retry_outcome import RetryOutcome
from moto.stepfunctions.parser.asl.component.common.timeouts.timeout import EvalTimeoutError
from moto.stepfunctions.parser.asl.component.state.exec.execute_state import ExecutionState
from moto.stepfunctions.parser.asl.component.state.exec.state_task.service.resource import ResourceCondition
from moto.stepfunctions.parser.asl.component.state.exec.state_task.service.state_task_service_lambda import (
    StateTaskServiceLambda,
)
from moto.stepfunctions.parser.asl.component.state.exec.state_task.state_task_lambda import StateTaskLambda
from moto.stepfunctions.parser.asl.component.state.state import CommonStateField

from infra.local.moto_patches.control import silence
from infra.local.moto_patches.registry import patch
from infra.local.runtime import current, set_deadline

_COMPONENT = "parser.asl.component."
_OUTPUT = "aslant-output"


@patch(
    _COMPONENT + "state.exec.execute_state:ExecutionState._evaluate_with_timeout",
    gap="a stop waits for the handler in flight; late results write history; real time; Output cannot be caught",
    fingerprint="c56deda08a42",
)
def evaluate_with_timeout(self: Any, env: Any) -> None:
    self.timeout.eval(env=env)
    seconds = env.stack.pop()
    # A handler's work takes its real time however fast the clock runs; all other waiting goes by the clock.
    limit = float(seconds) if _calls_a_handler(self) else current().clock.real(seconds)
    frame = env.open_frame()
    frame.states.reset(input_value=env.states.get_input())
    frame.stack = list(env.stack)
    done = threading.Event()
    outcome: list[tuple[bool, Any]] = []

    def attempt() -> None:
        set_deadline(time.monotonic() + limit)
        try:
            self._eval_execution(frame)
            outcome.append((True, frame.stack[-1]))
        except BaseException as error:  # a thread that dies unseen would leave the state waiting
            outcome.append((False, error))
        done.set()

    env.program_state_event.wake(done)
    threading.Thread(target=attempt, daemon=True, name="aslant-state").start()
    done.wait(limit)
    ended = list(outcome)  # what comes later changes nothing
    env.program_state_event.forget(done)
    frame.set_ended()
    silence(frame)
    env.close_frame(frame)
    if not env.is_running():
        return
    if not ended:
        raise EvalTimeoutError()
    succeeded, result = ended[0]
    if not succeeded:
        raise result
    env.stack.append(result)
    if not self._is_language_query_jsonpath():
        env.states.set_result(result)
    if self.output:
        env.next_field_name = "Output"
        self.output.jsonata_template_value.eval(env=env)
        env.heap[_OUTPUT] = env.stack.pop()
    if self.assign_decl:
        self.assign_decl.eval(env=env)
    if self.result_selector:
        self.result_selector.eval(env=env)
    if self.result_path:
        self.result_path.eval(env)
    else:
        env.states.reset(input_value=env.stack.pop())


def _calls_a_handler(state: Any) -> bool:
    """Whether an attempt is the run of a Lambda handler and nothing else, such as an answer to a token."""
    if isinstance(state, StateTaskServiceLambda):
        return bool(state.resource.condition != ResourceCondition.WaitForTaskToken)
    return isinstance(state, StateTaskLambda)


@patch(
    _COMPONENT + "state.exec.execute_state:ExecutionState._eval_state_output",
    gap="Output is evaluated where Catch does not reach; with our _evaluate_with_timeout its value is there already",
    fingerprint="8319eaf73095",
)
def execution_output(self: Any, env: Any) -> None:
    if isinstance(env.stack[-1], CatchOutcome):
        return
    if _OUTPUT in env.heap:
        env.states.reset(input_value=env.heap.pop(_OUTPUT))
    else:
        CommonStateField._eval_state_output(self, env=env)


@patch(
    _COMPONENT + "state.state:CommonStateField._eval_body",
    gap="a failed expression of a Pass, Choice, Wait or Fail leaves no event",
    fingerprint="035f80caae12",
    wraps=True,
)
def state_body(original: Any) -> Any:
    def body(self: Any, env: Any) -> None:
        try:
            original(self, env)
        except FailureEventException as error:
            event = error.failure_event
            if event.event_type == HistoryEventType.EvaluationFailed and not isinstance(self, ExecutionState):
                env.event_manager.add_event(
                    context=env.event_history_context, event_type=event.event_type, event_details=event.event_details
                )
            raise

    return body


@patch(
    _COMPONENT + "state.exec.state_parallel.state_parallel:StateParallel._eval_state",
    gap="a failed expression in Arguments cannot be caught",
    fingerprint="1d86cbe57c76",
)
def parallel_state(self: Any, env: Any) -> None:
    env.states.context_object.context_object_data["State"]["RetryCount"] = 0
    state_input = env.stack[-1]
    while env.is_running():
        try:
            env.stack.append(state_input)
            if self.parargs is not None:
                self.parargs.eval(env=env)
            self._evaluate_with_timeout(env)
            return
        except FailureEventException as error:
            failure = self._from_error(env=env, ex=error)
            if failure.event_type == HistoryEventType.EvaluationFailed:
                env.event_manager.add_event(
                    context=env.event_history_context,
                    event_type=failure.event_type,
                    event_details=failure.event_details,
                )
            output = self._construct_error_output_value(failure_event=failure)
            env.states.set_error_output(output)
            env.states.set_result(output)
            if self.retry is not None and self._handle_retry(env=env, failure_event=failure) == RetryOutcome.CanRetry:
                continue
            env.event_manager.add_event(context=env.event_history_context, event_type=HistoryEventType.ParallelStateFailed)
            if self.catch is not None:
                self._handle_catch(env=env, failure_event=failure)
                if env.stack[-1] == CatchOutcome.Caught:
                    return
            self._handle_uncaught(env=env, failure_event=failure)


_NEVER_CAUGHT = {"States.Runtime"}
_NOT_BY_ALL = {"States.Runtime", "States.DataLimitExceeded"}


@patch(
    _COMPONENT + "common.error_name.error_equals_decl:ErrorEqualsDecl._eval_body",
    gap="States.ALL catches what AWS lets nobody catch; States.TaskFailed misses errors that begin with States.",
    fingerprint="aeda14a0cc01",
)
def error_equals(self: Any, env: Any) -> None:
    error = env.stack.pop()
    name = error.error_name if error is not None else None
    names = {known.error_name for known in self.error_names}
    if name in _NEVER_CAUGHT:
        matches = False
    elif name in names:
        matches = True
    elif "States.ALL" in names:
        matches = name not in _NOT_BY_ALL
    else:
        matches = "States.TaskFailed" in names and name != "States.Timeout" and name not in _NOT_BY_ALL
    env.stack.append(matches)


@patch(
    _COMPONENT + "common.error_name.custom_error_name:CustomErrorName.__init__",
    gap="a Parallel or Map whose branch ended with an error of States. ends as States.Runtime",
    fingerprint="2814dc26f7ae",
)
def custom_error_name(self: Any, error_name: str | None) -> None:
    self.error_name = error_name
