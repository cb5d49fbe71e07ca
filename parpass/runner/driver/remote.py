"""The part of a stage that runs in workers."""

from __future__ import annotations

from collections.abc import Sequence

from parpass.errors import PassStateWarning, RuntimeUseError
from parpass.errors.adapters import format_with_method
from parpass.errors.warning import warn
from parpass.replicated_tables import exclude, program_entries
from parpass.runner.driver.state import FallbackError, RunState, StageInProgress
from parpass.runner.executor import Executor, NoWorkersError
from parpass.runner.follow.payload import UnloadableError, UnsendableError
from parpass.runner.follow.pickling import find_unpicklable
from parpass.runner.follow.snapshot import Snapshot
from parpass.runner.ipc.shared_dir import StorageError
from parpass.runner.ipc.status_board import StatusBoard
from parpass.runner.placement import PlacementReason
from parpass.runner.pool.coordinator import run_stage
from parpass.runner.pool.remote_stage import RemoteStage
from parpass.transform import Pass

_FALLBACK_REASONS: dict[type[Exception], PlacementReason] = {
    StorageError: PlacementReason.NO_ROOM,
    UnsendableError: PlacementReason.UNSENDABLE,
    NoWorkersError: PlacementReason.NO_PROCESSES,
}


class _PublishError(Exception):
    """The passes, settings or module of a stage cannot be pickled."""


class RemoteStageExecutor:
    """Runs stages of one run in workers."""

    def __init__(self, state: RunState) -> None:
        self._state = state

    async def run(
        self,
        stage: StageInProgress,
        executor: Executor,
        local_seconds: float | None = None,
    ) -> RemoteStage:
        """Run a stage on those of its functions that have no outcome.

        Args:
            stage: The stage; its outcomes are added to.
            executor: The workers.
            local_seconds: What this process would take; None if that is not known.

        Returns:
            The stage as it ran.

        Raises:
            FallbackError: Workers cannot run it, or some of its passes.
            RuntimeUseError: The settings cannot be pickled, the executor is closed, or
                workers hang or end before they begin.
        """
        state, command = self._state, stage.command
        snapshot = await state.backend.call_shielded(Snapshot.take, state.context)
        while True:
            remote = RemoteStage(
                command.steps,
                stage.module,
                snapshot,
                state.store,
                stage.outcomes,
                wanted=command.wanted,
                is_last=command.is_last,
                workers=executor.workers,
                local_seconds=local_seconds,
                was_warm=stage.was_warm,
                observers=state.observers,
            )
            try:
                try:
                    await state.backend.call_shielded(self._begin, remote, executor)
                    await self._coordinate(remote, executor)
                finally:
                    await state.backend.call_shielded(remote.end)
            except tuple(_FALLBACK_REASONS) as error:
                raise FallbackError(
                    _FALLBACK_REASONS[type(error)], str(error)
                ) from error
            except UnloadableError as error:
                if not _exclude_entry(error):
                    raise _unloadable(command.steps, error) from error
                local_seconds = None
                continue
            except _PublishError as failed:
                raise _unsendable(command.steps, snapshot, failed) from failed
            return remote

    def _begin(self, stage: RemoteStage, executor: Executor) -> None:
        """Encode what jobs have in common, and a first slice of functions.

        Raises:
            StorageError: There is no room.
            UnsendableError: A function cannot be encoded.
            _PublishError: The passes or the settings cannot be.
            RuntimeUseError: The executor is closed.
        """
        try:
            stage.encode_spec()
        except (StorageError, UnsendableError):
            raise
        except Exception as error:
            raise _PublishError from error
        executor.start(stage.start_seconds)
        stage.encode_first()

    async def _coordinate(self, stage: RemoteStage, executor: Executor) -> None:
        """Run a stage by the coordinator, on a trio event loop.

        Raises:
            NoWorkersError: There is no event loop.
        """
        state = self._state
        board = StatusBoard(state.store.folder, stage.number)
        has_begun, why_none = False, ""

        async def run() -> None:
            nonlocal has_begun
            has_begun = True
            await run_stage(stage, executor, board)

        for one in state.observers:
            one.board_opened(board)
        try:
            await state.backend.run(run)
        except OSError as error:
            if has_begun:
                raise
            # An event loop needs descriptors; those that it has got are closed with
            # the error.
            why_none = f"there is no event loop, {type(error).__name__}: {error}"
        if why_none:
            raise NoWorkersError("none", why_none)
        _warn_state_changes(stage)


def _warn_state_changes(stage: RemoteStage) -> None:
    for pass_name, attribute in stage.written:
        warn(
            f"pass '{pass_name}' changed its attribute '{attribute}' in a worker, "
            "between two functions; such changes reach neither this process nor other "
            "workers. Count with ctx.count, or write a module pass",
            PassStateWarning,
        )


def _unsendable(
    steps: Sequence[Pass], snapshot: Snapshot, failed: _PublishError
) -> FallbackError:
    """Return the fallback for what cannot be pickled: passes, or else the module.

    Raises:
        RuntimeUseError: It is the settings.
    """
    error = failed.__cause__
    assert isinstance(error, Exception)
    reason = snapshot.find_unpicklable()
    if reason is not None:
        raise RuntimeUseError(
            f"the settings cannot be sent to the workers: {reason}"
        ) from error
    passes = [find_unpicklable(step, step.info.name) for step in steps]
    if any(passes):
        return FallbackError(
            PlacementReason.UNSENDABLE, "be sent to the workers", passes
        )
    return FallbackError(
        PlacementReason.UNSENDABLE, f"the module, {format_with_method(error)}"
    )


def _unloadable(steps: Sequence[Pass], error: UnloadableError) -> FallbackError:
    """Return the fallback for what workers cannot load: a pass, or anything else."""
    if error.step is None:
        return FallbackError(PlacementReason.UNLOADABLE, str(error))
    passes = [error.why if at == error.step else None for at in range(len(steps))]
    return FallbackError(PlacementReason.UNLOADABLE, "be loaded by the workers", passes)


def _exclude_entry(error: UnloadableError) -> bool:
    """Exclude the table entry that failed to load from the payloads to come.

    Returns:
        Whether the stage is worth another try: workers do without that entry, until a
        pass asks for it.
    """
    stuck = [one for one in program_entries() if str(one) == error.entry]
    for entry in stuck:
        exclude(entry, error.why)
    return any(entry.has_state for entry in stuck)
