"""The part of a stage that runs in workers: in one message, or by the coordinator.

A stage that is small and isolated is sent to one worker in one message: the shared
directory, the status board and the event loop of the coordinator take ten times as long
as a pass on a small function. If that fails, the stage runs with all of them, which
then attribute the failure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from parpass.errors import PassStateWarning, RuntimeUseError
from parpass.errors.adapters import format_with_method
from parpass.errors.warning import warn
from parpass.replicated_tables import exclude, program_entries
from parpass.runner.driver.state import FallbackError, RunState, StageInProgress
from parpass.runner.executor import DirectExecutor, Executor, NoWorkersError
from parpass.runner.ipc.batch import EncodedFunction, FunctionEncoder
from parpass.runner.ipc.blobs import NullBlobStore, TooLargeError
from parpass.runner.ipc.function_file import FunctionIndex, IndexEntry
from parpass.runner.ipc.messages import InlineStage, encode_message
from parpass.runner.ipc.payload import UnloadableError, UnsendableError
from parpass.runner.ipc.pickling import find_unpicklable
from parpass.runner.ipc.shared_dir import StorageError
from parpass.runner.ipc.snapshot import Snapshot
from parpass.runner.ipc.status_board import StatusBoard
from parpass.runner.pool.coordinator import run_stage
from parpass.runner.pool.remote_stage import RemoteStage
from parpass.runner.report.figures import LocalReason
from parpass.runner.worker.jobs import run_inline_stage
from parpass.transform import Pass
from parpass.transform.budget import any_limited

# Of a stage that is one message to one worker, while the others have nothing to do.
_MAX_INLINE_FUNCTIONS = 256
_MAX_INLINE_BYTES = 65_536
_MAX_INLINE_SECONDS = 0.002  # of passes, as estimated, on several functions

_FALLBACK_REASONS: dict[type[Exception], LocalReason] = {
    StorageError: LocalReason.NO_ROOM,
    UnsendableError: LocalReason.UNSENDABLE,
    NoWorkersError: LocalReason.NO_PROCESSES,
}

ValueT = TypeVar("ValueT")


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
                memory=state.context.memory,
                transfer=state.metrics.new_transfer(
                    command.steps, stage.outcomes.names, was_warm=stage.was_warm
                ),
            )
            try:
                await self._send(remote, executor)
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

    async def _send(self, stage: RemoteStage, executor: Executor) -> None:
        if self._state.isolated and _may_run_inline(stage):
            if isinstance(executor, DirectExecutor):
                executor.wake_worker()
            message = await self._encode(_encode_inline_stage, stage)
            if message and await self._run_inline(message, stage, executor):
                return
        await self._encode(stage.publish_spec)
        await self._coordinate(stage, executor)

    async def _encode(self, encode: Callable[..., ValueT], *args: Any) -> ValueT:
        try:
            return await self._state.backend.call_shielded(encode, *args)
        except (StorageError, UnsendableError):
            raise
        except Exception as error:
            raise _PublishError from error

    async def _run_inline(
        self, message: bytes, stage: RemoteStage, executor: Executor
    ) -> bool:
        """Run a stage by one message to one worker; return whether that succeeded."""
        state = self._state
        answer = await state.backend.submit_and_wait(
            executor, run_inline_stage, message
        )
        if answer is None:
            return False
        _, new = stage.accept_result(answer)
        if stage.wanted:
            await state.backend.call(stage.decode_all, new)
        state.metrics.record_transfer(stage.transfer, stage.total)
        stage.end()
        _warn_state_changes(stage)
        return True

    async def _coordinate(self, stage: RemoteStage, executor: Executor) -> None:
        """Run a stage by the coordinator, on a trio event loop.

        Raises:
            NoWorkersError: There is no event loop.
        """
        state, board = self._state, StatusBoard(self._state.store.folder)
        has_begun, why_none = False, ""

        async def run() -> None:
            nonlocal has_begun
            has_begun = True
            await run_stage(stage, executor, board)

        if state.tracker is not None:
            state.tracker.watch_board(board)
        try:
            await state.backend.run(run)
        except OSError as error:
            if has_begun:
                raise
            # An event loop needs descriptors; those that it has got are closed with
            # the error.
            why_none = f"there is no event loop, {type(error).__name__}: {error}"
        finally:
            if state.tracker is not None:
                state.tracker.watch_board(None)
            state.metrics.record_transfer(stage.transfer, stage.total)
            await state.backend.call_shielded(stage.end)
        if why_none:
            raise NoWorkersError("none", why_none)
        _warn_state_changes(stage)


def _may_run_inline(stage: RemoteStage) -> bool:
    """Return whether a stage seems small enough, before it is encoded."""
    is_small = 0 < len(stage.names) <= _MAX_INLINE_FUNCTIONS
    return is_small and not any_limited(stage.budgets)


def _encode_inline_stage(stage: RemoteStage) -> bytes | None:
    """Return a stage as one message; None if it is not small after all.

    Raises:
        Exception: Something in it cannot be pickled.
    """
    functions = stage.loaded_functions()
    count, pace = len(functions), stage.pace()
    if count != len(stage.names) or (count > 1 and pace is None):
        return None
    most = _MAX_INLINE_BYTES
    if count > 1 and pace:
        most = min(most, _MAX_INLINE_SECONDS / pace)
    blobs = NullBlobStore(stage.optimizations.large_value_bytes)
    encoder, encoded = FunctionEncoder(stage.adapter, blobs), list[EncodedFunction]()
    for function in functions:
        try:
            encoded.append(encoder.encode(function))
        except TooLargeError:
            return None
        if encoder.encoded_bytes > most:
            return None
    encoder.close()
    sizes = [one.size for one in encoded]
    stage.slots = FunctionIndex.private(count)
    for at, length in enumerate(sizes):
        stage.slots[at] = IndexEntry(0, length, 0, length)
    job = stage.whole_job(dict(enumerate(encoded)))
    message = encode_message(InlineStage(stage.encode_spec(), job, stage.start_seconds))
    stage.transfer.job_sent(len(message))
    return message


def _warn_state_changes(stage: RemoteStage) -> None:
    for pass_name, attribute in stage.written:
        warn(
            f"pass '{pass_name}' changed its attribute '{attribute}' from one "
            "function to another, in a worker; what a function pass writes to "
            "itself does not come back, nor does it reach other workers. Count "
            "with ctx.count, or write a module pass",
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
        return FallbackError(LocalReason.UNSENDABLE, "be sent to the workers", passes)
    return FallbackError(
        LocalReason.UNSENDABLE, f"the module, {format_with_method(error)}"
    )


def _unloadable(steps: Sequence[Pass], error: UnloadableError) -> FallbackError:
    """Return the fallback for what workers cannot load: a pass, or anything else."""
    if error.step is None:
        return FallbackError(LocalReason.UNLOADABLE, str(error))
    passes = [error.why if at == error.step else None for at in range(len(steps))]
    return FallbackError(LocalReason.UNLOADABLE, "be loaded by the workers", passes)


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
