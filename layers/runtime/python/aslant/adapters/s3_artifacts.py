"""Large values in the bucket of artifacts: `<tenant>/<execution>/<name>`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from aslant import keys
from aslant.adapters.aws_errors import calling
from aslant.adapters.clients import client, error_code
from aslant.errors import NotFoundError, PayloadTooLarge

_GONE = frozenset({"NoSuchKey", "NoSuchBucket", "404"})


@dataclass(frozen=True, slots=True)
class S3Artifacts:
    region: str
    bucket: str

    def put(self, tenant: str, execution: str, name: str, data: bytes) -> str:
        key = keys.artifact(tenant, execution, name)
        with calling("storing a large value"):
            self._client.put_object(Bucket=self.bucket, Key=key, Body=data)
        return key

    def get(self, tenant: str, key: str, limit: int | None = None) -> bytes:
        if not key.startswith(keys.artifacts(tenant)):
            raise NotFoundError("there is no such artifact")
        from botocore.exceptions import ClientError

        with calling("reading a large value"):
            try:
                found = self._client.get_object(Bucket=self.bucket, Key=key)
                if limit is not None and found["ContentLength"] > limit:
                    found["Body"].close()
                    raise PayloadTooLarge(f"the artifact has {found['ContentLength']:,} bytes; {limit:,} are the limit here")
                data: bytes = found["Body"].read()
            except ClientError as error:
                if error_code(error) in _GONE:
                    raise NotFoundError(f"the stored value {key} is gone") from None
                raise
        return data

    @property
    def _client(self) -> Any:
        return client("s3", self.region)

