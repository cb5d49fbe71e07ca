"""Running pipelines in parallel: `run_pipeline`, `run_pipeline_sync`, `open_runner`.

This may be loaded, and runners be opened, on an event loop: all that takes long to load
is loaded by the first run, in a thread.
"""

from __future__ import annotations

import contextlib
import importlib
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, cast

import sniffio

from parpass.errors import ArgumentError, RuntimeUseError
from parpass.errors.tracebacks import folding
from parpass.errors.warning import called_from_here

if TYPE_CHECKING:
    from parpass.runner.driving.runs import Runs
    from parpass.runner.executor import Executor
    from parpass.runner.report.report import RunReport
    from parpass.transform import Pass, PassContext

ModT = TypeVar("ModT")
FailurePolicy = Literal["fail", "skip", "retry"]

_RUNS = "parpass.runner.driving.runs"
_ANYWHERE = 32  # workers that are started even where there are few cores


async def run_pipeline(
    mod: ModT,
    pipeline: Pass | Sequence[Pass] | str,
    *,
    context: PassContext | None = None,
    workers: int | None = None,
    executor: Executor | None = None,
    isolated: bool = False,
    function_timeout: float | None = None,
    memory_limit: int | None = None,
    on_failure: FailurePolicy | None = None,
    report: Callable[[RunReport], object] | None = None,
) -> ModT:
    """Run a pipeline on a module, on every core; await it under trio or asyncio.

    The result is that of a serial run, `a_pass(mod)` under the same context: the same
    module, diagnostics, callbacks and error. The module that is passed in stays as it
    was, and no process is left behind. To run several pipelines keep the processes,
    with `open_runner`.

    Args:
        mod: The module.
        pipeline: A pass, a sequence of passes, or pipeline text.
        context: The settings; by default the current `PassContext`. One that is not
            the current one is entered for the run, and its instruments with it.
        workers: How many processes at most; None for every core that this process may
            use (its affinity mask and its container's quota are regarded), 0 to stay in
            this one. Small work stays in this process anyway.
        executor: Where jobs run instead of a pool of loky's.
        isolated: Whether every function pass runs in a worker, whatever that costs, so
            that nothing it does can hurt this process: a crash, an exit or a hang in
            it is an error here. Small work stays in this process otherwise, and a pass
            that crashes there takes it along. What cannot be sent to a worker is an
            error then. The option `parpass.isolated` of a context says the same.
        function_timeout: Seconds that a pass may take on one function, for each pass
            that says nothing itself. Passes that have a limit run in the workers, where
            they can be killed; so with the next two.
        memory_limit: Bytes that a pass may take on one function, likewise.
        on_failure: What to do if a pass fails on a function, likewise: "fail" ends the
            run, "skip" leaves the function as it was, with a warning, "retry" tries it
            once more in another worker.
        report: Called with the report of this run when it has ended, however that was;
            `reports.append`, say. Of several runs at once each has its own.

    Returns:
        The new module.

    Raises:
        Exception: What a pass, or an instrument, raised: as itself, with notes that
            name pass and function.
        DiagnosticError: A pass reported errors on the program.
        WorkerDiedError: A function killed a worker, twice.
        FunctionTimeoutError: A pass took longer on a function than it may.
        MemoryLimitError: A pass took more memory on a function than it may.
        ArgumentError: `workers` is below 0, or is given beside an executor.
        RuntimeUseError: The run is isolated, and there can be no workers, or something
            cannot be sent to them.

    Warns:
        SlowerRunWarning: More workers than 4 for each core, and than 32, were asked for
            (so many are used), this is a daemon process, which may start no others (all
            runs in it), or processes cannot be had, or there is no room for what they
            share (the rest runs in this one).
        UnpicklablePassWarning: A pass, or a function, cannot be sent to the workers.
    """
    runner = open_runner(workers=workers, executor=executor, isolated=isolated)
    with folding:
        async with runner:
            return await runner.run(
                mod,
                pipeline,
                context=context,
                function_timeout=function_timeout,
                memory_limit=memory_limit,
                on_failure=on_failure,
                report=report,
            )


