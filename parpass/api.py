"""The public functions: `run_pipeline`, `run_pipeline_sync`, `open_runner`.

This module may be imported, and runners be opened, on an event loop: the first run
imports the rest, in a thread.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

import sniffio

from parpass.errors import ArgumentError, RuntimeUseError
from parpass.errors.tracebacks import folding_tracebacks
from parpass.errors.warning import warn_at_call_site
from parpass.fork_safety import forks_wait
from parpass.lazy_loader import load_module
from parpass.report.watched_runs import WatchedRuns
from parpass.runner.cores import clamp_workers
from parpass.runner.run_options import (
    FailurePolicy,
    RunnerOptions,
    RunOptions,
    RunRequest,
)

if TYPE_CHECKING:
    from parpass.report.progress import Progress
    from parpass.report.report import RunReport
    from parpass.runner.cache.function_cache import FunctionCache
    from parpass.runner.driver.session import Session
    from parpass.runner.executor import Executor
    from parpass.transform import Pass, PassContext

ModT = TypeVar("ModT")

_SESSION_MODULE = "parpass.runner.driver.session"
_RECORDER_MODULE = "parpass.report.run_recorder"
_REUSABLE_MODULE = "parpass.runner.pool.reusable"


async def run_pipeline(
    mod: ModT,
    pipeline: Pass | Sequence[Pass] | str,
    *,
    context: PassContext | None = None,
    workers: int | None = None,
    executor: Executor | str | None = None,
    isolated: bool = False,
    cache: FunctionCache | str | os.PathLike[str] | None = None,
    function_timeout: float | None = None,
    cpu_limit: float | None = None,
    memory_limit: int | None = None,
    on_failure: FailurePolicy | None = None,
    report: Callable[[RunReport], object] | None = None,
    trace: str | os.PathLike[str] | None = None,
    progress: Callable[[Progress], object] | bool | None = None,
) -> ModT:
    """Run a pipeline on a module, on every core; await it under trio or asyncio.

    The result is that of a serial run, `a_pass(mod)` under the same context: the same
    module, diagnostics, callbacks and error. The module that is passed in stays as it
    was. Processes, if there were any, are left to the next call; they end when no call
    has used them for ten seconds, with the program, or by `end_idle_workers`. To say
    yourself how long they live run pipelines on a runner, by `open_runner`.

    Args:
        mod: The module.
        pipeline: A pass, a sequence of passes, or pipeline text.
        context: The settings; by default the current `PassContext`. One that is not
            the current one is entered for the run, and its instruments with it.
        workers: How many processes at most; None for every core that this process may
            use (its affinity mask and its container's quota are regarded), 0 to stay in
            this one. Small work stays in this process anyway.
        executor: The executor that runs jobs, in place of a pool of processes; or its
            URL, such as `dask://host:8786`, whose scheme is the name of an entry point
            of `parpass.executors`. It is opened by the first run then, and closed with
            the runner, or with the call.
        isolated: Whether every function pass runs in a worker, whatever that costs, so
            that nothing it does can hurt this process: a crash, an exit or a hang in
            it is an error here, and what it imports or writes to globals stays there.
            Otherwise small work stays in this process, and passes whose cost is not
            known begin here: one that crashes takes this process along. What cannot be
            sent to a worker is an error then. The option `parpass.isolated` of a
            context says the same.
        cache: Results of earlier runs, or the folder where they are kept. Functions
            that are the same as before, under passes, settings and neighbours that are,
            are taken from it.
        function_timeout: Seconds that a pass may take on one function, for each pass
            that says nothing itself. Passes with a limit run in the workers, where
            they can be killed; so with the next two. The first in serial order to
            hang is an error after twice as long at most, besides other work, on
            however many functions the pass hangs; with "retry" after four times.
        cpu_limit: Seconds of the processor that a pass may take on one function,
            likewise: of the thread that runs it, while it does not wait. An error of
            the same kind, which names the limit.
        memory_limit: Bytes that a pass may take on one function, likewise.
        on_failure: What to do if a pass fails on a function, likewise: "fail" ends the
            run, "skip" leaves the function as it was, with a warning, "retry" tries it
            once more in another worker.
        report: Called with the report of this run when it has ended, however that was;
            `reports.append`, say. Of several runs at once each has its own.
        progress: Called with how far the run is, on the event loop that awaits it, at
            most five times a second, and once more when it has ended. Where nothing
            awaits, as with `run_pipeline_sync`, another thread calls it while this one
            is busy. The run does not wait for it. One that raises is called no more.
            True writes a line a second to standard error.
        trace: The file that the run is recorded in, for Perfetto; see `Runner.trace`.

    Returns:
        The new module.

    Raises:
        Exception: What a pass, or an instrument, raised: as itself, with notes that
            name pass and function.
        DiagnosticError: A pass reported errors on the program.
        WorkerDiedError: A function killed a worker, twice.
        FunctionTimeoutError: A pass took longer on a function than it may.
        MemoryLimitError: A pass took more memory on a function than it may.
        ArgumentError: `workers` is below 0, or is given beside an executor; or a text
            is no executor's URL.
        EntryPointError: No executor has the name that the URL gives, or what it needs
            is not installed.
        RuntimeUseError: The run is isolated, and there can be no workers, or something
            cannot be sent to them.

    Warns:
        SlowerRunWarning: More workers than 4 for each core, and than 32, were asked for
            (so many are used), this is a daemon process, which may start no others (all
            runs in it), or processes cannot be had, or there is no room for what they
            share (the rest runs in this one).
        UnpicklablePassWarning: A pass, or a function, cannot be sent to the workers.
        TraceWarning: The trace cannot be written.
        ProgressWarning: `progress` raised an error.
    """
    runner = _OneShotRunner(
        workers=workers, executor=executor, isolated=isolated, cache=cache
    )
    with folding_tracebacks:
        async with runner:
            with _tracing(runner, trace):
                return await runner.run(
                    mod,
                    pipeline,
                    context=context,
                    function_timeout=function_timeout,
                    cpu_limit=cpu_limit,
                    memory_limit=memory_limit,
                    on_failure=on_failure,
                    report=report,
                    progress=progress,
                )


def run_pipeline_sync(
    mod: ModT,
    pipeline: Pass | Sequence[Pass] | str,
    *,
    context: PassContext | None = None,
    workers: int | None = None,
    executor: Executor | str | None = None,
    isolated: bool = False,
    cache: FunctionCache | str | os.PathLike[str] | None = None,
    function_timeout: float | None = None,
    cpu_limit: float | None = None,
    memory_limit: int | None = None,
    on_failure: FailurePolicy | None = None,
    report: Callable[[RunReport], object] | None = None,
    trace: str | os.PathLike[str] | None = None,
    progress: Callable[[Progress], object] | bool | None = None,
) -> ModT:
    """Run a pipeline on a module, on every core, and wait for it.

    For scripts, threads and notebooks. See `run_pipeline` for arguments and errors.

    Raises:
        RuntimeUseError: A trio event loop is running here, which this would block.

    Warns:
        BlockedLoopWarning: An asyncio event loop is running here, which this blocks;
            not in a notebook, whose cells all run so.
    """
    runner = _OneShotRunner(
        workers=workers, executor=executor, isolated=isolated, cache=cache
    )
    with folding_tracebacks, runner, _tracing(runner, trace):
        return runner.run_sync(
            mod,
            pipeline,
            context=context,
            function_timeout=function_timeout,
            cpu_limit=cpu_limit,
            memory_limit=memory_limit,
            on_failure=on_failure,
            report=report,
            progress=progress,
        )


def open_runner(
    *,
    workers: int | None = None,
    executor: Executor | str | None = None,
    isolated: bool = False,
    cache: FunctionCache | str | os.PathLike[str] | None = None,
) -> Runner:
    """Return a runner, which keeps its processes from one run to the next.

    Under an event loop `async with open_runner() as runner:` and
    `await runner.run(mod, pipeline)`; elsewhere `with open_runner() as runner:` and
    `runner.run_sync(mod, pipeline)`. One runner may be used in both ways. See
    `run_pipeline` for the arguments. After a run `print(runner.last_report)` tells
    where its time went.
    """
    return Runner(workers=workers, executor=executor, isolated=isolated, cache=cache)


class Runner(WatchedRuns):
    """Runs pipelines on a pool of processes, which start when a stage is large enough.

    Tasks and threads may run several pipelines concurrently. The failure or
    cancellation of one does not affect the others.
    """

    _reuse_pool = False  # processes of other calls

    def __init__(
        self,
        *,
        workers: int | None = None,
        executor: Executor | str | None = None,
        isolated: bool = False,
        cache: FunctionCache | str | os.PathLike[str] | None = None,
    ) -> None:
        _check_arguments(workers, executor, isolated)
        self._options = RunnerOptions(
            workers=None if workers is None else clamp_workers(workers),
            executor=executor,
            isolated=isolated,
            cache=_opened(cache),
        )
        self._session: Session | None = None
        self._lock = threading.RLock()
        self._closed = False
        super().__init__()

    async def run(
        self,
        mod: ModT,
        pipeline: Pass | Sequence[Pass] | str,
        *,
        context: PassContext | None = None,
        function_timeout: float | None = None,
        cpu_limit: float | None = None,
        memory_limit: int | None = None,
        on_failure: FailurePolicy | None = None,
        report: Callable[[RunReport], object] | None = None,
        progress: Callable[[Progress], object] | bool | None = None,
    ) -> ModT:
        """Run a pipeline; see `run_pipeline`."""
        began = time.perf_counter()
        options = RunOptions.of(
            context,
            function_timeout=function_timeout,
            cpu_limit=cpu_limit,
            memory_limit=memory_limit,
            on_failure=on_failure,
        )
        with folding_tracebacks, warn_at_call_site():
            if self._session is None:
                await _in_thread(self._load_session)
            session = self._load_session()
            observers = self.observers(began, report, progress)
            request = RunRequest(mod, pipeline, options, observers)
            made = await session.run(request)
        if self.recordings:
            self.add_module(made)
        return made

    def run_sync(
        self,
        mod: ModT,
        pipeline: Pass | Sequence[Pass] | str,
        *,
        context: PassContext | None = None,
        function_timeout: float | None = None,
        cpu_limit: float | None = None,
        memory_limit: int | None = None,
        on_failure: FailurePolicy | None = None,
        report: Callable[[RunReport], object] | None = None,
        progress: Callable[[Progress], object] | bool | None = None,
    ) -> ModT:
        """Run a pipeline and wait for it; see `run_pipeline_sync`."""
        began = time.perf_counter()
        options = RunOptions.of(
            context,
            function_timeout=function_timeout,
            cpu_limit=cpu_limit,
            memory_limit=memory_limit,
            on_failure=on_failure,
        )
        with folding_tracebacks:
            session = self._session or self._load_session()
            observers = self.observers(began, report, progress)
            request = RunRequest(mod, pipeline, options, observers)
            made = session.run_sync(request)
        if self.recordings:
            self.add_module(made)
        return made

    def close(self) -> None:
        """End the processes."""
        self._closed = True
        if self._session is not None:
            self._session.close()

    def _load_session(self) -> Session:
        """Return what carries out the runs, loaded when it is first needed."""
        with forks_wait(), self._lock:
            if self._closed:
                raise RuntimeUseError.closed("runner")
            session = self._session
            if session is None:
                load = load_module(_SESSION_MODULE).Session
                load_module(_RECORDER_MODULE)
                session = load(self._options, reuse_pool=self._reuse_pool)
                self._session = session
                weakref.finalize(self, session.close_nowait).atexit = False
            return cast("Session", session)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._closed = True
        if self._session is not None:
            await self._session.close_async()


class _OneShotRunner(Runner):
    """The runner of one call of `run_pipeline`: its processes are kept for the next."""

    _reuse_pool = True


_UNTRACED = contextlib.nullcontext()


def _tracing(
    runner: Runner, path: str | os.PathLike[str] | None
) -> contextlib.AbstractContextManager[None]:
    return _UNTRACED if path is None else runner.trace(path)


def end_idle_workers() -> None:
    """End the processes that are kept for the next call of `run_pipeline`, and wait.

    They end on their own when no call has used them for ten seconds, and at exit. Calls
    that are running keep theirs, which are kept after them. Pools of runners are not
    affected.
    """
    reusable = sys.modules.get(_REUSABLE_MODULE)
    if reusable is not None:  # else there are none
        reusable.POOLS.close_idle()


async def _in_thread(load: Any) -> None:
    """Load what is needed, in a thread of the event loop that runs here."""
    # Under another event loop the run itself says what is wrong.
    with contextlib.suppress(sniffio.AsyncLibraryNotFoundError):
        library = sniffio.current_async_library()
        if library == "trio":
            import trio  # running by now, and so below

            await trio.to_thread.run_sync(load, abandon_on_cancel=True)
        elif library == "asyncio":
            import asyncio  # likewise

            await asyncio.to_thread(load)


def _opened(
    cache: FunctionCache | str | os.PathLike[str] | None,
) -> FunctionCache | None:
    if cache is None:
        return None
    # Most runs do without.
    from parpass.runner.cache.function_cache import FunctionCache

    if isinstance(cache, FunctionCache):
        return cache
    is_path = isinstance(cast("object", cache), str | os.PathLike)
    if not is_path or not os.fspath(cache) or "://" in str(cache):
        raise ArgumentError(
            f"expected a FunctionCache or the path of a folder for cache, got {cache!r}"
        )
    return FunctionCache(cache)


def _check_arguments(
    workers: int | None, executor: Executor | str | None, isolated: bool
) -> None:
    if isinstance(executor, str) and executor.find("://") < 1:
        raise ArgumentError(
            "expected an executor, or its URL, such as 'dask://host:8786', got "
            f"{executor!r}"
        )
    given = cast("object", workers)
    if given is None:
        return
    if not isinstance(given, int) or isinstance(given, bool) or given < 0:
        raise ArgumentError(
            "expected None or a number of processes for workers, 0 or more, got "
            f"{workers!r}"
        )
    if executor is not None:
        raise ArgumentError(
            "expected workers or executor, got both; the executor decides how many "
            "workers there are"
        )
    if isolated and workers == 0:
        raise ArgumentError(
            "isolated=True needs workers, got workers=0; use None, or 1 or more"
        )
