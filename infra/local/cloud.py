"""The local cloud: moto's services and its Step Functions interpreter in this process, with real handlers."""

from __future__ import annotations

import copy
import functools
import json
import threading
import time
import uuid
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self, cast

from aslant import clock as times
from infra.local import runtime
from infra.local.clock import Clock
from infra.local.delivery import DeadLetter
from infra.local.functions import ACCOUNT, Function, Functions, Handler
from infra.local.journal import Journal
from infra.local.moto_patches.loading import load_interpreter
from infra.local.outside import BATCH, SHARDS, Outside
from infra.local.variables import variables

Json = Any
Event = dict[str, Any]  # one of GetExecutionHistory's events; `timestamp` is ISO 8601 text


@dataclass(frozen=True, slots=True)
class Result:
    """How an execution ended. `status` is SUCCEEDED, FAILED, TIMED_OUT or ABORTED; times are the cloud's."""

    status: str
    output: Json
    error: str | None
    cause: str | None
    started: datetime
    stopped: datetime


class ExecutionHandle:
    """A started execution."""

    def __init__(self, execution: Any, finished: threading.Event) -> None:
        self._execution = execution
        self._finished = finished
        self.arn: str = execution.exec_arn
        self.name: str = execution.name

    @property
    def status(self) -> str:
        """RUNNING, or how it ended."""
        return str(self._execution.status)

    def wait(self, timeout: float | None = None) -> Result:
        """Wait until the execution ends, at most `timeout` real seconds, else TimeoutError."""
        if not self._finished.wait(timeout):
            raise TimeoutError(f"execution {self.name} still runs after {timeout} s")
        done = self._execution
        return Result(self.status, copy.deepcopy(done.output), done.error, done.cause, done.start_date, done.stop_date)

    def events(self, after_id: int = 0) -> list[Event]:
        """The history so far, or the part of it after the event with that id. Ids count from 1."""
        history: list[Event] = self._execution.exec_worker.env.event_manager._history_event_list
        return [_plain(event) for event in history[after_id:]]


def _plain(event: Mapping[str, Any]) -> Event:
    return {**event, "type": str(getattr(event["type"], "value", event["type"]))}


