"""Kubernetes over its HTTP API: server-side apply, rollouts, and the scale of workloads.

Shapes are those of the published OpenAPI of Kubernetes 1.31 (kubernetes.io/docs/reference/kubernetes-api); how a rollout is
judged is what `kubectl rollout status` does.
"""

from __future__ import annotations

import contextlib
import json
import time
import urllib.parse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from aslant.contracts import Json
from aslant.errors import ConflictError, NotFoundError, RolloutFailed, ServerError, StepTimeout, ValidationError, http_error
from aslant.http_ports import ClientTls, Http, HttpRequest
from aslant.values import read_json

MAX_MANIFEST = 1_000_000  # bytes
MAX_OBJECTS = 100
_DEEPEST = 64
MANAGER = "aslant"  # who the cluster notes as the manager of applied fields
_PAUSE = 2.0  # seconds between two looks at a rollout
_APPLY = "application/apply-patch+yaml"  # takes JSON too, which is YAML
_MERGE = "application/merge-patch+json"
_WORKLOADS = {"deployment": "deployments", "statefulset": "statefulsets", "replicaset": "replicasets"}


@dataclass(frozen=True, slots=True)
class Access:
    """How a cluster is reached: `https://host:port`, a bearer token or a client's certificate, and who signed the server's."""

    server: str
    token: str = field(default="", repr=False)
    tls: ClientTls | None = None


@dataclass(slots=True)
class Kubernetes:
    """One cluster. `remaining` gives the seconds that may still be spent."""

    access: Access
    http: Http
    remaining: Callable[[], float]
    sleep: Callable[[float], None] = time.sleep
    _kinds: dict[str, dict[str, tuple[str, bool]]] = field(default_factory=dict)

    def apply(self, object: Mapping[str, Json], namespace: str, *, dry_run: bool, force: bool) -> dict[str, Json]:
        """The object as the cluster has it after a server-side apply. Raises ConflictError for fields of other managers."""
        query = {"fieldManager": MANAGER, "force": "true" if force else "false", **({"dryRun": "All"} if dry_run else {})}
        path = f"{self._path(object, namespace)}?{urllib.parse.urlencode(query)}"
        doing = f"applying {label(object)}"
        found = self._ask("PATCH", path, dict(object), _APPLY, doing)
        with _understood(doing):
            return {**found, "metadata": dict(found["metadata"])}

    def wait(self, object: Mapping[str, Json], namespace: str) -> str:
        """What the rollout of an applied object came to. Raises RolloutFailed, or StepTimeout that says how far it is."""
        path = self._path(object, namespace)
        while True:
            doing = f"looking at {label(object)}"
            found = self._ask("GET", path, None, "", doing)
            with _understood(doing):
                done, words = rollout(found)
            if done:
                return words
            self._pause(f"{label(object)}: {words}")

    def scale(self, resource: str, replicas: int, namespace: str) -> dict[str, Json]:
        """The Scale of `deployment/app` after it was set."""
        path = f"{self._workload(resource, namespace)}/scale"
        return self._ask("PATCH", path, {"spec": {"replicas": replicas}}, _MERGE, f"scaling {resource}")

    def wait_for_size(self, resource: str, replicas: int, namespace: str) -> int:
        """The number of ready replicas once it is `replicas`. Raises StepTimeout."""
        path = self._workload(resource, namespace)
        while True:
            found = self._ask("GET", path, None, "", f"looking at {resource}")
            with _understood(f"looking at {resource}"):
                status = found.get("status") or {}
                seen = int(status.get("observedGeneration") or 0) >= int(found["metadata"].get("generation") or 0)
                ready, all_ = int(status.get("readyReplicas") or 0), int(status.get("replicas") or 0)
                wanted = int((found.get("spec") or {}).get("replicas", 1))
            if wanted != replicas:
                raise ConflictError(f"{resource}: somebody else has set {wanted} replicas meanwhile")
            if seen and ready == all_ == replicas:
                return ready
            self._pause(f"{resource}: {ready} of {replicas} replicas are ready")

    def _pause(self, state: str) -> None:
        left = self.remaining()
        if left <= _PAUSE:
            raise StepTimeout(f"{state}; it goes on without this step")
        self.sleep(_PAUSE)

    def _workload(self, resource: str, namespace: str) -> str:
        kind, _, name = resource.partition("/")
        plural = _WORKLOADS.get(kind.lower().rstrip("s"))
        if plural is None or not name or "/" in name:
            forms = ", ".join(f"{one}/NAME" for one in (*_WORKLOADS, "ecs"))
            raise ValidationError(f"resource {resource}: it is written as one of {forms}")
        return f"/apis/apps/v1/namespaces/{_segment(namespace)}/{plural}/{_segment(name)}"

    def _path(self, object: Mapping[str, Json], namespace: str) -> str:
        version, kind, metadata = object["apiVersion"], object["kind"], object["metadata"]
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        if root not in self._kinds:  # what is called how is the cluster's to say: it may have kinds of its own
            listed = self._ask("GET", root, None, "", f"looking for the kinds of {version}")
            with _understood(f"looking for the kinds of {version}"):
                self._kinds[root] = {
                    str(one["kind"]): (str(one["name"]), bool(one["namespaced"]))
                    for one in listed.get("resources", ()) if "/" not in one["name"]
                }
        if kind not in self._kinds[root]:
            raise NotFoundError(f"the cluster has no kind {kind} of {version}")
        plural, namespaced = self._kinds[root][kind]
        within = f"/namespaces/{_segment(metadata.get('namespace') or namespace)}" if namespaced else ""
        return f"{root}{within}/{plural}/{_segment(metadata['name'])}"

    def _ask(self, method: str, path: str, body: Json, content_type: str, doing: str) -> dict[str, Json]:
        headers = {"Accept": "application/json", "User-Agent": MANAGER}
        if self.access.token:
            headers["Authorization"] = f"Bearer {self.access.token}"
        data = None
        if body is not None:
            data, headers["Content-Type"] = json.dumps(body).encode(), content_type
        answer = self.http.send(HttpRequest(
            method, self.access.server.rstrip("/") + path, headers, data, max(0.001, min(30.0, self.remaining())),
            max_redirects=0, tls=self.access.tls,
        ))
        try:
            said = read_json(answer.body)
        except ValueError:
            said = None
        if answer.status // 100 != 2:
            message = said.get("message") if isinstance(said, dict) else ""
            text = f"{doing}: {message or f'the cluster answered {answer.status}'}"
            if answer.status == 409:
                raise ConflictError(text)
            raise ValidationError(text) if answer.status in (400, 422) else http_error(answer.status, text)
        if not isinstance(said, dict):
            raise ValidationError(f"{doing}: the answer is no JSON object; is {self.access.server} a cluster?")
        return said


