"""The coordinator: runs one stage on a pool, under trio.

It carries out the commands of the scheduler, and passes events to it. It is one task
on an event loop of its own. The ends of jobs come first, so that no worker waits long
for its next job. While there are none, it encodes functions, or decodes some that
workers returned, for some milliseconds at a time: other threads would not be done
sooner, as each holds the GIL meanwhile.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future

import trio

from parpass.errors import Hint, HintedMessage, RuntimeUseError
from parpass.runner.executor import (
    Executor,
    JobCancelledError,
    JobLostError,
    NoWorkersError,
    was_killed,
)
from parpass.runner.ipc.function_outcome import Cutoff
from parpass.runner.ipc.module_store import FunctionHandle
from parpass.runner.ipc.status_board import Phase, Status, StatusBoard
from parpass.runner.observers import WorkerEnd
from parpass.runner.pool.event_loops import Inbox
from parpass.runner.pool.failure_attribution import Watchdog, workers_hang_error
from parpass.runner.pool.remote_stage import RemoteStage
from parpass.runner.pool.scheduler import Scheduler
from parpass.runner.pool.scheduler_events import (
    Abort,
    CancelJob,
    Command,
    DeadlinePassed,
    Event,
    Finish,
    FunctionsReady,
    JobFinished,
    JobLost,
    Reclaimed,
    ResolveFailure,
    SubmitJob,
    Truncated,
    Withdraw,
    Withdrawn,
)
from parpass.runner.worker.jobs import run_job

# Of the time that a stage takes in this process, which workers may lose against it
# until the rest is taken back; and seconds, which a pause of the machine may take.
_MOST_LOST_SHARE = 0.05
_MOST_LOST_SECONDS = 0.05


class LossCheck:
    """Adds up what the workers of a stage have lost against this process alone.

    A rate that was measured on a few jobs says little of the rest: workers import, and
    this process encodes functions on the same cores. What was lost is no estimate, and
    a stage whose rest is taken back when that is enough has lost no more.

    Args:
        local_seconds: The estimated time of the stage in this process; None if that is
            not known, or this process must not run the rest.
    """

    def __init__(self, local_seconds: float | None) -> None:
        self._local_seconds = local_seconds
        self._fraction_done = 0.0
        self._counted = 0.0  # the fraction done, without the first job of each worker
        self._spent = 0.0  # the time in which that was done
        self._last: dict[int, float] = {}  # when each worker finished its last job

    def job_finished(self, process: int, now: float, fraction_done: float) -> None:
        """Record that a worker finished a job.

        The first job of each worker does not count: it loads what the others use.

        Args:
            process: The worker.
            now: The time, in seconds.
            fraction_done: The fraction of the stage's work that is done with it.
        """
        before, self._fraction_done = self._fraction_done, fraction_done
        if process in self._last:
            self._counted += fraction_done - before
            self._spent += (now - self._last[process]) / len(self._last)
        self._last[process] = now

    @property
    def is_too_much(self) -> bool:
        """Whether the workers have lost what they may lose."""
        if self._local_seconds is None:
            return False
        lost = self._spent - self._counted * self._local_seconds
        return lost > max(_MOST_LOST_SHARE * self._local_seconds, _MOST_LOST_SECONDS)


async def run_stage(stage: RemoteStage, executor: Executor, board: StatusBoard) -> None:
    """Run a stage; its outcomes are in `stage.outcomes` afterwards.

    Args:
        stage: The stage, with its spec encoded.
        executor: The pool. If this is cancelled or fails, the jobs of the stage are
            cancelled.
        board: The status slots of the workers.

    Raises:
        RuntimeUseError: The workers die or hang before they begin, or the executor is
            closed.
        NoWorkersError: No worker can be started here.
        StorageError: There is no room.
        UnsendableError: A function cannot be encoded.
    """
    try:
        # Encoded first: the scheduler plans for one worker if that is all.
        ready = stage.writer.encode_some()
        run = _StageRun(stage, executor, board)
        try:
            await run.run(ready or FunctionsReady((), ()))
        except BaseException:
            run.cancel_jobs()
            raise
    finally:
        # Here, as the run may be over while this thread still writes to its files.
        stage.writer.end()


class _StageRun:
    def __init__(
        self, stage: RemoteStage, executor: Executor, board: StatusBoard
    ) -> None:
        self._stage = stage
        self._executor = executor
        self._board = board
        self._schedule = Scheduler(
            stage.total,
            1 if stage.writer.is_one_message else executor.workers,
            stage.pace(),
            executor.least_job_seconds,
        )
        self._in_flight: dict[int, tuple[SubmitJob, Future[bytes]]] = {}
        self._failures = stage.failures
        self._watchdog = Watchdog(executor, board, stage.failures, self._in_flight)
        self._end = Cutoff(len(stage.steps) - 1)  # of which the scheduler was notified
        self._losses = LossCheck(stage.local_seconds)
        self._cause = ""  # of the last death
        self._loading = ""  # the pass that the worker loaded
        self._to_decode = deque[FunctionHandle]()
        self._ended = Inbox[tuple[int, Future[bytes]]]()  # jobs that have ended

    async def run(self, event: Event | None) -> None:
        """Run the stage; the event is the first one."""
        while (event is None or self._handle(event)) and self._end_late_jobs():
            event = await self._next_event()
        while self._to_decode:
            await trio.lowlevel.checkpoint()
            self._stage.decode_some(self._to_decode)

    async def _next_event(self) -> Event | None:
        """Return the next event, or use the time until there is one; then None."""
        writer, to_decode = self._stage.writer, self._to_decode
        is_idle = writer.is_complete and not to_decode
        seconds = self._watchdog.seconds_left if is_idle else 0.0
        ended = await self._ended.take(seconds)
        if ended is not None:
            return self._translate(*ended)
        if not writer.is_complete:
            return writer.encode_some()
        if to_decode:
            self._stage.decode_some(to_decode)
        return None

    def _handle(self, event: Event) -> bool:
        """Carry out what follows from an event; return whether the stage goes on."""
        # Truncated first, so that no job beyond the end is submitted.
        commands = deque(self._truncate_schedule())
        commands.extend(self._schedule.handle(event))
        while commands:
            command = commands.popleft()
            if isinstance(command, Finish):
                return False
            commands.extend(self._execute(command))
        return not isinstance(event, JobFinished) or self._count_losses(event)

    def _count_losses(self, job: JobFinished) -> bool:
        """Take back the functions in no job once workers have lost too much."""
        done = self._schedule.fraction_done
        self._losses.job_finished(job.process, time.perf_counter(), done)
        are_behind = self._losses.is_too_much and self._schedule.outlasts_giants
        if not are_behind or self._stage.is_reclaimed:
            return True
        self._stage.is_reclaimed = True
        self._note("the rest is taken back")
        return self._handle(Reclaimed())

    def _truncate_schedule(self) -> list[Command]:
        """Send the scheduler a new cutoff of the stage, if there is one."""
        end = self._stage.outcomes.cutoff
        if end >= self._end:
            return []
        self._end = end
        return self._schedule.handle(
            Truncated(end.function if end.step == 0 else math.inf)
        )

    def cancel_jobs(self) -> None:
        for _, answer in self._in_flight.values():
            self._executor.end(answer)

    def _translate(self, job: int, answer: Future[bytes]) -> Event | None:
        """Return the scheduler's event for the end of a job; None if there is none."""
        if job not in self._in_flight:
            return None  # it was cancelled
        command, _ = self._in_flight.pop(job)
        error = answer.exception()
        if isinstance(error, NoWorkersError):
            raise self._no_workers_error(error)
        if isinstance(error, JobLostError):
            return self._on_worker_death(command, error)
        if isinstance(error, JobCancelledError):
            return JobLost(job, None, killed=True)  # the pool killed all workers
        # Not if its worker died: a descendant of that may go on.
        self._stage.job_is_over()
        times, new = self._stage.accept_result(answer.result())
        if self._stage.wanted:
            self._to_decode.extend(new)
        least = self._executor.least_job_seconds
        return JobFinished(job, times.seconds, least, times.process)

    def _no_workers_error(self, error: NoWorkersError) -> Exception:
        if error.why == "none":
            return error
        if error.why == "end":
            return _workers_die_error(error.cause)
        return workers_hang_error(self._failures.start_seconds)

    def _end_late_jobs(self) -> bool:
        """Let the watchdog end jobs; return whether the stage goes on."""
        for job, work, limit in self._watchdog.end_late_jobs():
            event = Withdrawn([job])
            if limit is not None:
                self._notify_of_end("killed by the watchdog", work.process, work)
                self._failures.record_failure(work, limit)
                event = DeadlinePassed(job, work.function)
            if not self._handle(event):
                return False
        return True

    def _note(self, what: str) -> None:
        self._stage.observers.noted(what)

    def _notify_of_end(self, what: str, process: int, work: Status | None) -> None:
        """Notify observers of how a worker ended, and its last activity."""
        since, during = 0.0, ""
        if work is not None and work.phase != Phase.START:
            # Both clocks are CLOCK_MONOTONIC, or mach_absolute_time, in this process.
            since = work.since / 1e9
            step = self._stage.steps[work.body_step].info.name
            during = f"{step} on {self._stage.names[work.body]}"
        end = WorkerEnd(what, process, since, during)
        self._stage.observers.worker_ended(end)

    def _on_worker_death(self, command: SubmitJob, error: JobLostError) -> Event:
        """Return the scheduler's event for a job whose worker died."""
        work = self._board.take_for_process(error.process)
        self._notify_of_end(f"died: {error.cause}", error.process, work)
        self._cause = error.cause
        self._loading = "" if work is None else self._failures.name_loading(work)
        working_on = None
        if work is not None and work.phase != Phase.START:
            if self._failures.is_beyond_end(work):
                return Withdrawn([command.job])
            traceback = self._board.traceback(work.owner)
            self._failures.tracebacks[work.owner] = traceback
            self._failures.record_failure(work, error.cause)
            working_on = work.function
        killed = was_killed(error.cause)
        return JobLost(command.job, working_on, killed, error.host_died)

    def _execute(self, command: Command) -> Sequence[Command]:
        """Carry out a command; return those that its result leads to."""
        match command:
            case SubmitJob():
                message = self._stage.job(command.functions)
                answer = self._executor.submit(
                    run_job, message, command.seconds, owner=self._stage.store
                )
                self._in_flight[command.job] = command, answer
                answer.add_done_callback(
                    lambda done, job=command.job: self._ended.put((job, done))
                )
            case CancelJob():
                _, answer = self._in_flight.pop(command.job)
                self._executor.end(answer, at_once=True)
                self._note("a job is cancelled")
            case ResolveFailure():
                settled = self._failures.resolve(command.function)
                if settled.again:
                    name = self._stage.names[command.function]
                    self._stage.observers.function_retried(name)
                return [*self._truncate_schedule(), *self._schedule.handle(settled)]
            case Withdraw():
                return self._schedule.handle(self._withdraw_jobs())
            case Abort():
                raise _workers_die_error(self._cause, self._loading)
            case Finish():
                pass
        return ()

    def _withdraw_jobs(self) -> Withdrawn:
        """Withdraw the jobs that no worker has begun, and return them."""
        withdraw = self._executor.withdraw
        jobs = [job for job, (_, one) in self._in_flight.items() if withdraw(one)]
        for job in jobs:
            del self._in_flight[job]
            self._stage.job_is_over()
        return Withdrawn(jobs)


def _workers_die_error(cause: str, loading: str = "") -> RuntimeUseError:
    during = f", loading pass '{loading}'" if loading else ""
    look = "check the modules that passes are imported from"
    if was_killed(cause):
        look = "the system may be out of memory; fewer workers take less"
    return RuntimeUseError(
        HintedMessage(
            f"the worker processes keep dying before they can begin{during} "
            f"({cause}); {look}; ",
            Hint.WITHOUT_WORKERS,
        )
    )
