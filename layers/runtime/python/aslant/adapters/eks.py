"""Access to an EKS cluster with the function's own role."""

from __future__ import annotations

import base64
from typing import Any, cast

from aslant.adapters.aws_errors import calling
from aslant.adapters.clients import client
from aslant.errors import ValidationError
from aslant.http_ports import ClientTls
from aslant.kubernetes import Access


def eks_access(name: str, region: str) -> Access:
    """The endpoint and authority that EKS tells, and a token: a signed GetCallerIdentity for this cluster, good for a minute.

    https://docs.aws.amazon.com/eks/latest/userguide/cluster-auth.html, as `aws eks get-token` makes it.
    """
    with calling(f"looking for the EKS cluster {name}"):
        cluster: dict[str, Any] = client("eks", region).describe_cluster(name=name)["cluster"]
        if not cluster.get("endpoint") or not cluster.get("certificateAuthority", {}).get("data"):
            raise ValidationError(f"the EKS cluster {name} is not ready: {cluster.get('status')}")
        import boto3
        from botocore.model import ServiceId
        from botocore.signers import RequestSigner

        session: Any = cast(Any, boto3).Session(region_name=region)
        signer = RequestSigner(ServiceId("sts"), region, "sts", "v4", session.get_credentials(), session.events)
        url = signer.generate_presigned_url(
            {
                "method": "GET", "url": f"https://sts.{region}.amazonaws.com/?Action=GetCallerIdentity&Version=2011-06-15",
                "body": {}, "headers": {"x-k8s-aws-id": name}, "context": {},
            },
            region_name=region, expires_in=60, operation_name="",
        )
    token = "k8s-aws-v1." + base64.urlsafe_b64encode(url.encode()).decode().rstrip("=")
    ca = base64.b64decode(cluster["certificateAuthority"]["data"]).decode()
    return Access(cluster["endpoint"], token, ClientTls(ca=ca))
