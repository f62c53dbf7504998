"""What of the last release's templates an upgrade must not replace: `python -m tests.infra.previous cdk.out` writes it anew."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("previous.json")
# Properties that CloudFormation replaces a resource for, by the types that hold data or are known outside.
FIXED = {
    "AWS::DynamoDB::Table": ("TableName", "KeySchema"), "AWS::S3::Bucket": ("BucketName",), "AWS::KMS::Key": ("KeySpec", "KeyUsage"),
    "AWS::SNS::Topic": ("TopicName", "FifoTopic"), "AWS::SQS::Queue": ("QueueName", "FifoQueue"), "AWS::Events::EventBus": ("Name",),
    "AWS::Cognito::UserPool": ("UsernameAttributes", "AliasAttributes", "UserPoolName"),
    "AWS::Cognito::UserPoolClient": ("GenerateSecret",), "AWS::ApiGatewayV2::Api": ("ProtocolType",),
    "AWS::StepFunctions::StateMachine": ("StateMachineName", "StateMachineType"), "AWS::Lambda::Function": ("FunctionName", "PackageType"),
}


def fixed(template: dict[str, Any]) -> dict[str, Any]:
    """Type and fixed properties of what must stay, by logical id."""
    return {
        id: {"Type": one["Type"], **{name: one["Properties"][name] for name in FIXED[one["Type"]] if name in one.get("Properties", {})}}
        for id, one in sorted(template["Resources"].items()) if one["Type"] in FIXED
    }


def main() -> None:
    templates = {path.name.removeprefix("aslant-dev-").removesuffix(".template.json"): path for path in sorted(Path(sys.argv[1]).glob("aslant-dev-*.template.json"))}
    found = {name: fixed(json.loads(path.read_text("utf-8"))) for name, path in templates.items()}
    FILE.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", "utf-8")


if __name__ == "__main__":
    main()
