"""A JSONata definition to moto's components, without ANTLR: a hundred times faster, and texts are JSON's.

Knows what compiled machines use. Anything else is `NotHandled`, and moto's own parser takes the definition.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from moto.stepfunctions.parser.asl.component.common.assign.assign_decl import AssignDecl
from moto.stepfunctions.parser.asl.component.common.assign.assign_decl_binding import AssignDeclBinding
from moto.stepfunctions.parser.asl.component.common.assign.assign_template_binding import AssignTemplateBindingValue
from moto.stepfunctions.parser.asl.component.common.catch.catch_decl import CatchDecl
from moto.stepfunctions.parser.asl.component.common.catch.catcher_decl import CatcherDecl
from moto.stepfunctions.parser.asl.component.common.comment import Comment
from moto.stepfunctions.parser.asl.component.common.error_name.custom_error_name import CustomErrorName
from moto.stepfunctions.parser.asl.component.common.error_name.error_equals_decl import ErrorEqualsDecl
from moto.stepfunctions.parser.asl.component.common.error_name.states_error_name import StatesErrorName
from moto.stepfunctions.parser.asl.component.common.flow.end import End
from moto.stepfunctions.parser.asl.component.common.flow.next import Next
from moto.stepfunctions.parser.asl.component.common.flow.start_at import StartAt
from moto.stepfunctions.parser.asl.component.common.jsonata.jsonata_template_binding import JSONataTemplateBinding
from moto.stepfunctions.parser.asl.component.common.jsonata.jsonata_template_value_array import (
    JSONataTemplateValueArray,
)
from moto.stepfunctions.parser.asl.component.common.jsonata.jsonata_template_value_object import (
    JSONataTemplateValueObject,
)
from moto.stepfunctions.parser.asl.component.common.jsonata.jsonata_template_value_terminal import (
    JSONataTemplateValueTerminalLit,
    JSONataTemplateValueTerminalStringJSONata,
)
from moto.stepfunctions.parser.asl.component.common.outputdecl import Output
from moto.stepfunctions.parser.asl.component.common.parargs import (
    ArgumentsJSONataTemplateValueObject,
    ArgumentsStringJSONata,
)
from moto.stepfunctions.parser.asl.component.common.query_language import QueryLanguage, QueryLanguageMode
from moto.stepfunctions.parser.asl.component.common.retry.backoff_rate_decl import BackoffRateDecl
from moto.stepfunctions.parser.asl.component.common.retry.interval_seconds_decl import IntervalSecondsDecl
from moto.stepfunctions.parser.asl.component.common.retry.jitter_strategy_decl import (
    JitterStrategy,
    JitterStrategyDecl,
)
from moto.stepfunctions.parser.asl.component.common.retry.max_attempts_decl import MaxAttemptsDecl
from moto.stepfunctions.parser.asl.component.common.retry.max_delay_seconds_decl import MaxDelaySecondsDecl
from moto.stepfunctions.parser.asl.component.common.retry.retrier_decl import RetrierDecl
from moto.stepfunctions.parser.asl.component.common.retry.retry_decl import RetryDecl
from moto.stepfunctions.parser.asl.component.common.string.string_expression import StringJSONata, StringLiteral
from moto.stepfunctions.parser.asl.component.common.timeouts.heartbeat import (
    HeartbeatSeconds,
    HeartbeatSecondsJSONata,
)
from moto.stepfunctions.parser.asl.component.common.timeouts.timeout import TimeoutSeconds, TimeoutSecondsJSONata
from moto.stepfunctions.parser.asl.component.program.program import Program
from moto.stepfunctions.parser.asl.component.program.states import States
from moto.stepfunctions.parser.asl.component.state.choice.choice_rule import ChoiceRule
from moto.stepfunctions.parser.asl.component.state.choice.choices_decl import ChoicesDecl
from moto.stepfunctions.parser.asl.component.state.choice.comparison.comparison import (
    ConditionJSONataLit,
    ConditionStringJSONata,
)
from moto.stepfunctions.parser.asl.component.state.choice.default_decl import DefaultDecl
from moto.stepfunctions.parser.asl.component.state.exec.state_map.execution_type import ExecutionType
from moto.stepfunctions.parser.asl.component.state.exec.state_map.item_reader.item_reader_decl import ItemReader
from moto.stepfunctions.parser.asl.component.state.exec.state_map.item_reader.reader_config.csv_header_location import (
    CSVHeaderLocation,
)
from moto.stepfunctions.parser.asl.component.state.exec.state_map.item_reader.reader_config.input_type import InputType
from moto.stepfunctions.parser.asl.component.state.exec.state_map.item_reader.reader_config.reader_config_decl import (
    ReaderConfig,
)
from moto.stepfunctions.parser.asl.component.state.exec.state_map.item_selector import ItemSelector
from moto.stepfunctions.parser.asl.component.state.exec.state_map.items.items import ItemsArray, ItemsJSONata
from moto.stepfunctions.parser.asl.component.state.exec.state_map.iteration.itemprocessor.item_processor_decl import (
    ItemProcessorDecl,
)
from moto.stepfunctions.parser.asl.component.state.exec.state_map.iteration.itemprocessor.processor_config import (
    ProcessorConfig,
)
from moto.stepfunctions.parser.asl.component.state.exec.state_map.label import Label
from moto.stepfunctions.parser.asl.component.state.exec.state_map.max_concurrency import (
    MaxConcurrency,
    MaxConcurrencyJSONata,
)
from moto.stepfunctions.parser.asl.component.state.exec.state_map.mode import Mode
from moto.stepfunctions.parser.asl.component.state.exec.state_map.result_writer.result_writer_decl import ResultWriter
from moto.stepfunctions.parser.asl.component.state.exec.state_map.tolerated_failure import (
    ToleratedFailureCountInt,
    ToleratedFailureCountStringJSONata,
    ToleratedFailurePercentage,
    ToleratedFailurePercentageStringJSONata,
)
from moto.stepfunctions.parser.asl.component.state.exec.state_parallel.branches_decl import BranchesDecl
from moto.stepfunctions.parser.asl.component.state.exec.state_task.service.resource import Resource
from moto.stepfunctions.parser.asl.component.state.fail.cause_decl import Cause
from moto.stepfunctions.parser.asl.component.state.fail.error_decl import Error
from moto.stepfunctions.parser.asl.component.state.state_props import StateProps
from moto.stepfunctions.parser.asl.component.state.state_type import StateType
from moto.stepfunctions.parser.asl.component.state.wait.wait_function.seconds import Seconds, SecondsJSONata
from moto.stepfunctions.parser.asl.component.state.wait.wait_function.timestamp import Timestamp
from moto.stepfunctions.parser.asl.parse.preprocessor import Preprocessor

Json = Any
_JSONATA = QueryLanguage(QueryLanguageMode.JSONata)


class NotHandled(Exception):
    """A definition that moto's own parser must read (and perhaps refuse)."""


