"""What a Task calls: Lambda in process, nested executions, and boto3 clients that are made once."""

from __future__ import annotations

import json
import threading
import time
import uuid
from typing import Any, ClassVar

from botocore.exceptions import ClientError
from moto.awslambda.exceptions import UnknownFunctionException
from moto.stepfunctions.parser.api import HistoryEventType
from moto.stepfunctions.parser.asl.component.common.error_name.failure_event import (
    FailureEvent,
    FailureEventException,
)
from moto.stepfunctions.parser.asl.component.common.error_name.states_error_name import StatesErrorName
from moto.stepfunctions.parser.asl.component.common.error_name.states_error_name_type import StatesErrorNameType
from moto.stepfunctions.parser.asl.component.state.exec.state_task.lambda_eval_utils import (
    LambdaFunctionErrorException,
)
from moto.stepfunctions.parser.asl.component.state.exec.state_task.service.resource import ResourceCondition

from infra.local.clock import iso
from infra.local.functions import ACCOUNT, Invocation, UnknownFunction
from infra.local.moto_patches.events import invoke_later
from infra.local.moto_patches.registry import event_details, patch
from infra.local.runtime import Runtime, current, deadline

_TASK = "parser.asl.component.state.exec.state_task."
_LAMBDA = _TASK + "lambda_eval_utils:"
_SFN = _TASK + "service.state_task_service_sfn:StateTaskServiceSfn."


def _client_error(code: str, message: str, operation: str, status: int = 400) -> ClientError:
    return ClientError(
        {
            "Error": {"Code": code, "Message": message},
            "ResponseMetadata": {"HTTPStatusCode": status, "RequestId": str(uuid.uuid4())},  # type: ignore[typeddict-item]
        },
        operation,
    )


def _invoke(parameters: dict[str, Any]) -> Invocation:
    until = deadline()
    left = None if until is None else max(0.0, until - time.monotonic())
    name = str(parameters.get("FunctionName", ""))
    try:
        return current().functions.invoke(name, parameters.get("Payload") or b"{}", time_left=left)
    except UnknownFunction:
        arn = name if name.startswith("arn:") else f"arn:aws:lambda:{current().region}:{ACCOUNT}:function:{name}"
        raise _client_error("ResourceNotFoundException", f"Function not found: {arn}", "Invoke", 404) from None


@patch(_LAMBDA + "_invoke_lambda_function", gap="functions run in Docker or not at all", fingerprint="0ebcddb746e4")
def invoke_function(parameters: dict[str, Any], region: str, state_credentials: Any) -> dict[str, Any]:
    result = _invoke(parameters)
    response: dict[str, Any] = {
        "ExecutedVersion": "$LATEST", "Payload": json.loads(result.payload), "StatusCode": 200,
    }  # fmt: skip
    if result.error:
        response["FunctionError"] = result.error
    return response


@patch(_LAMBDA + "exec_lambda_function", gap="functions run in Docker or not at all", fingerprint="26ae15132de1")
def exec_function(env: Any, parameters: dict[str, Any], region: str, account: str, credentials: Any) -> None:
    response = invoke_function(parameters, region, credentials)
    if response.get("FunctionError"):
        raise LambdaFunctionErrorException(response["FunctionError"], json.dumps(response["Payload"], separators=(",", ":")))
    env.stack.append(response)


@patch(
    "moto.awslambda_simple.models:LambdaSimpleBackend.invoke",
    gap="a boto3 client's invoke echoes its payload instead of running the function",
    fingerprint="1b029265c71d",
)
def backend_invoke(
    self: Any, function_name: str, qualifier: Any, body: Any, headers: Any, response_headers: Any
) -> str | bytes | None:
    functions = current().functions
    try:
        functions.find(function_name)
    except UnknownFunction:
        raise UnknownFunctionException(function_name) from None
    if headers.get("X-Amz-Invocation-Type") == "Event":
        invoke_later(function_name, body.decode() if isinstance(body, bytes) else body or "{}")
        return b""
    result = functions.invoke(function_name, body or b"{}")
    if result.error:
        response_headers["x-amz-function-error"] = result.error
    return result.payload.encode()


class ClientMaker:
    """Stands in for the `boto3` module where moto makes a client for each task (30 ms each).

    Clients are made once in a process: they know nothing of the cloud that answers them.
    """

    _lock = threading.Lock()
    _clients: ClassVar[dict[tuple[str, str], Any]] = {}

    @classmethod
    def client(cls, *, service_name: str, region_name: str, **kwargs: Any) -> Any:
        import boto3

        key = (service_name, region_name)
        with cls._lock:
            client = cls._clients.get(key)
            if client is None:
                make: Any = boto3.client
                client = cls._clients[key] = make(service_name=service_name, region_name=region_name, **kwargs)
        return client


