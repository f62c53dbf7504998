"""The Step Functions API: names, stops, descriptions, and a definition that is parsed once."""

from __future__ import annotations

import json
import re
import threading
import uuid
from collections import OrderedDict
from typing import Any

from moto.core.exceptions import AWSError
from moto.core.responses import ActionResult, EmptyResult
from moto.stepfunctions.exceptions import InvalidExecutionInput, InvalidName
from moto.stepfunctions.parser.api import ExecutionStatus, HistoryEventType
from moto.stepfunctions.parser.asl.eval.program_state import (
    ProgramEnded,
    ProgramError,
    ProgramRunning,
    ProgramStopped,
    ProgramTimedOut,
)
from moto.stepfunctions.parser.asl.parse.asl_parser import AmazonStateLanguageParser
from moto.stepfunctions.parser.asl.parse.preprocessor import Preprocessor

from infra.local.delivery import status_change
from infra.local.moto_patches.builder import NotHandled, build
from infra.local.moto_patches.events import publish
from infra.local.moto_patches.registry import event_details, patch
from infra.local.runtime import Runtime, current

_RESPONSE = "responses:StepFunctionResponse."
_NAME = re.compile(r"[^\s<>{}\[\]?*\"#%\\^|~`$&,;:/\x00-\x1f\x7f-\x9f]{1,80}")
_INPUT_LIMIT = 262_144
_STOP_PATIENCE = 10.0  # real seconds to wait for an execution's thread to see that it was stopped

_parsed: OrderedDict[str, Any] = OrderedDict()
_parse_lock = threading.Lock()


@patch(
    "parser.asl.parse.asl_parser:AmazonStateLanguageParser.parse",
    gap="parsing takes 3 to 20 ms a state, at creation and for each execution; a refused definition spoils the next",
    fingerprint="a59a7d18760f",
    wraps=True,
)
def parse(original: Any) -> Any:
    def cached(definition: str) -> Any:
        with _parse_lock:
            known = _parsed.get(definition)
            if known is None:
                try:
                    known = (build(definition), None)
                except NotHandled:
                    Preprocessor._query_language_per_scope.clear()
                    known = original(definition)
                _parsed[definition] = known
                if len(_parsed) > 64:
                    _parsed.popitem(last=False)
            return known

    return cached


class InvalidDefinition(AWSError):
    TYPE = "InvalidDefinition"
    STATUS = 400


@patch(
    "parser.models:StepFunctionsParserBackend._validate_definition",
    gap="a refused definition is an error without a name, which a client cannot tell from others",
    fingerprint="a5921e3d3b46",
)
def validate_definition(definition: str) -> None:
    try:
        AmazonStateLanguageParser.parse(definition)
    except Exception as error:
        raise InvalidDefinition(f"Invalid State Machine Definition: '{error}'") from None


@patch(
    "parser.models:StepFunctionsParserBackend.start_execution",
    gap="unnamed executions are all named None; names and input are not checked; two of a name can start at once",
    fingerprint="0f8d9dd57baf",
    wraps=True,
)
def start_execution(original: Any) -> Any:
    def start(
        self: Any, state_machine_arn: str, name: Any = None, execution_input: Any = None, trace_header: Any = None
    ) -> Any:
        if name is None:
            name = str(uuid.uuid4())
        if not isinstance(name, str) or _NAME.fullmatch(name) is None:
            raise InvalidName(f"Invalid Name: '{name}'")
        if execution_input is not None and len(execution_input.encode("utf-8", "surrogatepass")) > _INPUT_LIMIT:
            raise InvalidExecutionInput("Invalid State Machine Execution Input: 'larger than 262144 bytes'")
        with current().lock:
            return original(self, state_machine_arn, name, execution_input, trace_header)

    return start


@patch(
    "parser.models:StepFunctionsParserBackend.get_execution_history",
    gap="the history of an execution is gone with the process that it ran in",
    fingerprint="f6aa0f44a322",
    wraps=True,
)
def execution_history(original: Any) -> Any:
    def history(self: Any, execution_arn: str) -> Any:
        try:
            return original(self, execution_arn)
        except Exception:
            journal = current().journal
            events = journal.history(execution_arn) if journal is not None else []
            if not events:
                raise
            return {"events": events}

    return history


@patch(
    "parser.backend.execution:Execution.start",
    gap="the start is real time; nothing tells when an execution starts and ends",
    fingerprint="07e927c2d5f9",
)
def execution_start(self: Any) -> None:
    runtime = current()
    self.start_date = runtime.clock.now()
    self.listeners = []
    with runtime.lock:
        if runtime.closing:
            raise RuntimeError("the local cloud is closing")
        runtime.executions[self.exec_arn] = self
        runtime.finished[self.exec_arn] = threading.Event()
    self.exec_worker = self._get_start_execution_worker()
    # Context objects are JSON: the start is a text there, as on AWS.
    self.exec_worker._evaluation_details.execution_details.start_time = runtime.clock.timestamp()
    self.exec_status = ExecutionStatus.RUNNING
    if not _is_quiet(self):
        if runtime.journal is not None:
            runtime.journal.keep("running", self.exec_arn, {})
        _tell(self, "RUNNING", runtime)
    self.exec_worker.start()


def _is_quiet(execution: Any) -> bool:
    """Whether the execution is one of a Distributed Map's: nothing is told of it, and it does not go on by itself."""
    return bool(vars(execution).get("quiet"))


