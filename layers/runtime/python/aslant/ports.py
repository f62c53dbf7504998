"""What steps need from the outside. Adapters fulfil these on AWS, fakes in tests; only `bootstrap` connects them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from aslant.contracts import Json

if TYPE_CHECKING:
    from aslant.events import Event
    from aslant.executions.records import Failure, StepRecord
    from aslant.releases import Release


class Secrets(Protocol):
    def get(self, tenant: str, name: str) -> str:
        """A secret's text. Raises SecretNotFound when there is none, AuthorizationError when it may not be read."""


@dataclass(frozen=True, slots=True)
class ClientTls:
    """The client's certificate and key, and authorities that are trusted besides the public ones: texts in PEM form."""

    certificate: str = ""
    key: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    ca: str = ""


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """`headers` and `tls` stay with the first origin, except for harmless ones. `timeout` is seconds for everything."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    timeout: float = 30.0
    max_bytes: int = 5_000_000
    max_redirects: int = 10
    tls: ClientTls | None = None
    on_data: Callable[[bytes], None] | None = None  # told the body of a 2xx answer as it comes


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
class AwsKeys:
    """What a request is signed with, and for."""

    access_key: str
    secret_key: str = field(repr=False)
    session_token: str = field(repr=False)
    region: str
    service: str


class Signer(Protocol):
    def sign(self, request: HttpRequest, keys: AwsKeys) -> HttpRequest:
        """The request with the headers of AWS's Signature Version 4. Raises ValidationError (the address)."""


@dataclass(frozen=True, slots=True)
class PageQuery:
    """What is wanted of a page: `found` are the elements (`css` or `xpath`, or the whole page), `parts` of each are
    text, html, attributes, links; `fields` are values within: name -> css, xpath, attribute, many."""

    css: str | None = None
    xpath: str | None = None
    parts: Sequence[str] = ("text",)
    fields: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    limit: int = 100


class PageReader(Protocol):
    def read(self, data: bytes, content_type: str, url: str, query: PageQuery, timeout: float) -> dict[str, Json]:
        """`title`, `elements` and `found` (how many there are) of a page.

        Raises ValidationError (the query), PayloadTooLarge or StepTimeout.
        """


@dataclass(frozen=True, slots=True)
class PageRequest:
    """A page to render. `wait_for` is a CSS selector; `settle` waits for what the page loads by itself."""

    url: str
    timeout: float
    user_agent: str
    max_bytes: int
    settle: bool = True
    wait_for: str | None = None
    screenshot: bool = False
    full_page: bool = False


@dataclass(frozen=True, slots=True)
class RenderedPage:
    """A page as the browser has it in the end; `screenshot` is a PNG."""

    status: int
    url: str
    html: str
    screenshot: bytes | None = None


class Browsing(Protocol):
    def render(self, request: PageRequest) -> RenderedPage:
        """A page of any status. Nothing is kept from one to the next.

        Raises AuthorizationError (a private address), NetworkError, StepTimeout, PayloadTooLarge or ValidationError.
        """


class Browser(Protocol):
    def open(self, timeout: float) -> AbstractContextManager[Browsing]:
        """A browser that runs, until the end of the block. Raises StepTypeUnavailable where there is none."""


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


Line = Callable[[str, str], None]  # a stream's name (stdout, stderr) and one line of it


@dataclass(frozen=True, slots=True)
class CommandRequest:
    """`command` is a name on the installation's list; `cwd` and the names of `files` are within the command's folder."""

    command: str
    args: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    stdin: bytes = b""
    files: Mapping[str, bytes] = field(default_factory=dict)
    cwd: str | None = None
    timeout: float = 300.0   # seconds
    max_output: int = 32_000  # bytes that are kept of each stream


@dataclass(frozen=True, slots=True)
class CommandEnd:
    """`exit_code` is 128 + n after signal n. `tail` is the end of stderr, or of stdout where there is none."""

    exit_code: int
    stdout: bytes
    stderr: bytes
    stdout_cut: bool = False
    stderr_cut: bool = False
    tail: bytes = b""


