"""The policy that confines a request to the data of one tenant, whatever the function's own role may do.

Every key of both tables begins with the tenant (`aslant.keys`), those of the indexes too, so DynamoDB itself refuses others:
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/specifying-conditions.html (LeadingKeys).
"""

from __future__ import annotations

import json
import re
from typing import Any

from aslant import keys
from aslant.settings import Settings

Json = Any

# No Scan: it would see every tenant's items.
_TABLE_ACTIONS = ("GetItem", "Query", "PutItem", "UpdateItem", "DeleteItem")


def session_policy(settings: Settings, tenant: str, *, account: str = "*", partition: str = "aws") -> dict[str, Json]:
    """The document for `Policy` of AssumeRole. `account` is that of the tables."""
    table = f"arn:{partition}:dynamodb:{settings.region}:{account}:table/"
    tables = [table + name for name in (settings.executions_table, settings.catalog_table, settings.events_table)]
    return {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Sid": "Items", "Effect": "Allow", "Action": [f"dynamodb:{action}" for action in _TABLE_ACTIONS],
                "Resource": [*tables, *(f"{name}/index/*" for name in tables)],
                "Condition": {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": [literal(keys.leading(tenant)) + "*"]}},
            },
            {
                "Sid": "Objects", "Effect": "Allow", "Action": ["s3:GetObject", "s3:PutObject"],
                "Resource": [f"arn:{partition}:s3:::{settings.bucket}/{literal(keys.artifacts(tenant))}*"],
            },
            {   # tables and objects are encrypted; the role itself may use that key only
                "Sid": "Key", "Effect": "Allow", "Action": ["kms:Decrypt", "kms:GenerateDataKey"],
                "Resource": [settings.key if settings.key.startswith("arn:") else "*"],
            },
        ],
    }  # fmt: skip


def document(settings: Settings, tenant: str, **where: str) -> str:
    """The same as JSON text, as short as it gets: a session's policy has 2,048 characters at most."""
    return json.dumps(session_policy(settings, tenant, **where), separators=(",", ":"), ensure_ascii=True)


def literal(text: str) -> str:
    """A text as a pattern of IAM that matches nothing else: `*`, `?` and `$` stand for themselves.

    https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_variables.html#policy-vars-specialchars
    """
    return re.sub(r"[*?$]", lambda found: f"${{{found[0]}}}", text)
