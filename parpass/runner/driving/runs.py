"""Carrying out runs on one pool: what a `Runner` does, and all that has to be loaded.

The surface (`run`) is loaded by the first look at it, perhaps on an event loop, so it
loads nothing of this; this it loads in a thread.
"""

from __future__ import annotations

import contextvars
import functools
import sys
import threading
from collections.abc import Callable, Coroutine, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from parpass.errors import RuntimeUseError, SlowerRunWarning
from parpass.errors.warning import warn
from parpass.runner.driving.drive import Drive
from parpass.runner.driving.hosts import BlockingHost, Host, current_host
from parpass.runner.executor import Executor
from parpass.runner.placing.cores import system_has_workers, usable_cores
from parpass.runner.placing.forecasts import Ledger
from parpass.runner.report.account import Account
from parpass.runner.report.report import RunReport
from parpass.transform import Pass, PassContext, adapter_of, as_pass
from parpass.transform.adapters import Unwrap, wrapped
from parpass.transform.budget import UNSET, Limits, limits_in_force, limits_of_call
from parpass.transform.config import ISOLATED
from parpass.transform.plan.commands import Plan
from parpass.transform.plan.plan import plan
from parpass.transform.saying.record import inside_function_pass

if TYPE_CHECKING:
    from parpass.runner.pool.loky_executor import LokyExecutor

Tell = Callable[[RunReport], object]
_Given = tuple[float | None, int | None, str | None]  # what `Limits` is made of
ValueT = TypeVar("ValueT")

_NONE_GIVEN: _Given = (None, None, None)
_FOR_EACH_CORE = 4  # workers at most
_MANY = 32  # workers, that may be had even where there are few cores


class _Begun(msgspec.Struct, frozen=True):
    """A run that is about to begin: what to do, by whom, and what was asked for."""

    plan: Plan
    drive: Drive
    unwrap: Unwrap


class Runs:
    """The runs of one runner.

    Args:
        workers: How many processes at most; None for one on each core.
        executor: Where jobs run instead.
        isolated: Whether all function passes run in workers.
    """

    def __init__(
        self, workers: int | None, executor: Executor | None, *, isolated: bool
    ) -> None:
        if executor is not None and not system_has_workers():
            raise RuntimeUseError(
                "expected a system such as Linux or macOS for an executor, got one "
                "without locks of files; leave out executor=, and give workers=0"
            )
        self._owned = new_executor(workers) if executor is None else None
        self._executor = executor
        self._isolated = isolated
        self._account: Account | None = None
        self._closed = False
        self._ledger = Ledger()

    @property
    def last_report(self) -> RunReport | None:
        """How the time of the last run went."""
        account = self._account
        return None if account is None else account.report()

    async def run(
        self,
        mod: Any,
        pipeline: Pass | Sequence[Pass] | str,
        context: PassContext | None,
        limits: _Given,
        tell: Tell | None,
        began: float,
    ) -> Any:
        """Run a pipeline, under trio or asyncio; `began` is when it was asked for."""
        with limits_in_force(_limits(limits)):
            host = current_host()
            executor = self._usable_executor()
            current = host.call_now(PassContext.current)
            used = current if context is None else context
            if isinstance(pipeline, str):  # what it names is loaded
                pipeline = await host.call(as_pass, pipeline)
            begun = self._begin(mod, pipeline, used, host, executor, began)
            run = self._reported(begun, tell)
            if used is not current:
                run = _entered(used, host, run)
            try:
                return await run
            finally:
                host.bring_back()

    def run_sync(
        self,
        mod: Any,
        pipeline: Pass | Sequence[Pass] | str,
        context: PassContext | None,
        limits: _Given,
        tell: Tell | None,
        began: float,
    ) -> Any:
        """Run a pipeline and wait for it."""
        executor = self._usable_executor()
        current = PassContext.current()
        used = current if context is None else context
        if used is current and limits == _NONE_GIVEN and limits_of_call() is UNSET:
            return self._run_blocking(mod, pipeline, used, executor, tell, began)
        with limits_in_force(_limits(limits)):
            if used is current:
                return self._run_blocking(mod, pipeline, used, executor, tell, began)
            with used:
                return self._run_blocking(mod, pipeline, used, executor, tell, began)

    def _run_blocking(
        self,
        mod: Any,
        pipeline: Pass | Sequence[Pass] | str,
        context: PassContext,
        executor: Executor | None,
        tell: Tell | None,
        began: float,
    ) -> Any:
        host: Any = BlockingHost()
        begun = self._begin(mod, pipeline, context, host, executor, began)
        try:
            return begun.unwrap(begun.drive.run_blocking(begun.plan))
        finally:
            self._has_ended(begun, tell)

    def _begin(
        self,
        mod: Any,
        pipeline: Pass | Sequence[Pass] | str,
        context: PassContext,
        host: Host,
        executor: Executor | None,
        began: float,
    ) -> _Begun:
        """Return a run of a pipeline, whose plan has not begun."""
        isolated = self._isolated or context.config.get(ISOLATED, False)
        if isolated and executor is None and not inside_function_pass():
            raise RuntimeUseError(
                "an isolated run has all function passes in workers, and there are "
                "none: workers is 0, or this process may not start others, or this "
                "system has none"
            )
        root = as_pass(pipeline)
        module, unwrap = wrapped(mod)
        adapter = adapter_of(module, root.info.name)
        is_inside = inside_function_pass()
        commands = plan(root, module, context, adapter, instrumented=not is_inside)
        drive = Drive(
            host,
            executor,
            context,
            adapter,
            self._ledger,
            isolated=isolated and executor is not None,
            began=began,
        )
        return _Begun(commands, drive, unwrap)

    def _usable_executor(self) -> Executor | None:
        if self._closed:
            raise RuntimeUseError("this runner is closed; open another one")
        # The workers are all at work when a pass body in one of them comes here.
        if inside_function_pass():
            return None
        if self._owned is None:
            return self._executor
        return self._owned.share() if _may_have_children() else None

    async def _reported(self, begun: _Begun, tell: Tell | None) -> Any:
        try:
            return begun.unwrap(await begun.drive.run(begun.plan))
        finally:
            self._has_ended(begun, tell)

    def _has_ended(self, begun: _Begun, tell: Tell | None) -> None:
        self._account = begun.drive.account
        if tell is not None:
            tell(self._account.report())

    def close(self) -> None:
        """End the processes."""
        self._closed = True
        if self._owned is not None:
            self._owned.close()

    def abandon(self) -> None:
        """End the processes of a runner that nobody has closed, and do not wait."""
        self._closed = True
        if self._owned is not None:
            self._owned.leave()

    async def close_async(self) -> None:
        """End the processes, and wait for it on an event loop."""
        await current_host().call_through(self.close)