def run_pipeline_sync(
    mod: ModT,
    pipeline: Pass | Sequence[Pass] | str,
    *,
    context: PassContext | None = None,
    workers: int | None = None,
    executor: Executor | None = None,
    isolated: bool = False,
    function_timeout: float | None = None,
    memory_limit: int | None = None,
    on_failure: FailurePolicy | None = None,
    report: Callable[[RunReport], object] | None = None,
) -> ModT:
    """Run a pipeline on a module, on every core, and wait for it.

    For scripts, threads and notebooks. See `run_pipeline` for arguments and errors.

    Raises:
        RuntimeUseError: A trio event loop is running here, which this would block.

    Warns:
        BlockedLoopWarning: An asyncio event loop is running here, which this blocks;
            not in a notebook, whose cells all run so.
    """
    runner = open_runner(workers=workers, executor=executor, isolated=isolated)
    with folding, runner:
        return runner.run_sync(
            mod,
            pipeline,
            context=context,
            function_timeout=function_timeout,
            memory_limit=memory_limit,
            on_failure=on_failure,
            report=report,
        )


def open_runner(
    *,
    workers: int | None = None,
    executor: Executor | None = None,
    isolated: bool = False,
) -> Runner:
    """Return a runner, which keeps its processes from one run to the next.

    `async with open_runner() as runner: await runner.run(mod, pipeline)`, or with a
    plain `with` and `runner.run_sync`. See `run_pipeline` for the arguments. After a
    run `print(runner.last_report)` tells where its time went.
    """
    return Runner(workers=workers, executor=executor, isolated=isolated)


class Runner:
    """Runs pipelines on a pool of processes, started when work is worth it.

    Several runs may be under way at once, from tasks and threads. What ends one of them
    is no concern of the others.
    """

    def __init__(
        self,
        *,
        workers: int | None = None,
        executor: Executor | None = None,
        isolated: bool = False,
    ) -> None:
        _check(workers, executor, isolated)
        if workers is not None and workers > _ANYWHERE:
            workers = importlib.import_module(_RUNS).sensible_workers(workers)
        self._arguments = workers, executor, isolated
        self._runs: Runs | None = None
        self._lock = threading.Lock()
        self._closed = False

    async def run(
        self,
        mod: ModT,
        pipeline: Pass | Sequence[Pass] | str,
        *,
        context: PassContext | None = None,
        function_timeout: float | None = None,
        memory_limit: int | None = None,
        on_failure: FailurePolicy | None = None,
        report: Callable[[RunReport], object] | None = None,
    ) -> ModT:
        """Run a pipeline; see `run_pipeline`."""
        began = time.perf_counter()
        with folding, called_from_here():
            if self._runs is None:
                await _in_thread(self._loaded)
            limits = function_timeout, memory_limit, on_failure
            runs = self._loaded()
            return await runs.run(mod, pipeline, context, limits, report, began)

    def run_sync(
        self,
        mod: ModT,
        pipeline: Pass | Sequence[Pass] | str,
        *,
        context: PassContext | None = None,
        function_timeout: float | None = None,
        memory_limit: int | None = None,
        on_failure: FailurePolicy | None = None,
        report: Callable[[RunReport], object] | None = None,
    ) -> ModT:
        """Run a pipeline and wait for it; see `run_pipeline_sync`."""
        began = time.perf_counter()
        limits = function_timeout, memory_limit, on_failure
        with folding:
            runs = self._runs or self._loaded()
            return runs.run_sync(mod, pipeline, context, limits, report, began)

    @property
    def last_report(self) -> RunReport | None:
        """How the time of the last run went; None before the first has ended.

        A run that failed is told of, too; of several at once, the one that ended last.
        """
        return None if self._runs is None else self._runs.last_report

    def close(self) -> None:
        """End the processes."""
        self._closed = True
        if self._runs is not None:
            self._runs.close()

    def _loaded(self) -> Runs:
        """Return what carries out the runs, loaded when it is first needed."""
        with self._lock:
            if self._closed:
                raise RuntimeUseError("this runner is closed; open another one")
            runs = self._runs
            if runs is None:
                workers, executor, isolated = self._arguments
                load = importlib.import_module(_RUNS).Runs
                self._runs = runs = load(workers, executor, isolated=isolated)
                weakref.finalize(self, runs.abandon).atexit = False
            return cast("Runs", runs)

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
        if self._runs is not None:
            await self._runs.close_async()


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


def _check(workers: int | None, executor: Executor | None, isolated: bool) -> None:
    given = cast("object", workers)
    if given is None:
        return
    if not isinstance(given, int) or isinstance(given, bool) or given < 0:
        raise ArgumentError(
            "expected None or a number of processes from 0 up for workers, got "
            f"{workers!r}"
        )
    if executor is not None:
        raise ArgumentError(
            f"got workers={workers} beside an executor, which has as many as it has; "
            "give one of the two"
        )
    if isolated and workers == 0:
        raise ArgumentError(
            "got isolated=True with workers=0: an isolated run has every function pass "
            "in a worker; give None, or 1 and more"
        )
