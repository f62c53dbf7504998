"""JSONata and Choice: moto pastes values into the text of an expression and has no engine."""

from __future__ import annotations

import copy
import json
import re
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

from moto.stepfunctions.parser.api import HistoryEventType
from moto.stepfunctions.parser.asl.component.common.error_name.failure_event import (
    FailureEvent,
    FailureEventException,
)
from moto.stepfunctions.parser.asl.component.common.error_name.states_error_name import StatesErrorName
from moto.stepfunctions.parser.asl.component.common.error_name.states_error_name_type import StatesErrorNameType

from infra.local import jsonata_engine
from infra.local.moto_patches.registry import event_details, patch
from infra.local.runtime import current

_PARTS = ("input", "context", "result", "errorOutput")
_PART = re.compile(r"\$states\.(\w+)")
_COMPONENT = "parser.asl.component."


@lru_cache(maxsize=8192)
def _parts(expression: str) -> tuple[str, ...]:
    """Which parts of `$states` an expression can reach; all of them when it uses `$states` in another way."""
    named = _PART.findall(expression)
    if expression.count("$states") != len(named):
        return _PARTS
    return tuple(part for part in _PARTS if part in named)


def _lookup(env: Any, expression: str) -> jsonata_engine.Lookup:
    """Variables of a state in the engine's form, converted once for each value and kept with it."""
    store, data = env.variable_store, env.states._states_data

    def kept(cache: dict[str, tuple[Any, Any]], name: str, value: Any) -> Any:
        known = cache.get(name)
        if known is None or known[0] is not value:
            known = cache[name] = (value, jsonata_engine.to_engine(value))
        return known[1]

    def lookup(name: str) -> Any:
        if name == "states":
            cache = vars(env.states).setdefault("_engine_values", {})
            return {
                # the context changes in place, so it is converted each time
                part: jsonata_engine.to_engine(data[part]) if part == "context" else kept(cache, part, data[part])
                for part in _parts(expression)
                if part in data
            }
        for scope in (store._inner_scope, store._outer_scope):
            if name in scope:
                return kept(vars(store).setdefault("_engine_values", {}), name, scope[name])
        return jsonata_engine.MISSING

    return lookup


def query_error(env: Any, cause: str, location: str | None = None) -> FailureEventException:
    """A catchable States.QueryEvaluationError, as AWS words it."""
    details = {"error": "States.QueryEvaluationError", "cause": cause}
    if location:
        details["location"] = location
    return FailureEventException(
        FailureEvent(
            env=env,
            error_name=StatesErrorName(StatesErrorNameType.StatesQueryEvaluationError),
            event_type=HistoryEventType.EvaluationFailed,
            event_details=event_details("evaluationFailed", details),
        )
    )


def evaluate(env: Any, expression: str) -> Any:
    field = env.next_field_name or ""
    about = f"The JSONata expression '{expression}' specified for the field '{field}'"
    try:
        return jsonata_engine.evaluate(expression, _lookup(env, expression), millis=current().clock.millis())
    except jsonata_engine.Undefined:
        raise query_error(env, f"{about} returned nothing (undefined).", field) from None
    except jsonata_engine.NotJson as error:
        raise query_error(env, f"{about} returned an unsupported result type. {error}", field) from None
    except jsonata_engine.JsonataError as error:
        text = f"{error.code}: {error}" if error.code else str(error)
        raise query_error(env, f"{about} threw an error during evaluation. {text}", field) from None


@patch(
    _COMPONENT + "common.string.string_expression:StringJSONata._eval_body",
    gap="no engine; values are pasted as text, unescaped; an error of the engine ends the machine as States.Runtime",
    fingerprint="277b6f413214",
)
def string_jsonata(self: Any, env: Any) -> None:
    env.stack.append(evaluate(env, self.expression))


@patch(
    _COMPONENT + "common.string.string_expression:StringVariableSample._eval_body",
    gap="no engine, and values pasted as text, for variables in JSONPath states",
    fingerprint="4aa01e616a98",
)
def string_variable(self: Any, env: Any) -> None:
    env.stack.append(evaluate(env, self.expression))


