"""The Lambda function behind the custom resource of a deployed workflow.

https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/crpg-ref-requesttypes.html: CloudFormation waits for an answer
at an address that the request names, also when something went wrong.
"""

from __future__ import annotations

import json
from typing import Any

from aslant import bootstrap, observability, serving
from aslant.settings import Settings
from functions.register_workflow import logic


def handler(event: dict[str, Any], context: Any) -> None:
    """`ResourceProperties` are {Tenant, Machine, Rollback, Parts, Workflow}: ARNs, and a packed workflow without them."""
    observability.listen()
    status, reason, identifier = "SUCCESS", "", str(event.get("PhysicalResourceId") or event["LogicalResourceId"])
    try:
        identifier = _serve(event)
    except Exception as error:  # whatever it is: without an answer the deployment hangs for an hour
        status, reason = "FAILED", f"{type(error).__name__}: {error}"
        observability.log("ERROR", reason, {})
    _answer(event, status, reason, identifier)


def _serve(event: dict[str, Any]) -> str:
    settings, given = Settings.read(), event["ResourceProperties"]
    tenant, (release, written) = str(given["Tenant"]), logic.unpacked(given["Workflow"])
    release["machine"] = str(given["Machine"])
    for name in ("rollback", "ending"):
        if name in release:
            release[name] = str(given["Rollback"])
    if given.get("Parts"):
        release["parts"] = [str(part) for part in given["Parts"]]
    work = logic.withdraw if event["RequestType"] == "Delete" else logic.register
    work(
        bootstrap.catalog(settings), bootstrap.releases(settings), bootstrap.schedules(settings),
        serving.subscriptions(settings), tenant, release, written,
    )  # fmt: skip
    return f"{tenant}#{release['workflow']}"


def _answer(event: dict[str, Any], status: str, reason: str, identifier: str) -> None:
    import urllib3

    body = {
        "Status": status, "Reason": reason[:1000], "PhysicalResourceId": identifier,
        **{name: event[name] for name in ("StackId", "RequestId", "LogicalResourceId")},
    }
    urllib3.PoolManager().request(
        "PUT", event["ResponseURL"], body=json.dumps(body).encode(), headers={"Content-Type": ""}, timeout=20, retries=3
    )