@contextlib.contextmanager
def _understood(doing: str) -> Iterator[None]:
    """Raises ServerError where an answer is read that has not the published shape."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError, IndexError):
        raise ServerError(f"{doing}: the answer is none that a cluster gives") from None


def objects(manifest: Json) -> list[dict[str, Json]]:
    """The objects of a manifest: text (YAML or JSON, several documents), an object, a list of them, or a List."""
    if isinstance(manifest, str):
        import yaml

        if len(manifest) > MAX_MANIFEST:
            raise ValidationError(f"the manifest has {len(manifest):,} characters; {MAX_MANIFEST:,} are the limit")
        try:
            _plain(manifest)
            # JSON tells what YAML alone would still share or cannot say, such as dates.
            found_all = [one for one in yaml.load_all(manifest, _loader()) if one is not None]
            documents = json.loads(json.dumps(found_all, allow_nan=False))
        except (yaml.YAMLError, TypeError, ValueError, RecursionError) as error:
            raise ValidationError(f"the manifest cannot be read: {str(error).splitlines()[0]}") from None
    else:
        documents = manifest if isinstance(manifest, list) else [manifest]
    found: list[dict[str, Json]] = []
    for one in documents:
        several = isinstance(one, dict) and one.get("kind") == "List" and isinstance(one.get("items"), list)
        found += one["items"] if several else [one]
    if not found or len(found) > MAX_OBJECTS:
        raise ValidationError(f"the manifest has {len(found)} objects; 1 to {MAX_OBJECTS} are applied")
    for number, each in enumerate(found, 1):
        named = isinstance(each, dict) and all(each.get(key) and isinstance(each[key], str) for key in ("apiVersion", "kind"))
        if not named:
            raise ValidationError(f"object {number} of the manifest has no `apiVersion` and `kind`")
        metadata = each.get("metadata")
        if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str) or not metadata["name"]:
            raise ValidationError(f"object {number} of the manifest, a {each['kind']}, has no `metadata.name`")
        if not isinstance(metadata.get("namespace", ""), str) or not _is_version(each["apiVersion"]):
            raise ValidationError(f"object {number} of the manifest has an odd `metadata.namespace` or `apiVersion`")
    return found


def _plain(manifest: str) -> None:
    """Raises YAMLError for aliases, which may make a small text a huge value, and for what the C library would crash at."""
    import yaml

    depth = 0
    for event in yaml.parse(manifest, getattr(yaml, "CLoader", yaml.Loader)):
        if isinstance(event, yaml.AliasEvent):
            raise yaml.YAMLError("aliases (*name) are not taken")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            raise yaml.YAMLError(f"it is nested more than {_DEEPEST} deep")


def _loader() -> Any:
    """YAML without dates; in C where that is there, which is ten times as fast."""
    import yaml

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        pass

    Loader.yaml_implicit_resolvers = {
        first: [(tag, form) for tag, form in rows if tag != "tag:yaml.org,2002:timestamp"]
        for first, rows in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    return Loader


def _is_version(text: str) -> bool:
    parts = text.split("/")
    return len(parts) <= 2 and all(part and part.replace(".", "").replace("-", "").isalnum() for part in parts)


def _segment(text: str) -> str:
    if text in (".", ".."):
        raise ValidationError(f"{text} is no name")
    return urllib.parse.quote(text, safe="")


def label(object: Mapping[str, Json]) -> str:
    """`Deployment/app`."""
    return f"{object['kind']}/{object['metadata']['name']}"


def rollout(found: Mapping[str, Json]) -> tuple[bool, str]:
    """Whether an object is rolled out, and what there is to say. Raises RolloutFailed when it never will be."""
    status, spec, name = found.get("status") or {}, found.get("spec") or {}, label(found)
    kind = found["kind"]
    if kind not in ("Deployment", "StatefulSet", "DaemonSet", "Job"):
        return True, "applied"
    conditions = {one["type"]: one for one in status.get("conditions") or ()}
    if kind == "Job":
        return _job(conditions, name)
    if int(status.get("observedGeneration") or 0) < int(found["metadata"].get("generation") or 0):
        return False, "the cluster has not seen the change yet"

    def number(key: str) -> int:
        return int(status.get(key) or 0)

    if kind == "DaemonSet":
        if (spec.get("updateStrategy") or {}).get("type") == "OnDelete":
            return True, "updated when pods are deleted"
        wanted = number("desiredNumberScheduled")
        return _counted([("updatedNumberScheduled", number("updatedNumberScheduled"), wanted),
                         ("numberAvailable", number("numberAvailable"), wanted)])
    wanted = int(spec.get("replicas", 1))
    if kind == "StatefulSet":
        if (spec.get("updateStrategy") or {}).get("type") == "OnDelete":
            return True, "updated when pods are deleted"
        partition = int(((spec.get("updateStrategy") or {}).get("rollingUpdate") or {}).get("partition") or 0)
        return _counted([("readyReplicas", number("readyReplicas"), wanted),
                         ("updatedReplicas", number("updatedReplicas"), max(0, wanted - partition))])
    progress = conditions.get("Progressing") or {}
    if progress.get("reason") == "ProgressDeadlineExceeded":
        raise RolloutFailed(f"{name}: {progress.get('message') or 'its progress deadline is exceeded'}")
    if spec.get("paused"):
        raise RolloutFailed(f"{name}: its rollout is paused")
    done, words = _counted([("updatedReplicas", number("updatedReplicas"), wanted)])
    if done and number("replicas") > number("updatedReplicas"):
        return False, f"{number('replicas') - number('updatedReplicas')} old replicas are still there"
    return _counted([("availableReplicas", number("availableReplicas"), number("updatedReplicas"))]) if done else (done, words)


def _job(conditions: Mapping[str, Mapping[str, Json]], name: str) -> tuple[bool, str]:
    failed = conditions.get("Failed") or {}
    if failed.get("status") == "True":
        raise RolloutFailed(f"{name}: {failed.get('reason') or 'failed'}: {failed.get('message') or ''}".rstrip(": "))
    complete = (conditions.get("Complete") or {}).get("status") == "True"
    return complete, "complete" if complete else "the job runs"


def _counted(parts: Sequence[tuple[str, int, int]]) -> tuple[bool, str]:
    for name, there, wanted in parts:
        if there < wanted:
            return False, f"{name} {there} of {wanted}"
    return True, "rolled out"
