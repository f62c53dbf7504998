"""The templates that the CDK app makes, against the description that the local cloud is built from."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from typing import Any

import pytest

from aslant import keys
from aslant.session_policy import session_policy
from aslant.settings import Settings
from infra import inventory
from tests.infra.conftest import Assembly

STACKS = ("data", "engine", "functions", "events", "api", "workflows-1", "observability")
pytestmark = pytest.mark.timeout(450)


def text(value: Any) -> str:
    """A value with its references in angle brackets."""
    if isinstance(value, str):
        return value
    ((kind, inner),) = value.items()
    if kind == "Fn::Join":
        return str(inner[0]).join(text(each) for each in inner[1])
    return f"<{inner if isinstance(inner, str) else '.'.join(inner)}>"


def statements(template: dict[str, Any], role: str) -> list[dict[str, Any]]:
    """What the policies of a template say about a role (a logical id)."""
    return [
        statement
        for one in template["Resources"].values()
        if one["Type"] == "AWS::IAM::Policy" and {"Ref": role} in one["Properties"]["Roles"]
        for statement in one["Properties"]["PolicyDocument"]["Statement"]
    ]


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def test_there_is_a_stack_for_each_concern_within_cloudformations_limits(assembly: Assembly) -> None:
    assert set(assembly.templates) == set(STACKS)
    for template in assembly.templates.values():
        assert len(template["Resources"]) < 500 and len(json.dumps(template)) < 1_000_000


@pytest.mark.parametrize(("logical", "described"), [
        ("Executions", keys.executions_table("-")), ("Catalog", keys.catalog_table("-")), ("Events", keys.events_table("-")),
        ("Connections", keys.connections_table("-")),
    ])  # fmt: skip
def test_tables_are_those_of_the_local_cloud(assembly: Assembly, logical: str, described: dict[str, Any]) -> None:
    (made,) = [one for id, one in assembly.of_type("AWS::DynamoDB::Table", "data") if id.startswith(logical)]
    given = made["Properties"]
    assert given["KeySchema"] == described["KeySchema"] and given["BillingMode"] == described["BillingMode"]
    view = described.get("StreamSpecification", {}).get("StreamViewType")
    assert given.get("StreamSpecification", {}).get("StreamViewType") == view
    by_name = {one["IndexName"]: one for one in given.get("GlobalSecondaryIndexes", ())}
    assert by_name == {one["IndexName"]: one for one in described.get("GlobalSecondaryIndexes", ())}
    assert sorted(given["AttributeDefinitions"], key=str) == sorted(described["AttributeDefinitions"], key=str)
    assert given["TimeToLiveSpecification"] == {"AttributeName": "ttl", "Enabled": True}
    assert given["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"] is True
    assert given["SSESpecification"]["SSEType"] == "KMS"


def test_what_has_a_name_has_that_of_the_installation_in_it(assembly: Assembly) -> None:
    """So that a second one, with another name, can be deployed beside it. A state machine is called as its workflow is."""
    own = {"AWS::Cognito::UserPoolGroup", "AWS::StepFunctions::StateMachineAlias", "AWS::StepFunctions::StateMachine"}
    for stack, template in assembly.templates.items():
        for id, one in template["Resources"].items():
            for name in ("Name", "FunctionName", "LogGroupName", "RoleName", "TableName", "BucketName", "QueueName", "TopicName", "GroupName"):
                value = one.get("Properties", {}).get(name)
                if isinstance(value, str) and one["Type"] not in own | {"AWS::ApiGatewayV2::Api", "AWS::ApiGatewayV2::Authorizer"}:
                    assert "aslant" in value, (stack, id, name, value)
        for output in template.get("Outputs", {}).values():
            assert output.get("Export", {"Name": "aslant-dev-"})["Name"].startswith("aslant-dev-")


def test_only_the_api_reaches_data_with_the_role_of_a_tenant(assembly: Assembly) -> None:
    template = assembly.templates["functions"]
    given = {
        one["Properties"]["FunctionName"]: (one["Properties"]["Role"], role)
        for _, one in assembly.of_type("AWS::Lambda::Function")
        if (role := one["Properties"]["Environment"]["Variables"].get("ASLANT_DATA_ROLE"))
    }  # fmt: skip
    ((name, (own, data)),) = given.items()
    assert name == "aslant-api"
    role = data["Fn::GetAtt"][0]
    trust = template["Resources"][role]["Properties"]["AssumeRolePolicyDocument"]["Statement"]
    assert [(row["Action"], row["Principal"]) for row in trust] == [("sts:AssumeRole", {"AWS": own})]
    assumed = [row for row in statements(template, own["Fn::GetAtt"][0]) if "sts:AssumeRole" in listed(row["Action"])]
    assert [row["Resource"] for row in assumed] == [data]
    session = session_policy(Settings(), "acme")["Statement"]
    given_actions = {action for row in statements(template, role) for action in listed(row["Action"])}
    assert given_actions <= {action for row in session for action in row["Action"]}


def test_every_function_of_the_inventory_is_deployed_as_described(assembly: Assembly) -> None:
    made = {one["Properties"]["FunctionName"]: one["Properties"] for _, one in assembly.of_type("AWS::Lambda::Function")}
    assert made.keys() == inventory.FUNCTIONS.keys()
    for name, spec in inventory.FUNCTIONS.items():
        given = made[name]
        assert (given["MemorySize"], given["Timeout"], given["Handler"]) == (spec.memory, spec.timeout, f"{spec.module}.handler")
        assert (given["Architectures"], given["Runtime"]) == (["arm64"], "python3.13")
        assert given["TracingConfig"] == {"Mode": "Active"} and "LogGroup" in given["LoggingConfig"]
        assert ("DeadLetterConfig" in given) == spec.asynchronous
        assert len(given["Layers"]) == 1 + len(spec.packages)


def test_functions_read_every_variable_that_they_get(assembly: Assembly) -> None:
    for _, one in assembly.of_type("AWS::Lambda::Function"):
        given = {name: text(value) for name, value in one["Properties"]["Environment"]["Variables"].items()}
        read = Settings.read(given)
        ours = {name: value for name, value in given.items() if name.startswith("ASLANT_")}
        names = {each.name for each in fields(Settings)}
        for name, value in ours.items():
            assert name.removeprefix("ASLANT_").lower() in names
            assert getattr(read, name.removeprefix("ASLANT_").lower()) == value
        assert {"ASLANT_EXECUTIONS_TABLE", "ASLANT_CATALOG_TABLE", "ASLANT_BUCKET", "ASLANT_KEY", "ASLANT_EVENT_BUS",
                "ASLANT_SCHEDULER_ROLE", "ASLANT_MACHINE_ROLE", "ASLANT_TOKEN_ISSUER"} <= ours.keys()  # fmt: skip


def test_no_environment_has_a_secret(assembly: Assembly) -> None:
    for _, one in assembly.of_type("AWS::Lambda::Function"):
        for name, value in one["Properties"]["Environment"]["Variables"].items():
            assert not re.search("PASSWORD|SECRET_KEY|API_KEY|WEBHOOK", name), name
            assert not re.search(r"AKIA[A-Z0-9]{16}|-----BEGIN", text(value))


def test_state_machines_may_call_exactly_the_functions_that_they_call(assembly: Assembly) -> None:
    template = assembly.templates["workflows-1"]
    machines = [*assembly.of_type("AWS::StepFunctions::StateMachine")]
    assert len(machines) > 10
    for _, one in machines:
        definition = text(one["Properties"]["DefinitionString"])
        called = set(re.findall(r'"FunctionName":"(aslant-[a-z]+)"', definition))
        role = one["Properties"]["RoleArn"]["Fn::GetAtt"][0]
        allowed = statements(template, role)
        invokes = [row for row in allowed if "lambda:InvokeFunction" in listed(row["Action"])]
        assert {text(each).rpartition(":")[2] for row in invokes for each in listed(row["Resource"])} == called
        starts = any("states:StartExecution" in listed(row["Action"]) for row in allowed)
        assert starts == ("states:startExecution" in definition)
        assert not any(action.startswith(("s3:", "dynamodb:")) for row in allowed for action in listed(row["Action"])) or (
            "states:::s3:" in definition
        )


def test_definitions_have_no_open_placeholder_and_fit(assembly: Assembly) -> None:
    for _, one in assembly.of_type("AWS::StepFunctions::StateMachine"):
        definition = text(one["Properties"]["DefinitionString"])
        assert len(definition) < 1_000_000
        states = json.loads(definition)
        assert states["StartAt"] in states["States"]
        assert not re.search(r'"(FunctionName|StateMachineArn)":"\$\{', definition)
        assert one["Properties"]["TracingConfiguration"] == {"Enabled": True}


def test_each_machine_has_a_version_that_stays_and_an_alias(assembly: Assembly) -> None:
    versions = [one for _, one in assembly.of_type("AWS::StepFunctions::StateMachineVersion")]
    machines = [*assembly.of_type("AWS::StepFunctions::StateMachine")]
    assert len(versions) == len(machines) == len([*assembly.of_type("AWS::StepFunctions::StateMachineAlias")])
    assert all(one["DeletionPolicy"] == "Retain" for one in versions)


def test_every_workflow_registers_the_version_that_is_deployed(assembly: Assembly) -> None:
    versions = {id for id, _ in assembly.of_type("AWS::StepFunctions::StateMachineVersion")}
    registered = [one["Properties"] for _, one in assembly.of_type("Custom::AslantWorkflow")]
    assert len(registered) == len({json.dumps(one["Machine"]) for one in registered}) > 10
    assert all(one["Machine"]["Ref"] in versions for one in registered)
    assert all(text(one["ServiceToken"]).endswith(":aslant-register-workflow") for one in registered)


def test_rules_and_queues_are_those_of_the_local_cloud(assembly: Assembly) -> None:
    patterns = [json.dumps(one["Properties"]["EventPattern"], sort_keys=True) for _, one in assembly.of_type("AWS::Events::Rule")]
    wanted = [inventory.NOTICES, *(rule.pattern for rule in inventory.RULES), *(rule for queue in inventory.QUEUES for rule in queue.rules.values())]
    assert sorted(patterns) == sorted(json.dumps(one, sort_keys=True) for one in wanted)
    receives = [
        one["Properties"]["RedrivePolicy"]["maxReceiveCount"]
        for _, one in assembly.of_type("AWS::SQS::Queue", "events") if "RedrivePolicy" in one["Properties"]
    ]  # fmt: skip
    assert sorted(receives) == sorted(queue.receives for queue in inventory.QUEUES)


def test_streams_report_single_failures_and_are_tried_without_end(assembly: Assembly) -> None:
    mappings = [one["Properties"] for _, one in assembly.of_type("AWS::Lambda::EventSourceMapping")]
    assert len(mappings) == 2 + len(inventory.QUEUES)
    assert all(one["FunctionResponseTypes"] == ["ReportBatchItemFailures"] for one in mappings)
    assert not any("MaximumRetryAttempts" in one or "MaximumRecordAgeInSeconds" in one for one in mappings)


def test_no_role_may_do_everything(assembly: Assembly) -> None:
    for template in assembly.templates.values():
        for one in template["Resources"].values():
            if one["Type"] == "AWS::IAM::Policy":
                for row in one["Properties"]["PolicyDocument"]["Statement"]:
                    assert not any(action == "*" or action.endswith(":*") for action in listed(row["Action"]))


def test_nothing_is_public_or_in_the_clear(assembly: Assembly) -> None:
    for _, one in assembly.of_type("AWS::S3::Bucket"):
        assert set(one["Properties"]["PublicAccessBlockConfiguration"].values()) == {True}
        assert "BucketEncryption" in one["Properties"]
    for kind in ("AWS::SQS::QueuePolicy", "AWS::S3::BucketPolicy", "AWS::SNS::TopicPolicy"):
        for _, one in assembly.of_type(kind):
            rows = one["Properties"]["PolicyDocument"]["Statement"]
            assert any(row["Effect"] == "Deny" and "aws:SecureTransport" in json.dumps(row) for row in rows)
    for _, one in assembly.of_type("AWS::SQS::Queue"):
        assert "KmsMasterKeyId" in one["Properties"]


def test_routes_without_a_token_are_those_that_the_function_leaves_open(assembly: Assembly) -> None:
    open_routes = {
        one["Properties"]["RouteKey"] for _, one in assembly.of_type("AWS::ApiGatewayV2::Route")
        if one["Properties"].get("AuthorizationType", "NONE") == "NONE"
        and not one["Properties"]["RouteKey"].startswith("$")  # of the WebSocket API: its function looks at the token
    }  # fmt: skip
    assert open_routes == {
        "GET /health", "GET /ready", "GET /openapi.json", "GET /docs", "GET /metrics", "GET /approvals/answer", "POST /approvals/answer",
        "POST /api/v1/hooks/{hook_id}",
    }  # fmt: skip
    proxied = {one["Properties"]["RouteKey"].partition(" ") for _, one in assembly.of_type("AWS::ApiGatewayV2::Route")}
    methods = {method for method, _, path in proxied if path == "/api/v1/{proxy+}"}
    assert methods == {"GET", "POST", "PUT", "PATCH", "DELETE"}
    (stage,) = [one["Properties"] for _, one in assembly.of_type("AWS::ApiGatewayV2::Stage", "api")]
    assert "AccessLogSettings" in stage and stage["DefaultRouteSettings"]["ThrottlingRateLimit"] == 50


def test_nothing_names_an_account_or_a_region(assembly: Assembly) -> None:
    for name, template in assembly.templates.items():
        found = re.findall(r"\b\d{12}\b|\b(?:us|eu|ap)-[a-z]+-\d\b", json.dumps({k: v for k, v in template.items() if k != "Rules"}))
        assert not found, (name, found[:3])
