"""The coordinator: everything that waits; the only file that knows trio.

`run_stage` runs one stage on a pool: packing, jobs, unpacking overlap, and nothing long
runs on the event loop. The rest are the places that a pipeline may be run from: under
trio, under asyncio, or from a plain thread.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import math
import re
import threading
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from typing import Any, Protocol, TypeVar, cast

import sniffio
import trio

from parpass.errors import RuntimeUseError, WorkerDiedError
from parpass.runtime.executor import Executor, WorkersDiedError
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
)
from parpass.runtime.worker import run_job

ValueT = TypeVar("ValueT")

_in_thread = trio.to_thread.run_sync


async def run_stage(
    stage: PooledStage, executor: Executor, notes: Callable[[], dict[int, int]]
) -> None:
    """Run a stage; its outcomes are in `stage.outcomes` then.

    Args:
        stage: The stage, its spec published.
        executor: The pool. If this is cancelled or fails, its workers are killed.
        notes: Returns the functions that dead workers were working on, with the step.

    Raises:
        WorkerDiedError: A function killed a worker, twice.
    """
    try:
        async with trio.open_nursery() as nursery:
            await _StageRun(stage, executor, notes, nursery).run()
    except BaseException as error:  # noqa: BLE001 -- raised again, unwrapped
        # Jobs may still be running; nobody waits for them any more.
        with trio.CancelScope(shield=True):
            await _in_thread(executor.kill)
        raise _unwrapped(error) from None


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
        self._schedule = Schedule(stage.total, executor.workers)
        self._in_flight: set[int] = set()
        self._steps_noted: dict[int, int] = {}
        self._cause = ""
        self._token = trio.lowlevel.current_trio_token()
        self._send, self._receive = trio.open_memory_channel[
            Event | tuple[int, Future[bytes]]
        ](math.inf)
        self._new, self._to_unpack = trio.open_memory_channel[list[Held]](math.inf)

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
            if self._stage.wanted:
                await _in_thread(self._stage.look_at, functions)

    async def _understood(
        self, event: Event | tuple[int, Future[bytes]]
    ) -> Event | None:
        """Return what the end of a job means for the schedule, None for nothing."""
        if not isinstance(event, tuple):
            return event
        job, answer = event
        if job not in self._in_flight:
            return None  # it was in flight when the workers died, and runs again
        error = answer.exception()
        if isinstance(error, WorkersDiedError):
            self._in_flight.clear()
            self._cause = _short_cause(error)
            self._steps_noted = await _in_thread(self._notes)
            return WorkersDied(self._steps_noted.keys())
        self._in_flight.discard(job)
        seconds, new = self._stage.take_in(answer.result())
        self._new.send_nowait(new)
        return JobFinished(job, seconds)

    async def _carry_out(self, command: Command) -> None:
        match command:
            case SubmitJob():
                self._submit(command)
            case RestartWorkers():
                await _in_thread(self._executor.kill)
                await _in_thread(self._executor.start)
            case Blame():
                step = self._steps_noted.get(command.function, 0)
                raise WorkerDiedError(
                    pass_name=self._stage.steps[step].info.name,
                    function=self._stage.names[command.function],
                    cause=self._cause,
                )
            case Finish():
                pass

    def _submit(self, command: SubmitJob) -> None:
        self._in_flight.add(command.job)
        message = self._stage.job(command.functions)
        answer = self._executor.submit(run_job, message)
        answer.add_done_callback(functools.partial(self._tell, command.job))

    def _tell(self, job: int, answer: Future[bytes]) -> None:
        """Bring the end of a job from the executor's thread to the event loop."""
        with contextlib.suppress(trio.RunFinishedError):
            self._token.run_sync_soon(self._hear, job, answer)

    def _hear(self, job: int, answer: Future[bytes]) -> None:
        with contextlib.suppress(trio.BrokenResourceError):
            self._send.send_nowait((job, answer))


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


class Host(Protocol):
    """A place that a pipeline is run from; how it waits there."""

    async def call(self, function: Callable[..., ValueT], *args: Any) -> ValueT:
        """Call something that may take long, in the caller's contextvars context."""
        ...

    async def call_last(self, function: Callable[..., ValueT], *args: Any) -> ValueT:
        """The same for what must happen even after a cancellation."""
        ...

    async def wait(self, body: Callable[[], Awaitable[ValueT]]) -> ValueT:
        """Wait for the body of an async module pass, on the caller's event loop."""
        ...

    async def run(
        self, function: Callable[..., Awaitable[ValueT]], *args: Any
    ) -> ValueT:
        """Run something of trio's."""
        ...


