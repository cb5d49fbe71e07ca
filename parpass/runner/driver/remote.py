"""The part of a stage that runs in workers."""

from __future__ import annotations

import contextvars
from collections.abc import Sequence

from parpass.errors import PassStateWarning, RuntimeUseError
from parpass.errors.adapters import format_with_method
from parpass.errors.warning import warn
from parpass.replicated_tables import exclude, program_entries
from parpass.runner.driver.backends import ContextAwaitable
from parpass.runner.driver.state import FallbackError, RunState, StageInProgress
from parpass.runner.executor import Executor, NoWorkersError
from parpass.runner.follow.payload import UnloadableError, UnsendableError
from parpass.runner.follow.pickling import find_unpicklable
from parpass.runner.follow.snapshot import Snapshot
from parpass.runner.ipc.shared_dir import StorageError
from parpass.runner.ipc.status_board import StatusBoard
from parpass.runner.placement import PlacementReason
from parpass.runner.pool.coordinator import run_stage
from parpass.runner.pool.event_loops import TrioCall
from parpass.runner.pool.remote_stage import RemoteStage
from parpass.transform import Pass
from parpass.transform.capture.recorder import start_body

_FALLBACK_REASONS: dict[type[Exception], PlacementReason] = {
    StorageError: PlacementReason.NO_ROOM,
    UnsendableError: PlacementReason.UNSENDABLE,
    NoWorkersError: PlacementReason.NO_PROCESSES,
}


async def run_in_workers(
    state: RunState, stage: StageInProgress, local_seconds: float | None = None
) -> RemoteStage:
    """Run a stage on those of its functions that have no outcome.

    This process would take `local_seconds`, and takes back what workers that are slower
    have not begun; None if it does not.

    Raises:
        FallbackError: Workers cannot run it, or some of its passes.
        RuntimeUseError: The settings cannot be pickled, the executor is closed, or
            workers hang or end before they begin.
    """
    coordination = TrioCall()
    return await state.backend.call_shielded(
        _run,
        state,
        stage,
        local_seconds,
        coordination,
        cancel=coordination.cancel,
    )


def _run(
    state: RunState,
    stage: StageInProgress,
    local_seconds: float | None,
    coordination: TrioCall,
) -> RemoteStage:
    steps, snapshot = stage.command.steps, Snapshot.take(state.context)
    executor = state.policy.executor
    while True:
        try:
            remote = _encoded_stage(state, stage, snapshot, local_seconds)
            try:
                executor.start(state.policy.start_seconds)
                _coordinate(state, remote, executor, coordination)
            finally:
                remote.end()
        except tuple(_FALLBACK_REASONS) as error:
            raise FallbackError(_FALLBACK_REASONS[type(error)], str(error)) from error
        except UnloadableError as error:
            if not _exclude_entry(error):
                raise _unloadable(steps, error) from error
            local_seconds = None
            continue
        _warn_of_written(remote)
        return remote


def _encoded_stage(
    state: RunState,
    stage: StageInProgress,
    snapshot: Snapshot,
    local_seconds: float | None,
) -> RemoteStage:
    """Return a stage with what its jobs have in common encoded.

    Raises:
        StorageError: There is no room.
        UnsendableError: The state of the process cannot be encoded.
        FallbackError: The passes, or the module, cannot be.
        RuntimeUseError: The settings cannot be.
    """
    try:
        return RemoteStage(
            stage.command,
            stage.module,
            snapshot,
            state.store,
            stage.outcomes,
            workers=state.policy.executor.workers,
            start_seconds=state.policy.start_seconds,
            local_seconds=local_seconds,
            was_warm=stage.was_warm,
            observers=state.observers,
        )
    except (StorageError, UnsendableError):
        raise
    except Exception as error:
        raise _unsendable(stage.command.steps, snapshot, error) from error


def _coordinate(
    state: RunState, stage: RemoteStage, executor: Executor, coordination: TrioCall
) -> None:
    board = StatusBoard(state.store.folder, stage.number)
    state.observers.board_opened(board)
    context = contextvars.copy_context()  # for adapters, which encode
    context.run(start_body, True)  # pipelines that they run are nested ones

    def run() -> ContextAwaitable:
        return ContextAwaitable(context, run_stage(stage, executor, board))

    coordination.run(run)


def _warn_of_written(stage: RemoteStage) -> None:
    for pass_name, attribute in stage.written:
        warn(
            f"pass '{pass_name}' changed its attribute '{attribute}' in a worker, "
            "between two functions; such changes reach neither this process nor other "
            "workers. Count with ctx.count, or write a module pass",
            PassStateWarning,
        )


def _unsendable(
    steps: Sequence[Pass], snapshot: Snapshot, error: Exception
) -> FallbackError:
    """Return the fallback for what cannot be pickled: passes, or else the module.

    Raises:
        RuntimeUseError: It is the settings.
    """
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
