"""Large values in the bucket of artifacts: `<tenant>/<execution>/<name>`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from aslant.adapters.aws_errors import calling
from aslant.adapters.clients import client, error_code
from aslant.errors import NotFoundError

_GONE = frozenset({"NoSuchKey", "NoSuchBucket", "404"})


@dataclass(frozen=True, slots=True)
class S3Artifacts:
    region: str
    bucket: str

    def put(self, tenant: str, execution: str, name: str, data: bytes) -> str:
        key = f"{_prefix(tenant)}{quote(execution, safe=':')}/{quote(name)}"
        with calling("storing a large value"):
            self._client.put_object(Bucket=self.bucket, Key=key, Body=data)
        return key

    def get(self, tenant: str, key: str) -> bytes:
        if not key.startswith(_prefix(tenant)):
            raise NotFoundError("there is no such artifact")
        from botocore.exceptions import ClientError

        with calling("reading a large value"):
            try:
                data: bytes = self._client.get_object(Bucket=self.bucket, Key=key)["Body"].read()
            except ClientError as error:
                if error_code(error) in _GONE:
                    raise NotFoundError(f"the stored value {key} is gone") from None
                raise
        return data

    @property
    def _client(self) -> Any:
        return client("s3", self.region)


def _prefix(tenant: str) -> str:
    return quote(tenant, safe="") + "/"