@patch(
    _COMPONENT + "state.state:StateData",
    gap="EnteredTime is written with an offset and by the real clock; RetryCount is missing outside of tasks",
    fingerprint="3ee318f50da9",
)
def state_data(*, EnteredTime: str, Name: str) -> dict[str, Any]:
    return {"EnteredTime": current().clock.timestamp(), "Name": Name, "RetryCount": 0}


@patch(
    _COMPONENT + "state.choice.comparison.comparison:ConditionStringJSONata._eval_body",
    gap="a condition that is no boolean ends the machine as States.Runtime",
    fingerprint="0a12270eaeae",
)
def condition(self: Any, env: Any) -> None:
    self.string_jsonata.eval(env=env)
    result = env.stack[-1]
    if not isinstance(result, bool):
        kind = {str: "string", int: "number", float: "number", list: "array", dict: "object"}.get(type(result), "null")
        raise query_error(
            env,
            f"The JSONata expression '{self.string_jsonata.expression}' specified for the field 'Condition' returned "
            f"an unexpected result type. Expected 'boolean', but was '{kind}' for value: {json.dumps(result)}",
            "Condition",
        )


@patch(
    _COMPONENT + "state.choice.state_choice:StateChoice._eval_state",
    gap="no match is a States.Runtime; a rule that goes where Default goes is taken for Default",
    fingerprint="47c01743c893",
)
def choose(self: Any, env: Any) -> None:
    for rule in self.choices_decl.rules:
        rule.eval(env)
        if env.stack.pop() is True:
            if rule.next_stmt is None:
                raise RuntimeError(f"a choice of state '{self.name}' has no Next")
            env.stack.append((rule.next_stmt.name, True))
            return
    if self.default_state is None:
        name = StatesErrorName(StatesErrorNameType.StatesNoChoiceMatched)
        raise FailureEventException(
            FailureEvent(
                env=env,
                error_name=name,
                event_type=HistoryEventType.ExecutionFailed,
                event_details=event_details(
                    "executionFailed",
                    {
                        "error": name.error_name,
                        "cause": f"Failed to transition out of the state '{self.name}'. "
                        "The state doesn't point to a next state.",
                    },
                ),
            )
        )
    env.stack.append((self.default_state.state_name, False))


@patch(
    _COMPONENT + "state.choice.state_choice:StateChoice._eval_state_output",
    gap="Assign and Output of the state are evaluated for a rule that goes where Default goes",
    fingerprint="ab3b90209aa7",
)
def choice_output(self: Any, env: Any) -> None:
    next_state, by_rule = env.stack.pop()
    if not by_rule:
        if self.assign_decl:
            self.assign_decl.eval(env=env)
        if self.output:
            self.output.eval(env=env)
    if self._is_language_query_jsonpath():
        if self.output_path:
            self.output_path.eval(env=env)
        else:
            env.states.reset(input_value=env.stack.pop())
    env.next_state_name = next_state


@patch(
    "parser.asl.eval.states:copy",
    gap="inputs and results are copied six times for each state; in JSONata states nothing ever changes one in place",
    fingerprint="6f5a6034e770",
    wraps=True,
)
def no_copy(original: Any) -> Any:
    return SimpleNamespace(deepcopy=lambda value: value)


@patch(
    "parser.asl.eval.states:States.get_context",
    gap="with our `copy` (see there) the context, which does change in place, would be shared",
    fingerprint="0c34c5e39703",
    wraps=True,
)
def context_copy(original: Any) -> Any:
    return lambda self, query=None: copy.deepcopy(original(self, query))


def _fits(value: Any) -> bool:
    """Whether JSON text of `value` is at most 262,144 bytes of UTF-8."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    return len(text) * 4 <= 262_144 or len(text.encode("utf-8", "surrogatepass")) <= 262_144


@patch(
    _COMPONENT + "state.state:is_within_size_quota",
    gap="the size of a payload is counted with escapes and spaces, not as UTF-8",
    fingerprint="744cc11a3a37",
)
def state_fits(value: Any) -> bool:
    return _fits(value)


@patch(
    _COMPONENT + "state.exec.state_task.service.state_task_service:is_within_size_quota",
    gap="the size of a task's result is counted with escapes and spaces, not as UTF-8",
    fingerprint="744cc11a3a37",
)
def result_fits(value: Any) -> bool:
    return _fits(value)