class TrioHost:
    """Called from a task of trio's."""

    def __init__(self) -> None:
        self._context = contextvars.copy_context()

    async def call(self, function: Callable[..., ValueT], *args: Any) -> ValueT:
        """Call in a thread, so that the event loop stays responsive."""
        run = _bound(self._context, function, *args)
        return await _in_thread(run, abandon_on_cancel=True)

    async def call_last(self, function: Callable[..., ValueT], *args: Any) -> ValueT:
        """Call in a thread, not to be cancelled."""
        # A call that was abandoned may still be in the context itself.
        run = _bound(self._context.copy(), function, *args)
        done: list[ValueT] = []
        with trio.CancelScope(shield=True):
            done.append(await _in_thread(run))
        return done[0]

    async def wait(self, body: Callable[[], Awaitable[ValueT]]) -> ValueT:
        """Wait in this task."""
        return await body()

    async def run(
        self, function: Callable[..., Awaitable[ValueT]], *args: Any
    ) -> ValueT:
        """Run in this task."""
        return await function(*args)


class AsyncioHost:
    """Called from a task of asyncio's; trio runs in a thread beside it."""

    def __init__(self) -> None:
        self._context = contextvars.copy_context()

    async def call(self, function: Callable[..., ValueT], *args: Any) -> ValueT:
        """Call in a thread, so that the event loop stays responsive."""
        return await _asyncio_thread(_bound(self._context, function, *args))

    async def call_last(self, function: Callable[..., ValueT], *args: Any) -> ValueT:
        """Call in a thread; asyncio cancels a task once only."""
        return await _asyncio_thread(_bound(self._context.copy(), function, *args))

    async def wait(self, body: Callable[[], Awaitable[ValueT]]) -> ValueT:
        """Wait in this task."""
        return await body()

    async def run(
        self, function: Callable[..., Awaitable[ValueT]], *args: Any
    ) -> ValueT:
        """Run a trio event loop in a thread; a cancellation is passed on to it."""
        import asyncio

        elsewhere = _Elsewhere(function, *args)
        running = asyncio.ensure_future(_asyncio_thread(elsewhere.run))
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            elsewhere.cancel()
            await asyncio.wait([running])
            running.exception()  # its Cancelled, so that asyncio does not report it
            raise


class BlockingHost:
    """Called from a plain thread, or from one whose event loop may be blocked."""

    def __init__(self) -> None:
        library = _running_library()
        if library == "trio":
            raise RuntimeUseError(
                "run_pipeline_sync was called inside a running trio event loop, which "
                "it would block; write 'await parpass.run_pipeline(...)' instead"
            )
        self._in_loop = library is not None

    async def call(self, function: Callable[..., ValueT], *args: Any) -> ValueT:
        """Call here."""
        return function(*args)

    call_last = call

    async def wait(self, body: Callable[[], Awaitable[ValueT]]) -> ValueT:
        """Wait for it on a trio event loop of its own."""
        return await self.run(body)

    async def run(
        self, function: Callable[..., Awaitable[ValueT]], *args: Any
    ) -> ValueT:
        """Run a trio event loop here, or in a thread beside the loop that runs here."""
        if not self._in_loop:
            return trio.run(function, *args)
        elsewhere = _Elsewhere(function, *args)
        thread = threading.Thread(target=elsewhere.run_for_future, daemon=True)
        thread.start()
        try:
            return elsewhere.future.result()
        except KeyboardInterrupt:
            elsewhere.cancel()
            thread.join()
            raise


class _Elsewhere:
    """A trio event loop in another thread, that can be cancelled from this one."""

    def __init__(self, function: Callable[..., Awaitable[Any]], *args: Any) -> None:
        self.future: Future[Any] = Future()
        self._function = function
        self._args = args
        self._scope = trio.CancelScope()
        self._token: trio.lowlevel.TrioToken | None = None
        self._cancelled = False

    def run(self) -> Any:
        return trio.run(self._main)

    def run_for_future(self) -> None:
        try:
            self.future.set_result(self.run())
        except BaseException as error:  # noqa: BLE001 -- raised where it is waited for
            self.future.set_exception(error)

    def cancel(self) -> None:
        self._cancelled = True
        if self._token is not None:
            with contextlib.suppress(trio.RunFinishedError):
                self._token.run_sync_soon(self._scope.cancel)

    async def _main(self) -> Any:
        self._token = trio.lowlevel.current_trio_token()
        with self._scope:
            if self._cancelled:
                self._scope.cancel()
            return await self._function(*self._args)


def _bound(
    context: contextvars.Context, function: Callable[..., ValueT], *args: Any
) -> Callable[[], ValueT]:
    """Return a call to be made in a contextvars context."""

    def call() -> ValueT:
        return context.run(function, *args)

    return call


async def _asyncio_thread(call: Callable[[], ValueT]) -> ValueT:
    import asyncio

    return await asyncio.get_running_loop().run_in_executor(None, call)


def current_host() -> Host:
    """Return the host for the event loop that is running here.

    Raises:
        RuntimeUseError: None that we know is running.
    """
    library = _running_library()
    if library == "trio":
        return TrioHost()
    if library == "asyncio":
        return AsyncioHost()
    raise RuntimeUseError(
        f"run_pipeline can be awaited under trio and asyncio, not under {library}; use "
        "parpass.run_pipeline_sync instead"
    )


def _running_library() -> str | None:
    try:
        return sniffio.current_async_library()
    except sniffio.AsyncLibraryNotFoundError:
        return None
