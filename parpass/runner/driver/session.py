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
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from parpass.entry_points import open_executor
from parpass.errors import (
    ArgumentError,
    Hint,
    HintedMessage,
    InternalError,
    RuntimeUseError,
    SlowerRunWarning,
)
from parpass.errors.warning import warn
from parpass.fork_safety import forks_wait
from parpass.runner.cores import supports_workers, usable_cores
from parpass.runner.driver.backends import AsyncBackend, BlockingBackend
from parpass.runner.driver.parallel import ParallelDriver
from parpass.runner.driver.state import RunState
from parpass.runner.executor import Executor
from parpass.runner.ipc.module_store import ModuleStore
from parpass.runner.observers import RunObservers
from parpass.runner.placement import PlacementPolicy, StartupAmortizer
from parpass.runner.pool.lifecycle import end_idle, run_in_thread
from parpass.runner.run_options import RunnerOptions, RunRequest
from parpass.transform import ModuleAdapter, Pass, PassContext, as_pass
from parpass.transform.adapter_registry import (
    adapter_for,
    find_adapter,
    lift_to_module,
)
from parpass.transform.analysis_manager import AnalysisManager
from parpass.transform.budget import setting_limits
from parpass.transform.capture.recorder import inside_function_pass
from parpass.transform.config import ISOLATED, optimizations_in
from parpass.transform.plan.commands import Plan
from parpass.transform.plan.plan import plan
from parpass.transform.violations import collecting_violations, warn_of_violations

if TYPE_CHECKING:
    from parpass.runner.cache.function_cache import FunctionCache
    from parpass.runner.cache.run_cache import RunCache
    from parpass.runner.pool.reusable import ReusablePools
    from parpass.runner.pool.worker_pool import Pool

ValueT = TypeVar("ValueT")


class Session:
    """The runs of one runner.

    Args:
        options: How many processes there are, or where jobs run instead: the URL of an
            executor is opened here, and closed with this; and the rest.
        reuse_pool: Whether the processes are kept for other calls when this is closed,
            and may be kept ones themselves; else they are this runner's own.
    """

    def __init__(self, options: RunnerOptions, *, reuse_pool: bool = False) -> None:
        self._options = options
        executor = options.executor
        if executor is not None and not supports_workers():
            raise RuntimeUseError(
                "executors need Linux or macOS, and this system has no file locks; "
                "drop executor=, and set workers=0"
            )
        self._own: Pool | None = None
        self._reusable: tuple[ReusablePools, int] | None = None
        self._leased: Pool | None = None
        self._amortizer = StartupAmortizer()
        if executor is None and reuse_pool:
            self._reusable = _reusable_pools(options.workers)
            if self._reusable is not None:
                self._amortizer = self._reusable[0].amortizer()
        elif executor is None:
            self._own = new_pool(options.workers)
        self._is_named = isinstance(executor, str)
        with contextlib.ExitStack() as stack:
            if not reuse_pool:
                stack.callback(end_idle)
            if self._own is not None:
                stack.callback(self._own.close)
            if isinstance(executor, str):
                executor = stack.enter_context(open_executor(executor))
            self._executor = _check_executor(executor)
            self._owned = stack.pop_all()
        self._closed = False

    async def run(self, request: RunRequest) -> Any:
        """Run a pipeline, under trio or asyncio."""
        return await self._run(request, _task_backend)

    def run_sync(self, request: RunRequest) -> Any:
        """Run a pipeline and wait for it: a coroutine that never suspends."""
        run = self._run(request, BlockingBackend)
        try:
            run.send(None)
        except StopIteration as end:
            return end.value
        run.close()
        raise InternalError("a blocking backend suspended")

    async def _run(
        self, request: RunRequest, new_backend: Callable[[], AsyncBackend]
    ) -> Any:
        with setting_limits(request.limits), collecting_violations() as violations:
            backend, current = new_backend(), PassContext.current()
            context = current if request.context is None else request.context
            if isinstance(request.pipeline, str):  # what it names is loaded
                loaded = await backend.call(_root, request)
                request = request._replace(pipeline=loaded)
            driver, commands = self._prepare(request, context, backend)
            try:
                if context is current:
                    made = await driver.run(commands)
                else:
                    made = await _run_entered(context, backend, driver, commands)
                warn_of_violations(violations)
                return made
            finally:
                backend.restore_context()

    def _prepare(
        self, request: RunRequest, context: PassContext, backend: AsyncBackend
    ) -> tuple[ParallelDriver, Plan]:
        isolated = self._options.isolated or context.config.get(ISOLATED, False)
        executor = self._choose_executor(isolated=isolated)
        if isolated and executor is None and not inside_function_pass():
            raise RuntimeUseError(
                "an isolated run needs workers, and there are none: workers is 0, or "
                "this process may not start others, or this system does not support "
                "them"
            )
        root = _root(request)
        module, unwrap = lift_to_module(request.mod)
        adapter = adapter_for(root, module)
        is_inside = inside_function_pass()
        commands = plan(root, module, context, adapter, instrumented=not is_inside)
        policy = None
        if executor is not None:
            policy = PlacementPolicy(
                executor, adapter, context, self._amortizer, isolated=isolated
            )
        directories = None
        if executor is not None and self._leased is None:  # a call leaves none behind
            directories = executor.directories
        store = ModuleStore(adapter, optimizations_in(context.config), directories)
        kept, cache = self._options.cache, None
        if kept is not None and not is_inside:
            cache = _run_cache(kept, adapter, context, store)
        state = RunState(
            backend,
            adapter,
            context,
            store,
            _observers(request, context),
            AnalysisManager(context, adapter),
            policy,
            cache,
        )
        return ParallelDriver(state, unwrap), commands

    def _choose_executor(self, *, isolated: bool) -> Executor | None:
        if self._closed:
            raise RuntimeUseError.closed("runner")
        # The workers are all at work when a pass body in one of them comes here.
        if inside_function_pass():
            return None
        if self._own is None and self._reusable is None:
            return self._executor
        if not _can_start_processes():
            return None
        if self._reusable is not None and self._leased is None:
            pools, workers = self._reusable
            self._leased = pools.acquire(workers, self, isolated=isolated)
        return self._own or self._leased

    def close(self) -> None:
        """End the processes."""
        self._closed = True
        self._end_lease()
        self._owned.close()

    def close_nowait(self) -> None:
        """End the processes of a runner that was garbage-collected; do not wait."""
        self._closed = True
        self._end_lease()
        if self._own is not None or self._is_named:
            run_in_thread(self._owned.close)

    async def close_async(self) -> None:
        """End the processes, and wait for it on an event loop."""
        pool = self._own or self._leased
        has_ended = pool is None or not pool.has_processes
        if has_ended and not self._is_named:  # then there is nothing to wait for
            self.close()
        else:
            await _task_backend().call_shielded(self.close)

    def _end_lease(self) -> None:
        leased, self._leased = self._leased, None
        if leased is not None and self._reusable is not None:
            self._reusable[0].release(self, leased)


