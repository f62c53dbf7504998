"""Variables: when an Assign takes effect, and how much the variables of an execution may hold."""

from __future__ import annotations

import json
from typing import Any

from moto.stepfunctions.parser.api import HistoryEventType
from moto.stepfunctions.parser.asl.component.common.error_name.failure_event import FailureEvent, FailureEventException
from moto.stepfunctions.parser.asl.component.common.error_name.states_error_name import StatesErrorName
from moto.stepfunctions.parser.asl.component.common.error_name.states_error_name_type import StatesErrorNameType

from infra.local.moto_patches.registry import event_details, patch

_COMPONENT = "parser.asl.component."
ASSIGN_LIMIT = 262_144  # bytes of JSON that one Assign sets, and so of one variable
# Bytes of JSON in all variables of an execution. Here each state counts those that it can see, since what branches and
# iterations beside it hold comes and goes.
TOTAL_LIMIT = 10 * 1024 * 1024


@patch(
    "parser.asl.eval.variable_store:VariableStore.get_assigned_variables",
    gap="strings in the history's assignedVariables are not escaped",
    fingerprint="accd1b2a7446",
)
def assigned_variables(self: Any) -> dict[str, str]:
    return {name: json.dumps(self.get(name), separators=(",", ":")) for name in sorted(self._declaration_tracing)}


def _size(value: Any) -> int:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _too_much(env: Any, what: str) -> FailureEventException:
    """States.DataLimitExceeded, which a Catch can name and States.ALL does not take."""
    name = StatesErrorName(StatesErrorNameType.StatesStatesDataLimitExceeded)
    cause = f"The state/task '{env.next_state_name}' assigned variables with a size exceeding the maximum number of " \
        f"bytes service limit: {what}."
    details = event_details("executionFailed", {"error": name.error_name, "cause": cause})
    return FailureEventException(
        FailureEvent(env=env, error_name=name, event_type=HistoryEventType.TaskFailed, event_details=details)
    )


@patch(
    "parser.asl.eval.variable_store:VariableStore.as_inner_scope_of",
    gap="the size of variables is not counted; those of the outer scope count inside as well",
    fingerprint="91b5f035daf7",
    wraps=True,
)
def inner_scope(original: Any) -> Any:
    def as_inner_scope_of(cls: Any, outer_variable_store: Any) -> Any:
        store = original(cls, outer_variable_store)
        store._outside = _held(outer_variable_store)
        return store

    return as_inner_scope_of


def _held(store: Any) -> int:
    """Bytes in the variables that states of this scope can see."""
    values = vars(store)
    held: int = values.get("_outside", 0) + sum(values.get("_sizes", {}).values())
    return held


@patch(
    _COMPONENT + "common.assign.assign_decl:AssignDecl._eval_body",
    gap="Assign takes effect before Output is evaluated; on AWS both see the old values; sizes have no limit",
    fingerprint="652b8326e85d",
)
def assign(self: Any, env: Any) -> None:
    values: dict[str, Any] = {}
    for binding in self.declaration_bindings:
        binding.eval(env=env)
        values.update(env.stack.pop())
    store = env.variable_store
    sizes = {name: _size(value) for name, value in values.items()}
    if (given := sum(sizes.values())) > ASSIGN_LIMIT:
        raise _too_much(env, f"{given:,} bytes, where one Assign sets {ASSIGN_LIMIT:,} at most")
    before = vars(store).get("_sizes", {})
    total = _held(store) + sum(size - before.get(name, 0) for name, size in sizes.items())
    if total > TOTAL_LIMIT:
        raise _too_much(env, f"{total:,} bytes in all variables, where an execution holds {TOTAL_LIMIT:,} at most")
    store._pending = (values, sizes)


@patch(
    _COMPONENT + "state.state:CommonStateField._get_state_exited_event_details",
    gap="the end of a state is where the values of Assign (see there) take effect",
    fingerprint="82ead97874bb",
    wraps=True,
)
def state_exited(original: Any) -> Any:
    def details(self: Any, env: Any) -> Any:
        store = env.variable_store
        values, sizes = vars(store).pop("_pending", ({}, {}))
        for name, value in values.items():
            store.set(name, value)
        vars(store).setdefault("_sizes", {}).update(sizes)
        return original(self, env)

    return details