def _tell(execution: Any, status: str, runtime: Runtime) -> None:
    """Gives the notice of a status to the rules of the default bus."""
    publish(lambda: status_change(execution, status, region=runtime.region, at=runtime.clock.timestamp()))


@patch(
    "parser.backend.execution_worker:ExecutionWorker.start",
    gap="an execution that is stopped before its thread has begun raises an AttributeError and runs on",
    fingerprint="0b502dd3a4e5",
)
def worker_start(self: Any) -> None:
    program: Any = AmazonStateLanguageParser.parse(self._evaluation_details.state_machine_details.definition)[0]
    self.env = self._get_evaluation_environment()
    self.env.event_manager.execution_arn = self._evaluation_details.execution_details.arn
    running: Any = ProgramRunning
    self.env._program_state = running()  # so that a stop finds something to stop
    self.env._program_state.next_state_name = program.start_at.start_at_name
    self.env.event_manager.add_event(
        context=self.env.event_history_context,
        event_type=HistoryEventType.ExecutionStarted,
        event_details=event_details(
            "executionStarted",
            {
                "input": json.dumps(self._evaluation_details.execution_details.inpt),
                "inputDetails": {"truncated": False},
                "roleArn": self._evaluation_details.aws_execution_details.role_arn,
            },
        ),
        update_source_event_id=False,
    )

    def run() -> None:
        try:
            program.eval(self.env)
        finally:
            self._execution_communication.terminated()

    threading.Thread(target=run, daemon=True, name="aslant-execution").start()


@patch(
    "parser.backend.execution:BaseExecutionWorkerCommunication._reflect_execution_status",
    gap="a stop loses error and cause; the status is set before the output",
    fingerprint="038a396107af",
)
def reflect_status(self: Any) -> None:
    runtime, execution = current(), self.execution
    env = execution.exec_worker.env
    state = env.program_state()
    execution.stop_date = runtime.clock.now()
    status = ExecutionStatus.FAILED
    if isinstance(state, ProgramEnded):
        execution.output = env.states.get_input()
        status = ExecutionStatus.SUCCEEDED
    elif isinstance(state, ProgramStopped):
        execution.error, execution.cause = state.error or None, state.cause or None
        status = ExecutionStatus.ABORTED
    elif isinstance(state, ProgramTimedOut):
        status = ExecutionStatus.TIMED_OUT
    elif isinstance(state, ProgramError):
        details = state.error or {}
        execution.error, execution.cause = details.get("error"), details.get("cause")
    execution.exec_status = status
    try:
        if not runtime.closing and not _is_quiet(execution):  # what is stopped by the end of the cloud goes on in the next one
            _tell(execution, status, runtime)
            if runtime.journal is not None:
                runtime.journal.pack_history(execution.exec_arn)
                runtime.journal.drop("running", execution.exec_arn)
    finally:
        runtime.finished[execution.exec_arn].set()
        for listener in list(execution.listeners):
            listener.set()


@patch(
    "parser.backend.execution:Execution.stop",
    gap="stopping a parent leaves its children running; the stop is over before the execution has ended",
    fingerprint="16663c65db9a",
)
def execution_stop(self: Any, stop_date: Any, error: str | None, cause: str | None) -> None:
    runtime = current()
    env = self.exec_worker.env
    env.set_stop(stop_date=runtime.clock.now(), cause=cause or None, error=error or None)
    with runtime.lock:
        children = [runtime.executions[arn] for arn in runtime.children.get(self.exec_arn, ())]
    for child in children:
        if not runtime.finished[child.exec_arn].is_set():
            child.stop(stop_date, error, cause)
    runtime.finished[self.exec_arn].wait(_STOP_PATIENCE)


@patch(_RESPONSE + "stop_execution", gap="error and cause are dropped", fingerprint="633c8a544aac")
def stop_response(self: Any) -> ActionResult:
    execution = self.stepfunction_backend.describe_execution(self._get_param("executionArn"))
    if execution.status == "RUNNING":
        execution.stop(stop_date=None, error=self._get_param("error"), cause=self._get_param("cause"))
    return ActionResult({"stopDate": execution.stop_date})


@patch(_RESPONSE + "send_task_failure", gap="the cause is dropped", fingerprint="f0fed5e80576")
def task_failure_response(self: Any) -> EmptyResult:
    self.stepfunction_backend.send_task_failure(
        self._get_param("taskToken"), error=self._get_param("error"), cause=self._get_param("cause")
    )
    return EmptyResult()


@patch(
    _RESPONSE + "describe_execution",
    gap="a text output is not JSON, null has no output, an execution that timed out has no end",
    fingerprint="c3953bdc9ce2",
)
def describe_response(self: Any) -> ActionResult:
    execution = self.stepfunction_backend.describe_execution(self._get_param("executionArn"))
    status = execution.status
    response = {
        "executionArn": execution.execution_arn,
        "input": execution.execution_input,
        "inputDetails": {"included": True},
        "name": execution.name,
        "startDate": execution.start_date,
        "stateMachineArn": execution.state_machine_arn,
        "status": status,
    }
    if status != "RUNNING":
        response["stopDate"] = execution.stop_date
    if status == "SUCCEEDED":
        response["output"] = json.dumps(execution.output)
        response["outputDetails"] = {"included": True}
    for name in ("error", "cause"):
        if getattr(execution, name) is not None:
            response[name] = getattr(execution, name)
    return ActionResult(response)
