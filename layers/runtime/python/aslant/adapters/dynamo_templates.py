"""Templates in the catalog table."""

from __future__ import annotations

import gzip
import json
from dataclasses import asdict, dataclass
from itertools import islice

from aslant import keys
from aslant.adapters.aws_errors import calling
from aslant.adapters.clients import client, error_code
from aslant.adapters.dynamo import Row, query
from aslant.adapters.execution_items import key_of
from aslant.errors import ConflictError, PayloadTooLarge
from aslant.templates import MAX_TEMPLATES, TemplateRecord
from aslant.values import compact

_MOST = 350_000  # bytes; an item has 400 KB at most


@dataclass(frozen=True, slots=True)
class DynamoTemplates:
    """Columns: `revision`, `facts` (JSON) and `text` (gzipped)."""

    region: str
    table: str

    def read(self, tenant: str, id: str) -> TemplateRecord | None:
        with calling("reading a template"):
            answer = client("dynamodb", self.region).get_item(
                TableName=self.table, Key=key_of(keys.template(tenant, id)), ConsistentRead=True
            )
        return _record(answer["Item"]) if "Item" in answer else None

    def all(self, tenant: str) -> list[TemplateRecord]:
        rows = query(
            client("dynamodb", self.region), "listing templates", TableName=self.table, ConsistentRead=True,
            KeyConditionExpression="pk = :pk", ProjectionExpression="facts", Limit=MAX_TEMPLATES,
            ExpressionAttributeValues={":pk": {"S": keys.templates(tenant)}},
        )  # fmt: skip
        return [_record(row) for row in islice(rows, MAX_TEMPLATES)]

    def write(self, tenant: str, before: TemplateRecord | None, after: TemplateRecord | None) -> None:
        from botocore.exceptions import ClientError

        condition: dict[str, object] = {"ConditionExpression": "attribute_not_exists(pk)"}
        if before is not None:
            condition = {
                "ConditionExpression": "revision = :before",
                "ExpressionAttributeValues": {":before": {"N": str(before.revision)}},
            }
        id = (after or before).id if after or before else ""  # type: ignore[union-attr]
        key, table = key_of(keys.template(tenant, id)), client("dynamodb", self.region)
        with calling("writing a template"):
            try:
                if after is None:
                    table.delete_item(TableName=self.table, Key=key, **condition)
                else:
                    table.put_item(TableName=self.table, Item=key | _columns(after), **condition)
                return
            except ClientError as error:
                if error_code(error) != "ConditionalCheckFailedException":
                    raise
        raise ConflictError(f"the template {id} {'is there already' if before is None else 'has changed meanwhile'}")


def _columns(record: TemplateRecord) -> Row:
    facts = {name: value for name, value in asdict(record).items() if name != "text"}
    text, rest = gzip.compress(record.text.encode(), mtime=0), compact(facts)
    if len(text) + len(rest) > _MOST:
        raise PayloadTooLarge(f"the template has {len(text) + len(rest):,} bytes when it is compressed; {_MOST:,} are kept")
    return {"revision": {"N": str(record.revision)}, "facts": {"S": rest}, "text": {"B": text}}


def _record(row: Row) -> TemplateRecord:
    text = gzip.decompress(bytes(row["text"]["B"])).decode() if "text" in row else ""
    return TemplateRecord(**json.loads(row["facts"]["S"]), text=text)
