"""The coordinator: runs one stage on a pool, under trio.

Packing, jobs and unpacking overlap, and nothing long runs on the event loop. Beside
them the overseer has jobs ended that hang.
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from typing import cast

import trio

from parpass.errors import RuntimeUseError
from parpass.runner.executor import (
    Executor,
    JobEndedError,
    JobLostError,
    NoWorkersError,
    was_killed,
)
from parpass.runner.pool.headway import Headway
from parpass.runner.pool.overseer import Overseer, hanging
from parpass.runner.pool.pooled_stage import PooledStage
from parpass.runner.pool.schedule import Schedule
from parpass.runner.pool.schedule_events import (
    Blame,
    Command,
    DeadlinePassed,
    Ended,
    EndJob,
    Event,
    Finish,
    FunctionsReady,
    GiveUp,
    JobFinished,
    JobLost,
    Overtaken,
    Recalled,
    Settled,
    SubmitJob,
)
from parpass.runner.travel.notes import Notes, Phase
from parpass.runner.travel.retained import Held
from parpass.runner.worker.jobs import run_job

_in_thread = trio.to_thread.run_sync

_LONGEST_WAY = 0.01  # seconds from packing functions to sending them, mostly
_LITTLE = 16_384  # bytes of functions that are unpacked sooner than a thread is asked
_News = Event | tuple[int, Future[bytes]]
_open_news = trio.open_memory_channel[_News]
_open_held = trio.open_memory_channel[list[Held]]


async def run_stage(stage: PooledStage, executor: Executor, notes: Notes) -> None:
    """Run a stage; its outcomes are in `stage.outcomes` then.

    Args:
        stage: The stage, its spec published.
        executor: The pool. If this is cancelled or fails, the stage's jobs are ended.
        notes: What workers are working on.

    Raises:
        RuntimeUseError: The workers die or hang before they begin, or the executor is
            closed.
        NoWorkersError: There can be no workers here.
    """
    run = None
    try:
        async with trio.open_nursery() as nursery:
            run = _StageRun(stage, executor, notes, nursery)
            await run.run()
    except BaseException as error:  # noqa: BLE001 -- raised again, unwrapped
        if run is not None:
            run.end_jobs()
        leaf = _unwrapped(error)
        raise leaf from leaf.__cause__


class _StageRun:
    def __init__(
        self,
        stage: PooledStage,
        executor: Executor,
        notes: Notes,
        nursery: trio.Nursery,
    ) -> None:
        self._stage = stage
        self._executor = executor
        self._notes = notes
        self._nursery = nursery
        self._schedule = Schedule(
            stage.total, executor.workers, stage.pace(), self._least_job_seconds()
        )
        self._in_flight: dict[int, tuple[SubmitJob, Future[bytes]]] = {}
        self._inquest = stage.inquest
        self._overseer = Overseer(
            executor,
            notes,
            stage.inquest,
            stage.outcomes,
            self._in_flight,
            stage.start_seconds,
        )
        self._last: float = math.inf  # function that a serial run comes to
        self._headway = Headway(executor.workers, stage.alone_seconds)
        self._cause = ""  # of the last death that no function is to blame for
        self._besides = trio.CancelScope()  # what nobody needs at the end
        self._token = trio.lowlevel.current_trio_token()
        self._on_their_way = trio.Event()  # what was packed last
        self._send, self._receive = _open_news(math.inf)
        self._new, self._to_unpack = _open_held(math.inf)

    async def run(self) -> None:
        self._executor.start(self._stage.start_seconds)
        self._nursery.start_soon(self._unpack)
        self._nursery.start_soon(self._do_besides)
        # There may be none at all, and then no other event would end this.
        self._send.send_nowait(FunctionsReady((), ()))
        async with self._receive, self._new:
            async for event in self._receive:
                known = await self._understood(event)
                if known is None:
                    continue
                commands = deque(self._schedule.handle(known))
                while commands:
                    command = commands.popleft()
                    if isinstance(command, Finish):
                        self._besides.cancel()
                        return
                    if isinstance(command, Blame):
                        again = self._inquest.settle(command.function)
                        settled = Settled(command.function, again)
                        commands.extend(self._schedule.handle(settled))
                    else:
                        self._carry_out(command)
                if isinstance(known, FunctionsReady):
                    self._on_their_way.set()
                self._look_for_the_end()
                if isinstance(known, JobFinished) and self._is_behind():
                    self._send.send_nowait(Recalled())
                    self._stage.recall()

    def _look_for_the_end(self) -> None:
        """Tell the schedule where a serial run ends, when that is known anew."""
        end = self._stage.outcomes.end
        if end.step == 0 and end.function < self._last:
            self._last = end.function
            self._send.send_nowait(Ended(end.function))

    def _is_behind(self) -> bool:
        if self._stage.is_recalled:
            return False
        return self._headway.is_behind(self._schedule.share_done)

    def end_jobs(self) -> None:
        """End all jobs; nobody waits for them any more.

        Their futures fail now, so that `_hear` is called when the channel is closed:
        that, and a loop that is no more, is suppressed there.
        """
        for _, answer in self._in_flight.values():
            self._executor.end(answer)

    async def _do_besides(self) -> None:
        with self._besides:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._pack)
                nursery.start_soon(self._overseer.watch)

    async def _pack(self) -> None:
        while True:
            ready = await _in_thread(self._stage.pack_some)
            if ready is None:
                return
            # Made anew before they are sent, lest they be on their way before we wait.
            self._on_their_way = trio.Event()
            with contextlib.suppress(trio.BrokenResourceError):
                self._send.send_nowait(ready)
            # Else it would keep Python's lock from the loop that sends them. But that
            # may wait for a suspect, and the suspect for a function not packed yet.
            with trio.move_on_after(_LONGEST_WAY):
                await self._on_their_way.wait()

    async def _unpack(self) -> None:
        async for functions in self._to_unpack:
            await _in_thread(self._stage.look_at, functions)

    async def _understood(self, event: _News) -> Event | None:
        """Return what the end of a job means for the schedule, None for nothing."""
        if not isinstance(event, tuple):
            return event
        job, answer = event
        if job not in self._in_flight:
            return None  # it was ended, since nothing of it is wanted
        command, _ = self._in_flight.pop(job)
        error = answer.exception()
        if isinstance(error, NoWorkersError):
            raise self._without_workers(error)
        if isinstance(error, JobLostError):
            return await self._lost(command, error)
        if isinstance(error, JobEndedError):
            return self._ended(command)
        self._overseer.was_overdue(job)  # it was done just before it was ended
        seconds, new = self._stage.take_in(answer.result())
        self._headway.job_came_back(seconds)
        if new and self._stage.wanted:
            if sum(map(_weight, new)) <= _LITTLE:
                self._stage.look_at(new)
            else:
                self._new.send_nowait(new)
        return JobFinished(job, seconds, self._least_job_seconds())

    def _least_job_seconds(self) -> float:
        return getattr(self._executor, "least_job_seconds", 0.0)

    def _without_workers(self, error: NoWorkersError) -> Exception:
        if error.why == "none":
            return error
        if error.why == "end":
            return _dying(error.cause)
        return hanging(self._stage.start_seconds)

    def _ended(self, command: SubmitJob) -> Event:
        if self._overseer.was_overtaken(command.job):
            return Overtaken(command.job)
        late = self._overseer.was_overdue(command.job)
        if late is None:  # somebody killed all workers of the pool
            return JobLost(command.job, None, killed=True)
        self._inquest.blame(late)
        return DeadlinePassed(command.job, late.function)

    async def _lost(self, command: SubmitJob, error: JobLostError) -> Event:
        """Return what the death of a worker means for the schedule."""
        late = self._overseer.was_overdue(command.job)
        if late is not None:
            self._inquest.blame(late)
            return DeadlinePassed(command.job, late.function)
        killed = was_killed(error.cause)
        work = await _in_thread(self._notes.of_process, error.process)
        if (
            work is None
            or work.phase == Phase.START
            or (killed and command.alone and self._inquest.spare(work.function))
        ):
            self._cause = error.cause
            return JobLost(command.job, None, killed, error.host_died)
        if work.step >= self._stage.outcomes.end.steps_on(work.function):
            return Overtaken(command.job)  # a serial run does not come there
        traceback = await _in_thread(self._notes.traceback, work.owner)
        self._inquest.tracebacks[work.owner] = traceback
        self._inquest.blame(work, error.cause)
        return JobLost(command.job, work.function, killed, error.host_died)

    def _carry_out(self, command: Command) -> None:
        match command:
            case SubmitJob():
                self._submit(command)
            case EndJob():
                _, answer = self._in_flight.pop(command.job)
                self._executor.end(answer, at_once=True)
            case GiveUp():
                raise _dying(self._cause)
            case Blame() | Finish():
                pass

    def _submit(self, command: SubmitJob) -> None:
        message = self._stage.job(command.functions)
        answer = self._executor.submit(run_job, message, command.seconds)
        self._in_flight[command.job] = command, answer
        answer.add_done_callback(functools.partial(self._tell, command.job))

    def _tell(self, job: int, answer: Future[bytes]) -> None:
        """Bring the end of a job from the executor's thread to the event loop."""
        with contextlib.suppress(trio.RunFinishedError):
            self._token.run_sync_soon(self._hear, job, answer)

    def _hear(self, job: int, answer: Future[bytes]) -> None:
        with contextlib.suppress(trio.BrokenResourceError):
            self._send.send_nowait((job, answer))


def _weight(held: Held) -> int:
    return 0 if held.packed is None else held.packed.size


def _unwrapped(error: BaseException) -> BaseException:
    """Return the one error that a nursery wrapped, if it is no cancellation."""
    leaf = error
    while isinstance(leaf, BaseExceptionGroup):
        inside = cast("Sequence[BaseException]", leaf.exceptions)
        rest = [one for one in inside if not isinstance(one, trio.Cancelled)]
        if not rest:
            return error
        leaf = rest[0]
    return leaf


def _dying(cause: str) -> RuntimeUseError:
    look = "look at the modules that passes are imported from"
    if was_killed(cause):
        look = "the system may be out of memory"
    return RuntimeUseError(
        f"the worker processes die before they can begin ({cause}), again and again; "
        f"{look}. Run the pipeline with workers=0 to do without them"
    )
