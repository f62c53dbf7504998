"""Map: one more thread for each idle worker, a recursion for each item, and no end for the items beside a failed one."""

from __future__ import annotations

import contextlib
import threading
from typing import Any

from moto.stepfunctions.parser.api import HistoryEventType
from moto.stepfunctions.parser.asl.component.common.error_name.failure_event import FailureEvent, FailureEventException
from moto.stepfunctions.parser.asl.component.common.error_name.states_error_name import StatesErrorName
from moto.stepfunctions.parser.asl.component.common.error_name.states_error_name_type import StatesErrorNameType
from moto.stepfunctions.parser.asl.component.state.exec.state_map.iteration.job import JobPool

from infra.local.moto_patches.registry import event_details, patch
from infra.local.moto_patches.stopping import Ended

_ITERATION = "parser.asl.component.state.exec.state_map.iteration."
INLINE_CONCURRENCY = 40  # what AWS runs at once in an inline Map that sets no limit, and at most


@patch(
    _ITERATION + "inline_iteration_component:InlineIterationComponent._eval_body",
    gap="no bound of 40; a worker for each place even when there are fewer items; a stop does not wake the Map",
    fingerprint="1a65306eb3ca",
)
def run_items(self: Any, env: Any) -> None:
    given = env.stack.pop()
    pool = JobPool(job_program=self._get_iteration_program(), job_inputs=given.input_items)
    wanted = given.max_concurrency or INLINE_CONCURRENCY
    for _ in range(min(wanted, INLINE_CONCURRENCY, len(given.input_items))):
        worker = self._create_worker(env=env, eval_input=given, job_pool=pool)
        threading.Thread(target=worker.eval, daemon=True, name="aslant-item").start()
    env.program_state_event.wake(pool._termination_event)
    pool.await_jobs()
    error = pool.get_worker_exception()
    if error is not None:
        raise error
    done = sorted(pool._closed_jobs, key=lambda job: job.job_index)
    env.stack.append([job.job_output for job in done])


@patch(
    _ITERATION + "iteration_worker:IterationWorker._eval_pool",
    gap="recursion for each item: a thousand items in sequence end in a RecursionError and a Map that waits for ever",
    fingerprint="45ca0026e8cc",
)
def eval_pool(self: Any, job: Any, worker_frame: Any) -> None:
    # As in moto, the worker's frame is closed before its last job: the Map goes on once all jobs are closed.
    while job is not None:
        frame = worker_frame.open_inner_frame()
        with contextlib.suppress(Ended):  # the job's output is an error then
            self._eval_job(env=frame, job=job)
        worker_frame.close_frame(frame)
        over = isinstance(job.job_output, Exception) or self.stopped()
        following = None if over else self._job_pool.next_job()
        if following is None:
            if not over:
                worker_frame.event_history_context.source_event_id = frame.event_history_context.last_published_event_id
            self._env.close_frame(worker_frame)
            self._job_pool.close_job(job)
            return
        self._job_pool.close_job(job)
        job = following
    self._env.close_frame(worker_frame)


_WORKERS = 64  # of a Distributed Map at once; AWS allows 10,000, a process does not


@patch(
    _ITERATION + "distributed_iteration_component:DistributedIterationComponent._map_run",
    gap="a thread for each item; a stop does not wake the Map",
    fingerprint="e45cb604929f",
)
def map_run(self: Any, env: Any, eval_input: Any) -> None:
    items = env.stack.pop()
    pool = JobPool(job_program=self._get_iteration_program(), job_inputs=items)
    wanted = eval_input.map_run_record.max_concurrency or _WORKERS
    for _ in range(min(wanted, _WORKERS, len(items))):
        worker = self._create_worker(env=env, eval_input=eval_input, job_pool=pool)
        threading.Thread(target=worker.eval, daemon=True, name="aslant-item").start()
    env.program_state_event.wake(pool._termination_event)
    pool.await_jobs()
    error = pool.get_worker_exception()
    if error is not None:
        raise error
    done = sorted(pool._closed_jobs, key=lambda job: job.job_index)
    env.stack.append([job.job_output for job in done])


def _too_many_failed(record: Any, items: int) -> bool:
    """Whether more items failed than a Map Run tolerates; a limit of 0 counts only when the other is 0 too."""
    failed, count, share = record.item_counter.failed.get(), record.tolerated_failure_count, record.tolerated_failure_percentage
    if not count and not share:
        return bool(failed > 0)
    return bool((count and failed > count) or (share and failed * 100 > share * items))


@patch(
    _ITERATION + "itemprocessor.distributed_item_processor_worker:DistributedItemProcessorWorker._eval_pool",
    gap="failed items are null in a Map that succeeds, whatever is tolerated; recursion for each item",
    fingerprint="8797235af229",
)
def distributed_pool(self: Any, job: Any, worker_frame: Any) -> None:
    # moto gives the worker the Map's own environment as its frame, so there is none to close.
    while job is not None:
        frame = worker_frame.open_inner_frame()
        with contextlib.suppress(Ended):  # the job's output is an error then
            self._eval_job(env=frame, job=job)
        worker_frame.delete_frame(frame)
        if _too_many_failed(self._map_run_record, self._job_pool._jobs_number):
            job.job_output = FailureEventException(
                FailureEvent(
                    env=self._env,
                    error_name=StatesErrorName(StatesErrorNameType.StatesExceedToleratedFailureThreshold),
                    event_type=HistoryEventType.MapStateFailed,
                    event_details=event_details(
                        "executionFailed",
                        {
                            "error": "States.ExceedToleratedFailureThreshold",
                            "cause": "The specified tolerated failure threshold was exceeded",
                        },
                    ),
                )
            )
        following = None if isinstance(job.job_output, Exception) or self.stopped() else self._job_pool.next_job()
        self._job_pool.close_job(job)
        job = following
