"""State machines and their executions, by Step Functions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from aslant.adapters.aws_errors import calling
from aslant.adapters.clients import client, error_code
from aslant.contracts import Json
from aslant.errors import ConflictError, NotFoundError
from aslant.executions.naming import arn_of
from aslant.values import compact

_GONE = frozenset({"ExecutionDoesNotExist", "StateMachineDoesNotExist", "StateMachineDeleting", "InvalidArn"})
_PAGE = 1000  # events of a history at a time; AWS gives no more
_MAX_CAUSE = 32_768


@dataclass(frozen=True, slots=True)
class StepFunctionsMachines:
    region: str

    def start(self, machine: str, name: str, input: Json) -> str:
        # While an execution of that name and input runs, AWS gives it again; once it has ended, it refuses the name for 90
        # days. https://docs.aws.amazon.com/step-functions/latest/apireference/API_StartExecution.html
        try:
            answer = self._call("start_execution", "starting a run", stateMachineArn=machine, name=name, input=compact(input))
        except _Exists:
            arn = arn_of(machine, name)
            if json.loads(self.describe(arn)["input"]) != input:
                raise ConflictError(f"another execution is named {name} already") from None
            return arn
        return str(answer["executionArn"])

    def stop(self, arn: str, error: str, cause: str) -> None:
        self._call("stop_execution", "stopping a run", executionArn=arn, error=error[:256], cause=cause[:_MAX_CAUSE])

    def describe(self, arn: str) -> dict[str, Json]:
        answer = self._call("describe_execution", "describing a run", executionArn=arn)
        return {name: value for name, value in answer.items() if name != "ResponseMetadata"}

    def history(self, arn: str) -> Iterator[dict[str, Json]]:
        more: dict[str, Any] = {}
        while True:
            answer = self._call(
                "get_execution_history", "reading a history", executionArn=arn, maxResults=_PAGE,
                includeExecutionData=True, **more,
            )
            yield from answer["events"]
            if not answer.get("nextToken"):
                return
            more = {"nextToken": answer["nextToken"]}

    def _call(self, operation: str, doing: str, **arguments: Any) -> Any:
        from botocore.exceptions import ClientError

        with calling(doing):
            try:
                return getattr(client("stepfunctions", self.region), operation)(**arguments)
            except ClientError as error:
                if error_code(error) == "ExecutionAlreadyExists":
                    raise _Exists from None
                if error_code(error) in _GONE:
                    raise NotFoundError(f"{doing}: {error_code(error)}") from None
                raise


class _Exists(Exception):
    """There is, or was, an execution of that name with another input, or one that has ended."""
