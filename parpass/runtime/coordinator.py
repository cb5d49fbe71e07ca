"""The coordinator: runs one stage on a pool, under trio.

Packing, jobs and unpacking overlap, and nothing long runs on the event loop.
"""

from __future__ import annotations

import contextlib
import functools
import math
import re
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import cast

import trio

from parpass.errors import RuntimeUseError
from parpass.runtime.executor import (
    Executor,
    WorkersDiedError,
    WorkersKilledError,
)
from parpass.runtime.pooled import PooledStage
from parpass.runtime.retained import Held
from parpass.runtime.schedule import (
    Blame,
    Command,
    Event,
    Finish,
    JobFinished,
    RestartWorkers,
    Schedule,
    SubmitJob,
    WorkersDied,
    WorkersKilled,
)
from parpass.runtime.worker import run_job

_in_thread = trio.to_thread.run_sync

_LITTLE = 16_384  # bytes of functions that are unpacked sooner than a thread is asked
_News = Event | tuple[int, Future[bytes]]
_open_news = trio.open_memory_channel[_News]
_open_held = trio.open_memory_channel[list[Held]]


async def run_stage(
    stage: PooledStage, executor: Executor, notes: Callable[[], dict[int, int]]
) -> None:
    """Run a stage; its outcomes are in `stage.outcomes` then.

    Args:
        stage: The stage, its spec published.
        executor: The pool. If this is cancelled or fails, its workers are killed.
        notes: Returns the functions that dead workers were working on, with the step.

    Raises:
        RuntimeUseError: The workers die before they begin, or the executor is closed.
    """
    try:
        async with trio.open_nursery() as nursery:
            await _StageRun(stage, executor, notes, nursery).run()
    except BaseException as error:  # noqa: BLE001 -- raised again, unwrapped
        # Jobs may still be running; nobody waits for them any more.
        with trio.CancelScope(shield=True):
            await _in_thread(executor.kill)
        leaf = _unwrapped(error)
        raise leaf from leaf.__cause__


class _StageRun:
    def __init__(
        self,
        stage: PooledStage,
        executor: Executor,
        notes: Callable[[], dict[int, int]],
        nursery: trio.Nursery,
    ) -> None:
        self._stage = stage
        self._executor = executor
        self._notes = notes
        self._nursery = nursery
        self._schedule = Schedule(stage.total, executor.workers, stage.pace())
        self._in_flight: set[int] = set()
        self._steps_noted: dict[int, int] = {}
        self._cause = ""
        self._token = trio.lowlevel.current_trio_token()
        self._send, self._receive = _open_news(math.inf)
        self._new, self._to_unpack = _open_held(math.inf)

    async def run(self) -> None:
        self._nursery.start_soon(self._unpack)
        self._nursery.start_soon(self._pack)
        await _in_thread(self._executor.start)
        async with self._receive, self._new:
            async for event in self._receive:
                known = await self._understood(event)
                if known is None:
                    continue
                for command in self._schedule.handle(known):
                    if isinstance(command, Finish):
                        return
                    await self._carry_out(command)

    async def _pack(self) -> None:
        while True:
            ready = await _in_thread(self._stage.pack_some)
            if ready is None:
                return
            with contextlib.suppress(trio.BrokenResourceError):
                self._send.send_nowait(ready)

    async def _unpack(self) -> None:
        async for functions in self._to_unpack:
            await _in_thread(self._stage.look_at, functions)

    async def _understood(self, event: _News) -> Event | None:
        """Return what the end of a job means for the schedule, None for nothing."""
        if not isinstance(event, tuple):
            return event
        job, answer = event
        if job not in self._in_flight:
            return None  # it was in flight when the workers died, and runs again
        error = answer.exception()
        if isinstance(error, WorkersDiedError | WorkersKilledError):
            self._in_flight.clear()
            self._cause = _short_cause(error)
            self._steps_noted = await _in_thread(self._notes)
            if isinstance(error, WorkersKilledError):
                return WorkersKilled()
            return WorkersDied(self._steps_noted.keys())
        self._in_flight.discard(job)
        seconds, new = self._stage.take_in(answer.result())
        if new and self._stage.wanted:
            if sum(map(_weight, new)) <= _LITTLE:
                self._stage.look_at(new)
            else:
                self._new.send_nowait(new)
        return JobFinished(job, seconds)

    async def _carry_out(self, command: Command) -> None:
        match command:
            case SubmitJob(alone=True):
                await self._submit_alone(command)
            case SubmitJob():
                self._submit(command, self._executor)
            case RestartWorkers():
                await _in_thread(self._executor.start)
            case Blame():
                self._blame(command.function)
            case Finish():
                pass

    async def _submit_alone(self, command: SubmitJob) -> None:
        # On a pool of its own: the other one may be shared with other runs, and what
        # they do to it would be held against the suspect.
        single = self._executor.alone()
        try:
            await _in_thread(single.start)
            answer = self._submit(command, single)
            heard = trio.Event()
            answer.add_done_callback(lambda _: self._token.run_sync_soon(heard.set))
            await heard.wait()
        finally:
            with trio.CancelScope(shield=True):
                await _in_thread(single.kill)

    def _blame(self, function: int) -> None:
        if function not in self._steps_noted:
            raise RuntimeUseError(
                f"the worker processes die before they can begin ({self._cause}); run "
                "the pipeline with workers=0 to do without them"
            )
        self._stage.blame(function, self._steps_noted[function], self._cause)

    def _submit(self, command: SubmitJob, executor: Executor) -> Future[bytes]:
        self._in_flight.add(command.job)
        message = self._stage.job(command.functions)
        answer = executor.submit(run_job, message)
        answer.add_done_callback(functools.partial(self._tell, command.job))
        return answer

    def _tell(self, job: int, answer: Future[bytes]) -> None:
        """Bring the end of a job from the executor's thread to the event loop."""
        with contextlib.suppress(trio.RunFinishedError):
            self._token.run_sync_soon(self._hear, job, answer)

    def _hear(self, job: int, answer: Future[bytes]) -> None:
        with contextlib.suppress(trio.BrokenResourceError):
            self._send.send_nowait((job, answer))


def _weight(held: Held) -> int:
    return 0 if held.packed is None else len(held.packed.payload)


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


def _short_cause(error: Exception) -> str:
    """Return the exit codes in loky's message, or all of another one."""
    codes = re.search(r"\{(.+?)\}", str(error))
    return codes[1] if codes else str(error)
