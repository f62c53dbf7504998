"""deploy and scale steps: Kubernetes against an API server in memory (shapes of the OpenAPI), ECS and EKS against moto."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from aslant import bootstrap, clusters
from aslant.adapters.ecs import AwsEcs
from aslant.adapters.eks import eks_access
from aslant.errors import NetworkError, SecretNotFound, StepTypeUnavailable, ValidationError
from aslant.http_ports import HttpResponse
from aslant.kubernetes import Access, Kubernetes, objects
from aslant.secrets import Redactor
from aslant.settings import Settings
from functions.steps.deploy.handler import handler as deploy
from functions.steps.scale.handler import handler as scale
from tests.unit.functions.cluster import Cluster
from tests.unit.moto_aws import moto_aws

SHOP: dict[str, Any] = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "shop"}, "spec": {"replicas": 2}}
TEXT = """
apiVersion: v1
kind: ConfigMap
metadata: {name: words, namespace: other}
data: {day: 2026-01-31}
---
apiVersion: batch/v1
kind: Job
metadata: {name: move}
"""


@pytest.fixture
def use(monkeypatch):
    def use(cluster):
        monkeypatch.setattr(bootstrap, "cluster", lambda settings, name, tenant, redactor, remaining: Kubernetes(
            Access("https://cluster", "t0ken"), cluster, remaining, sleep=lambda seconds: None))
        return cluster

    return use


@pytest.fixture
def failure(invocation):
    def fail(handler, kind, config, **more):
        with pytest.raises(Exception) as caught:
            handler(invocation(kind, config, **more), None)
        return type(caught.value).__name__, str(caught.value)

    return fail


def test_a_manifest_is_applied_and_rolled_out(use, invocation):
    cluster = use(Cluster())
    done = deploy(invocation("deploy", {"manifest": SHOP, "namespace": "store"}), None)["output"]
    assert done == {"dry_run": False, "objects": [
        {"kind": "Deployment", "name": "shop", "namespace": "store", "generation": 2, "status": "rolled out"}]}
    assert "/apis/apps/v1/namespaces/store/deployments/shop" in cluster.kept
    done = deploy(invocation("deploy", {"manifest": TEXT, "namespace": "store"}), None)["output"]
    assert [(one["name"], one["namespace"], one["status"]) for one in done["objects"]] == [
        ("words", "other", "applied"), ("move", "store", "complete")]
    assert cluster.kept["/api/v1/namespaces/other/configmaps/words"]["data"] == {"day": "2026-01-31"}


def test_a_dry_run_keeps_nothing(use, invocation):
    cluster = use(Cluster())
    done = deploy(invocation("deploy", {"manifest": SHOP, "dry_run": True}), None)["output"]
    assert (done["dry_run"], done["objects"][0]["status"], cluster.kept) == (True, "checked", {})
    assert "dryRun=All" in cluster.seen[-1].url


@pytest.mark.parametrize(("cluster", "config", "name", "words"), [
    (Cluster(stuck=("shop",)), {"manifest": SHOP}, "RolloutFailed", "has timed out progressing"),
    (Cluster(stuck=("move",)), {"manifest": TEXT}, "RolloutFailed", "BackoffLimitExceeded"),
    (Cluster(managed=("shop",)), {"manifest": SHOP}, "ConflictError", 'conflict with "kubectl"'),
    (Cluster(token="other"), {"manifest": SHOP}, "AuthenticationError", "Unauthorized"),
    (Cluster(), {"manifest": {**SHOP, "metadata": {"name": "Shop"}}}, "ValidationError", "metadata.name: Invalid value"),
    (Cluster(), {"manifest": {**SHOP, "kind": "Odd"}}, "NotFoundError", "no kind Odd of apps/v1"),
    (Cluster(looks=1_000_000), {"manifest": SHOP, "timeout": 1}, "StepTimeout", "Deployment/shop: "),
    (Cluster(), {"manifest": "a: &x 1\nb: *x\n"}, "ValidationError", "aliases"),
    (Cluster(), {"manifest": {"kind": "Deployment"}}, "ValidationError", "`apiVersion` and `kind`"),
    (Cluster(), {"manifest": []}, "ValidationError", "0 objects"),
    (Cluster(), {"manifest": {**SHOP, "metadata": {"name": ".."}}}, "ValidationError", "no name"),
    (Cluster(), {}, "ValidationError", "either `manifest` or `service`"),
])
def test_what_goes_wrong(use, failure, cluster, config, name, words):
    use(cluster)
    found, message = failure(deploy, "deploy", config)
    assert found == name and words in message


def test_force_takes_fields_over(use, invocation):
    use(Cluster(managed=("shop",)))
    assert deploy(invocation("deploy", {"manifest": SHOP, "force": True}), None)["output"]["objects"][0]["status"] == "rolled out"


def test_a_name_cannot_reach_another_path():
    cluster = Cluster()
    kubernetes = Kubernetes(Access("https://cluster", "t0ken"), cluster, lambda: 10.0)
    kubernetes.apply({**SHOP, "metadata": {"name": "a/../b?x#"}}, "n/m", dry_run=True, force=False)
    assert cluster.seen[-1].url.startswith("https://cluster/apis/apps/v1/namespaces/n%2Fm/deployments/a%2F..%2Fb%3Fx%23?")


def test_scale(use, invocation, failure):
    cluster = use(Cluster())
    deploy(invocation("deploy", {"manifest": SHOP}), None)
    done = scale(invocation("scale", {"resource": "deployment/shop", "replicas": 5}), None)["output"]
    assert done == {"resource": "deployment/shop", "replicas": 5, "ready": 5}
    assert cluster.kept["/apis/apps/v1/namespaces/default/deployments/shop"]["spec"]["replicas"] == 5
    assert failure(scale, "scale", {"resource": "deployment/none", "replicas": 1})[0] == "NotFoundError"
    assert failure(scale, "scale", {"resource": "pod/x", "replicas": 1})[0] == "ValidationError"


def test_without_a_cluster(failure, invocation, monkeypatch):
    for handler, kind, config in ((deploy, "deploy", {"manifest": SHOP}), (scale, "scale", {"resource": "deployment/a", "replicas": 1})):
        name, message = failure(handler, kind, config)
        assert name == "StepTypeUnavailable" and "ASLANT_CLUSTERS names none" in message
        monkeypatch.setenv("ASLANT_SIMULATE", "1")
        assert handler(invocation(kind, config), None)["output"]["simulated"] is True
        monkeypatch.delenv("ASLANT_SIMULATE")


class Secrets:
    def __init__(self, **texts):
        self.texts = texts

    def get(self, tenant, name):
        try:
            return self.texts[name.replace("-", "_")]
        except KeyError:
            raise SecretNotFound(name) from None


def test_how_a_cluster_is_reached():
    settings = Settings(clusters={"prod": "https://10.0.0.1:6443", "odd": "http://x", "aws": "eks:main"})
    secrets, redactor = Secrets(cluster_prod=json.dumps({"token": "abcdefgh", "ca": "PEM"})), Redactor()

    def access(name, chosen=settings, known=secrets):
        return clusters.access(name, chosen, "acme", known, lambda eks: Access(f"https://{eks}", "of-eks-12"), redactor)

    found = access("prod")
    assert (found.server, found.token) == ("https://10.0.0.1:6443", "abcdefgh") and found.tls is not None and found.tls.ca == "PEM"
    assert access("aws").server == "https://main"
    assert redactor.text("abcdefgh of-eks-12") == "*** ***"
    assert access(None, Settings(clusters={"one": "https://a"}), Secrets(cluster_one="plain-token")).token == "plain-token"
    for name, error in (("odd", ValidationError), (None, StepTypeUnavailable), ("lost", StepTypeUnavailable)):
        with pytest.raises(error):
            access(name)
    with pytest.raises(SecretNotFound, match="cluster-prod"):
        access("prod", known=Secrets())


def test_manifests_are_lists_too():
    assert [one["kind"] for one in objects([SHOP, {"kind": "List", "items": [SHOP, SHOP]}])] == ["Deployment"] * 3


def test_ecs_and_eks(monkeypatch, invocation, failure):
    with moto_aws(monkeypatch):
        from aslant.adapters.clients import client

        ecs = client("ecs", "us-east-1")
        ecs.create_cluster(clusterName="store")
        for _ in range(2):
            ecs.register_task_definition(family="shop", containerDefinitions=[{"name": "a", "image": "i", "memory": 64}])
        ecs.create_service(cluster="store", serviceName="shop", taskDefinition="shop:1", desiredCount=0)
        done = deploy(invocation("deploy", {"service": "shop", "cluster": "store", "task_definition": "shop:2", "wait": False}), None)
        assert done["output"]["task_definition"].endswith("shop:2")
        done = scale(invocation("scale", {"resource": "ecs/shop", "replicas": 3, "cluster": "store", "wait": False}), None)
        assert done["output"] == {"resource": "ecs/shop", "replicas": 3, "ready": None}
        assert ecs.describe_services(cluster="store", services=["shop"])["services"][0]["desiredCount"] == 3
        assert failure(scale, "scale", {"resource": "ecs/none", "replicas": 3, "cluster": "store"})[0] == "NotFoundError"
        eks = client("eks", "us-east-1")
        eks.create_cluster(name="main", roleArn="arn:aws:iam::123456789012:role/eks", resourcesVpcConfig={})
        monkeypatch.setattr("botocore.client.BaseClient._make_api_call", _with_authority(client("eks", "us-east-1")))
        found = eks_access("main", "us-east-1")
        url = base64.urlsafe_b64decode(found.token.removeprefix("k8s-aws-v1.") + "==").decode()
        assert url.startswith("https://sts.us-east-1.amazonaws.com/?Action=GetCallerIdentity") and "x-k8s-aws-id" in url
        assert found.server.startswith("https://") and found.tls is not None and found.tls.ca == "PEM"


def _with_authority(client):
    """Moto's authority is no base64 of a certificate."""
    original = type(client)._make_api_call

    def call(self, name, arguments):
        answer = original(self, name, arguments)
        if name == "DescribeCluster":
            answer["cluster"]["certificateAuthority"] = {"data": base64.b64encode(b"PEM").decode()}
        return answer

    return call


