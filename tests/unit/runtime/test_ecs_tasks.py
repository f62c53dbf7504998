"""Skills that are container images, against moto's ECS and S3. moto runs no containers: a thread of the test is the container."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import boto3
import pytest
import requests
from botocore.exceptions import ClientError
from moto.moto_api import state_manager

from aslant.adapters import clients, ecs_tasks
from aslant.adapters.ecs_tasks import EcsTasks
from aslant.adapters.s3_artifacts import S3Artifacts
from aslant.errors import AuthorizationError, CommandFailed, NotFoundError, ServerError, StepTimeout, ValidationError
from tests.unit.moto_aws import moto_aws

WHERE = {"cluster": "work", "families": "acme-*, shared"}
Body = Callable[[dict[str, str]], int | None]


class Ecs:
    """moto's ECS, with the token of RunTask as AWS has it, and containers that are `body(environment) -> exit code`."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.tokens: dict[str, str] = {}
        self.body: Body = lambda environment: 0
        self.stopped: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.client, name)

    def run_task(self, **request: Any) -> Any:
        token = request["clientToken"]
        if token in self.tokens:
            raise ClientError({"Error": {"Code": "ConflictException"}, "resourceIds": [self.tokens[token]]}, "RunTask")  # type: ignore[typeddict-unknown-key]
        answer = self.client.run_task(**request)
        self.tokens[token] = answer["tasks"][0]["taskArn"]
        (override,) = request["overrides"]["containerOverrides"]
        code = self.body({each["name"]: each["value"] for each in override["environment"]})
        if code is not None:
            self.end(self.tokens[token], code)
        return answer

    def end(self, arn: str, code: int) -> None:
        task = next(each for arn_, each in self._tasks().items() if arn_ == arn)
        task.containers[0].exitCode = code
        self.client.stop_task(cluster="work", task=arn, reason="Essential container in task exited")

    def stop_task(self, **request: Any) -> Any:
        self.stopped.append(request["task"])
        return self.client.stop_task(**request)

    def _tasks(self) -> dict[str, Any]:
        from moto.ecs.models import ecs_backends  # takes a second, in every process that collects tests

        (backend,) = [each["us-east-1"] for each in ecs_backends.values()]
        return dict(backend.tasks["work"])


@pytest.fixture
def ecs(monkeypatch: pytest.MonkeyPatch) -> Iterator[Ecs]:
    with moto_aws(monkeypatch):
        state_manager.set_transition("ecs::task", {"progression": "manual", "times": 1_000})  # else each look brings the end closer
        boto3.client("s3", "us-east-1").create_bucket(Bucket="artifacts")
        found = Ecs(boto3.client("ecs", "us-east-1"))
        found.create_cluster(clusterName="work")
        for family in ("acme-report", "other-report"):
            found.register_task_definition(
                family=family, networkMode="awsvpc", requiresCompatibilities=["FARGATE"], cpu="256", memory="512", containerDefinitions=[
                    {"name": "helper", "image": "sidecar", "memory": 64, "essential": False}, {"name": "main", "image": "report:1", "memory": 64}])
        ec2 = boto3.client("ec2", "us-east-1")
        monkeypatch.setitem(WHERE, "subnets", ec2.describe_subnets()["Subnets"][0]["SubnetId"])
        monkeypatch.setitem(WHERE, "security_groups", ec2.describe_security_groups()["SecurityGroups"][0]["GroupId"])
        monkeypatch.setattr(ecs_tasks, "client", lambda service, region: found if service == "ecs" else clients.client(service, region))
        yield found
        state_manager.unset_transition("ecs::task")


def definition(family: str = "acme-report") -> str:
    return f"arn:aws:ecs:us-east-1:123456789012:task-definition/{family}:1"


