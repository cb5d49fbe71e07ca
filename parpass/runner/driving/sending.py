"""Having workers run a stage: whole, in a message, or by the coordinator."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from parpass.errors import PassStateWarning
from parpass.errors.warning import warn
from parpass.runner.driving.errand import may_be_errand, packed_errand
from parpass.runner.executor import Asking, Executor, NoWorkersError
from parpass.runner.pool.coordinator import run_stage
from parpass.runner.pool.pooled_stage import PooledStage
from parpass.runner.report.account import Account
from parpass.runner.travel.folder import StorageError
from parpass.runner.travel.notes import Notes
from parpass.runner.travel.retained import Retainer
from parpass.runner.travel.shipment import UnsendableError
from parpass.runner.worker.jobs import run_errand

if TYPE_CHECKING:
    from parpass.runner.driving.hosts import Host

ValueT = TypeVar("ValueT")


class UnpublishedError(Exception):
    """What all jobs of a stage have in common cannot be sent."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error


class Sending:
    """Sends the stages of one run.

    Args:
        host: Where the run is from.
        retainer: Keeps functions and folder.
        account: How the time goes.
    """

    def __init__(self, host: Host, retainer: Retainer, account: Account) -> None:
        self._host = host
        self._retainer = retainer
        self._account = account

    async def run(
        self, stage: PooledStage, executor: Executor, *, isolated: bool
    ) -> None:
        """Have workers run a stage.

        Raises:
            StorageError: There is no room for it.
            UnsendableError: Something in a function cannot be sent.
            UnloadableError: A worker cannot load something.
            NoWorkersError: There can be no workers.
            UnpublishedError: Passes, settings or the module cannot be sent.
            RuntimeUseError: The executor is closed, or workers hang or end before they
                begin.
        """
        if isolated and may_be_errand(stage):
            if isinstance(executor, Asking):
                executor.expect()
            message = await self._packed(packed_errand, stage)
            if message and await self._as_errand(message, stage, executor):
                return
        await self._packed(stage.publish_spec)
        await self._pooled(stage, executor)

    async def _packed(self, pack: Callable[..., ValueT], *args: Any) -> ValueT:
        """Pack something for the workers.

        Raises:
            StorageError: There is no room for it.
            UnsendableError: Something in a function cannot be sent.
            UnpublishedError: Anything else is in the way.
        """
        try:
            return await self._host.call_through(pack, *args)
        except (StorageError, UnsendableError):
            raise
        except Exception as error:
            raise UnpublishedError(error) from error

    async def _as_errand(
        self, message: bytes, stage: PooledStage, executor: Executor
    ) -> bool:
        """Have one worker run a stage that is small; return whether that went well.

        Raises:
            RuntimeUseError: The executor is closed.
            NoWorkersError: There can be no workers.
        """
        was_warm = executor.is_warm
        answer = await self._host.ask(executor, run_errand, message)
        if answer is None:
            return False
        _, new = stage.take_in(answer)
        if stage.wanted:
            await self._host.call(stage.look_at, new)
        self._account.journey(stage.journey, stage.total, was_warm=was_warm)
        stage.end()
        self._have_run(stage)
        return True

    async def _pooled(self, stage: PooledStage, executor: Executor) -> None:
        notes = Notes(self._retainer.folder)
        was_warm, is_begun, why_none = executor.is_warm, False, ""

        async def run() -> None:
            nonlocal is_begun
            is_begun = True
            await run_stage(stage, executor, notes)

        try:
            await self._host.run(run)
        except OSError as error:
            if is_begun:
                raise
            # An event loop needs descriptors, too; those that it has got are let go of
            # with the error.
            why_none = f"there is no event loop, {type(error).__name__}: {error}"
        finally:
            self._account.journey(stage.journey, stage.total, was_warm=was_warm)
            await self._host.call_through(stage.end)
        if why_none:
            raise NoWorkersError("none", why_none)
        self._have_run(stage)

    def _have_run(self, stage: PooledStage) -> None:
        """Take down, and tell, what there is to tell of a stage that workers ran."""
        for pass_name, attribute in stage.written:
            warn(
                f"pass '{pass_name}' changed its attribute '{attribute}' from one "
                "function to another, in a worker; what a function pass writes to "
                "itself does not come back, nor does it reach other workers. Count "
                "with ctx.count, or write a module pass",
                PassStateWarning,
            )
