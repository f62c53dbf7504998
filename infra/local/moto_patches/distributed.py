"""Distributed Map: each item is an execution of its own, with its own input, variables and history; results go to S3.

moto evaluates the items inside of the execution of the Map, where they read what they could not read on AWS, and writes no
results. https://docs.aws.amazon.com/step-functions/latest/dg/state-map-distributed.html
"""

from __future__ import annotations

import copy
import functools
import json
import threading
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from moto.stepfunctions.parser.api import HistoryEventType
from moto.stepfunctions.parser.asl.component.common.error_name.failure_event import FailureEvent, FailureEventException
from moto.stepfunctions.parser.asl.component.common.error_name.states_error_name import StatesErrorName
from moto.stepfunctions.parser.asl.component.common.error_name.states_error_name_type import StatesErrorNameType
from moto.stepfunctions.parser.asl.eval.states import ItemData, MapData
from moto.stepfunctions.parser.backend.execution import Execution

from infra.local.moto_patches.registry import event_details, patch
from infra.local.moto_patches.stopping import Ended
from infra.local.runtime import current

_STATE_MAP = "parser.asl.component.state.exec.state_map."
_WORKERS = 64  # child executions at once; AWS runs 10,000, a process does not
_INPUT_LIMIT = 262_144  # bytes of JSON that a child execution takes


@dataclass(slots=True)
class MapRun:
    """One run of a Distributed Map while its items are worked on."""

    env: Any
    given: Any  # moto's DistributedItemProcessorEvalInput
    parent: Any  # the execution of the Map
    machine: Any  # the state machine of the children
    items: list[Any]
    lock: threading.Lock = field(default_factory=threading.Lock)
    following: int = 0
    children: dict[int, Any] = field(default_factory=dict)  # executions by the item's index
    failed: int = 0
    over: Exception | None = None

    def work(self) -> None:
        """Runs items until there is none left, or the run is over."""
        while True:
            with self.lock:
                index = self.following
                if index >= len(self.items) or self.over is not None or not self.env.is_running():
                    return
                self.following += 1
            try:
                self._run(index)
            except Ended:
                return
            except Exception as error:  # such as an ItemSelector that cannot be evaluated
                self.end(error)
                return

    def _run(self, index: int) -> None:
        text = json.dumps(self._input(index), separators=(",", ":"))
        if len(text.encode()) > _INPUT_LIMIT:
            raise _failure(self.env, StatesErrorNameType.StatesStatesDataLimitExceeded,
                f"The input of item {index} has more than {_INPUT_LIMIT} bytes.")
        runtime, record = current(), self.given.map_run_record
        name = str(uuid.uuid4())
        child: Any = Execution(
            name=name, sm_type=self.machine.sm_type, role_arn=self.machine.roleArn,
            exec_arn=self.machine.arn.replace(":stateMachine:", ":execution:") + f":{name}",
            account_id=self.parent.account_id, region_name=self.parent.region_name, state_machine=self.machine,
            start_date=runtime.clock.now(), cloud_watch_logging_session=None, input_data=text, activity_store={},
        )
        child.quiet = True
        child.item = (self.given.state_name, index)
        with self.lock:
            if self.over is not None or not self.env.is_running():
                return
            self.children[index] = child
            with runtime.lock:
                runtime.children.setdefault(self.parent.exec_arn, []).append(child.exec_arn)
            child.start()
        for counter in (record.item_counter, record.execution_counter):
            counter.total.count()
            counter.running.count()
        runtime.finished[child.exec_arn].wait()
        outcome = {"SUCCEEDED": "succeeded", "ABORTED": "aborted", "TIMED_OUT": "timed_out"}.get(child.status, "failed")
        for counter in (record.item_counter, record.execution_counter):
            counter.running.offset(-1)
            getattr(counter, outcome).count()
        if outcome in ("failed", "timed_out"):
            with self.lock:
                self.failed += 1
            if _too_many_failed(record, self.failed, len(self.items)):
                self.end(_failure(self.env, StatesErrorNameType.StatesExceedToleratedFailureThreshold,
                    "The specified tolerated failure threshold was exceeded"))

    def _input(self, index: int) -> Any:
        """The item as the ItemSelector makes it."""
        item = self.items[index]
        if self.given.item_selector is None:
            return item
        frame = self.env.open_inner_frame()
        try:
            frame.states.context_object.context_object_data["Map"] = MapData(Item=ItemData(Index=index, Value=item))
            frame.states.reset(input_value=self.env.states.get_input())
            self.given.item_selector.eval(frame)
            return frame.stack[-1]
        finally:
            self.env.delete_frame(frame)

    def end(self, error: Exception) -> None:
        """No further item begins, and those that run are stopped."""
        with self.lock:
            if self.over is None:
                self.over = error
        self.stop()

    def stop(self) -> None:
        for child in self._running():
            child.stop(None, None, None)

    def set(self) -> None:
        """Called when the Map itself is over: it was stopped, or something beside it has failed."""
        if self._running():
            threading.Thread(target=self.stop, daemon=True, name="aslant-stop").start()

    def _running(self) -> list[Any]:
        with self.lock:
            return [child for child in self.children.values() if not current().finished[child.exec_arn].is_set()]


def _failure(env: Any, kind: StatesErrorNameType, cause: str) -> FailureEventException:
    name = StatesErrorName(kind)
    details = event_details("executionFailed", {"error": name.error_name, "cause": cause})
    return FailureEventException(
        FailureEvent(env=env, error_name=name, event_type=HistoryEventType.MapStateFailed, event_details=details)
    )


