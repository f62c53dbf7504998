"""What a state machine sends to a step's Lambda function, and what comes back.

The translator emits exactly these keys; the step wrapper reads them. Sizes are bytes of UTF-8 JSON, times seconds.
"""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

Json = Any  # null, bool, int, float, str, list, dict: what JSON can say

MAX_PAYLOAD = 262_144
CLAIM_THRESHOLD = 128 * 1024  # bytes of JSON from which a result is stored, where its step says nothing else
MAX_INPUT = MAX_PAYLOAD - 4096  # what a machine is started with: `MachineInput` says who runs what besides
LARGEST_INPUT = 5 * 1024 * 1024  # what a caller may give: an event of Lambda has 6 MB
INPUT_SHARE = 32 * 1024  # from here on, what a machine does not look into is stored: it stands beside results in many states


class SecretPart(TypedDict):
    """A piece of a text that is a secret's value; `secret` is its name."""

    secret: str


class ValuePart(TypedDict):
    """A piece of a text that the state machine computed. It is never read as anything but a value."""

    value: Json


class RetryPlan(TypedDict):
    """Delays that ASL's own backoff cannot say (linear, fibonacci, adaptive).

    While attempts are left, the wrapper renames a retryable error to `Retry.<n>` (n = the retry's number, from 1) for
    which the state has a retrier with exactly that delay; the last attempt's error keeps its own name.
    `on` lists the error names to retry; empty means every retryable error. `most` counts the attempts that reactions to a
    failure add after these, too; without any it is left out.
    """

    max_attempts: int
    most: NotRequired[int]
    delays: list[float]
    on: list[str]
    adaptive: NotRequired[bool]


class ExecutionInfo(TypedDict, total=False):
    """Who runs what. Travels as `execution` in the input of a state machine."""

    id: str
    tenant: str
    workflow: str
    version: str
    run: int
    started_at: str  # when the first run began, ISO 8601
    user: str
    parent: dict[str, Json]  # execution, step, iteration, attempt of the parent that started this one
    # When waits and approvals of earlier runs began (epoch milliseconds), by `<execution id>/<step>[<index>]…`, also those
    # of children: a later run keeps their deadlines.
    entered: dict[str, int]


class ClaimRules(TypedDict, total=False):
    """What the state machine can do without of a step's result (`aslant.claims.Claims.fit`).

    `over`: bytes from which it is stored, 0 for always; `keep` and `open` are JSON pointers. With `shared` the results of a
    loop's iterations come together in one value, so that later ones may be less large.
    """

    over: int
    keep: list[str]
    open: list[str]
    shared: bool


class StepInvocation(TypedDict):
    """The payload of a step's Lambda function.

    `config` is the step's configuration with every expression already evaluated, except for secrets: `secrets` maps
    a JSON pointer into `config` to the parts of the text that belongs there. A part is a plain text, a `SecretPart` or
    a `ValuePart`; only the state machine's author can place them, so a value from outside can never name a secret.
    A single part that is a secret puts the secret's own value (a text, or what its JSON says) there.
    """

    step: str
    execution: ExecutionInfo | str  # the execution's ARN when it was started without an `execution` entry
    config: Json
    type: NotRequired[str]  # the step's type, for a function that serves several
    # What this call does for the step, when it is not the step itself: it is recorded as `<part> <step>`.
    part: NotRequired[str]
    attempt: NotRequired[int]  # retries so far of a step that waits for an answer; records count those of other steps
    iteration: NotRequired[list[int]]  # indexes of the loops around the step, outermost first
    secrets: NotRequired[dict[str, list[str | SecretPart | ValuePart]]]
    retry: NotRequired[RetryPlan]
    claims: NotRequired[ClaimRules | int]  # a number n stands for {open: [""], over: n KiB}
    token: NotRequired[str]  # the task token, for a step that waits for an answer
    # When its state was entered (ISO 8601): the time to answer counts from then, and a step that the machine itself ran has
    # begun then by its record.
    entered: NotRequired[str]
    timeout: NotRequired[int]  # seconds that this attempt may take
    guard: NotRequired[dict[str, Json]]  # rate_limit and circuit_breaker of what the step calls (`aslant.configs.guard`)
    # `ttl` (seconds) that the result is kept for steps of the same `key`, or, without one, of the same configuration.
    cache: NotRequired[dict[str, Json]]


class StepResult(TypedDict):
    """What a step's Lambda function returns."""

    output: Json
    usage: NotRequired[dict[str, float]]  # tokens_in, tokens_out, calls, cost_usd
    artifacts: NotRequired[list[dict[str, Json]]]


class MachineInput(TypedDict):
    """The input of every compiled state machine. `context` is what expressions read as `context`, such as the user."""

    input: Json
    context: NotRequired[dict[str, Json]]
    execution: NotRequired[ExecutionInfo]
