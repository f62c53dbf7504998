"""CloudFormation in the local cloud, so that the CDK command line tool can deploy into it.

moto creates tables, buckets, keys, roles, queues, buses, rules, functions and state machines of a template. What it does not
know is kept without effect (`KEPT`), but for versions of state machines, which can be started. Functions run from the archives
that were deployed (`infra/local/deployed.py`), and are called by the streams and queues that a stack maps to them. Updates go
in the order of dependencies, and leave what `DeletionPolicy: Retain` holds. Imported only where stacks are deployed: it loads
most of moto.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import uuid
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from infra.local.cloud import LocalCloud
from infra.local.functions import ACCOUNT

# Types that moto's CloudFormation has no model of. They get a name, and their attributes are made up from it.
KEPT = (
    "AWS::ApiGatewayV2::Api", "AWS::ApiGatewayV2::Authorizer", "AWS::ApiGatewayV2::Integration", "AWS::ApiGatewayV2::Route",
    "AWS::ApiGatewayV2::Stage", "AWS::CloudWatch::Alarm", "AWS::Cognito::UserPool", "AWS::Cognito::UserPoolClient",
    "AWS::Cognito::UserPoolGroup", "AWS::S3::BucketPolicy", "AWS::SNS::Subscription", "AWS::SNS::TopicPolicy",
    "AWS::SQS::QueuePolicy",
)  # fmt: skip

_ANSWERS = "answers-of-custom-resources"

Register = Callable[[Any], None]  # is given moto's function


class CustomFailed(Exception):
    """The function of a custom resource says that it failed."""


@contextlib.contextmanager
def formation(cloud: LocalCloud, url: str, register: Register) -> Iterator[None]:
    """Inside, stacks can be deployed at `url`, where this cloud is served. `register` makes a deployed function callable."""
    from moto.awslambda.models import EventSourceMapping, LambdaFunction
    from moto.cloudformation import parsing, responses
    from moto.cloudformation.custom_model import CustomModel
    from moto.cloudformation.models import CloudFormationBackend
    from moto.cloudformation.parsing import ResourceMap
    from moto.core.common_models import CloudFormationModel
    from moto.kms.models import Key
    from moto.stepfunctions.models import StateMachine
    from moto.stepfunctions.parser.models import stepfunctions_parser_backends

    _models(CloudFormationModel)
    for cached in (parsing.get_model_list, parsing.get_model_map, parsing.get_name_type_map):
        cached.cache_clear()

    def create_function(cls: Any, name: str, body: Any, account: str, region: str, **more: Any) -> Any:
        made = original_function(name, body, account, region, **more)
        layers = body["Properties"].get("Layers", [])  # moto leaves them out
        made.layers = made._get_layers_data([getattr(one, "arn", one) for one in layers])
        register(made)
        return made

    def update_function(
        cls: Any, original_resource: Any, new_resource_name: str, cloudformation_json: Any, account_id: str, region_name: str
    ) -> Any:
        given = cloudformation_json["Properties"]
        given["Layers"] = [getattr(one, "arn", one) for one in given.get("Layers", [])]
        original_resource.update_configuration(given)
        original_resource.update_function_code({**given["Code"], "Publish": False})
        register(original_resource)
        return original_resource

    def map_source(cls: Any, name: str, body: Any, account: str, region: str, **more: Any) -> Any:
        given = body["Properties"]
        source, function = str(given["EventSourceArn"]), str(given["FunctionName"])
        if ":sqs:" in source:
            cloud.poll(source.rpartition(":")[2], function)
        else:
            cloud.stream(
                source.split("/")[1], function, batch=given["BatchSize"], shards=given["ParallelizationFactor"]
            )
        return original_mapping(name, body, account, region, **more)

    def create_custom(cls: Any, name: str, body: Any, account: str, region: str, **more: Any) -> Any:
        made: Any = custom_model(region, str(uuid.uuid4()), more["LogicalId"], name)
        made.stack, made.kind = more["StackId"], more["ResourceType"]
        custom("Create", made, body["Properties"])
        return made

    def update_custom(
        cls: Any, original_resource: Any, new_resource_name: str, cloudformation_json: Any, account_id: str, region_name: str
    ) -> Any:
        custom("Update", original_resource, cloudformation_json["Properties"])
        return original_resource

    def custom(request: str, resource: Any, properties: Any) -> None:
        """A custom resource: its function is called, and puts its answer into a bucket. moto would start a container for it."""
        key = str(uuid.uuid4())
        event = {
            "RequestType": request, "ServiceToken": properties["ServiceToken"], "RequestId": key,
            "ResponseURL": f"{url}/{_ANSWERS}/{key}", "StackId": resource.stack, "LogicalResourceId": resource.logical_id,
            "ResourceType": resource.kind, "ResourceProperties": properties,
            **({} if request == "Create" else {"PhysicalResourceId": resource.resource_name}),
        }  # fmt: skip
        result = cloud.functions.invoke(event["ServiceToken"], json.dumps(event))
        if result.error:
            raise CustomFailed(result.payload)
        answer = json.loads(cloud.client("s3").get_object(Bucket=_ANSWERS, Key=key)["Body"].read())
        if answer["Status"] != "SUCCESS":
            raise CustomFailed(answer["Reason"])
        resource.resource_name, resource.properties = answer["PhysicalResourceId"], properties
        resource.set_data(answer.get("Data") or {})

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

    def update_machine(
        cls: Any, original_resource: Any, new_resource_name: str, cloudformation_json: Any, account_id: str, region_name: str
    ) -> Any:
        given = cloudformation_json["Properties"]
        backend = stepfunctions_parser_backends[account_id][region_name]
        return backend.update_state_machine(
            original_resource.arn, definition=given["DefinitionString"], role_arn=given["RoleArn"]
        )

    def delete_machine(self: Any, account: str, region: str) -> None:
        """Its versions go with it, as on AWS."""
        backend = stepfunctions_parser_backends[account][region]
        backend.state_machines = [
            one for one in backend.state_machines if not f"{one.arn}:".startswith(f"{self.arn}:")
        ]

    def machine_attribute(self: Any, name: str) -> str:
        if name == "StateMachineRevisionId":
            return hashlib.sha256(str(self.definition).encode()).hexdigest()
        return str(self.arn if name == "Arn" else original_attribute(self, name))

    def resolve_parameters(self: Any, instance: Any, incoming_params: Any) -> Any:
        for name, given in instance.template_dict.get("Parameters", {}).items():  # an earlier value may be the default
            instance.parameters.setdefault(name, given.get("Default"))
        return original_parameters(self, instance, incoming_params)

    custom_model: Any = CustomModel
    original_parameters: Any = CloudFormationBackend._resolve_update_parameters
    original_attribute = StateMachine.get_cfn_attribute
    original_key = Key.create_from_cloudformation_json
    original_function = LambdaFunction.create_from_cloudformation_json
    original_mapping = EventSourceMapping.create_from_cloudformation_json
    create, update = "create_from_cloudformation_json", "update_from_cloudformation_json"
    cloud.client("s3").create_bucket(Bucket=_ANSWERS)
    with contextlib.ExitStack() as stack:
        for owner, name, new in (
            (LambdaFunction, create, _class(create_function)),
            (LambdaFunction, update, _class(update_function)),
            (EventSourceMapping, create, _class(map_source)),
            (StateMachine, create, _class(machine)),  # it makes one that cannot be executed
            (StateMachine, update, _class(update_machine)),
            (StateMachine, "delete", delete_machine),
            (StateMachine, "get_cfn_attribute", machine_attribute),
            (StateMachine, "has_cfn_attr", staticmethod(lambda attr: True)),
            (Key, create, _class(create_key)),  # it wants other tags than CloudFormation has
            (CustomModel, create, _class(create_custom)),
            (CustomModel, update, _class(update_custom)),
            (CustomModel, "delete", lambda self, account, region: custom("Delete", self, self.properties)),
            (ResourceMap, "update", _update),
            (CloudFormationBackend, "_resolve_update_parameters", resolve_parameters),
            (responses, "get_stack_from_s3_url", stack_body),
        ):
            if name in vars(owner):
                stack.callback(setattr, owner, name, vars(owner)[name])
            else:
                stack.callback(delattr, owner, name)
            setattr(owner, name, new)
        yield


def _update(self: Any, template: dict[str, Any], parameters: dict[str, Any] | None = None) -> None:
    """Each resource after those that it names, then what is not in the template any more. moto removes first."""
    from moto.cloudformation.parsing import parse_and_update_resource

    actions, before = self.build_resource_diff(template, parameters), self._resource_json_map
    self._template, self.input_parameters = template, parameters or self.input_parameters
    self.load_mapping()
    self.load_parameters()
    self.load_conditions()
    now = self._resource_json_map = template["Resources"]
    modified = set(actions["Modify"])
    for name in _ordered(now):
        if name in modified:
            self._parsed_resources[name] = parse_and_update_resource(
                name, now[name], self, account_id=self._account_id, region_name=self._region_name
            )
        else:
            _ = self[name]  # it is made when it is asked for first
    for name in reversed([each for each in _ordered(before) if each in actions["Remove"]]):
        gone = self._parsed_resources.pop(name, None)
        if gone is not None and before[name].get("DeletionPolicy") != "Retain":
            self._delete_resource(gone, before[name])


def _ordered(resources: dict[str, Any]) -> list[str]:
    """Names of resources, each behind those that it refers to or depends on."""
    found: dict[str, None] = {}

    def visit(name: str) -> None:
        if name not in found and name in resources:
            for inner in _texts(resources[name]):
                if inner != name and inner in resources:
                    visit(inner)
            found[name] = None

    for name in resources:
        visit(name)
    return [*found]


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(inner)


def _class(function: Any) -> Any:
    return classmethod(function)


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
