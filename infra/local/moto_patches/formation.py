"""CloudFormation in the local cloud, so that the CDK command line tool can deploy into it.

moto creates tables, buckets, keys, roles, queues, buses, rules, functions and state machines of a template. What it does not
know is kept without effect (`KEPT`), but for versions of state machines, which can be started. Functions run from the archives
that were deployed (`infra/local/deployed.py`). Imported only where stacks are deployed: it loads most of moto.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import threading
import uuid
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from infra.local.functions import ACCOUNT
from infra.local.runtime import current

# Types that moto's CloudFormation has no model of. They get a name, and their attributes are made up from it.
KEPT = (
    "AWS::ApiGatewayV2::Api", "AWS::ApiGatewayV2::Authorizer", "AWS::ApiGatewayV2::Integration", "AWS::ApiGatewayV2::Route",
    "AWS::ApiGatewayV2::Stage", "AWS::CloudWatch::Alarm", "AWS::Cognito::UserPool", "AWS::Cognito::UserPoolClient",
    "AWS::Cognito::UserPoolGroup", "AWS::S3::BucketPolicy", "AWS::SNS::Subscription", "AWS::SNS::TopicPolicy",
    "AWS::SQS::QueuePolicy",
)  # fmt: skip

Register = Callable[[Any], None]  # is given moto's function


@contextlib.contextmanager
def formation(url: str, register: Register) -> Iterator[None]:
    """Inside, stacks can be deployed at `url`, where this cloud is served. `register` makes a deployed function callable."""
    from moto.awslambda.models import LambdaFunction
    from moto.cloudformation import parsing, responses
    from moto.cloudformation.custom_model import CustomModel
    from moto.core.common_models import CloudFormationModel
    from moto.kms.models import Key
    from moto.stepfunctions.models import StateMachine
    from moto.stepfunctions.parser.models import stepfunctions_parser_backends

    _models(CloudFormationModel)
    for cached in (parsing.get_model_list, parsing.get_model_map, parsing.get_name_type_map):
        cached.cache_clear()

    def create_function(cls: Any, name: str, body: Any, account: str, region: str, **more: Any) -> Any:
        made = original_function(name, body, account, region, **more)
        register(made)
        return made

    def create_custom(cls: Any, name: str, body: Any, account: str, region: str, **more: Any) -> Any:
        return _custom(CustomModel, url, name, body, account, region, **more)

    def stack_body(template_url: str, account_id: str, partition: str) -> str:
        from moto.s3.models import s3_backends

        bucket, _, key = template_url.partition("://")[2].partition("/")[2].partition("/")
        found: Any = s3_backends[account_id][partition].get_object(bucket, key)
        return str(found.value.decode())

    def create_key(cls: Any, name: str, body: Any, account: str, region: str, **more: Any) -> Any:
        tags = [{"TagKey": one["Key"], "TagValue": one["Value"]} for one in body["Properties"].get("Tags", ())]
        return original_key(name, {"Properties": {**body["Properties"], "Tags": tags}}, account, region, **more)

    def machine(cls: Any, name: str, body: Any, account: str, region: str, **more: Any) -> Any:
        given = body["Properties"]
        return stepfunctions_parser_backends[account][region].create_state_machine(
            name=given.get("StateMachineName", name), definition=given["DefinitionString"], roleArn=given["RoleArn"],
            sm_type=given.get("StateMachineType", "STANDARD"),
        )  # fmt: skip

    def machine_attribute(self: Any, name: str) -> str:
        if name == "StateMachineRevisionId":
            return hashlib.sha256(str(self.definition).encode()).hexdigest()
        return str(self.arn if name == "Arn" else original_attribute(self, name))

    original_attribute = StateMachine.get_cfn_attribute
    original_key = Key.create_from_cloudformation_json
    original_function = LambdaFunction.create_from_cloudformation_json
    with contextlib.ExitStack() as stack:
        for owner, name, new in (
            (LambdaFunction, "create_from_cloudformation_json", _class(create_function)),
            (StateMachine, "create_from_cloudformation_json", _class(machine)),  # it makes one that cannot be executed
            (StateMachine, "get_cfn_attribute", machine_attribute),
            (StateMachine, "has_cfn_attr", staticmethod(lambda attr: True)),
            (Key, "create_from_cloudformation_json", _class(create_key)),  # it wants other tags than CloudFormation has
            (CustomModel, "create_from_cloudformation_json", _class(create_custom)),
            (responses, "get_stack_from_s3_url", stack_body),
        ):
            stack.callback(setattr, owner, name, vars(owner)[name])
            setattr(owner, name, new)
        yield


def _class(function: Any) -> Any:
    return classmethod(function)


def _custom(model: Any, url: str, name: str, body: Any, account: str, region: str, **more: Any) -> Any:
    """A custom resource: its function is called, and answers over HTTP. moto would start a container for it."""
    from moto.cloudformation.models import cloudformation_backends

    request = str(uuid.uuid4())
    made = model(region, request, more["LogicalId"], name)
    cloudformation_backends[account][region].get_stack(more["StackId"]).add_custom_resource(made)
    event = {
        "RequestType": "Create", "ServiceToken": body["Properties"]["ServiceToken"], "RequestId": request,
        "ResponseURL": f"{url}/cloudformation_{region}/cfnresponse?stack={more['StackId']}", "StackId": more["StackId"],
        "LogicalResourceId": more["LogicalId"], "ResourceType": more["ResourceType"], "ResourceProperties": body["Properties"],
    }  # fmt: skip
    functions = current().functions
    threading.Thread(
        target=functions.invoke, args=(event["ServiceToken"], json.dumps(event)), daemon=True, name="aslant-custom"
    ).start()
    return made


_made: list[Any] = []


def _models(base: Any) -> None:
    """Models of the types that moto lacks; moto finds them as subclasses."""
    if _made:
        return

    class Resource:
        kind: ClassVar[str] = ""

        def __init__(self, name: str, properties: dict[str, Any]) -> None:
            self.name, self.properties = name, properties

        @property
        def physical_resource_id(self) -> str:
            return self.name

        @staticmethod
        def cloudformation_name_type() -> str:
            return ""

        @classmethod
        def cloudformation_type(cls) -> str:
            return cls.kind

        @classmethod
        def has_cfn_attr(cls, attr: str) -> bool:
            return True

        def get_cfn_attribute(self, attribute: str) -> str:
            return f"arn:aws:kept:us-east-1:{ACCOUNT}:{self.name}" if attribute.endswith("Arn") else f"{self.name}.{attribute}"

        @classmethod
        def create_from_cloudformation_json(cls, name: str, body: Any, account: str, region: str, **more: Any) -> Any:
            return cls(name, body["Properties"])

        @classmethod
        def update_from_cloudformation_json(
            cls, original_resource: Any, new_resource_name: str, cloudformation_json: Any, account_id: str, region_name: str
        ) -> Any:
            original_resource.properties = cloudformation_json["Properties"]
            return original_resource

        @classmethod
        def delete_from_cloudformation_json(cls, name: str, body: Any, account: str, region: str) -> None:
            """It had no effect."""

        def delete(self, account: str, region: str) -> None:
            """It had no effect."""

    class Version(Resource):
        """A state machine of its own that stays as it is; its ARN ends with the number."""

        @classmethod
        def create_from_cloudformation_json(cls, name: str, body: Any, account: str, region: str, **more: Any) -> Any:
            from moto.stepfunctions.parser.models import stepfunctions_parser_backends

            backend = stepfunctions_parser_backends[account][region]
            arn = body["Properties"]["StateMachineArn"]
            source = next(one for one in backend.state_machines if one.arn == arn)
            number = 1 + sum(one.arn.startswith(arn + ":") for one in backend.state_machines)
            made = backend.create_state_machine(
                name=f"{source.name}-v{number}", definition=source.definition, roleArn=source.roleArn, sm_type=source.sm_type
            )
            made.arn, made.name = f"{arn}:{number}", source.name
            return cls(made.arn, body["Properties"])

    class Alias(Resource):
        @classmethod
        def create_from_cloudformation_json(cls, name: str, body: Any, account: str, region: str, **more: Any) -> Any:
            given = body["Properties"]
            version = given["DeploymentPreference"]["StateMachineVersionArn"]
            return cls(f"{version.rpartition(':')[0]}:{given['Name']}", given)

    rows = [(kind, Resource) for kind in KEPT]
    rows += [("AWS::StepFunctions::StateMachineVersion", Version), ("AWS::StepFunctions::StateMachineAlias", Alias)]
    for kind, body in rows:
        _made.append(type(kind.rpartition("::")[2], (body, base), {"kind": kind}))
