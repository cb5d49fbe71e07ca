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
from parpass.runner.run_options import FailurePolicy, RunnerOptions, RunRequest

if TYPE_CHECKING:
    from parpass.report.progress import Progress
    from parpass.report.report import RunReport
    from parpass.runner.cache.function_cache import FunctionCache
    from parpass.runner.driver.session import Session
    from parpass.runner.executor import Executor
    from parpass.transform import Pass, PassContext

ModT = TypeVar("ModT")

_RECORDER_MODULE = "parpass.report.run_recorder"
_BACKENDS_MODULE = "parpass.runner.driver.task_backends"
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

    The result equals that of a serial run, `a_pass(mod)` under the same context: the
    same module, diagnostics, callbacks and error. The input module is not changed.

    Worker processes stay warm for the next call. They end when no call has used them
    for ten seconds, when the program ends, or when you call `end_idle_workers`. To
    control their lifetime yourself, use a runner from `open_runner`.

    Args:
        mod: The module.
        pipeline: A pass, a sequence of passes, or pipeline text.
        context: The settings; by default the current `PassContext`. Another context,
            with its instruments, is entered for the run.
        workers: The maximum number of processes. None uses every core available to this
            process, within its affinity mask and its container's quota; 0 runs
            everything in this process. Small work stays in this process in any case.
        executor: The executor that runs jobs instead of a pool of processes, or its
            URL, such as `dask://host:8786`. The scheme is the name of an entry point of
            `parpass.executors`. An executor given by URL is opened by the first run and
            closed with the runner, or at the end of the call.
        isolated: Whether to run every function pass in a worker, whatever the cost, so
            that it cannot harm this process. A crash, an exit or a hang then becomes an
            error here, and imports and global writes stay in the worker. Anything that
            cannot be sent to a worker is an error. If False, small work stays in this
            process, and so do passes at first, while their cost is unknown; a crash
            there ends this process. The context option `parpass.isolated` does the
            same.
        cache: Results of earlier runs, or the folder that keeps them. Functions that
            are unchanged, under unchanged passes, settings and neighbours, are taken
            from it.
        function_timeout: The seconds that a pass may take on one function, for passes
            that do not set this themselves. Passes with a limit run in workers, where
            they can be killed; this also holds for the next two limits. If a pass hangs
            on several functions, the error is that of the first in serial order. It is
            raised after at most twice the limit, not counting other work; with "retry",
            after at most four times.
        cpu_limit: The seconds of processor time that a pass may take on one function.
            It counts the thread that runs the pass, while it does not wait. The error
            is of the same type, and names the limit.
        memory_limit: The bytes of memory that a pass may take on one function.
        on_failure: The action if a pass fails on a function: "fail" ends the run;
            "skip" leaves the function unchanged, with a warning; "retry" tries once
            more in another worker.
        report: Called with the report of this run when it has ended, successfully or
            not; for example `reports.append`. Each of several concurrent runs has its
            own.
        progress: Called with the progress of the run, at most five times a second and
            once at the end, on the event loop that awaits the run. Without an event
            loop, as in `run_pipeline_sync`, another thread calls it. The run does not
            wait for it. If it raises, it is not called again. True writes a line a
            second to standard error.
        trace: The file to record the run in, for Perfetto; see `Runner.trace`.

    Returns:
        The new module.

    Raises:
        Exception: The exception of a pass or an instrument, unchanged, with notes that
            name the pass and the function.
        DiagnosticError: A pass reported errors in the program.
        WorkerDiedError: A function killed a worker, twice.
        FunctionTimeoutError: A pass exceeded its time limit on a function.
        MemoryLimitError: A pass exceeded its memory limit on a function.
        ArgumentError: `workers` is below 0 or combined with an executor, or a text is
            not the URL of an executor.
        EntryPointError: No executor has the name in the URL, or its requirements are
            not installed.
        RuntimeUseError: The run is isolated, and there can be no workers or something
            cannot be sent to them.

    Warns:
        SlowerRunWarning: `workers` is over 4 per core and over 32, and is reduced to
            that. Or this is a daemon process, which may not start others, so everything
            runs here. Or no processes or no shared storage can be had, so the rest runs
            here.
        UnpicklablePassWarning: A pass or a function cannot be sent to the workers.
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
        RuntimeUseError: A trio event loop is running in this thread, and would block.

    Warns:
        BlockedLoopWarning: An asyncio event loop is running in this thread, and blocks.
            Not raised in a notebook, where every cell runs in a loop.
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
    """Return a runner, which keeps its processes between runs.

    Under an event loop, write `async with open_runner() as runner:` and
    `await runner.run(mod, pipeline)`; otherwise `with open_runner() as runner:` and
    `runner.run_sync(mod, pipeline)`. You can mix both on one runner. See `run_pipeline`
    for the arguments. After a run, `print(runner.last_report)` shows where its time
    went.
    """
    return Runner(workers=workers, executor=executor, isolated=isolated, cache=cache)


class Runner(WatchedRuns):
    """Runs pipelines on a pool of processes, started once a stage is large enough.

    Several tasks and threads may run pipelines concurrently. If one fails or is
    cancelled, the others are not affected.
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
        limits = _given(
            function_timeout=function_timeout,
            cpu_limit=cpu_limit,
            memory_limit=memory_limit,
            on_failure=on_failure,
        )
        with folding_tracebacks, warn_at_call_site():
            if self._session is None:
                await _in_thread(self._load_for_event_loop)
            session = self._load_session()
            observers = self.observers(began, report, progress)
            request = RunRequest(mod, pipeline, context, limits, observers)
            made = await session.run(request)
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
        limits = _given(
            function_timeout=function_timeout,
            cpu_limit=cpu_limit,
            memory_limit=memory_limit,
            on_failure=on_failure,
        )
        with folding_tracebacks:
            session = self._session or self._load_session()
            observers = self.observers(began, report, progress)
            request = RunRequest(mod, pipeline, context, limits, observers)
            made = session.run_sync(request)
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
                # Not on an event loop, on which this module may be imported.
                from parpass.runner.driver.session import Session

                session = Session(self._options, reuse_pool=self._reuse_pool)
                self._session = session
                weakref.finalize(self, session.close_nowait).atexit = False
            return session

    def _load_for_event_loop(self) -> None:
        """Load what a run needs under an event loop, which other tasks wait for."""
        self._load_session()
        load_module(_RECORDER_MODULE)
        load_module(_BACKENDS_MODULE)  # under asyncio it loads trio

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
    _keeps_last_report = False  # nobody has this runner to ask it


def _given(**limits: Any) -> dict[str, Any]:
    return {name: one for name, one in limits.items() if one is not None}


def _tracing(
    runner: Runner, path: str | os.PathLike[str] | None
) -> contextlib.AbstractContextManager[None]:
    return contextlib.nullcontext() if path is None else runner.trace(path)


def end_idle_workers() -> None:
    """End the processes that are kept for the next call of `run_pipeline`, and wait.

    They end by themselves after ten seconds without a call, and at exit. Calls in
    progress keep their processes, which stay warm afterwards. The pools of runners are
    not affected.
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
