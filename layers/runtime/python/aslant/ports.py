"""What steps need from the outside. Adapters fulfil these on AWS, fakes in tests; only `bootstrap` connects them.

What single kinds of steps need is in `http_ports`, `page_ports`, `command_ports`, `database_ports`, `mail_ports` and
`model_ports`, so that a function starts without what others need.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from aslant.contracts import Json

if TYPE_CHECKING:
    from aslant.catalog import Change
    from aslant.events import Event
    from aslant.executions.records import Failure, StepRecord
    from aslant.releases import Release


class Secrets(Protocol):
    def get(self, tenant: str, name: str) -> str:
        """A secret's text. Raises SecretNotFound when there is none, AuthorizationError when it may not be read."""


class EcsServices(Protocol):
    """Services of ECS. Both give DescribeServices' description."""

    def update(self, cluster: str, service: str, **changes: Json) -> dict[str, Json]:
        """The service after `desiredCount`, `taskDefinition`, `forceNewDeployment` were set. Raises NotFoundError."""

    def wait(self, cluster: str, service: str, remaining: Callable[[], float]) -> dict[str, Json]:
        """The service once it has one deployment and runs as many tasks as it should. Raises RolloutFailed, StepTimeout."""


class Containers(Protocol):
    """Container images that run as tasks."""

    def run(self, task_definition: str, arguments: Mapping[str, Json], key: str, remaining: Callable[[], float]) -> Json:
        """What a task of that definition gives. The key is the same whenever the same call is made again.

        Raises CommandFailed, ServerError, StepTimeout, AuthorizationError, NotFoundError.
        """


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


class Bus(Protocol):
    def publish(self, events: Sequence[Event]) -> Sequence[str]:
        """Puts up to ten events on the bus in one request: what went wrong with each, empty where nothing did.

        Raises a StepError when the whole request failed.
        """


class Callbacks(Protocol):
    def success(self, token: str, output: Json) -> None:
        """Ends a waiting task. Raises ApprovalClosed when nobody waits for the token any more."""

    def failure(self, token: str, error: str, cause: str) -> None:
        """Fails a waiting task. Raises ApprovalClosed when nobody waits for the token any more."""


class ApprovalStore(Protocol):
    """Requests for approval. An item is what `aslant.approvals.service` makes; its `revision` counts its changes."""

    def create(self, item: Mapping[str, Json]) -> dict[str, Json] | None:
        """Stores a request; None, or the request that is there already."""

    def read(self, tenant: str, approval_id: str) -> dict[str, Json] | None:
        """A request, or None."""

    def change(self, item: Mapping[str, Json], changes: Mapping[str, Json]) -> dict[str, Json] | None:
        """Writes changes of a request: it as it is then; None when somebody else changed it since it was read."""

    def waiting(self, tenant: str, after: str | None) -> Iterator[tuple[str, dict[str, Json]]]:
        """Requests that wait for an answer, or whose answer is not delivered, the oldest first, each with its place.

        With `after` those behind that place; ValidationError for a text that is none.
        """

    def of_execution(self, tenant: str, execution: str) -> list[dict[str, Json]]:
        """All requests of an execution."""


@dataclass(frozen=True, slots=True)
class StepKey:
    """One step in one iteration of an execution."""

    tenant: str
    execution: str
    step: str
    iteration: tuple[int, ...] = ()


class StepStore(Protocol):
    """Step records. One request each; the first who finishes wins. Times are epoch microseconds."""

    def begin(
        self, key: StepKey, *, type: str, run: int, owner: str, now: int, lease_until: int, workflow: str = "",
        began: int | None = None,
    ) -> tuple[bool, StepRecord]:
        """Takes the lease: (True, the record as it is now). (False, the record) when somebody else has it or it is done.

        A record that failed, or whose lease is over, is begun again: `attempts` counts on within a run and starts at 1 in
        a new one. A settled failure and a completed record stay as they are and are given back with their output, and so
        does the record of a later run, and what is left where one was set aside for that. `owner` is one invocation's: what
        it has already is given to it once more. `began` is when the step began, where that was before now.
        """

    def finish(self, key: StepKey, began: StepRecord, *, now: int, output: Json, usage: Mapping[str, float]) -> StepRecord:
        """Completes what `began` unless somebody was faster: the record that counts, with its output.

        That may be a failure that was settled meanwhile. Raises ConflictError when the record that began is no more (it
        was set aside).
        """

    def fail(self, key: StepKey, began: StepRecord, *, now: int, failure: Failure, usage: Mapping[str, float]) -> None:
        """Notes a failed attempt and gives the lease back; does nothing when somebody else has it or it is done."""


class Artifacts(Protocol):
    """Large values in the bucket of artifacts. A key starts with the tenant."""

    def put(self, tenant: str, execution: str, name: str, data: bytes) -> str:
        """The key of stored bytes; the same data under the same name again is the same object."""

    def get(self, tenant: str, key: str, limit: int | None = None) -> bytes:
        """Stored bytes. Raises NotFoundError, also for a key of another tenant, and PayloadTooLarge beyond the limit."""


class Machines(Protocol):
    """State machines and their executions. An execution is named by its ARN."""

    def start(self, machine: str, name: str, input: Json) -> str:
        """The ARN of an execution of that name; when one with the same input exists already, that one's."""

    def stop(self, arn: str, error: str, cause: str) -> None:
        """Stops an execution; nothing happens when it has ended. Raises NotFoundError."""

    def describe(self, arn: str) -> dict[str, Json]:
        """status, startDate, stopDate (datetimes), input and output (JSON texts), error, cause. Raises NotFoundError."""

    def history(self, arn: str) -> Iterator[dict[str, Json]]:
        """All events of an execution, in order. Raises NotFoundError."""


class Releases(Protocol):
    """The catalog of versions."""

    def get(self, tenant: str, workflow: str, version: str | None = None) -> Release:
        """A version, or the published one. Raises NotFoundError."""

    def of_machine(self, tenant: str, machine: str) -> Release:
        """The version that a state machine (an ARN) was made of last. Raises NotFoundError."""

    def versions(self, tenant: str, workflow: str) -> frozenset[str]:
        """All that were published ever."""

    def put(self, tenant: str, release: Release, change: Change | None = None) -> None:
        """Stores a version and makes it the published one, in one transaction with a change of the workflow's record.

        Raises ConflictError when the record is not as `change` says any more, or the version has other contents; nothing is
        written then.
        """

    def withdraw(self, tenant: str, workflow: str) -> None:
        """From now on no version is published; nothing happens when none is, or when its record says that one is again.

        Versions stay.
        """


class Timers(Protocol):
    """One-off calls of our own functions later (EventBridge Scheduler)."""

    def set(self, name: str, at: int, function: str, payload: Mapping[str, Json]) -> None:
        """Calls the function at `at` (epoch seconds). The same name again replaces the timer."""

    def cancel(self, name: str) -> None: ...  # nothing happens when there is none


class Cipher(Protocol):
    """Texts that are stored encrypted (KMS), in base64. `context` must be the same for both ways."""

    def encrypt(self, text: str, context: Mapping[str, str]) -> str: ...

    def decrypt(self, text: str, context: Mapping[str, str]) -> str:
        """The text. Raises AuthorizationError when it was not encrypted for this context."""
