"""A Kubernetes API server in memory. Its answers have the shapes of the published OpenAPI; it is no real one."""

from __future__ import annotations

import json
import urllib.parse
from typing import Any

from aslant.http_ports import HttpRequest, HttpResponse

KINDS = {
    "/apis/apps/v1": [("Deployment", "deployments", True), ("StatefulSet", "statefulsets", True), ("DaemonSet", "daemonsets", True)],
    "/api/v1": [("ConfigMap", "configmaps", True), ("Namespace", "namespaces", False)],
    "/apis/batch/v1": [("Job", "jobs", True)],
}


class Cluster:
    """`looks` is how many times a workload is looked at until it is there; `stuck` says which deployments never are."""

    def __init__(self, looks: int = 2, stuck: tuple[str, ...] = (), managed: tuple[str, ...] = (), token: str = "t0ken") -> None:
        self.looks, self.stuck, self.managed, self.token = looks, stuck, managed, token
        self.kept: dict[str, dict[str, Any]] = {}
        self.seen: list[HttpRequest] = []
        self._looked: dict[str, int] = {}

    def send(self, request: HttpRequest) -> HttpResponse:
        self.seen.append(request)
        path, _, query = request.url.removeprefix("https://cluster").partition("?")
        status, body = self._answer(request, path, dict(urllib.parse.parse_qsl(query)))
        return HttpResponse(status, {"content-type": "application/json"}, json.dumps(body).encode(), request.url)

    def _answer(self, request: HttpRequest, path: str, query: dict[str, str]) -> tuple[int, dict[str, Any]]:
        if request.headers.get("Authorization") != f"Bearer {self.token}":
            return self._status(401, "Unauthorized", "Unauthorized")
        if path in KINDS:
            rows = [{"name": plural, "singularName": "", "namespaced": namespaced, "kind": kind, "verbs": ["get", "patch"]}
                    for kind, plural, namespaced in KINDS[path]]
            return 200, {"kind": "APIResourceList", "groupVersion": path.split("/", 2)[2], "resources": [
                *rows, {"name": "deployments/scale", "namespaced": True, "kind": "Scale", "verbs": ["patch"]}]}
        body = json.loads(request.body) if request.body else {}
        if path.endswith("/scale"):
            found = self.kept.get(path.removesuffix("/scale"))
            if found is None:
                return self._status(404, "NotFound", f'deployments.apps "{path.split("/")[-2]}" not found')
            assert request.headers["Content-Type"] == "application/merge-patch+json"
            found["spec"]["replicas"] = body["spec"]["replicas"]
            self._changed(path.removesuffix("/scale"), found)
            return 200, {"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": found["metadata"], "spec": body["spec"]}
        if request.method == "PATCH":
            return self._apply(request, path, query, body)
        return self._look(path)

    def _apply(self, request: HttpRequest, path: str, query: dict[str, str], body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        assert request.headers["Content-Type"] == "application/apply-patch+yaml" and query["fieldManager"]
        name = body["metadata"]["name"]
        if name in self.managed and query["force"] == "false":
            return self._status(409, "Conflict", 'Apply failed with 1 conflict: conflict with "kubectl": .spec.replicas')
        if name != name.lower():
            return self._status(422, "Invalid", f'{body["kind"]} "{name}" is invalid: metadata.name: Invalid value')
        namespace = path.split("/namespaces/")[1].split("/")[0] if "/namespaces/" in path else None
        found = {**body, "metadata": {**body["metadata"], "uid": "1", "generation": 1, **({"namespace": namespace} if namespace else {})}}
        if query.get("dryRun") != "All":
            self.kept[path] = found
            self._changed(path, found)
        return 201, found

    def _changed(self, path: str, found: dict[str, Any]) -> None:
        found["metadata"]["generation"] = found["metadata"].get("generation", 0) + 1
        self._looked[path] = 0

    def _look(self, path: str) -> tuple[int, dict[str, Any]]:
        found = self.kept.get(path)
        if found is None:
            return self._status(404, "NotFound", f'"{path.rpartition("/")[2]}" not found')
        self._looked[path] += 1
        if found["kind"] == "Job":
            kind = "Failed" if found["metadata"]["name"] in self.stuck else "Complete"
            return 200, {**found, "status": {"conditions": [{"type": kind, "status": "True", "reason": "BackoffLimitExceeded"}]}}
        wanted = found.get("spec", {}).get("replicas", 1)
        there = wanted if self._looked[path] > self.looks else 0
        status = {"observedGeneration": found["metadata"]["generation"] - (self._looked[path] == 1), "replicas": wanted,
                  "updatedReplicas": wanted, "readyReplicas": there, "availableReplicas": there}
        if found["metadata"]["name"] in self.stuck:
            status["conditions"] = [{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded",
                                     "message": 'ReplicaSet "shop-1" has timed out progressing.'}]
        return 200, {**found, "status": status}

    def _status(self, code: int, reason: str, message: str) -> tuple[int, dict[str, Any]]:
        return code, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": message, "code": code}