@patch("parser.asl.utils.boto_client:boto3", gap="a new client for each task", fingerprint="a89193f3711e", wraps=True)
def client_maker(original: Any) -> type[ClientMaker]:
    return ClientMaker


def _backend(region: str) -> Any:
    from moto.stepfunctions.parser.models import stepfunctions_parser_backends

    return stepfunctions_parser_backends[ACCOUNT][region]


class StopChild:
    """Woken when the attempt that waits for a child ends; a child that still runs then is stopped, as on AWS."""

    def __init__(self, child: Any, env: Any) -> None:
        self._child = child
        self._env = env

    def set(self) -> None:
        if current().finished[self._child.exec_arn].is_set():
            return
        state = self._env._program_state  # a stop's error and cause go on to the child
        reason = (None, getattr(state, "error", None), getattr(state, "cause", None))
        threading.Thread(target=self._child.stop, args=reason, daemon=True, name="aslant-stop").start()


@patch(_SFN + "_eval_service_task", gap="there is no boto3 service named 'stepfunctions'", fingerprint="dc94f9e92201")
def start_child(
    self: Any, env: Any, resource_runtime_part: Any, normalised_parameters: dict[str, Any], state_credentials: Any
) -> None:
    backend, runtime = _backend(resource_runtime_part.region), current()
    given = {key.lower(): value for key, value in normalised_parameters.items()}
    try:
        child = backend.start_execution(
            given.get("statemachinearn"), given.get("name") or str(uuid.uuid4()), given.get("input") or "{}"
        )
    except Exception as error:
        code = getattr(error, "TYPE", None) or getattr(error, "code", None)
        if not isinstance(code, str):
            raise
        raise _client_error(code, str(getattr(error, "message", error)), "StartExecution") from None
    if self.resource.condition is not None and self.resource.condition != ResourceCondition.WaitForTaskToken:
        env.program_state_event.wake(StopChild(child, env))
        parent = env.states.context_object.context_object_data["Execution"]["Id"]
        with runtime.lock:
            runtime.children.setdefault(parent, []).append(child.exec_arn)
    env.stack.append({"ExecutionArn": child.exec_arn, "StartDate": iso(child.start_date)})


def describe(execution: Any, *, parsed: bool) -> dict[str, Any]:
    """An ended execution as `.sync` returns it; `parsed` (`.sync:2`) gives input and output as JSON."""
    text: dict[str, Any] = {
        "ExecutionArn": execution.exec_arn,
        "Input": execution.input_data if parsed else json.dumps(execution.input_data),
        "InputDetails": {"Included": True},
        "Name": execution.name,
        "StartDate": iso(execution.start_date),
        "StateMachineArn": execution.state_machine.arn,
        "Status": str(execution.status),
        "StopDate": iso(execution.stop_date),
    }
    if execution.status == "SUCCEEDED":
        text["Output"] = execution.output if parsed else json.dumps(execution.output)
        text["OutputDetails"] = {"Included": True}
    if execution.error is not None:
        text["Error"] = execution.error
    if execution.cause is not None:
        text["Cause"] = execution.cause
    return text


def _wait_for_child(self: Any, env: Any, *, parsed: bool) -> Any:
    """A resolver that returns once the child, or the attempt that waits for it, has ended."""
    arn = env.stack.pop()["ExecutionArn"]
    runtime: Runtime = current()

    def resolve() -> dict[str, Any] | None:
        child, finished = runtime.executions[arn], runtime.finished[arn]
        either = threading.Event()
        env.program_state_event.wake(either)
        child.listeners.append(either)
        if not finished.is_set():
            either.wait()
        if not finished.is_set():
            return None
        if child.status == "SUCCEEDED":
            return describe(child, parsed=parsed)
        name = StatesErrorName(StatesErrorNameType.StatesTaskFailed)
        raise FailureEventException(
            FailureEvent(
                env=env,
                error_name=name,
                event_type=HistoryEventType.TaskFailed,
                event_details=event_details(
                    "taskFailed",
                    {
                        "resource": self._get_sfn_resource(),
                        "resourceType": self._get_sfn_resource_type(),
                        "error": name.error_name,
                        "cause": json.dumps(describe(child, parsed=False), separators=(",", ":")),
                    },
                ),
            )
        )

    return resolve


@patch(_SFN + "_build_sync_resolver", gap="polls twice a second; a child outlives its parent", fingerprint="0a833c2f9a9c")
def sync_resolver(self: Any, env: Any, resource_runtime_part: Any, normalised_parameters: Any, state_credentials: Any) -> Any:
    return _wait_for_child(self, env, parsed=False)


@patch(_SFN + "_build_sync2_resolver", gap="polls twice a second; a child outlives its parent", fingerprint="fbbf50b684b9")
def sync2_resolver(self: Any, env: Any, resource_runtime_part: Any, normalised_parameters: Any, state_credentials: Any) -> Any:
    return _wait_for_child(self, env, parsed=True)
