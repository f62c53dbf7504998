"""The registry of skills in the catalog table."""

from __future__ import annotations

import json
from dataclasses import dataclass

from aslant import keys
from aslant.adapters.aws_errors import calling
from aslant.adapters.clients import client, error_code
from aslant.adapters.dynamo import query
from aslant.adapters.execution_items import key_of
from aslant.errors import ConflictError, PreconditionFailed
from aslant.skill_specs import SkillSpec
from aslant.values import compact


@dataclass(frozen=True, slots=True)
class DynamoSkills:
    """Columns of a version: `contract`, which never changes, and `spec`, both JSON."""

    region: str
    table: str

    def put(self, tenant: str, spec: SkillSpec, before: SkillSpec | None = None) -> None:
        from botocore.exceptions import ClientError

        condition = "attribute_not_exists(pk) OR contract = :contract"
        values = {":contract": {"S": json.dumps(spec.contract, sort_keys=True)}}
        if before is not None:
            condition, values = "spec = :before", {":before": _spec(before)}
        with calling("registering a skill"):
            try:
                client("dynamodb", self.region).put_item(
                    TableName=self.table,
                    Item=key_of(keys.skill(tenant, spec.name, spec.version)) | {
                        "contract": {"S": json.dumps(spec.contract, sort_keys=True)},
                        "spec": _spec(spec),
                    },
                    ConditionExpression=condition, ExpressionAttributeValues=values,
                )
                return
            except ClientError as error:
                if error_code(error) != "ConditionalCheckFailedException":
                    raise
        if before is not None:
            raise PreconditionFailed(f"the skill {spec.name} {spec.version} has changed meanwhile")
        raise ConflictError(
            f"the skill {spec.name} {spec.version} is registered with another target, other parameters or another result;"
            " a change of these is a version of its own"
        )

    def of(self, tenant: str, name: str) -> list[SkillSpec]:
        return self._found("pk = :pk AND begins_with(sk, :sk)", {
            ":pk": {"S": keys.skills(tenant)}, ":sk": {"S": keys.skill_versions(name)},
        })

    def all(self, tenant: str) -> list[SkillSpec]:
        return self._found("pk = :pk", {":pk": {"S": keys.skills(tenant)}})

    def _found(self, condition: str, values: dict[str, dict[str, str]]) -> list[SkillSpec]:
        rows = query(
            client("dynamodb", self.region), "reading the registry of skills", TableName=self.table,
            KeyConditionExpression=condition, ExpressionAttributeValues=values, ConsistentRead=True,
        )
        return [SkillSpec.model_validate(json.loads(row["spec"]["S"])) for row in rows]


def _spec(spec: SkillSpec) -> dict[str, str]:
    return {"S": compact(spec.model_dump(mode="json", exclude_none=True))}