def run(arguments: dict[str, Any], *, key: str = "k", left: float = 100.0, tenant: str = "acme", family: str = "acme-report", **where: str) -> Any:
    artifacts, waits = S3Artifacts("us-east-1", "artifacts"), iter(range(1, 1_000))
    tasks = EcsTasks("us-east-1", "artifacts", {**WHERE, **where}, tenant, artifacts, sleep=lambda seconds: None)
    return tasks.run(definition(family), arguments, key, lambda: left - 2 * next(waits))


def doubling(environment: dict[str, str]) -> int:
    given = requests.get(environment["ASLANT_INPUT_URL"], timeout=5).json()
    requests.put(environment["ASLANT_OUTPUT_URL"], data=json.dumps({"twice": given["n"] * 2, "text": given["t"]}), timeout=5)
    return 0


def test_a_container_takes_arguments_and_gives_a_result(ecs: Ecs) -> None:
    ecs.body = doubling
    assert run({"n": 21, "t": "ä 'x'"}) == {"twice": 42, "text": "ä 'x'"}
    ecs.body = lambda environment: 0
    assert run({}, key="silent") is None


def test_the_same_call_again_runs_nothing_again(ecs: Ecs) -> None:
    ecs.body = doubling
    assert run({"n": 1, "t": ""}) == run({"n": 1, "t": ""}) == {"twice": 2, "text": ""}
    assert len(ecs.tokens) == 1
    run({"n": 1, "t": ""}, key="other")
    assert len(ecs.tokens) == 2


def test_a_second_copy_waits_for_the_task_of_the_first(ecs: Ecs) -> None:
    ecs.body = lambda environment: None
    with pytest.raises(KeyboardInterrupt):  # a function that is killed while it waits
        EcsTasks("us-east-1", "artifacts", WHERE, "acme", S3Artifacts("us-east-1", "artifacts"), sleep=_killed).run(
            definition(), {"n": 1}, "k", lambda: 100.0)
    (task,) = ecs.tokens.values()
    threading.Timer(0.1, lambda: ecs.end(task, 0)).start()
    patient = EcsTasks("us-east-1", "artifacts", WHERE, "acme", S3Artifacts("us-east-1", "artifacts"),
                       sleep=lambda seconds: threading.Event().wait(0.02) and None)
    assert patient.run(definition(), {"n": 1}, "k", lambda: 100.0) is None
    assert len(ecs.tokens) == 1


def _killed(seconds: float) -> None:
    raise KeyboardInterrupt


def test_a_task_that_failed_is_an_error_and_the_next_call_starts_another(ecs: Ecs) -> None:
    codes = iter([3, 0])
    ecs.body = lambda environment: next(codes)
    with pytest.raises(CommandFailed, match="exit code 3"):
        run({})
    assert run({}) is None and len(ecs.tokens) == 2


def test_a_task_beyond_its_time_is_stopped(ecs: Ecs) -> None:
    ecs.body = lambda environment: None
    with pytest.raises(StepTimeout):
        run({}, left=12)
    assert ecs.stopped == list(ecs.tokens.values())


def test_what_does_not_start(ecs: Ecs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Ecs, "run_task", lambda self, **request: {"tasks": [], "failures": [{"reason": "RESOURCE:CPU"}]})
    with pytest.raises(ServerError, match="RESOURCE:CPU"):
        run({})
    monkeypatch.undo()


def test_a_result_that_is_no_json(ecs: Ecs) -> None:
    def body(environment: dict[str, str]) -> int:
        requests.put(environment["ASLANT_OUTPUT_URL"], data=b"\xff{", timeout=5)
        return 0

    ecs.body = body
    with pytest.raises(ValidationError):
        run({})


def test_what_is_not_open(ecs: Ecs) -> None:
    for more in ({"family": "other-report"}, {"families": "{tenant}-*", "tenant": "*"}, {"families": ""}, {"cluster": ""}):
        with pytest.raises(AuthorizationError, match="ASLANT_CONTAINERS"):
            run({}, **more)  # type: ignore[arg-type]
    assert run({}, families="{tenant}-*") is None
    with pytest.raises((NotFoundError, ValidationError)):
        run({}, family="acme-none")