def test_an_ecs_service_is_waited_for(monkeypatch):
    """DescribeServices' shapes, as botocore's model has them: moto's services are never under way."""
    answers = [
        {"services": [{"status": "ACTIVE", "runningCount": 1, "desiredCount": 2, "deployments": [{"rolloutState": "IN_PROGRESS"}, {}]}]},
        {"services": [{"status": "ACTIVE", "runningCount": 2, "desiredCount": 2, "deployments": [{"rolloutState": "COMPLETED"}]}]},
        {"services": [{"status": "ACTIVE", "runningCount": 0, "desiredCount": 2, "deployments": [
            {"rolloutState": "FAILED", "rolloutStateReason": "tasks failed to start"}]}]},
    ]

    class Client:
        def describe_services(self, **asked):
            return answers.pop(0)

    monkeypatch.setattr("aslant.adapters.ecs.client", lambda service, region: Client())
    slept: list[float] = []
    ecs = AwsEcs("us-east-1", slept.append)
    assert ecs.wait("c", "s", lambda: 60.0)["runningCount"] == 2 and len(slept) == 1
    with pytest.raises(Exception, match="tasks failed to start"):
        ecs.wait("c", "s", lambda: 60.0)


class Strange:
    """A cluster that answers everything with the same."""

    def __init__(self, body: bytes, kinds: bool = True) -> None:
        self.body, self.kinds = body, kinds

    def send(self, request):
        if self.kinds and request.url.endswith("/apis/apps/v1"):
            return Cluster().send(request)
        return HttpResponse(200, {}, self.body, request.url)


