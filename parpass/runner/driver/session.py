"""The session of a runner: carries out its runs on one pool.

The public functions (`api`) may be imported on an event loop, so they import this
module later, in a thread.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import sys
import threading
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from parpass.entry_points import open_executor
from parpass.errors import Hint, HintedMessage, RuntimeUseError, SlowerRunWarning
from parpass.errors.warning import warn
from parpass.fork_safety import fork_lock
from parpass.runner.cores import supports_workers, usable_cores
from parpass.runner.driver.backends import AsyncBackend, BlockingBackend
from parpass.runner.driver.parallel import ParallelDriver
from parpass.runner.driver.state import RunState
from parpass.runner.executor import Executor
from parpass.runner.ipc.module_store import ModuleStore
from parpass.runner.placement import PlacementPolicy, StartupAmortizer
from parpass.runner.report.metrics import RunMetrics
from parpass.runner.report.report import RunReport
from parpass.runner.request import RunRequest
from parpass.runner.stage.progress import PROGRESS_CALLBACK
from parpass.transform import ModuleAdapter, Pass, PassContext, as_pass
from parpass.transform.adapter_registry import (
    Unwrap,
    adapter_for,
    find_adapter,
    lift_to_module,
)
from parpass.transform.analysis_manager import AnalysisManager
from parpass.transform.budget import UNSET, Limits, call_limits, setting_limits
from parpass.transform.capture.recorder import inside_function_pass
from parpass.transform.config import ISOLATED, optimizations_in
from parpass.transform.plan.commands import Plan
from parpass.transform.plan.plan import plan

if TYPE_CHECKING:
    from parpass.runner.cache.function_cache import FunctionCache
    from parpass.runner.cache.run_cache import RunCache
    from parpass.runner.pool.loky_executor import LokyExecutor
    from parpass.runner.pool.reusable import LeasedExecutor
    from parpass.runner.stage.progress_tracker import ProgressTracker

ValueT = TypeVar("ValueT")

_NO_LIMITS = (None, None, None)


class _PreparedRun(msgspec.Struct, frozen=True):
    """A run that has not begun: plan, driver, and how its result is unwrapped."""

    plan: Plan
    state: RunState
    driver: ParallelDriver
    unwrap: Unwrap


class Session:
    """The runs of one runner.

    Args:
        workers: How many processes at most; None for one on each core.
        executor: Where jobs run instead, or the URL of an executor, which is opened
            here and closed with this.
        isolated: Whether all function passes run in workers.
        reuse_pool: Whether the processes are kept for other calls when this is closed,
            and may be kept ones themselves; else they are this runner's own.
        cache: The results of earlier runs; None for none.
    """

    def __init__(
        self,
        workers: int | None,
        executor: Executor | str | None,
        *,
        isolated: bool,
        reuse_pool: bool = False,
        cache: FunctionCache | None = None,
    ) -> None:
        self._cache = cache
        if executor is not None and not supports_workers():
            raise RuntimeUseError(
                "expected a system such as Linux or macOS for an executor, got one "
                "without locks of files; leave out executor=, and give workers=0"
            )
        self._owned: LokyExecutor | None = None
        self._leased: LeasedExecutor | None = None
        self._amortizer = StartupAmortizer()
        if executor is None and reuse_pool:
            self._leased = _lease_executor(workers)
            if self._leased is not None:
                self._amortizer = self._leased.amortizer()
        elif executor is None:
            self._owned = new_executor(workers)
        self._exit_stack = contextlib.ExitStack()
        self._is_named = isinstance(executor, str)
        self._executor: Executor | None = (
            self._exit_stack.enter_context(open_executor(executor))
            if isinstance(executor, str)
            else executor
        )
        self._isolated = isolated
        self._metrics: RunMetrics | None = None
        self._closed = False

    @property
    def last_report(self) -> RunReport | None:
        """The report of the last run."""
        metrics = self._metrics
        return None if metrics is None else metrics.report()

    async def run(self, request: RunRequest) -> Any:
        """Run a pipeline, under trio or asyncio."""
        with setting_limits(_limits(request)):
            backend = _task_backend()
            executor = self._choose_executor()
            current = backend.call_sync(PassContext.current)
            context = current if request.context is None else request.context
            if isinstance(request.pipeline, str):  # what it names is loaded
                loaded = await backend.call(_root, request)
                request = request._replace(pipeline=loaded)
            begun = self._begin(request, context, backend, executor)
            run = self._run_and_report(begun, request)
            if context is not current:
                run = _run_entered(context, backend, run)
            try:
                return await run
            finally:
                backend.restore_context()

    def run_sync(self, request: RunRequest) -> Any:
        """Run a pipeline and wait for it."""
        executor = self._choose_executor()
        current = PassContext.current()
        context = current if request.context is None else request.context
        sets_limits = request.limits != _NO_LIMITS or call_limits() is not UNSET
        if context is current and not sets_limits:
            return self._run_blocking(request, context, executor)
        with setting_limits(_limits(request)):
            if context is current:
                return self._run_blocking(request, context, executor)
            with context:
                return self._run_blocking(request, context, executor)

    def _run_blocking(
        self, request: RunRequest, context: PassContext, executor: Executor | None
    ) -> Any:
        backend: Any = BlockingBackend()
        begun = self._begin(request, context, backend, executor)
        try:
            if request.tracing is None:
                return begun.unwrap(begun.driver.run_blocking(begun.plan))
            with begun.state.metrics.recording_end():
                return begun.unwrap(begun.driver.run_blocking(begun.plan))
        finally:
            self._finish(begun, request)

    def _begin(
        self,
        request: RunRequest,
        context: PassContext,
        backend: AsyncBackend,
        executor: Executor | None,
    ) -> _PreparedRun:
        """Return a run of a pipeline that has not begun."""
        isolated = self._isolated or context.config.get(ISOLATED, False)
        if self._leased is not None:
            self._leased.isolated = isolated
        if isolated and executor is None and not inside_function_pass():
            raise RuntimeUseError(
                "an isolated run has all function passes in workers, and there are "
                "none: workers is 0, or this process may not start others, or this "
                "system has none"
            )
        root = _root(request)
        module, unwrap = lift_to_module(request.mod)
        adapter = adapter_for(root, module)
        is_inside = inside_function_pass()
        commands = plan(root, module, context, adapter, instrumented=not is_inside)
        isolated = isolated and executor is not None
        workers, policy = 0, None
        if executor is not None:
            workers = executor.workers
            policy = PlacementPolicy(
                executor, adapter, context, self._amortizer, isolated=isolated
            )
        store = ModuleStore(adapter, optimizations_in(context.config))
        cache = None
        if self._cache is not None and not is_inside:
            cache = _run_cache(self._cache, adapter, context, store)
        state = RunState(
            backend,
            adapter,
            context,
            store,
            _metrics(workers, request),
            AnalysisManager(context, adapter),
            policy,
            isolated,
            None if is_inside else _tracker(request, backend),
            cache,
        )
        return _PreparedRun(commands, state, ParallelDriver(state), unwrap)

    def _choose_executor(self) -> Executor | None:
        if self._closed:
            raise RuntimeUseError.closed("runner")
        # The workers are all at work when a pass body in one of them comes here.
        if inside_function_pass():
            return None
        if self._owned is None and self._leased is None:
            return self._executor
        if not _can_start_processes():
            return None
        return self._leased if self._owned is None else self._owned.share()

    async def _run_and_report(self, begun: _PreparedRun, request: RunRequest) -> Any:
        try:
            with begun.state.metrics.recording_end():
                return begun.unwrap(await begun.driver.run(begun.plan))
        finally:
            self._finish(begun, request)

    def _finish(self, begun: _PreparedRun, request: RunRequest) -> None:
        self._metrics = begun.state.metrics
        if begun.state.tracker is not None:
            begun.state.tracker.end()
        if request.on_report is not None:
            request.on_report(self._metrics.report())

    def close(self) -> None:
        """End the processes."""
        self._closed = True
        if self._owned is not None:
            self._owned.close()
        if self._leased is not None:
            self._leased.close()
        self._exit_stack.close()

    def close_nowait(self) -> None:
        """End the processes of a runner that was garbage-collected; do not wait."""
        self._closed = True
        if self._owned is not None:
            self._owned.close_nowait()
        if self._leased is not None:
            self._leased.close()
        if self._is_named:
            threading.Thread(target=self._exit_stack.close, daemon=True).start()

    async def close_async(self) -> None:
        """End the processes, and wait for it on an event loop."""
        is_kept = self._owned is None and not (self._leased and self._leased.is_used)
        if is_kept and not self._is_named:  # then there is nothing to wait for
            self.close()
        else:
            await _task_backend().call_shielded(self.close)


def new_executor(workers: int | None) -> LokyExecutor | None:
    """Return a pool; None for no workers, or with a warning where there can be none."""

    def new(workers: int) -> LokyExecutor:
        with fork_lock:
            # Not before: a program that is at its end cannot load it.
            from parpass.runner.pool.loky_executor import LokyExecutor

        return LokyExecutor(workers)

    return _create_or_warn(workers, new)


def _lease_executor(workers: int | None) -> LeasedExecutor | None:
    """Return a lease of a pool that outlives the call; None as for `new_executor`."""

    def new(workers: int) -> LeasedExecutor:
        with fork_lock:
            from parpass.runner.pool.reusable import LeasedExecutor  # as above

        return LeasedExecutor(workers)

    return _create_or_warn(workers, new)


def _create_or_warn(workers: int | None, new: Callable[[int], ValueT]) -> ValueT | None:
    if workers == 0:
        return None
    if not supports_workers():
        warn(
            HintedMessage(
                "this system has no processes that parpass can watch over, which Linux "
                "and macOS have, so all is run in this one; ",
                Hint.REQUEST_SERIAL,
            ),
            SlowerRunWarning,
        )
        return None
    try:
        return new(usable_cores() if workers is None else workers)
    except RuntimeError as error:
        warn(
            f"no processes can be started ({error}), so all is run in this one; run a "
            "pipeline before the program is at its end",
            SlowerRunWarning,
        )
        return None


def _can_start_processes() -> bool:
    """Return whether this process may start others; warn if it may not."""
    process = sys.modules.get("multiprocessing.process")
    if process is None or not process.current_process().daemon:
        return True
    warn(
        "a daemon process of multiprocessing may have no children, so all is run in "
        "this one; with daemon=False it uses every core, and the program that started "
        "it waits for its end",
        SlowerRunWarning,
    )
    return False


def _task_backend() -> AsyncBackend:
    with fork_lock:
        # Not for a plain thread, whose small runs need no event loop.
        from parpass.runner.driver.task_backends import current_backend

    return current_backend()


def _run_cache(
    cache: FunctionCache,
    adapter: ModuleAdapter,
    context: PassContext,
    store: ModuleStore,
) -> RunCache:
    with fork_lock:
        # Only where there is a cache.
        from parpass.runner.cache.run_cache import RunCache

    return RunCache(cache, adapter, context, store)


def _metrics(workers: int, request: RunRequest) -> RunMetrics:
    if request.tracing is None:
        return RunMetrics(workers, request.began)
    with fork_lock:
        # For traces alone.
        from parpass.runner.report.traced_metrics import TracedMetrics

    return TracedMetrics(workers, request.began, request.tracing)


def _tracker(request: RunRequest, backend: AsyncBackend) -> ProgressTracker | None:
    """Return what tells how far a run is; None without a callback."""
    callback = request.on_progress
    callback = PROGRESS_CALLBACK.get() if callback is None else callback
    if callback is None:
        return None
    with fork_lock:
        # Few ask for it.
        from parpass.runner.stage.progress_tracker import ProgressTracker

    return ProgressTracker(callback, backend.poster())


def _root(request: RunRequest) -> Pass:
    """Return the pipeline of a request as one pass; text is read for its module."""
    pipeline = request.pipeline
    if not isinstance(pipeline, str):
        return as_pass(pipeline)
    module, _ = lift_to_module(request.mod)
    return as_pass(pipeline, adapter=find_adapter(module))


def _limits(request: RunRequest) -> Limits:
    return UNSET if request.limits == _NO_LIMITS else Limits(*request.limits)


async def _run_entered(
    context: PassContext, backend: Any, run: Coroutine[Any, Any, ValueT]
) -> ValueT:
    """Run under a context that is entered for it, and left however this ends."""
    visit = _ContextGuard(context)
    try:
        await backend.call(visit.enter)
        result = await run
        await backend.call(visit.leave)
    except BaseException:
        run.close()
        await backend.call_shielded(visit.leave, *sys.exc_info())
        raise
    return result


class _ContextGuard:
    """A context that is entered in a thread, which may be abandoned, and exited once.

    If the caller is cancelled while the context is being entered, the thread exits it.
    """

    def __init__(self, context: PassContext) -> None:
        self._context = context
        self._lock = threading.Lock()
        self._is_inside = self._has_exited = False

    def enter(self) -> None:
        self._context.__enter__()
        self._variables = contextvars.copy_context()
        with self._lock:
            self._is_inside = True
            is_over = self._has_exited
        if is_over:
            self.leave()

    def leave(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        with self._lock:
            self._has_exited = True
            is_inside, self._is_inside = self._is_inside, False
        if not is_inside:
            return
        leave = functools.partial(self._context.__exit__, kind, error, traceback)
        if PassContext.current() is self._context:
            leave()
        else:  # the variables here were copied before it was entered
            self._variables.run(leave)
