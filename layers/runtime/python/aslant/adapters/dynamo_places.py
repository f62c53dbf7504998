"""Places of limits of running executions, in the executions table."""

from __future__ import annotations

from dataclasses import dataclass

from aslant import keys
from aslant.adapters.aws_errors import calling
from aslant.adapters.clients import client, error_code
from aslant.adapters.dynamo import Row, query
from aslant.adapters.execution_items import key_of
from aslant.executions.admission import Place


@dataclass(frozen=True, slots=True)
class DynamoPlaces:
    """Columns: `holder`, the execution's id, and `at`, when it took the place."""

    region: str
    table: str

    def taken(self, tenant: str, limit: str) -> dict[int, Place]:
        rows = query(
            client("dynamodb", self.region), "looking for a place", TableName=self.table, ConsistentRead=True,
            KeyConditionExpression="pk = :pk", ExpressionAttributeValues={":pk": {"S": keys.places(tenant, limit)}},
        )
        return {int(row["sk"]["S"].partition("#")[2]): Place(row["holder"]["S"], int(row["at"]["N"])) for row in rows}

    def take(self, tenant: str, limit: str, number: int, before: Place | None, after: Place) -> bool:
        from botocore.exceptions import ClientError

        condition, values = "attribute_not_exists(pk)", {}
        if before is not None:
            condition, values = "holder = :holder AND #at = :at", {f":{name}": one for name, one in _columns(before).items()}
        more = {} if before is None else {"ExpressionAttributeNames": {"#at": "at"}, "ExpressionAttributeValues": values}
        with calling("taking a place"):
            try:
                client("dynamodb", self.region).put_item(
                    TableName=self.table, Item=key_of(keys.place(tenant, limit, number)) | _columns(after),
                    ConditionExpression=condition, **more,
                )
            except ClientError as error:
                if error_code(error) != "ConditionalCheckFailedException":
                    raise
                return False
        return True


def _columns(place: Place) -> Row:
    return {"holder": {"S": place.execution}, "at": {"N": str(place.at)}}
