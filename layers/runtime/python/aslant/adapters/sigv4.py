"""AWS's Signature Version 4 for requests of http steps."""

from __future__ import annotations

from dataclasses import dataclass, replace

from aslant.adapters.guarded_http import target
from aslant.http_ports import AwsKeys, HttpRequest


@dataclass(frozen=True, slots=True)
class SigV4:
    def sign(self, request: HttpRequest, keys: AwsKeys) -> HttpRequest:
        """Signed is what the guarded client sends: the address as it writes it, its Host, and the body."""
        from botocore.auth import S3SigV4Auth, SigV4Auth
        from botocore.awsrequest import AWSRequest
        from botocore.credentials import Credentials

        here = target(request.url)
        url = f"{here.scheme}://{here.authority}{here.path}"
        kind = S3SigV4Auth if keys.service == "s3" else SigV4Auth
        signed = AWSRequest(request.method, url, dict(request.headers), request.body)
        credentials = Credentials(keys.access_key, keys.secret_key, keys.session_token or None)
        kind(credentials, keys.service, keys.region).add_auth(signed)
        return replace(request, url=url, headers=dict(signed.headers.items()))