class Commands(Protocol):
    def permits(self, name: str) -> bool:
        """Whether the installation runs a command of this name."""

    def run(self, request: CommandRequest, line: Line) -> CommandEnd:
        """Runs a command to its end, whatever its exit code; `line` is told each line as it comes.

        Raises AuthorizationError (not on the list), NotFoundError (not installed), ValidationError, StepTimeout or
        SandboxError.
        """


@dataclass(frozen=True, slots=True)
class DatabaseAddress:
    """Where a server is. `tls` is disable, prefer, require, verify-ca or verify-full; `ca` a certificate to trust (PEM).

    `source` is the database that knows MongoDB's user.
    """

    kind: str  # postgresql, mysql, redis, mongodb
    host: str
    port: int
    user: str = ""
    password: str = field(default="", repr=False)
    name: str = ""
    tls: str = "require"
    ca: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class QueryStatement:
    """A list of values belongs to `$1` or `?`, a mapping to `:name`."""

    text: str
    values: Sequence[Json] | Mapping[str, Json] = ()


@dataclass(frozen=True, slots=True)
class QueryRequest:
    """Statements of one transaction. `token` is the same whenever the same request is made again."""

    statements: Sequence[QueryStatement]
    read_only: bool = False
    isolation: str | None = None
    max_rows: int = 1000
    timeout: float = 30.0  # seconds for everything
    token: str = ""


@dataclass(frozen=True, slots=True)
class QueryResult:
    """`columns` are names and types; `more` says that there were more rows. What is no table, as documents, is `value`."""

    columns: Sequence[tuple[str, str]] = ()
    rows: Sequence[Sequence[Json]] = ()
    affected: int | None = None
    more: bool = False
    value: Json = None


class Database(Protocol):
    def run(self, request: QueryRequest) -> Sequence[QueryResult]:
        """One result for each statement; all of them happen or none.

        Raises ValidationError, AuthenticationError, AuthorizationError, NotFoundError, ConflictError, NetworkError,
        RateLimited, ServerError, StepTimeout, PayloadTooLarge, or StepTypeUnavailable where a driver is not installed.
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


@dataclass(frozen=True, slots=True)
class Envelope:
    """Who an email is from and to: plain addresses, but `sender` may have a name in front."""

    sender: str
    to: Sequence[str]
    cc: Sequence[str] = ()
    bcc: Sequence[str] = ()

    @property
    def recipients(self) -> list[str]:
        """Everybody, once."""
        return list(dict.fromkeys((*self.to, *self.cc, *self.bcc)))


@dataclass(frozen=True, slots=True)
class AttachedFile:
    """A file that goes along with an email."""

    name: str
    content_type: str
    data: bytes


class Post(Protocol):
    def carry(self, envelope: Envelope, message: bytes, timeout: float) -> tuple[str, Sequence[str]]:
        """Hands over a MIME message: its id, and the recipients that were refused while others were not.

        Raises AuthenticationError, ValidationError (refused for good), ServerError (refused for now), NetworkError,
        StepTimeout or PayloadTooLarge.
        """


class TemplatePost(Protocol):
    def fill(
        self, envelope: Envelope, reply_to: Sequence[str], template: str, values: Mapping[str, Json],
        files: Sequence[AttachedFile],
    ) -> str:
        """The id of an email that was made of a stored template. Raises NotFoundError for a template that is not there."""


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
        self, key: StepKey, *, type: str, run: int, owner: str, now: int, lease_until: int, workflow: str = ""
    ) -> tuple[bool, StepRecord]:
        """Takes the lease: (True, the record as it is now). (False, the record) when somebody else has it or it is done.

        A record that failed, or whose lease is over, is begun again: `attempts` counts on within a run and starts at 1 in
        a new one. A settled failure and a completed record stay as they are and are given back with their output, and so
        does the record of a later run, and what is left where one was set aside for that. `owner` is one invocation's: what
        it has already is given to it once more.
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

    def put(self, tenant: str, release: Release) -> None:
        """Stores a version and makes it the published one."""

    def withdraw(self, tenant: str, workflow: str) -> None:
        """From now on no version is published; nothing happens when none is. Versions stay."""


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
