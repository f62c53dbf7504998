"""Container images as tasks of ECS: arguments and result through addresses in the bucket that only the task is given.

A container reads its arguments (JSON) from `ASLANT_INPUT_URL` by GET and writes its result (JSON) to `ASLANT_OUTPUT_URL` by
PUT. It needs no credentials for that. Exit code 0 is success. The step's function waits for it, so it has that one's time.
"""

from __future__ import annotations

import glob
import hashlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from aslant import keys
from aslant.adapters.aws_errors import calling, step_error
from aslant.adapters.clients import client, error_code
from aslant.contracts import MAX_PAYLOAD, Json
from aslant.errors import AuthorizationError, CommandFailed, NotFoundError, ServerError, StepTimeout, ValidationError
from aslant.ports import Artifacts
from aslant.values import compact, read_json

_PAUSE = 2.0       # seconds between two looks
_SPARE = 3.0       # seconds that stopping a task may take
_MOST_TRIES = 100  # tasks for one call, all of which failed
_HANDED = 3_600    # seconds for which the addresses work


@dataclass(frozen=True, slots=True)
class EcsTasks:
    """`where` has `cluster`, `families` (patterns; `{tenant}` stands for the tenant's name), and for tasks with a network of
    their own `subnets`, `security_groups`, `public_ip`; lists are comma-separated."""

    region: str
    bucket: str
    where: Mapping[str, str]
    tenant: str
    artifacts: Artifacts
    sleep: Callable[[float], None] = field(default=time.sleep)

    def run(self, task_definition: str, arguments: Mapping[str, Json], key: str, remaining: Callable[[], float]) -> Json:
        """What the task wrote; None when it wrote nothing. A task that an earlier call with the same key started is waited for,
        or was the answer already; one that failed is followed by another.

        Raises CommandFailed for an exit code, ServerError for what did not start, StepTimeout (the task is stopped),
        AuthorizationError for a family that is not open to the tenant.
        """
        self._permit(task_definition)
        digest = hashlib.sha256(f"{self.tenant}\0{task_definition}\0{key}".encode()).hexdigest()
        request = self._request(task_definition, arguments, digest)
        for number in range(_MOST_TRIES):
            token = hashlib.sha256(f"{digest}{number}".encode()).hexdigest()
            task, is_new = self._start(request, token)
            ended = self._ended(task, remaining) if task else {}
            fault = _fault(ended)
            if fault is None:
                return self._output(token)
            if is_new:
                raise fault
        raise ServerError(f"{_MOST_TRIES} tasks of {task_definition} failed in a row")

    def _permit(self, task_definition: str) -> None:
        family = task_definition.rpartition("/")[2].partition(":")[0]
        patterns = [each.replace("{tenant}", glob.escape(self.tenant)) for each in _listed(self.where.get("families"))]
        if not self.where.get("cluster"):
            raise AuthorizationError("this installation runs no containers; ASLANT_CONTAINERS names the cluster")
        if not any(fnmatchcase(family, pattern) for pattern in patterns):
            raise AuthorizationError(f"this installation does not run tasks of the family {family[:200]!r} for its workflows;"
                                     " ASLANT_CONTAINERS can (`families`)")

    def _request(self, task_definition: str, arguments: Mapping[str, Json], digest: str) -> dict[str, Any]:
        """The arguments of RunTask, but for what differs from one task to the next."""
        with calling("reading the task definition"):
            known = self._ecs.describe_task_definition(taskDefinition=task_definition)["taskDefinition"]
        containers = known["containerDefinitions"]
        name = next((each for each in containers if each.get("essential", True)), containers[0])["name"]
        data = compact(dict(arguments)).encode("utf-8", "surrogatepass")
        source = self._address("get_object", self.artifacts.put(self.tenant, "@containers", f"{digest}-in", data))
        environment = [{"name": "ASLANT_INPUT_URL", "value": source}]
        request: dict[str, Any] = {
            "cluster": self.where["cluster"], "taskDefinition": task_definition, "count": 1, "startedBy": "aslant",
            "launchType": "FARGATE" if known.get("networkMode") == "awsvpc" else "EC2",
            "overrides": {"containerOverrides": [{"name": name, "environment": environment}]},
        }
        if known.get("networkMode") == "awsvpc":
            is_public = self.where.get("public_ip", "").lower() in ("1", "true", "enabled")
            request["networkConfiguration"] = {"awsvpcConfiguration": {
                "subnets": _listed(self.where.get("subnets")), "securityGroups": _listed(self.where.get("security_groups")),
                "assignPublicIp": "ENABLED" if is_public else "DISABLED"}}
        return request

    def _start(self, request: Mapping[str, Any], token: str) -> tuple[str, bool]:
        """The task's ARN, and whether this call has started it. No ARN for one that ECS has forgotten."""
        from botocore.exceptions import ClientError

        (container,) = request["overrides"]["containerOverrides"]
        target = {"name": "ASLANT_OUTPUT_URL", "value": self._address("put_object", self._key(token))}
        container = {**container, "environment": [*container["environment"], target]}
        shown = request["taskDefinition"]
        try:
            answer = self._ecs.run_task(**{**request, "clientToken": token, "overrides": {"containerOverrides": [container]}})
        except ClientError as error:
            if error_code(error) == "ConflictException":  # with other addresses, so it is another request with the same token
                known: Any = error.response.get("resourceIds") or [""]
                return str(known[0]), False
            raise step_error(error, f"starting a task of {shown}") from None
        if answer.get("failures") or not answer.get("tasks"):
            reasons = ", ".join(str(each.get("reason") or each.get("detail")) for each in answer.get("failures") or ())
            raise ServerError(f"ECS did not start a task of {shown}: {reasons or 'it says no reason'}")
        return str(answer["tasks"][0]["taskArn"]), True

    def _ended(self, task: str, remaining: Callable[[], float]) -> dict[str, Any]:
        """The description of a task that has stopped; nothing of one that ECS has forgotten."""
        while True:
            with calling("looking at a task of ECS"):
                found = self._ecs.describe_tasks(cluster=self.where["cluster"], tasks=[task])["tasks"]
            if not found or found[0].get("lastStatus") in ("STOPPED", "DELETED"):
                return dict(found[0]) if found else {}
            if remaining() <= _PAUSE + _SPARE:
                with calling("stopping a task of ECS"):
                    self._ecs.stop_task(cluster=self.where["cluster"], task=task, reason="the step's time is over")
                raise StepTimeout(f"the task {task.rpartition('/')[2]} did not end in time; it was stopped")
            self.sleep(_PAUSE)

    def _output(self, token: str) -> Json:
        try:
            data = self.artifacts.get(self.tenant, self._key(token), MAX_PAYLOAD * 64)
        except NotFoundError:
            return None
        try:
            return read_json(data) if data else None
        except ValueError:
            raise ValidationError("the container did not write JSON to ASLANT_OUTPUT_URL") from None

    def _key(self, token: str) -> str:
        return keys.artifact(self.tenant, "@containers", f"{token}-out")

    def _address(self, operation: str, key: str) -> str:
        address = client("s3", self.region).generate_presigned_url(
            operation, Params={"Bucket": self.bucket, "Key": key}, ExpiresIn=_HANDED)
        return str(address)

    @property
    def _ecs(self) -> Any:
        return client("ecs", self.region)


def _listed(text: str | None) -> list[str]:
    return [part.strip() for part in (text or "").split(",") if part.strip()]


def _fault(ended: Mapping[str, Any]) -> CommandFailed | ServerError | None:
    """Why a task that has stopped is no success. https://docs.aws.amazon.com/AmazonECS/latest/developerguide/stopped-task-errors.html"""
    if not ended:
        return ServerError("the task ended, and ECS knows nothing of it any more")
    reason = str(ended.get("stoppedReason") or "")[:300]
    codes = [each["exitCode"] for each in ended.get("containers") or () if each.get("exitCode") is not None]
    if not codes or ended.get("stopCode") in ("TaskFailedToStart", "SpotInterruption", "TerminationNotice", "UserInitiated"):
        return ServerError(f"the task was not run to its end: {reason or ended.get('stopCode') or 'no container ended'}")
    failed = next((code for code in codes if code), None)
    if failed is None:
        return None
    cause = next((str(each["reason"]) for each in ended.get("containers") or () if each.get("reason")), reason)
    return CommandFailed(f"the container ended with exit code {failed}{': ' + cause[:300] if cause else ''}")