def build(definition: str) -> Any:
    """moto's `Program` for a definition. Raises NotHandled, or what moto's components raise for wrong values."""
    try:
        document = json.loads(definition, object_pairs_hook=_unique)
    except (ValueError, RecursionError):
        raise NotHandled from None
    if not isinstance(document, dict) or document.pop("QueryLanguage", None) != "JSONata":
        raise NotHandled
    return _program(document)


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise NotHandled
    return found


def _program(document: dict[str, Json]) -> Any:
    timeout = document.get("TimeoutSeconds")
    start, states = _flow(document, {"TimeoutSeconds", "Version"})
    return Program(
        query_language=_JSONATA,
        start_at=start,
        states=states,
        timeout_seconds=None if timeout is None else TimeoutSeconds(_integer(timeout)),
        comment=None,
        version=None,
    )


def _flow(document: Json, also: set[str]) -> tuple[Any, Any]:
    if not isinstance(document, dict) or document.keys() - {"StartAt", "States", "Comment"} - also:
        raise NotHandled
    make_states: Any = States  # moto has no types here
    states = make_states()
    for name, fields in _mapping(document.get("States")).items():
        states.states[name] = _state(name, fields)
    return StartAt(_text(document.get("StartAt"))), states


def _state(name: str, fields: Json) -> Any:
    make_props: Any = StateProps
    props = make_props()
    props.name = name
    props.add(_JSONATA)
    kind = _mapping(fields).get("Type")
    if not isinstance(kind, str) or kind not in StateType.__members__:
        raise NotHandled
    props.add(StateType[kind])
    for key, value in fields.items():
        if key == "QueryLanguage" and value == "JSONata" or key == "Type":
            continue
        read = _FIELDS.get(key)
        if read is None:
            raise NotHandled
        part = read(value)
        if part is not None:
            props.add(part)
    return Preprocessor._common_state_field_of(props)


def _mapping(value: Json) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise NotHandled
    return value


