"""Running pipelines in parallel: `run_pipeline`, `run_pipeline_sync`, `open_runner`."""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Coroutine, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack, cast

from parpass.errors import (
    ArgumentError,
    RuntimeUseError,
    SlowerRunWarning,
)
from parpass.runtime.account import Account
from parpass.runtime.at_once import NOT_SMALL, Begun, begin, may_be_small, run_if_small
from parpass.runtime.drive import Drive
from parpass.runtime.executor import Executor
from parpass.runtime.forecasts import Ledger
from parpass.runtime.report import RunReport
from parpass.transform import Pass, PassContext, as_pass
from parpass.transform.apply import inside_function_pass
from parpass.transform.budget import UNSET, LimitArguments, Limits, limits_in_force

ValueT = TypeVar("ValueT")

Pipeline = Pass | Sequence[Pass] | str

_AS_IT_IS = contextlib.nullcontext()
_FOR_EACH_CORE = 4  # workers at most
_ANYWHERE = 32  # workers that are started even where there are few cores


async def run_pipeline(
    mod: Any,
    pipeline: Pipeline,
    *,
    context: PassContext | None = None,
    workers: int | None = None,
    executor: Executor | None = None,
    **limits: Unpack[LimitArguments],
) -> Any:
    """Run a pipeline on a module, on every core; await it under trio or asyncio.

    The result is that of a serial run, `a_pass(mod)` under the same context: the same
    module, diagnostics, callbacks and error. The module that is passed in stays as it
    was, and no process is left behind. To run several pipelines keep the processes,
    with `open_runner`, whose runners also tell how the time went (`last_report`).

    Args:
        mod: The module.
        pipeline: A pass, a sequence of passes, or pipeline text.
        context: The settings; by default the current `PassContext`. One that is not
            the current one is entered for the run, and its instruments with it.
        workers: How many processes at most; None for every core that this process may
            use (its affinity mask and its container's quota are regarded), 0 to stay in
            this one. Small work stays in this process anyway.
        executor: Where jobs run instead of a pool of loky's.
        limits: For each pass that says nothing itself, what it may take on one
            function, and what to do if it fails there: `function_timeout` in seconds,
            `memory_limit` in bytes, `on_failure` "fail", "skip" or "retry". Passes that
            have limits run in the workers, where they can be killed.

    Returns:
        The new module.

    Raises:
        Exception: What a pass, or an instrument, raised: as itself, with notes that
            name pass and function, and the worker's traceback as its cause.
        DiagnosticError: A pass reported errors on the program.
        WorkerDiedError: A function killed a worker, twice.
        FunctionTimeoutError: A pass took longer on a function than it may.
        MemoryLimitError: A pass took more memory on a function than it may.
        ArgumentError: `workers` is below 0.

    Warns:
        SlowerRunWarning: More workers than 4 for each core, and than 32, were asked for
            (so many are used), this is a daemon process, which may start no others (all
            runs in it), or there is no room for what processes share (the rest
            runs in this one).
        UnpicklablePassWarning: A pass, or a function, cannot be sent to the workers.
    """
    async with open_runner(workers=workers, executor=executor) as runner:
        return await runner.run(mod, pipeline, context=context, **limits)


def run_pipeline_sync(
    mod: Any,
    pipeline: Pipeline,
    *,
    context: PassContext | None = None,
    workers: int | None = None,
    executor: Executor | None = None,
    **limits: Unpack[LimitArguments],
) -> Any:
    """Run a pipeline on a module, on every core, and wait for it.

    For scripts, threads and notebooks. See `run_pipeline` for arguments and errors.

    Raises:
        RuntimeUseError: A trio event loop is running here, which this would block.
    """
    with open_runner(workers=workers, executor=executor) as runner:
        return runner.run_sync(mod, pipeline, context=context, **limits)


def open_runner(
    *, workers: int | None = None, executor: Executor | None = None
) -> Runner:
    """Return a runner, which keeps its processes from one run to the next.

    `async with open_runner() as runner: await runner.run(mod, pipeline)`, or with a
    plain `with` and `runner.run_sync`. See `run_pipeline` for the arguments. After a
    run `print(runner.last_report)` tells where its time went.
    """
    return Runner(workers=workers, executor=executor)


