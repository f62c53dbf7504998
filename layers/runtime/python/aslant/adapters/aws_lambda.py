"""Lambda functions as skills."""

from __future__ import annotations

from dataclasses import dataclass

from aslant.adapters.aws_errors import calling
from aslant.adapters.clients import client
from aslant.contracts import Json
from aslant.errors import StepTimeout, ValidationError, named
from aslant.values import compact, read_json


@dataclass(frozen=True, slots=True)
class AwsLambda:
    region: str

    def invoke(self, arn: str, payload: Json) -> Json:
        with calling(f"calling {arn}"):
            answer = client("lambda", self.region, read_timeout=900).invoke(
                FunctionName=arn, InvocationType="RequestResponse", Payload=compact(payload).encode()
            )
            text = answer["Payload"].read()
        try:
            value = read_json(text) if text else None
        except ValueError:
            raise ValidationError(f"{arn} did not return JSON") from None
        if answer.get("FunctionError"):
            detail = value if isinstance(value, dict) else {}
            name = str(detail.get("errorType") or "FunctionError")
            message = str(detail.get("errorMessage") or "no message")
            if name == "Sandbox.Timedout" or "Task timed out after" in message:
                raise StepTimeout(f"{arn}: {message}")
            raise named(name, f"{arn}: {message}")
        return value
