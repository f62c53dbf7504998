"""A client of the HTTP API of an installation, typed by the API's own models.

    client = Client("https://api.example.com", token)
    started = client.start("release", {"version": "2.4.0"}, key="release-2.4.0")
    ended = client.wait(started.id, timeout=600)
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar
from urllib.parse import quote

import urllib3
from pydantic import BaseModel

from aslant.executions.states import FINAL
from functions.api import models

Json = Any
Model = TypeVar("Model", bound=BaseModel)

_TRIES = 4
_AGAIN = frozenset({429, 502, 503, 504})
_LONGEST_PAUSE = 30.0  # seconds that a Retry-After is waited for
_WAIT = 20             # seconds that one request waits for events


class ApiProblem(Exception):
    """What the API refused (RFC 9457). `status` 0: there was no answer."""

    def __init__(self, status: int, code: str, detail: str, errors: list[dict[str, Json]]) -> None:
        super().__init__(detail)
        self.status, self.code, self.detail, self.errors = status, code, detail, errors


class Client:
    """`url` is the installation's, without /api/v1. Requests that may be repeated are, when the other side is busy or gone.

    Every method raises ApiProblem. A POST carries an Idempotency-Key, so that repeating it changes nothing.
    """

    def __init__(self, url: str, token: str, *, timeout: float = 30.0) -> None:
        self._base = url.rstrip("/") + "/api/v1"
        self._token, self._timeout = token, timeout
        self._http = urllib3.PoolManager(retries=False)

    def workflows(self) -> Iterator[models.WorkflowDocument]:
        """All, by id."""
        cursor: str | None = None
        while True:
            page = self._get("/workflows", models.WorkflowPage, limit=100, next=cursor)
            yield from page.items
            if (cursor := page.next) is None:
                return

    def workflow(self, id: str, version: str | None = None) -> models.WorkflowView:
        return self._get(f"/workflows/{_part(id)}", models.WorkflowView, version=version)

    def inputs(self, id: str, version: str | None = None) -> dict[str, Json] | None:
        """What a workflow declares of its input."""
        document = self._call("GET", f"/workflows/{_part(id)}/schema", query={"version": version})
        found: dict[str, Json] | None = document["inputs"]
        return found

    def put(self, text: str, *, id: str, dialect: str | None = None, increment: str = "patch") -> models.WorkflowView:
        """Creates a workflow of a definition, or gives the one of that id a further version."""
        try:
            return self._send("PUT", f"/workflows/{_part(id)}", models.WorkflowView, text,
                query={"dialect": dialect, "version_increment": increment})
        except ApiProblem as problem:
            if problem.status != 404:
                raise
        return self._send("POST", "/workflows", models.WorkflowView, text, query={"dialect": dialect})

    def publish(self, id: str, version: str | None = None) -> models.PublishedDocument:
        return self._send("POST", f"/workflows/{_part(id)}/publish", models.PublishedDocument, query={"version": version})

    def start(
        self, workflow: str, input: Mapping[str, Json], *, key: str | None = None, **more: Json
    ) -> models.ExecutionDocument:
        """`more`: version, labels, context, priority, timeout_seconds, webhook_url."""
        body = {"input": dict(input), **{name: value for name, value in more.items() if value is not None}}
        return self._send("POST", f"/workflows/{_part(workflow)}/execute", models.ExecutionDocument, body, key=key)

    def execution(self, id: str) -> models.ExecutionView:
        return self._get(f"/executions/{_part(id)}", models.ExecutionView)

    def executions(self, **query: Json) -> models.ExecutionPage:
        """A page, the newest first: workflow, status, limit, next."""
        return self._get("/executions", models.ExecutionPage, **query)

    def control(self, id: str, action: str, body: Mapping[str, Json]) -> models.ExecutionDocument:
        """pause, resume, retry, cancel or rollback."""
        return self._send("POST", f"/executions/{_part(id)}/{action}", models.ExecutionDocument, dict(body))

    def plan(self, id: str, action: str, body: Mapping[str, Json]) -> models.PlanDocument:
        """What resume or retry would do. Changes nothing."""
        return self._send("POST", f"/executions/{_part(id)}/{action}", models.PlanDocument, {**body, "dry_run": True})

    def events(self, id: str, after: str = "", wait: int = 0) -> models.EventPage:
        return self._get(f"/executions/{_part(id)}/events", models.EventPage, after=after, wait=wait)

    def approvals(self) -> models.ApprovalPage:
        return self._get("/approvals", models.ApprovalPage, limit=100)

    def decide(self, id: str, decision: str, body: Mapping[str, Json]) -> models.Decided:
        """approve, reject or answer."""
        return self._send("POST", f"/approvals/{_part(id)}/{decision}", models.Decided, dict(body))

    def follow(self, id: str, after: str = "") -> Iterator[models.EventItem]:
        """Events as they come, until the execution has ended."""
        while True:
            page = self.events(id, after, _WAIT)
            yield from page.items
            after = page.next or after
            if page.over or any(item.event["event_type"].removeprefix("workflow_") in FINAL for item in page.items):
                return

    def wait(self, id: str, timeout: float | None = None) -> models.ExecutionView:
        """The execution once it has ended. Raises TimeoutError."""
        until = None if timeout is None else time.monotonic() + timeout
        after = ""
        while (found := self.execution(id)).status not in FINAL:
            left = _WAIT if until is None else min(_WAIT, int(until - time.monotonic()))
            if left < 0:
                raise TimeoutError(f"the execution {id} has not ended after {timeout} s")
            after = self.events(id, after, max(1, left)).next or after
        return found

    def _get(self, path: str, kind: type[Model], **query: Json) -> Model:
        return kind.model_validate(self._call("GET", path, query=query), extra="ignore")

    def _send(
        self, method: str, path: str, kind: type[Model], body: Json = None, *, query: Mapping[str, Json] | None = None,
        key: str | None = None,
    ) -> Model:
        return kind.model_validate(self._call(method, path, body, query=query, key=key), extra="ignore")

    def _call(
        self, method: str, path: str, body: Json = None, *, query: Mapping[str, Json] | None = None, key: str | None = None
    ) -> Any:
        headers = {"Authorization": f"Bearer {self._token}", "Accept": "application/json"}
        data: bytes | None = None
        if isinstance(body, str):
            data, headers["Content-Type"] = body.encode(), "application/yaml"
        elif method == "POST" or body is not None:
            data, headers["Content-Type"] = json.dumps(body or {}).encode(), "application/json"
        if method == "POST":
            headers["Idempotency-Key"] = key or str(uuid.uuid4())
        given = "&".join(f"{name}={quote(str(value), safe='')}" for name, value in (query or {}).items() if value is not None)
        url = self._base + path + (f"?{given}" if given else "")
        for attempt in range(1, _TRIES + 1):
            pause = min(0.5 * 2**attempt, _LONGEST_PAUSE)
            try:
                answer = self._http.request(method, url, body=data, headers=headers, timeout=self._timeout)
            except urllib3.exceptions.HTTPError as error:
                if attempt == _TRIES:
                    raise ApiProblem(0, "no_answer", f"{self._base} does not answer ({type(error).__name__})", []) from None
                time.sleep(pause)
                continue
            if answer.status not in _AGAIN or attempt == _TRIES:
                break
            asked = answer.headers.get("Retry-After", "")
            if asked.isdecimal() and int(asked) > _LONGEST_PAUSE:
                break
            time.sleep(float(asked) if asked.isdecimal() else pause)
        return _read(answer)


def _read(answer: Any) -> Any:
    try:
        document = json.loads(answer.data) if answer.data else None
    except ValueError:
        document = None
    if answer.status < 300:
        return document
    problem = document if isinstance(document, dict) else {}
    detail = str(problem.get("detail") or problem.get("message") or f"the API answered {answer.status}")
    raise ApiProblem(answer.status, str(problem.get("code") or ""), detail, list(problem.get("errors") or []))


def _part(text: str) -> str:
    return quote(text, safe="")
