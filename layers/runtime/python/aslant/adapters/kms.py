"""Short texts encrypted with a KMS key (https://docs.aws.amazon.com/kms/latest/developerguide/encrypt_context.html)."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass

from aslant.adapters.aws_errors import calling
from aslant.adapters.clients import client, error_code
from aslant.errors import AuthorizationError


@dataclass(frozen=True, slots=True)
class KmsCipher:
    """`key` is an id, an ARN or an alias; a text has at most 4,096 bytes."""

    region: str
    key: str

    def encrypt(self, text: str, context: Mapping[str, str]) -> str:
        with calling("encrypting"):
            answer = client("kms", self.region).encrypt(
                KeyId=self.key, Plaintext=text.encode(), EncryptionContext=dict(context)
            )
        return base64.b64encode(answer["CiphertextBlob"]).decode()

    def decrypt(self, text: str, context: Mapping[str, str]) -> str:
        from botocore.exceptions import ClientError

        try:
            sealed = base64.b64decode(text, validate=True)
        except (ValueError, binascii.Error):
            raise AuthorizationError("this was not encrypted here") from None
        with calling("decrypting"):
            try:
                answer = client("kms", self.region).decrypt(CiphertextBlob=sealed, EncryptionContext=dict(context))
            except ClientError as error:
                if error_code(error) in ("InvalidCiphertextException", "IncorrectKeyException", "AccessDeniedException"):
                    raise AuthorizationError("this was not encrypted for this use") from None
                raise
        return str(answer["Plaintext"].decode())
