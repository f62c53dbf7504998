"""Map: one more thread for each idle worker, a recursion for each item, and no end for the items beside a failed one."""

from __future__ import annotations

import contextlib
import threading
from typing import Any

from moto.stepfunctions.parser.asl.component.state.exec.state_map.iteration.job import JobPool

from infra.local.moto_patches.registry import patch
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
