"""The session of a runner: carries out its runs on one pool.

The public functions (`api`) may be imported on an event loop, so they import this
module later, in a thread.
"""

from __future__ import annotations

import contextvars
import functools
import sys
import threading
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any

from parpass.errors import InternalError, RuntimeUseError
from parpass.fork_safety import forks_wait
from parpass.runner.driver.backends import AsyncBackend, BlockingBackend
from parpass.runner.driver.executor_source import ExecutorSource
from parpass.runner.driver.parallel import ParallelDriver
from parpass.runner.driver.state import RunState
from parpass.runner.ipc.module_store import ModuleStore
from parpass.runner.observers import RunObservers
from parpass.runner.placement import PlacementPolicy
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
from parpass.transform.checked_adapter import warn_of_violations
from parpass.transform.config import ISOLATED, optimizations_in
from parpass.transform.plan.commands import Plan
from parpass.transform.plan.plan import plan

if TYPE_CHECKING:
    from parpass.runner.cache.function_cache import FunctionCache
    from parpass.runner.cache.run_cache import RunCache


class Session:
    """The runs of one runner.

    Args:
        options: What the runner was opened with.
        reuse_pool: See `ExecutorSource`.
    """

    def __init__(self, options: RunnerOptions, *, reuse_pool: bool = False) -> None:
        self._options = options
        self._workers = ExecutorSource(options, reuse_pool=reuse_pool)

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
        with setting_limits(request.limits):
            backend, current = new_backend(), PassContext.current()
            context = current if request.context is None else request.context
            pipeline = request.pipeline
            if isinstance(pipeline, str):  # what it names is loaded
                pipeline = await backend.call(_parsed, pipeline, request.mod)
            root = as_pass(pipeline)
            driver, commands = self._prepare(root, request, context, backend)
            try:
                if context is current:
                    made = await driver.run(commands)
                else:
                    made = await _run_entered(context, backend, driver, commands)
                warn_of_violations(driver.adapter)
                return made
            finally:
                backend.restore_context()

    def _prepare(
        self,
        root: Pass,
        request: RunRequest,
        context: PassContext,
        backend: AsyncBackend,
    ) -> tuple[ParallelDriver, Plan]:
        isolated = self._options.isolated or context.config.get(ISOLATED, False)
        executor = self._workers.executor(isolated=isolated)
        if isolated and executor is None and not inside_function_pass():
            raise RuntimeUseError(
                "an isolated run needs workers, and there are none: workers is 0, or "
                "this process may not start others, or this system does not support "
                "them"
            )
        module, unwrap = lift_to_module(request.mod)
        adapter = adapter_for(root, module)
        commands = plan(root, module, context, adapter)
        policy = PlacementPolicy(
            executor, adapter, context, self._workers.amortizer, isolated=isolated
        )
        directories = None
        if executor is not None and self._workers.is_kept:  # a call leaves none behind
            directories = executor.directories
        store = ModuleStore(adapter, optimizations_in(context.config), directories)
        kept, cache = self._options.cache, None
        if kept is not None and not inside_function_pass():
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

    def close(self) -> None:
        """End the processes."""
        self._workers.close()

    def close_nowait(self) -> None:
        """End the processes of a runner that was garbage-collected; do not wait."""
        self._workers.close_nowait()

    async def close_async(self) -> None:
        """End the processes, and wait for it on an event loop."""
        if self._workers.has_processes:
            await _task_backend().call_shielded(self.close)
        else:
            self.close()


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


def _parsed(text: str, mod: Any) -> Pass:
    """Return the pipeline of a text, which is read for the module."""
    module, _ = lift_to_module(mod)
    return as_pass(text, adapter=find_adapter(module))


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
