"""The installation's secret that signs links: made on first use, the same for all functions."""

from __future__ import annotations

import secrets
from typing import Any

from aslant.adapters.aws_errors import calling
from aslant.adapters.clients import client, error_code

_BYTES = 32


def link_secret(region: str, prefix: str) -> bytes:
    """The secret. It is no tenant's: its name has a part less than theirs."""
    from botocore.exceptions import ClientError

    manager: Any = client("secretsmanager", region)
    name = f"{prefix}link-secret"
    with calling("reading the secret of links"):
        try:
            return bytes.fromhex(manager.get_secret_value(SecretId=name)["SecretString"])
        except ClientError as error:
            if error_code(error) != "ResourceNotFoundException":
                raise
        try:
            manager.create_secret(Name=name, SecretString=secrets.token_hex(_BYTES), Description="Signs links of approvals")
        except ClientError as error:  # somebody else made it just now
            if error_code(error) != "ResourceExistsException":
                raise
        return bytes.fromhex(manager.get_secret_value(SecretId=name)["SecretString"])