def _items(value: Json) -> list[Json]:
    if not isinstance(value, list):
        raise NotHandled
    return value


def _text(value: Json) -> str:
    if not isinstance(value, str):
        raise NotHandled
    return value


def _integer(value: Json) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise NotHandled
    return value


def _code(value: Json) -> Any:
    """The expression of a `{% … %}` text, or None for any other value."""
    if isinstance(value, str) and len(value) >= 4 and value.startswith("{%") and value.endswith("%}"):
        return StringJSONata(value[2:-2].strip())
    return None


def _template(value: Json) -> Any:
    code = _code(value)
    if code is not None:
        return JSONataTemplateValueTerminalStringJSONata(code)
    if _is_literal(value):
        return JSONataTemplateValueTerminalLit(value)
    return _object(value) if isinstance(value, dict) else JSONataTemplateValueArray([_template(v) for v in value])


def _object(value: Json) -> Any:
    return JSONataTemplateValueObject([JSONataTemplateBinding(k, _template(v)) for k, v in _mapping(value).items()])


def _is_literal(value: Json) -> bool:
    if isinstance(value, dict):
        return all(map(_is_literal, value.values()))
    if isinstance(value, list):
        return all(map(_is_literal, value))
    return _code(value) is None


def _assign(value: Json) -> Any:
    return AssignDecl([AssignDeclBinding(AssignTemplateBindingValue(k, _template(v))) for k, v in _mapping(value).items()])


def _arguments(value: Json) -> Any:
    code = _code(value)
    return ArgumentsStringJSONata(code) if code else ArgumentsJSONataTemplateValueObject(_object(value))


def _either(expression: Callable[[Any], Any], number: Callable[[int], Any]) -> Callable[[Json], Any]:
    def read(value: Json) -> Any:
        code = _code(value)
        return expression(code) if code else number(_integer(value))

    return read


def _string(value: Json) -> Any:
    return _code(value) or StringLiteral(_text(value))


def _error_equals(value: Json) -> Any:
    names: list[Any] = []
    for name in map(_text, _items(value)):
        try:
            names.append(StatesErrorName.from_name(name))
        except ValueError:
            names.append(CustomErrorName(name))
    return ErrorEqualsDecl(names)


def _retry(value: Json) -> Any:
    return RetryDecl([_retrier(_mapping(item)) for item in _items(value)])


def _retrier(fields: dict[str, Json]) -> Any:
    known = {"ErrorEquals", "IntervalSeconds", "MaxAttempts", "BackoffRate", "MaxDelaySeconds", "JitterStrategy", "Comment"}
    jitter = fields.get("JitterStrategy", "NONE")
    if fields.keys() - known or jitter not in JitterStrategy.__members__:
        raise NotHandled

    def part(name: str, make: Callable[[Any], Any]) -> Any:
        return make(fields[name]) if name in fields else None

    return RetrierDecl(
        error_equals=_error_equals(fields.get("ErrorEquals")),
        interval_seconds=part("IntervalSeconds", lambda v: IntervalSecondsDecl(_integer(v))),
        max_attempts=part("MaxAttempts", lambda v: MaxAttemptsDecl(_integer(v))),
        backoff_rate=part("BackoffRate", lambda v: BackoffRateDecl(float(v))),
        max_delay_seconds=part("MaxDelaySeconds", lambda v: MaxDelaySecondsDecl(_integer(v))),
        jitter_strategy=JitterStrategyDecl(JitterStrategy[jitter]),
    )


def _catch(value: Json) -> Any:
    return CatchDecl([_catcher(_mapping(item)) for item in _items(value)])


def _catcher(fields: dict[str, Json]) -> Any:
    if fields.keys() - {"ErrorEquals", "Next", "Assign", "Output", "Comment"}:
        raise NotHandled
    return CatcherDecl(
        error_equals=_error_equals(fields.get("ErrorEquals")),
        next_decl=Next(_text(fields.get("Next"))),
        result_path=None,
        assign=_assign(fields["Assign"]) if "Assign" in fields else None,
        output=Output(_template(fields["Output"])) if "Output" in fields else None,
        comment=None,
    )


def _choices(value: Json) -> Any:
    return ChoicesDecl([_rule(_mapping(item)) for item in _items(value)])