class LocalCloud:
    """A context manager: inside, boto3 talks to moto, state machines execute, and functions run in this process.

    `time_scale`: how many times faster waits, pauses before retries, and timeouts run. `handlers`: Lambda functions by name.
    `environment`: variables that `os.environ` has inside. There can be one local cloud at a time in a process.
    `journal`: a file that keeps the state. Without one it is gone at the end. Executions do not go on by themselves in the
    next cloud: `lost` names those that ran. `not_before`: the time that the last one had come to, where it ran faster.
    """

    def __init__(
        self,
        *,
        time_scale: float = 1.0,
        handlers: Mapping[str, Handler] | None = None,
        region: str = "us-east-1",
        environment: Mapping[str, str] | None = None,
        journal: Path | None = None,
        not_before: datetime | None = None,
    ) -> None:
        self.clock = Clock(time_scale)
        self._not_before = not_before
        self.region = region
        self._handlers = dict(handlers or {})
        self._environment = dict(environment or {})
        self._journal = journal
        self._outside: Outside | None = None
        self._runtime = runtime.Runtime(self.clock, Functions(region), region)
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        import boto3
        from moto import mock_aws

        load_interpreter()
        from infra.local.moto_patches.registry import install

        with ExitStack() as stack:
            self.clock = self._runtime.clock = Clock(self.clock.scale, self._not_before)
            runtime.enter(self._runtime)
            stack.callback(runtime.leave)
            times.use(lambda: self._runtime.clock.now().timestamp(), self.clock.scale)
            stack.callback(times.use)
            stack.enter_context(variables(self._environment | {
                "AWS_DEFAULT_REGION": self.region, "AWS_REGION": self.region,
                "ASLANT_SCHEDULER_ROLE": f"arn:aws:iam::{ACCOUNT}:role/local",
            }))  # fmt: skip
            stack.enter_context(mock_aws(config={
                "stepfunctions": {"execute_state_machine": True}, "lambda": {"use_docker": False},
            }))  # fmt: skip
            cast(Any, boto3).DEFAULT_SESSION = _session()
            if self._journal is not None:
                import infra.local.moto_patches.keeping  # noqa: F401  more patches, of services that are only kept
            install(stack)
            self._outside = Outside(self._runtime, None if self._journal is None else Journal(self._journal))
            stack.callback(self._outside.close)
            self._outside.start()
            stack.callback(self._end_all)
            for name, handler in self._handlers.items():
                self.function(name, handler)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stack.close()

    def function(self, name: str, handler: Handler, *, timeout: float = 900) -> str:
        """Register (or replace) a Lambda function and return its ARN. `timeout`: seconds an invocation may take."""
        function = self._runtime.functions.register(name, handler, timeout)
        _register_with_moto(function, self.region)
        if self._outside is not None:
            self._outside.delivery.registered(name)
        return function.arn

    def state_machine(self, name: str, definition: Mapping[str, Any] | str, *, type: str = "STANDARD") -> str:
        """Create a state machine, or replace the definition of the one with that name; its ARN."""
        text = definition if isinstance(definition, str) else json.dumps(definition)
        backend = self._backend()
        arn = f"arn:aws:states:{self.region}:{ACCOUNT}:stateMachine:{name}"
        if any(machine.arn == arn for machine in backend.state_machines):
            backend.update_state_machine(arn, definition=text)
        else:
            role = f"arn:aws:iam::{ACCOUNT}:role/local"
            backend.create_state_machine(name=name, definition=text, roleArn=role, sm_type=type)
        return arn

    def table(self, description: Mapping[str, Any]) -> None:
        """Create a table from the arguments of CreateTable.

        Without a request: those for the tables of an installation take longer than most workflows.
        """
        from moto.dynamodb.models import dynamodb_backends

        backend: Any = dynamodb_backends[ACCOUNT][self.region]
        backend.create_table(
            description["TableName"], schema=description["KeySchema"], throughput=None,
            attr=description["AttributeDefinitions"], global_indexes=description.get("GlobalSecondaryIndexes", []),
            indexes=[], streams=description.get("StreamSpecification"), billing_mode=description["BillingMode"],
            sse_specification=None, tags=[], deletion_protection_enabled=False, warm_throughput=None,
        )  # fmt: skip

    def start(self, machine_arn: str, input: Json, name: str | None = None) -> ExecutionHandle:
        """Start an execution; without a name it gets a unique one."""
        execution = self._backend().start_execution(machine_arn, name or str(uuid.uuid4()), json.dumps(input))
        return self.execution(execution.exec_arn)

    def execution(self, arn: str) -> ExecutionHandle:
        """The handle of a started execution, whoever started it. Raises KeyError for an unknown one."""
        return ExecutionHandle(self._runtime.executions[arn], self._runtime.finished[arn])

    def children(self, arn: str) -> list[str]:
        """ARNs of the executions that one started and waits, or waited, for; oldest first."""
        with self._runtime.lock:
            return list(self._runtime.children.get(arn, ()))

    def items(self, arn: str) -> list[tuple[str, str, int]]:
        """Executions of the items of its Distributed Maps: ARN, the name of the Map's state, the item's index."""
        found = []
        for child in self.children(arn):
            execution = self._runtime.executions.get(child)
            item = vars(execution).get("item") if execution is not None else None
            if execution is not None and item is not None and getattr(execution.exec_worker, "env", None) is not None:
                found.append((child, *item))
        return found

    def stop(self, arn: str, *, error: str | None = None, cause: str | None = None) -> bool:
        """Stop an execution and those it waits for; False when it had ended already."""
        execution = self._runtime.executions[arn]
        if self._runtime.finished[arn].is_set():
            return False
        execution.stop(stop_date=None, error=error, cause=cause)
        return str(execution.status) == "ABORTED"

    def stream(self, table: str, function: str, *, batch: int = BATCH, shards: int = SHARDS) -> None:
        """Send what is written to a table to a function, from now on; what waits for it in the journal first.

        `batch`: records in one call at most. `shards`: calls at once; records of one partition key keep their order.
        """
        self._out.attach(table, function, batch, shards)

    def queue(self, name: str, function: str, *, dead: str, receives: int) -> None:
        """Create a queue whose messages go to a function; those that failed `receives` times go to the queue `dead`."""
        sqs, arn = self.client("sqs"), f"arn:aws:sqs:{self.region}:{ACCOUNT}"
        policy = {"deadLetterTargetArn": f"{arn}:{dead}", "maxReceiveCount": receives}
        sqs.create_queue(QueueName=dead)
        sqs.create_queue(QueueName=name, Attributes={"RedrivePolicy": json.dumps(policy)})
        self._out.queues.keep(name, dead)
        self._out.queues.attach(name, function)

    def poll(self, queue: str, function: str) -> None:
        """Give the messages of a queue that is there to a function."""
        self._out.queues.attach(queue, function)

    def rule(
        self, name: str, pattern: Mapping[str, Any], target: str, *, bus: str = "default", service: str = "lambda"
    ) -> None:
        """Create or replace a rule that gives the events of a bus that match to a function, or to a queue (`sqs`)."""
        events = self.client("events")
        events.put_rule(Name=name, EventPattern=json.dumps(pattern), EventBusName=bus)
        place = f"{self.region}:{ACCOUNT}:{'function:' if service == 'lambda' else ''}{target}"
        events.put_targets(
            Rule=name, EventBusName=bus, Targets=[{"Id": target[-64:], "Arn": f"arn:aws:{service}:{place}"}]
        )

    def settle(self, timeout: float = 10) -> bool:
        """Wait until no record, event, message or due timer is on its way to a function, at most `timeout` real seconds.

        Gives whether that was reached. Executions that run, and timers that are not due, do not count.
        """
        return self._out.activity.wait(timeout)

    @property
    def dead_letters(self) -> list[DeadLetter]:
        """Asynchronous invocations that failed each time."""
        return list(self._out.delivery.dead)

    def lost(self) -> list[str]:
        """ARNs of executions that ran when the last cloud with this journal ended or was killed, until `recovered`."""
        return list(self._out.lost)

    def recovered(self, arn: str) -> None:
        """Note that a lost execution has been taken care of."""
        self._out.recovered(arn)

    @property
    def _out(self) -> Outside:
        if self._outside is None:
            raise RuntimeError("the local cloud is not running")
        return self._outside

    @property
    def functions(self) -> Functions:
        """What is registered, to be invoked."""
        return self._runtime.functions

    def client(self, service: str) -> Any:
        """A boto3 client of a service of this cloud, made once."""
        from infra.local.moto_patches.services import ClientMaker

        return ClientMaker.client(service_name=service, region_name=self.region)

    def _backend(self) -> Any:
        from moto.stepfunctions.parser.models import stepfunctions_parser_backends

        return stepfunctions_parser_backends[ACCOUNT][self.region]

    def _end_all(self) -> None:
        """Stop what still runs, so that no thread carries a state on into the next cloud."""
        with self._runtime.lock:
            self._runtime.closing = True
            running = [arn for arn, finished in self._runtime.finished.items() if not finished.is_set()]
        for arn in running:
            self._runtime.executions[arn].stop(stop_date=None, error=None, cause="the local cloud was closed")
        _join("aslant-execution", "aslant-item", until=time.monotonic() + 5)
        _join("aslant-state", until=time.monotonic() + 0.5)  # a handler that hangs is left behind