class Runner:
    """Runs pipelines on a pool of processes, started when work is worth it.

    Several runs may be under way at once, from tasks and threads.
    """

    def __init__(
        self, *, workers: int | None = None, executor: Executor | None = None
    ) -> None:
        count = usable_cores() if workers is None else _checked_workers(workers)
        self._owned: Executor | None = None
        self._last_account: Account | None = None
        self._closed = False
        self._ledger = Ledger()
        if executor is None and count > 0:
            from parpass.runtime.loky_executor import LokyExecutor

            self._owned = executor = LokyExecutor(count)
        self._executor = executor if count > 0 else None

    async def run(
        self,
        mod: Any,
        pipeline: Pipeline,
        *,
        context: PassContext | None = None,
        **limits: Unpack[LimitArguments],
    ) -> Any:
        """Run a pipeline; see `run_pipeline`."""
        from parpass.runtime.hosts import current_host

        with limits_in_force(Limits(**limits) if limits else UNSET):
            host, executor = current_host(), self._usable_executor()
            current = host.call_now(PassContext.current)
            used = current if context is None else context
            begun = begin(mod, as_pass(pipeline), used)
            run = self._reported(begun, self._drive(host, executor, begun))
            if used is not current:
                run = _entered(used, host, run)
            return await run

    def run_sync(
        self,
        mod: Any,
        pipeline: Pipeline,
        *,
        context: PassContext | None = None,
        **limits: Unpack[LimitArguments],
    ) -> Any:
        """Run a pipeline and wait for it; see `run_pipeline_sync`."""
        executor = self._usable_executor()
        current = PassContext.current()
        used = current if context is None else context
        begun = begin(mod, as_pass(pipeline), used)
        if used is current and not limits and may_be_small(current):
            made = self._at_once(begun, executor)
            if made is not NOT_SMALL:
                return made
        with (
            limits_in_force(Limits(**limits) if limits else UNSET),
            _AS_IT_IS if used is current else used,
        ):
            from parpass.runtime.hosts import BlockingHost

            drive = self._drive(BlockingHost(), executor, begun)
            try:
                return begun.unwrap(drive.run_blocking(begun.commands, begun.advance))
            finally:
                self._last_account = drive.account

    def _at_once(self, begun: Begun, executor: Executor | None) -> Any:
        account = Account(0 if executor is None else executor.workers)
        made = None
        try:
            made = run_if_small(begun, account)
            return made if made is NOT_SMALL else begun.unwrap(made)
        finally:
            if made is not NOT_SMALL:
                account.end()
                self._last_account = account

    def _drive(self, host: Any, executor: Executor | None, begun: Begun) -> Drive:
        return Drive(host, executor, begun.context, begun.adapter, self._ledger)

    def _usable_executor(self) -> Executor | None:
        if self._closed:
            raise RuntimeUseError("this runner is closed; open another one")
        # The workers are all at work when a pass body in one of them comes here.
        if inside_function_pass():
            return None
        is_owned = self._executor is not None and self._executor is self._owned
        return None if is_owned and not _may_have_children() else self._executor

    async def _reported(self, begun: Begun, drive: Drive) -> Any:
        try:
            return begun.unwrap(await drive.run(begun.commands, begun.advance))
        finally:
            self._last_account = drive.account

    @property
    def last_report(self) -> RunReport | None:
        """How the time of the last run went; None before the first has ended.

        A run that failed is told of, too; of several at once, the one that ended last.
        """
        account = self._last_account
        return None if account is None else account.report()

    def close(self) -> None:
        """End the processes."""
        self._closed = True
        if self._owned is not None:
            self._owned.close()

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
        from parpass.runtime.hosts import current_host

        await current_host().call_through(self.close)


async def _entered(
    context: PassContext, host: Any, run: Coroutine[Any, Any, ValueT]
) -> ValueT:
    """Run under a context that is entered for it."""
    try:
        await host.call(context.__enter__)
    except BaseException:
        run.close()
        raise
    try:
        result = await run
    except BaseException:
        await host.call_through(context.__exit__, *sys.exc_info())
        raise
    await host.call(context.__exit__, None, None, None)
    return result


def _may_have_children() -> bool:
    """Return whether this process may start others; warn if it may not."""
    process = sys.modules.get("multiprocessing.process")
    if process is None or not process.current_process().daemon:
        return True
    warnings.warn(
        "a daemon process of multiprocessing may have no children, so all is run in "
        "this one; start it with daemon=False to use every core",
        SlowerRunWarning,
        stacklevel=2,
    )
    return False


def usable_cores() -> int:
    """Return how many processes can run at once here, quotas and masks regarded."""
    from parpass.runtime import loky_executor

    return loky_executor.usable_cores()


def _checked_workers(workers: int) -> int:
    given = cast("object", workers)
    if not isinstance(given, int) or isinstance(given, bool) or given < 0:
        raise ArgumentError(
            "expected None or a number of processes from 0 up for workers, got "
            f"{workers!r}"
        )
    if workers <= _ANYWHERE:
        return workers
    most = max(_ANYWHERE, _FOR_EACH_CORE * usable_cores())
    if workers > most:
        warnings.warn(
            f"{workers} workers were asked for, and {most} will be used: more than "
            f"{_FOR_EACH_CORE} for each core are slower, not faster; workers=None "
            "gives one for each core",
            SlowerRunWarning,
            stacklevel=4,
        )
    return min(workers, most)