def _limits(given: _Given) -> Limits:
    return UNSET if given == _NONE_GIVEN else Limits(*given)


async def _entered(
    context: PassContext, host: Any, run: Coroutine[Any, Any, ValueT]
) -> ValueT:
    """Run under a context that is entered for it, and left however this ends."""
    visit = _Visit(context)
    try:
        await host.call(visit.enter)
        result = await run
        await host.call(visit.leave)
    except BaseException:
        run.close()
        await host.call_through(visit.leave, *sys.exc_info())
        raise
    return result


class _Visit:
    """A context that is entered in a thread, which may be abandoned, and left once.

    Who gives it up while it is being entered has the thread leave it.
    """

    def __init__(self, context: PassContext) -> None:
        self._context = context
        self._lock = threading.Lock()
        self._is_inside = self._is_over = False

    def enter(self) -> None:
        self._context.__enter__()
        self._variables = contextvars.copy_context()
        with self._lock:
            self._is_inside = True
            is_over = self._is_over
        if is_over:
            self.leave()

    def leave(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        with self._lock:
            self._is_over = True
            is_inside, self._is_inside = self._is_inside, False
        if not is_inside:
            return
        leave = functools.partial(self._context.__exit__, kind, error, traceback)
        if PassContext.current() is self._context:
            leave()
        else:  # the variables here were copied before it was entered
            self._variables.run(leave)


def new_executor(workers: int | None) -> LokyExecutor | None:
    """Return a pool; None for no workers, or with a warning where there can be none."""
    if workers == 0:
        return None
    if not system_has_workers():
        warn(
            "this system has no processes that parpass can watch over, which Linux and "
            "macOS have, so all is run in this one; workers=0 asks for that",
            SlowerRunWarning,
        )
        return None
    try:
        # Not before: a program that is at its end cannot load it.
        from parpass.runner.pool.loky_executor import LokyExecutor

        return LokyExecutor(usable_cores() if workers is None else workers)
    except RuntimeError as error:
        warn(
            f"no processes can be started ({error}), so all is run in this one; run a "
            "pipeline before the program is at its end",
            SlowerRunWarning,
        )
        return None


def _may_have_children() -> bool:
    """Return whether this process may start others; warn if it may not."""
    process = sys.modules.get("multiprocessing.process")
    if process is None or not process.current_process().daemon:
        return True
    warn(
        "a daemon process of multiprocessing may have no children, so all is run in "
        "this one; start it with daemon=False to use every core",
        SlowerRunWarning,
    )
    return False


def sensible_workers(workers: int) -> int:
    """Return how many processes to start at most, where so many are asked for."""
    most = max(_MANY, _FOR_EACH_CORE * usable_cores())
    if workers > most:
        warn(
            f"{workers} workers were asked for, and {most} will be used: more than "
            f"{_FOR_EACH_CORE} for each core are slower, not faster; workers=None "
            "gives one for each core",
            SlowerRunWarning,
        )
    return min(workers, most)