def _check_executor(executor: object) -> Executor | None:
    if executor is None or isinstance(executor, Executor):
        return executor
    raise ArgumentError(
        "expected an instance of a subclass of parpass.runner.Executor for executor, "
        f"got {type(executor).__qualname__}; derive its class from it, as "
        "examples/own_executor.py does"
    )


def new_pool(workers: int | None) -> Pool | None:
    """Return a pool; None for no workers, or with a warning where there can be none."""

    def new(workers: int) -> Pool:
        # Not before: a program that is at its end cannot load it.
        from parpass.runner.pool.worker_pool import Pool

        return Pool(workers)

    return _create_or_warn(workers, new)


def _reusable_pools(workers: int | None) -> tuple[ReusablePools, int] | None:
    """Return the pools that outlive a call, and how many workers one is to have.

    None is returned as by `new_pool`.
    """

    def new(workers: int) -> tuple[ReusablePools, int]:
        from parpass.runner.pool.reusable import POOLS  # as above

        return POOLS, workers

    return _create_or_warn(workers, new)


def _create_or_warn(workers: int | None, new: Callable[[int], ValueT]) -> ValueT | None:
    if workers == 0:
        return None
    if not supports_workers():
        warn(
            HintedMessage(
                "workers need Linux or macOS, so everything runs in this process; ",
                Hint.REQUEST_SERIAL,
            ),
            SlowerRunWarning,
        )
        return None
    try:
        return new(usable_cores() if workers is None else workers)
    except RuntimeError as error:
        warn(
            f"no processes can be started ({error}), so everything runs in this one; "
            "run pipelines before the program exits",
            SlowerRunWarning,
        )
        return None


def _can_start_processes() -> bool:
    """Return whether this process may start others; warn if it may not."""
    process = sys.modules.get("multiprocessing.process")
    if process is None or not process.current_process().daemon:
        return True
    warn(
        "a daemon process of multiprocessing cannot have children, so everything runs "
        "in this process; start it with daemon=False to use every core (its parent "
        "then waits for it)",
        SlowerRunWarning,
    )
    return False


def _task_backend() -> AsyncBackend:
    with forks_wait():
        # Not for a plain thread, whose small runs need no event loop.
        from parpass.runner.driver.task_backends import current_backend

    return current_backend()


def _run_cache(
    cache: FunctionCache,
    adapter: ModuleAdapter,
    context: PassContext,
    store: ModuleStore,
) -> RunCache:
    # Only where there is a cache.
    from parpass.runner.cache.run_cache import RunCache

    return RunCache(cache, adapter, context, store)


def _observers(request: RunRequest, context: PassContext) -> RunObservers:
    if not context.memory:
        return RunObservers(request.observers)
    # Few measure it.
    from parpass.runner.worker_memory import WorkerMemory

    return RunObservers([WorkerMemory(context.memory), *request.observers])


def _root(request: RunRequest) -> Pass:
    """Return the pipeline of a request as one pass; text is read for its module."""
    pipeline = request.pipeline
    if not isinstance(pipeline, str):
        return as_pass(pipeline)
    module, _ = lift_to_module(request.mod)
    return as_pass(pipeline, adapter=find_adapter(module))


async def _run_entered(
    context: PassContext, backend: AsyncBackend, driver: ParallelDriver, commands: Plan
) -> Any:
    """Run under a context that is entered for it, and left however this ends."""
    visit = _ContextGuard(context)
    try:
        await backend.call(visit.enter)
        made = await driver.run(commands)
        await backend.call(visit.leave)
    except BaseException:
        await backend.call_shielded(visit.leave, *sys.exc_info())
        raise
    return made


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