def _rule(fields: dict[str, Json]) -> Any:
    condition: Any = fields.get("Condition")
    code = _code(condition)
    if fields.keys() - {"Condition", "Next", "Assign", "Output", "Comment"} or not (code or isinstance(condition, bool)):
        raise NotHandled
    return ChoiceRule(
        comparison=ConditionStringJSONata(code) if code else ConditionJSONataLit(condition),
        next_stmt=Next(_text(fields.get("Next"))),
        comment=None,
        assign=_assign(fields["Assign"]) if "Assign" in fields else None,
        output=Output(_template(fields["Output"])) if "Output" in fields else None,
    )


def _branches(value: Json) -> Any:
    return BranchesDecl([_program(_mapping(item)) for item in _items(value)])


def _processor(value: Json) -> Any:
    config = _mapping(_mapping(value).get("ProcessorConfig", {}))
    mode = _MODES.get(config.get("Mode", "INLINE"))
    kind = _KINDS.get(config.get("ExecutionType", "STANDARD"))
    if config.keys() - {"Mode", "ExecutionType"} or mode is None or kind is None:
        raise NotHandled
    start, states = _flow(value, {"ProcessorConfig"})
    return ItemProcessorDecl(
        query_language=_JSONATA,
        start_at=start,
        states=states,
        comment=None,
        processor_config=ProcessorConfig(mode=mode, execution_type=kind),
    )


def _loop_items(value: Json) -> Any:
    code = _code(value)
    return ItemsJSONata(code) if code else ItemsArray(JSONataTemplateValueArray([_template(v) for v in _items(value)]))


def _end(value: Json) -> Any:
    if value is not True:
        raise NotHandled
    return End(is_end=True)


def _percentage(value: Json) -> Any:
    code = _code(value)
    if code:
        return ToleratedFailurePercentageStringJSONata(code)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise NotHandled
    return ToleratedFailurePercentage(float(value))


def _reader(value: Json) -> Any:
    fields = _mapping(value)
    config = _mapping(fields.get("ReaderConfig", {}))
    if fields.keys() - {"Resource", "Arguments", "ReaderConfig"} or config != {"InputType": "JSON"}:
        raise NotHandled
    return ItemReader(
        Resource.from_resource_arn(_text(fields.get("Resource"))), _arguments(fields.get("Arguments", {})),
        ReaderConfig(InputType("JSON"), CSVHeaderLocation("FIRST_ROW"), None, None),
    )


def _writer(value: Json) -> Any:
    fields = _mapping(value)
    if fields.keys() - {"Resource", "Arguments", "WriterConfig"}:
        raise NotHandled
    resource = Resource.from_resource_arn(_text(fields.get("Resource")))
    writer: Any = ResultWriter(resource, _arguments(fields.get("Arguments", {})))
    writer.writer_config = _mapping(fields.get("WriterConfig", {}))
    return writer


_MODES = {"INLINE": Mode.Inline, "DISTRIBUTED": Mode.Distributed}
_KINDS = {"STANDARD": ExecutionType.Standard, "EXPRESS": ExecutionType.Standard}  # `distributed.py` reads the definition

_FIELDS: dict[str, Callable[[Json], Any]] = {
    "Comment": lambda value: Comment(_text(value)),
    "Next": lambda value: Next(_text(value)),
    "End": _end,
    "Assign": _assign,
    "Output": lambda value: Output(_template(value)),
    "Arguments": _arguments,
    "Resource": lambda value: Resource.from_resource_arn(_text(value)),
    "TimeoutSeconds": _either(TimeoutSecondsJSONata, TimeoutSeconds),
    "HeartbeatSeconds": _either(HeartbeatSecondsJSONata, HeartbeatSeconds),
    "Retry": _retry,
    "Catch": _catch,
    "Choices": _choices,
    "Default": lambda value: DefaultDecl(_text(value)),
    "Seconds": _either(SecondsJSONata, Seconds),
    "Timestamp": lambda value: Timestamp(_string(value)),
    "Error": lambda value: Error(_string(value)),
    "Cause": lambda value: Cause(_string(value)),
    "Branches": _branches,
    "Items": _loop_items,
    "ItemReader": _reader,
    "ResultWriter": _writer,
    "ItemSelector": lambda value: ItemSelector(_object(value)),
    "ItemProcessor": _processor,
    "ToleratedFailureCount": _either(ToleratedFailureCountStringJSONata, ToleratedFailureCountInt),
    "ToleratedFailurePercentage": _percentage,
    "Label": lambda value: Label(_text(value)),
    "MaxConcurrency": _either(MaxConcurrencyJSONata, MaxConcurrency),
}
