"""The coordinator: runs one stage on a pool, under trio.

Packing, jobs and unpacking overlap, and nothing long runs on the event loop. If passes
have time limits, a task looks at the notes of the workers, and kills them when one is
overdue: that ends whatever it does, in Python or in C.
"""

from __future__ import annotations

import contextlib
import functools
import math
import re
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from typing import cast

import trio

from parpass.errors import RuntimeUseError
from parpass.runtime.executor import (
    START_SECONDS,
    Executor,
    WorkersDiedError,
    WorkersHangError,
    WorkersKilledError,
)
from parpass.runtime.notes import Notes, Phase, Work
from parpass.runtime.pooled import PooledStage
from parpass.runtime.retained import Held
from parpass.runtime.schedule import (
    Blame,
    Command,
    DeadlinePassed,
    Event,
    Finish,
    FunctionsReady,
    GiveUp,
    JobFinished,
    RestartWorkers,
    Schedule,
    Settled,
    SubmitJob,
    WorkersDied,
    WorkersKilled,
)
from parpass.runtime.worker import run_job

_in_thread = trio.to_thread.run_sync

_LONGEST_WAY = 0.01  # seconds from packing functions to sending them, mostly
_LONGEST_LOOK = 0.1  # seconds between two looks at the notes
_KILLED = {"SIGKILL", "SIGTERM"}
_LITTLE = 16_384  # bytes of functions that are unpacked sooner than a thread is asked
_News = Event | tuple[int, Future[bytes]]
_open_news = trio.open_memory_channel[_News]
_open_held = trio.open_memory_channel[list[Held]]


