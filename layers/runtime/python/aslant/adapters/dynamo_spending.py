"""What models cost, in the catalog table: one number per tenant and month, in millionths of a US dollar."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from aslant import keys
from aslant.adapters.aws_errors import calling
from aslant.adapters.clients import client
from aslant.adapters.execution_items import key_of
from aslant.errors import BudgetExceeded


@dataclass(frozen=True, slots=True)
class DynamoSpending:
    region: str
    table: str

    def reserve(self, tenant: str, month: str, usd: float, limit: float) -> None:
        """One conditional update: calls at the same time cannot together go beyond the limit."""
        from botocore.exceptions import ClientError

        price, most = math.ceil(usd * 1_000_000), math.floor(limit * 1_000_000)
        too_much = BudgetExceeded(f"this call may cost {usd:.4f} US dollars, and the budget of {month} is {limit:g}")
        if price > most:
            raise too_much
        with calling("reserving a part of the budget"):
            try:
                self._add(tenant, month, price, ConditionExpression="attribute_not_exists(pk) OR spent <= :room",
                    values={":room": {"N": str(most - price)}})
            except ClientError as error:
                if error.response.get("Error", {}).get("Code") != "ConditionalCheckFailedException":
                    raise
                raise too_much from None

    def settle(self, tenant: str, month: str, usd: float) -> None:
        with calling("settling a part of the budget"):
            self._add(tenant, month, round(usd * 1_000_000), values={})

    def _add(self, tenant: str, month: str, millionths: int, *, values: dict[str, Any], **more: Any) -> None:
        client("dynamodb", self.region).update_item(
            TableName=self.table, Key=key_of(keys.spending(tenant, month)), UpdateExpression="ADD spent :usd",
            ExpressionAttributeValues={":usd": {"N": str(millionths)}, **values}, **more,
        )