@functools.cache
def _session() -> Any:
    """One for all clouds of a process: a session that is new reads the descriptions of all services again (0.3 s a cloud)."""
    import boto3

    return boto3.Session()


def _join(*names: str, until: float) -> None:
    for thread in threading.enumerate():
        if thread.name not in names:
            continue
        while thread.ident is None and time.monotonic() < until:  # just about to start
            time.sleep(0.001)
        if thread.is_alive():
            thread.join(max(0.0, until - time.monotonic()))


def _register_with_moto(function: Function, region: str) -> None:
    """Make the function known to boto3's Lambda clients as well."""
    from moto.awslambda_simple.models import lambda_simple_backends
    from moto.iam.models import iam_backends

    iam: Any = iam_backends[ACCOUNT]["aws"]
    if not any(role.name == "local" for role in iam.roles.values()):
        trust = {"Version": "2012-10-17", "Statement": [{
            "Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole",
        }]}  # fmt: skip
        iam.create_role("local", json.dumps(trust), "/", None, "", [], 3600)
    backend: Any = lambda_simple_backends[ACCOUNT][region]
    backend.create_function({
        "FunctionName": function.name,
        "Runtime": "python3.13",
        "Role": f"arn:aws:iam::{ACCOUNT}:role/local",
        "Handler": "index.handler",
        "Code": {"ZipFile": ""},
        "Timeout": int(function.timeout),
    })  # fmt: skip