async def run_stage(stage: PooledStage, executor: Executor, notes: Notes) -> None:
    """Run a stage; its outcomes are in `stage.outcomes` then.

    Args:
        stage: The stage, its spec published.
        executor: The pool. If this is cancelled or fails, its workers are killed.
        notes: What workers are working on.

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
        notes: Notes,
        nursery: trio.Nursery,
    ) -> None:
        self._stage = stage
        self._executor = executor
        self._notes = notes
        self._nursery = nursery
        self._schedule = Schedule(
            stage.total,
            executor.workers,
            stage.pace(),
            sized=stage.optimizations.sized_jobs,
        )
        self._in_flight: set[int] = set()
        self._working_on: dict[int, Work] = {}  # of the last death, by function
        self._overdue: dict[int, Work] = {}
        self._was_alone = False  # the job that was lost
        self._spared: set[int] = set()
        self._timed_out = False  # and were killed for it
        self._tracebacks: dict[str, str] = {}  # by owner of a note
        self._cause = ""
        self._single: Executor | None = None  # where a suspect runs
        self._alone_job = 0
        self._watching = trio.CancelScope()
        self._token = trio.lowlevel.current_trio_token()
        self._on_their_way = trio.Event()  # what was packed last
        self._send, self._receive = _open_news(math.inf)
        self._new, self._to_unpack = _open_held(math.inf)

    async def run(self) -> None:
        self._nursery.start_soon(self._unpack)
        self._nursery.start_soon(self._pack)
        self._nursery.start_soon(self._watch)
        await _in_thread(self._executor.start)
        async with self._receive, self._new:
            async for event in self._receive:
                known = await self._understood(event)
                if known is None:
                    continue
                commands = deque(self._schedule.handle(known))
                while commands:
                    command = commands.popleft()
                    if isinstance(command, Finish):
                        self._watching.cancel()
                        return
                    if isinstance(command, Blame):
                        settled = self._settled(command.function)
                        commands.extend(self._schedule.handle(settled))
                    else:
                        await self._carry_out(command)
                if isinstance(known, FunctionsReady):
                    self._on_their_way.set()

    async def _pack(self) -> None:
        while True:
            ready = await _in_thread(self._stage.pack_some)
            if ready is None:
                return
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
            return None  # it was in flight when the workers died, and runs again
        error = answer.exception()
        if isinstance(error, WorkersHangError):
            raise _hanging()
        if isinstance(error, WorkersDiedError | WorkersKilledError):
            self._in_flight.clear()
            self._was_alone = job == self._alone_job
            return await self._lost(error)
        self._in_flight.discard(job)
        seconds, new = self._stage.take_in(answer.result())
        if new and self._stage.wanted:
            if sum(map(_weight, new)) <= _LITTLE:
                self._stage.look_at(new)
            else:
                self._new.send_nowait(new)
        return JobFinished(job, seconds)

    async def _lost(self, error: WorkersDiedError | WorkersKilledError) -> Event:
        """Return what the end of the workers means for the schedule."""
        self._cause = _short_cause(error)
        noted = await _in_thread(self._notes.read)
        await _in_thread(self._notes.forget)
        if self._overdue:
            self._working_on, self._overdue = self._overdue, {}
            self._timed_out = True
            return DeadlinePassed(self._working_on.keys())
        self._timed_out = False
        if isinstance(error, WorkersKilledError):
            return WorkersKilled()
        self._working_on = {
            work.function: work
            for work in noted
            if work.phase != Phase.START
            and (not error.processes or work.process in error.processes)
            and not self._is_spared(work)
        }
        self._tracebacks = {
            work.owner: await _in_thread(self._notes.traceback, work.owner)
            for work in self._working_on.values()
        }
        return WorkersDied(self._working_on.keys(), _from_outside(self._cause))

    def _is_spared(self, work: Work) -> bool:
        """Return whether a suspect that was killed runs alone once more.

        A kill may come from outside, as when the system is out of memory, and a
        suspect may be its victim twice.
        """
        if not self._was_alone or not _from_outside(self._cause):
            return False
        is_first_time = work.function not in self._spared
        self._spared.add(work.function)
        return is_first_time

    def _settled(self, function: int) -> Settled:
        work = self._working_on[function]
        traceback = self._tracebacks.pop(work.owner, "")
        if self._timed_out:
            return Settled(function, self._stage.timed_out(work, traceback))
        return Settled(function, self._stage.died(work, self._cause, traceback))

    async def _watch(self) -> None:
        """Kill workers that are overdue."""
        shortest = self._stage.shortest_limit()
        interval = 1.0 if shortest is None else min(_LONGEST_LOOK, shortest / 4)
        with self._watching:
            while True:
                await trio.sleep(interval)
                if not self._overdue and self._in_flight:
                    await self._look()

    async def _look(self) -> None:
        now, works = time.monotonic_ns(), await _in_thread(self._notes.read)
        overdue = [work for work in works if self._stage.overdue(work, now)]
        if not overdue or not self._in_flight:
            return
        late = [work for work in overdue if work.phase != Phase.START]
        if not late:
            raise _hanging()
        self._overdue = {work.function: work for work in late}
        self._tracebacks = await _in_thread(self._notes.ask_where, late)
        await _in_thread((self._single or self._executor).kill)

    async def _carry_out(self, command: Command) -> None:
        match command:
            case SubmitJob(alone=True):
                await self._submit_alone(command)
            case SubmitJob():
                self._submit(command, self._executor)
            case RestartWorkers():
                await _in_thread(self._executor.start)
                await _in_thread(self._notes.forget)  # none of them is alive now
            case GiveUp():
                raise _dying(self._cause)
            case Blame() | Finish():
                pass

    async def _submit_alone(self, command: SubmitJob) -> None:
        # On a pool of its own: the other one may be shared with other runs, and what
        # they do to it would be held against the suspect.
        self._single = single = self._executor.alone()
        self._alone_job = command.job
        try:
            await _in_thread(single.start)
            answer = self._submit(command, single)
            heard = trio.Event()
            answer.add_done_callback(lambda _: self._token.run_sync_soon(heard.set))
            await heard.wait()
        finally:
            with trio.CancelScope(shield=True):
                await _in_thread(single.kill)
            self._single = None
        if answer.exception() is None:
            self._overdue = {}  # it ended just before it was killed

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


def _hanging() -> RuntimeUseError:
    return RuntimeUseError(
        f"the worker processes hang before they can begin, for {START_SECONDS:g} s "
        "now; an import of the program's main module, or of the module that a pass "
        "comes from, may wait for something. Run the pipeline with workers=0 to do "
        "without them"
    )


def _dying(cause: str) -> RuntimeUseError:
    look = "look at the modules that passes are imported from"
    if _from_outside(cause):
        look = "the system may be out of memory"
    return RuntimeUseError(
        f"the worker processes die before they can begin ({cause}), again and again; "
        f"{look}. Run the pipeline with workers=0 to do without them"
    )


def _from_outside(cause: str) -> bool:
    """Return whether processes that ended were killed, mostly by the system or a user.

    They can do it themselves; but then they do it for ever.
    """
    ends = re.findall(r"(\w+)\(-?\d+\)", cause)
    return bool(ends) and all(end in _KILLED for end in ends)


def _short_cause(error: Exception) -> str:
    """Return the exit codes in loky's message, or all of another one."""
    codes = re.search(r"\{(.+?)\}", str(error))
    return codes[1] if codes else str(error)
