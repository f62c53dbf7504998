"""What steps need from the outside. Adapters fulfil these on AWS, fakes in tests; only `bootstrap` connects them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from aslant.contracts import Json


class Secrets(Protocol):
    def get(self, tenant: str, name: str) -> str:
        """A secret's text. Raises SecretNotFound when there is none, AuthorizationError when it may not be read."""


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """`headers` stay with the first origin, except for harmless ones. `timeout` is seconds for everything."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    timeout: float = 30.0
    max_bytes: int = 5_000_000
    max_redirects: int = 10


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """An answer of any status. `headers` have lower-case names; `url` is where the last redirect led."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    url: str


class Http(Protocol):
    def send(self, request: HttpRequest) -> HttpResponse:
        """The answer, of any status.

        Raises ValidationError (the address), AuthorizationError (a private address), NetworkError, StepTimeout or
        PayloadTooLarge.
        """


@dataclass(frozen=True, slots=True)
class ModelRequest:
    model: str
    messages: Sequence[Mapping[str, str]]  # role (user, assistant) and text
    system: str = ""
    temperature: float = 0.7
    max_tokens: int = 2000
    timeout: float = 60.0  # seconds


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    text: str
    tokens_in: int
    tokens_out: int
    stop_reason: str = "end_turn"


class Models(Protocol):
    def ask(self, request: ModelRequest) -> ModelAnswer:
        """One answer. Raises RateLimited, ServerError, StepTimeout, AuthorizationError, ValidationError, ModelError."""


class Functions(Protocol):
    def invoke(self, arn: str, payload: Json) -> Json:
        """What a Lambda function returns. An error of its own is raised under the name that it gave it."""


class Topics(Protocol):
    def publish(self, topic: str, subject: str, message: str) -> str:
        """The id of a message published to an SNS topic."""


class Mailer(Protocol):
    def send(self, sender: str, to: Sequence[str], subject: str, text: str) -> str:
        """The id of an email that was handed over."""


class Events(Protocol):
    def put(self, bus: str, source: str, detail_type: str, detail: Mapping[str, Json]) -> str:
        """The id of an event put on a bus."""


class Callbacks(Protocol):
    def success(self, token: str, output: Json) -> None:
        """Ends a waiting task. Raises ApprovalClosed when nobody waits for the token any more."""

    def failure(self, token: str, error: str, cause: str) -> None:
        """Fails a waiting task. Raises ApprovalClosed when nobody waits for the token any more."""


class ApprovalStore(Protocol):
    def create(self, item: Mapping[str, Json]) -> None:
        """Stores a request. The same request again replaces its token while it is pending, and else does nothing."""

    def read(self, tenant: str, approval_id: str) -> dict[str, Json] | None:
        """A request, or None."""

    def close(self, tenant: str, approval_id: str, decision: Mapping[str, Json], now: int) -> bool:
        """Writes a decision if the request is pending and has not expired by `now` (epoch seconds). Gives whether."""

    def delivered(self, tenant: str, approval_id: str) -> None:
        """Notes that the state machine has the decision."""

    def pending(self, tenant: str, limit: int) -> list[dict[str, Json]]:
        """Requests that wait, the oldest first."""