def _too_many_failed(record: Any, failed: int, items: int) -> bool:
    """Whether more items failed than a Map Run tolerates; a limit of 0 counts only when the other is 0 too."""
    count, share = record.tolerated_failure_count, record.tolerated_failure_percentage
    if not count and not share:
        return failed > 0
    return bool((count and failed > count) or (share and failed * 100 > share * items))


@functools.lru_cache(maxsize=64)
def _processors(definition: str) -> Mapping[str, Any]:
    """The item processors of the Maps in a definition, by the names of their states."""
    found: dict[str, Any] = {}
    stack = [json.loads(definition)]
    while stack:
        for name, state in stack.pop()["States"].items():
            stack += state.get("Branches", ())
            if "ItemProcessor" in state:
                found[name] = state["ItemProcessor"]
                stack.append(state["ItemProcessor"])
    return found


def _child_machine(parent: Any, state: str, label: str) -> Any:
    """The state machine that a Map's children are executions of. It is listed nowhere, as on AWS."""
    processor = dict(_processors(parent.state_machine.definition)[state])
    config = processor.pop("ProcessorConfig", {})
    machine = copy.copy(parent.state_machine)
    machine.definition = json.dumps({"QueryLanguage": "JSONata", **processor})
    machine.name = f"{parent.state_machine.name}/{label}"
    machine.arn = f"{parent.state_machine.arn}/{label}"
    machine.sm_type = config.get("ExecutionType", "STANDARD")
    return machine


@patch(
    _STATE_MAP + "iteration.distributed_iteration_component:DistributedIterationComponent._map_run",
    gap="items run inside of the execution of the Map: they read its input and variables, and share its history; failed items "
    "are null in a Map that succeeds, whatever is tolerated",
    fingerprint="e45cb604929f",
)
def map_run(self: Any, env: Any, eval_input: Any) -> None:
    items = env.stack.pop()
    parent = current().executions[env.states.context_object.context_object_data["Execution"]["Id"]]
    record = eval_input.map_run_record
    label = record.map_state_machine_arn.rpartition("/")[2]
    run = MapRun(env, eval_input, parent, _child_machine(parent, eval_input.state_name, label), items)
    env.program_state_event.wake(run)
    wanted = min(record.max_concurrency or _WORKERS, _WORKERS, len(items))
    workers = [threading.Thread(target=run.work, daemon=True, name="aslant-item") for _ in range(wanted)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if run.over is not None:
        raise run.over
    if not env.is_running():
        raise Ended
    env.map_run = run  # for the ResultWriter, which is evaluated next in the same environment
    env.stack.append([child.output if child.status == "SUCCEEDED" else None for _, child in sorted(run.children.items())])


@patch(
    _STATE_MAP + "result_writer.result_writer_decl:ResultWriter._eval_body",
    gap="only a manifest is written, without results; WriterConfig is not known",
    fingerprint="bcde5765f0a5",
)
def write_results(self: Any, env: Any) -> None:
    from infra.local.moto_patches.services import ClientMaker

    env.stack.pop()
    run: MapRun = env.map_run
    record = run.given.map_run_record
    self.parargs.eval(env=env)
    where = env.stack.pop()
    prefix = where.get("Prefix") or ""
    folder = f"{prefix}{'/' if prefix and not prefix.endswith('/') else ''}{record.map_run_arn.rpartition(':')[2]}"
    client = ClientMaker.client(service_name="s3", region_name=current().region)
    compact = getattr(self, "writer_config", {}).get("Transformation") in ("COMPACT", "FLATTEN")
    files: dict[str, list[dict[str, Any]]] = {"FAILED": [], "PENDING": [], "SUCCEEDED": []}
    children = [child for _, child in sorted(run.children.items())]
    for kind in ("SUCCEEDED", "FAILED"):
        rows = [
            child.output if compact and kind == "SUCCEEDED" else _described(child)
            for child in children if (child.status == "SUCCEEDED") == (kind == "SUCCEEDED")
        ]  # fmt: skip
        if rows:
            body = json.dumps(rows).encode()
            key = f"{folder}/{kind}_0.json"
            client.put_object(Bucket=where["Bucket"], Key=key, Body=body)
            files[kind].append({"Key": key, "Size": len(body)})
    manifest = {"DestinationBucket": where["Bucket"], "MapRunArn": record.map_run_arn, "ResultFiles": files}
    client.put_object(Bucket=where["Bucket"], Key=f"{folder}/manifest.json", Body=json.dumps(manifest).encode())
    env.stack.append({
        "MapRunArn": record.map_run_arn,
        "ResultWriterDetails": {"Bucket": where["Bucket"], "Key": f"{folder}/manifest.json"},
    })  # fmt: skip


def _described(child: Any) -> dict[str, Any]:
    """A child execution as a row of a result file."""
    row = {
        "ExecutionArn": child.exec_arn, "Input": json.dumps(child.input_data), "InputDetails": {"Included": True},
        "Name": child.name, "StateMachineArn": child.state_machine.arn, "Status": child.status,
    }  # fmt: skip
    if child.status == "SUCCEEDED":
        row |= {"Output": json.dumps(child.output), "OutputDetails": {"Included": True}}
    for name, value in (("Error", child.error), ("Cause", child.cause)):
        if value is not None:
            row[name] = value
    return row
