"""Time and ends: moto sleeps on the real clock and cannot interrupt what waits."""

from __future__ import annotations

import datetime
import re
import threading
import time
from typing import Any, Protocol

from moto.stepfunctions.parser.asl.component.common.error_name.failure_event import FailureEventException
from moto.stepfunctions.parser.asl.component.common.retry.max_attempts_decl import MaxAttemptsOutcome
from moto.stepfunctions.parser.asl.component.common.retry.retrier_outcome import RetrierOutcome
from moto.stepfunctions.parser.asl.eval.program_state import ProgramRunning

from infra.local.moto_patches.registry import patch
from infra.local.runtime import current

_COMPONENT = "parser.asl.component."
_ENDS = {"ExecutionSucceeded", "ExecutionFailed", "ExecutionAborted", "ExecutionTimedOut"}


class Waiter(Protocol):
    """What can be told of an end: an event, or something that acts."""

    def set(self) -> None: ...


class EndEvent(threading.Event):
    """Set when an environment ends, for good: moto pulses its event, and who waits next would wait for ever."""

    def __init__(self) -> None:
        super().__init__()
        self._waiters: list[Waiter] = []
        self._mutex = threading.Lock()

    def clear(self) -> None:
        """Nothing: an end stays."""

    def set(self) -> None:
        with self._mutex:
            super().set()
            waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            waiter.set()

    def wake(self, waiter: Waiter) -> None:
        """Set `waiter` too when the end comes, at once if it has come."""
        with self._mutex:
            if not self.is_set():
                self._waiters.append(waiter)
                return
        waiter.set()

    def forget(self, waiter: Waiter) -> None:
        with self._mutex:
            if waiter in self._waiters:
                self._waiters.remove(waiter)


def pause(env: Any, seconds: float) -> None:
    """Wait `seconds` of the cloud's clock, or until the environment ends."""
    until = time.monotonic() + max(0.0, seconds) / current().clock.scale
    while env.is_running() and (left := until - time.monotonic()) > 0:
        env.program_state_event.wait(min(left, 86_400.0))


def silence(env: Any) -> None:
    """Let an abandoned environment and those inside it write no more history."""
    env.event_history_context.closed = True
    for frame in list(env._frames):
        silence(frame)


@patch(
    "parser.asl.eval.environment:Environment.__init__",
    gap="the end of an environment is a pulse that a waiter can miss",
    fingerprint="aa71d1e8d70e",
    wraps=True,
)
def environment_init(original: Any) -> Any:
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        self.program_state_event = EndEvent()

    return init


@patch(
    "parser.asl.eval.environment:Environment.as_inner_frame_of",
    gap="$states.context.Map is lost inside the states of an iteration; a frame opened after the end can wait",
    fingerprint="eb77183cac4a",
    wraps=True,
)
def inner_frame(original: Any) -> Any:
    def as_inner_frame_of(cls: Any, env: Any, *args: Any, **kwargs: Any) -> Any:
        frame = original(cls, env, *args, **kwargs)
        outer = env.states.context_object.context_object_data
        if "Map" in outer:
            frame.states.context_object.context_object_data["Map"] = outer["Map"]
        if env._program_state is not None and not env.is_running():
            frame.program_state_event.set()
        return frame

    return as_inner_frame_of


@patch(
    "parser.asl.eval.environment:Environment.set_error",
    gap="an error that follows a stop replaces it",
    fingerprint="6447409d4056",
    wraps=True,
)
def set_error(original: Any) -> Any:
    def guarded(self: Any, error: Any) -> None:
        with self._state_mutex:
            if isinstance(self._program_state, ProgramRunning):
                original(self, error)

    return guarded


@patch(
    "parser.asl.eval.environment:Environment.set_timed_out",
    gap="a timeout that follows the end replaces it",
    fingerprint="853b04bf9e6a",
    wraps=True,
)
def set_timed_out(original: Any) -> Any:
    def guarded(self: Any) -> None:
        with self._state_mutex:
            if isinstance(self._program_state, ProgramRunning):
                original(self)

    return guarded


@patch(
    _COMPONENT + "program.program:Program.eval",
    gap="TimeoutSeconds is real time and leaves the states running; one more thread for each branch and item",
    fingerprint="6d701880064a",
)
def program_eval(self: Any, env: Any) -> None:
    try:
        env.next_state_name = self.start_at.start_at_name
    except RuntimeError:  # stopped before the first state
        if env.is_frame():
            return
    timer = None
    if self.timeout_seconds and not env.is_frame():
        timer = threading.Timer(current().clock.real(self.timeout_seconds.timeout_seconds), env.set_timed_out)
        timer.daemon = True
        timer.start()
    try:
        self._eval_body(env)
    finally:
        if timer is not None:
            timer.cancel()


