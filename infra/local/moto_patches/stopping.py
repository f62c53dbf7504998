"""What a stop leaves undone: moto skips the parts of a state that has ended and goes on with what is not there."""

from __future__ import annotations

import contextlib
from typing import Any

from infra.local.moto_patches.registry import patch

_COMPONENT = "parser.asl.component."


class Ended(BaseException):
    """The environment of a part of a state has ended: nothing of the state happens any more.

    No `Exception`, as moto takes each of those for an error of the state.
    """


@patch(
    _COMPONENT + "eval_component:EvalComponent.eval",
    gap="what is skipped after a stop leaves no value, and the part around it takes one from an empty stack or the "
    "wrong one, up to calling a task with it; every error of a state prints the whole machine once for each level",
    fingerprint="8573f4a8a03c",
)
def evaluate(self: Any, env: Any) -> None:
    if not env.is_running():
        raise Ended
    try:
        field = self._field_name()
        if field is not None:
            env.next_field_name = field
        self._eval_body(env)
    except Exception:
        if env.is_running():
            raise
        raise Ended from None  # such as a field's name, which moto sets in running environments only


@patch(
    _COMPONENT + "state.exec.execute_state:ExecutionState._from_error",
    gap="a state that was stopped while it ran is taken for one that failed",
    fingerprint="e784c91cf9d6",
    wraps=True,
)
def from_error(original: Any) -> Any:
    def failure(self: Any, env: Any, ex: Exception) -> Any:
        if not env.is_running():
            raise Ended
        return original(self, env, ex)

    return failure


@patch(
    _COMPONENT + "program.program:Program._get_state",
    gap="a stop between two states is an error: there is no state None",
    fingerprint="8c2e257f8035",
    wraps=True,
)
def get_state(original: Any) -> Any:
    def state(self: Any, state_name: str | None) -> Any:
        if state_name is None:
            raise Ended
        return original(self, state_name)

    return state


@patch(
    _COMPONENT + "program.program:Program._eval_body",
    gap="this is where our Ended (see there) arrives",
    fingerprint="0735481f6d02",
    wraps=True,
)
def program_body(original: Any) -> Any:
    def body(self: Any, env: Any) -> None:
        with contextlib.suppress(Ended):
            original(self, env)
            return
        original(self, env)  # runs no state, since nothing runs, and writes the end into the history

    return body