@pytest.mark.parametrize("kinds", [True, False])
@pytest.mark.parametrize(("body", "name"), [
    (b'{"kind": 7}', "ServerError"), (b'{"resources": [{"kind": "Deployment"}], "metadata": 1}', "ServerError"), (b"[1]", "ValidationError"),
    (b"[" * 100_000, "ValidationError"), (b'{"resources": 3, "metadata": {"generation": "x"}, "kind": "Deployment"}', "ServerError"),
])
def test_answers_that_no_cluster_gives(use, failure, body, name, kinds):
    use(Strange(body, kinds))
    found = failure(deploy, "deploy", {"manifest": SHOP})
    assert found[0] in ((name,) if name == "ServerError" and kinds else (name, "NotFoundError")), found
    if kinds:
        assert failure(scale, "scale", {"resource": "deployment/shop", "replicas": 2})[0] in ("ServerError", name, "ConflictError")


@pytest.mark.parametrize(("text", "words"), [
    ("a: &a [x]\nb: *a", "aliases"), ("[" * 65 + "]" * 65, "nested more than 64 deep"), ("{" * 100_000, "cannot be read"),
    ("!!python/object/apply:os.system [ls]", "cannot be read"), ("a: .nan", "cannot be read"), ("\x00", "cannot be read"), ("---\n" * 300, "0 objects"),
])
def test_manifests_that_are_hostile(text, words):
    with pytest.raises(ValidationError, match=words):
        objects(text)


@pytest.mark.parametrize(("status", "name"), [(403, "AuthorizationError"), (429, "RateLimited"), (503, "ServerError"), (None, "NetworkError")])
def test_a_cluster_that_refuses(use, failure, status, name):
    class Refusing:
        def send(self, request):
            if status is None:
                raise NetworkError("the connection failed")
            body = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": "no", "code": status}
            return HttpResponse(status, {"content-type": "application/json"}, json.dumps(body).encode(), request.url)

    use(Refusing())
    assert failure(deploy, "deploy", {"manifest": SHOP})[0] == name
    assert failure(scale, "scale", {"resource": "deployment/shop", "replicas": 2})[0] == name