@patch(
    _COMPONENT + "common.retry.retrier_decl:RetrierDecl._eval_body",
    gap="the pause before a retry is real time and cannot be interrupted",
    fingerprint="48463fff19ce",
)
def retrier(self: Any, env: Any) -> None:
    self.error_equals.eval(env)
    if not env.stack.pop():
        env.stack.append(RetrierOutcome.Skipped)
        return
    self.max_attempts.eval(env=env)
    if env.stack.pop() == MaxAttemptsOutcome.EXHAUSTED:
        env.stack.append(RetrierOutcome.Failed)
        return
    for part in (self.interval_seconds, self.backoff_rate, self.max_delay_seconds, self.jitter_strategy):
        part.eval(env=env)
    pause(env, env.stack.pop())
    env.stack.append(RetrierOutcome.Executed)


_WAIT = _COMPONENT + "state.wait.wait_function."
_TIMESTAMP = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})", re.ASCII)


@patch(
    _WAIT + "wait_function:WaitFunction._wait_interval",
    gap="a wait is real time and rounds to whole seconds",
    fingerprint="8f954dee8037",
)
def wait_interval(self: Any, env: Any, wait_seconds: float) -> None:
    pause(env, wait_seconds)


@patch(
    _WAIT + "timestamp:Timestamp._from_timestamp_string",
    gap="a timestamp with an offset is refused; the result has no zone",
    fingerprint="711ff48cd648",
)
def read_timestamp(timestamp: Any) -> datetime.datetime | None:
    if not isinstance(timestamp, str) or _TIMESTAMP.fullmatch(timestamp) is None:
        return None
    try:
        return datetime.datetime.fromisoformat(timestamp)
    except ValueError:
        return None


@patch(
    _WAIT + "timestamp:Timestamp._get_wait_seconds",
    gap="a timestamp is compared with the machine's local time",
    fingerprint="611d040940ad",
)
def timestamp_seconds(self: Any, env: Any) -> float:
    self.string.eval(env=env)
    text = env.stack.pop()
    moment = read_timestamp(text)
    if moment is None:
        raise FailureEventException(self._create_failure_event(env, text))
    seconds: float = (moment - current().clock.now()).total_seconds()
    return seconds


@patch(
    "parser.asl.eval.event.event_manager:EventManager.add_event",
    gap="abandoned states and ended executions go on writing history",
    fingerprint="cb430fa2e3fe",
    wraps=True,
)
def add_event(original: Any) -> Any:
    def add(self: Any, context: Any, event_type: Any, *args: Any, **kwargs: Any) -> int:
        if getattr(self, "closed", False) or getattr(context, "closed", False):
            return int(context.last_published_event_id)
        return int(original(self, context, event_type, *args, **kwargs))

    return add


@patch(
    "parser.asl.eval.event.event_manager:EventManager._publish_history_event",
    gap="the history can go on after its last event",
    fingerprint="717125b52998",
    wraps=True,
)
def publish_event(original: Any) -> Any:
    def publish(self: Any, *args: Any, event_type: Any, **kwargs: Any) -> None:
        if not getattr(self, "closed", False):  # moto holds the manager's lock here
            original(self, *args, event_type=event_type, **kwargs)
            name = str(getattr(event_type, "value", event_type))
            self.closed = name in _ENDS
            runtime, arn = current(), getattr(self, "execution_arn", "")
            if runtime.journal is not None and arn and not runtime.closing:
                runtime.journal.add_event(arn, {**self._history_event_list[-1], "type": name})

    return publish


@patch(
    "parser.asl.eval.event.event_manager:EventManager._get_current_timestamp",
    gap="events carry the real time",
    fingerprint="d1359f286147",
)
def event_time() -> datetime.datetime:
    return current().clock.now()


@patch(
    _COMPONENT + "state.exec.state_parallel.branch_worker:BranchWorker.stop",
    gap="the branches beside a failed one go on writing history",
    fingerprint="701c66a7086b",
    wraps=True,
)
def branch_stop(original: Any) -> Any:
    def stop(self: Any, stop_date: Any, cause: Any, error: Any) -> None:
        silence(self.env)
        original(self, stop_date, cause, error)

    return stop
