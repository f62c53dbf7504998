"""Lambda functions of the local cloud: Python callables, run in this process the way Lambda runs them."""

from __future__ import annotations

import json
import threading
import time
import traceback
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

ACCOUNT = "123456789012"

Handler = Callable[[dict[str, Any], "LambdaContext"], Any]


@dataclass(frozen=True, slots=True)
class LambdaContext:
    """The second argument of a handler, with the attributes that the Python runtime of Lambda gives it."""

    function_name: str
    invoked_function_arn: str
    aws_request_id: str
    deadline: float  # time.monotonic() at which the invocation's time is up
    function_version: str = "$LATEST"
    memory_limit_in_mb: int = 512
    client_context: None = None
    identity: None = None

    @property
    def log_group_name(self) -> str:
        return f"/aws/lambda/{self.function_name}"

    @property
    def log_stream_name(self) -> str:
        return f"local/[{self.function_version}]{self.aws_request_id}"

    def get_remaining_time_in_millis(self) -> int:
        """Real milliseconds until the function's or the state's timeout, whichever is first."""
        return max(0, int((self.deadline - time.monotonic()) * 1000))


@dataclass(frozen=True, slots=True)
class Function:
    name: str
    arn: str
    handler: Handler
    timeout: float  # real seconds


@dataclass(frozen=True, slots=True)
class Invocation:
    """What an invocation returned: `payload` is JSON; `error` is Lambda's `FunctionError` or empty."""

    payload: str
    error: str = ""


class UnknownFunction(LookupError):
    """No function of that name or ARN is registered."""


@dataclass(slots=True)
class Functions:
    """The registered functions, by name."""

    region: str
    _by_name: dict[str, Function] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def register(self, name: str, handler: Handler, timeout: float) -> Function:
        function = Function(name, f"arn:aws:lambda:{self.region}:{ACCOUNT}:function:{name}", handler, timeout)
        with self._lock:
            self._by_name[name] = function
        return function

    def all(self) -> list[Function]:
        with self._lock:
            return list(self._by_name.values())

    def find(self, name_or_arn: str) -> Function:
        """The function of a name, `name:qualifier`, partial or full ARN, with or without a qualifier."""
        parts = name_or_arn.split(":")
        name = parts[parts.index("function") + 1] if "function" in parts[:-1] else parts[0]
        function = self._by_name.get(name)
        if function is None:
            raise UnknownFunction(name_or_arn)
        return function

    def invoke(self, name_or_arn: str, payload: bytes | str, *, time_left: float | None = None) -> Invocation:
        """Run a handler on a JSON payload. `time_left`: real seconds until the caller gives up.

        Handler and caller share nothing: event and result pass through JSON text. Whatever a handler raises, a
        `SystemExit` too, becomes an error payload with Lambda's `errorMessage`, `errorType` and `stackTrace`.
        """
        function = self.find(name_or_arn)
        seconds = function.timeout if time_left is None else min(function.timeout, time_left)
        context = LambdaContext(function.name, function.arn, str(uuid.uuid4()), time.monotonic() + seconds)
        try:
            result = function.handler(json.loads(payload or "{}"), context)
        except BaseException as error:  # a handler must never end the interpreter's thread, whatever it raises
            return Invocation(_error_payload(error, context.aws_request_id), "Unhandled")
        try:
            return Invocation(json.dumps(result, allow_nan=False))
        except (TypeError, ValueError, RecursionError) as error:
            text = f"Unable to marshal response: {error}"
            return Invocation(
                json.dumps({"errorMessage": text, "errorType": "Runtime.MarshalError", "stackTrace": []}), "Unhandled"
            )


def _error_payload(error: BaseException, request_id: str) -> str:
    if isinstance(error, SystemExit):
        kind, text = "Runtime.ExitError", f"RequestId: {request_id} Error: Runtime exited with status: {error.code}"
    else:
        kind, text = type(error).__name__, str(error)
    frames = traceback.extract_tb(error.__traceback__)[1:]  # without our own frame
    return json.dumps(
        {
            "errorMessage": text,
            "errorType": kind,
            "requestId": request_id,
            "stackTrace": [f"  {frame.name}, line {frame.lineno}: {frame.line}\n" for frame in frames[-20:]],
        }
    )
