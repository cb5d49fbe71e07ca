"""Stage executor: runs a stage in this process, in workers, or in both.

What workers cannot run, such as a pass that cannot be pickled, runs in this process,
with one warning. The result is the same.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from parpass.errors import (
    Hint,
    HintedMessage,
    RuntimeUseError,
    SlowerRunWarning,
    UnpicklablePassWarning,
)
from parpass.errors.warning import warn
from parpass.fork_safety import forks_wait
from parpass.runner.driver.local import LocalStageExecutor
from parpass.runner.driver.state import FallbackError, RunState, StageInProgress
from parpass.runner.ipc.messages import Verdict
from parpass.runner.ipc.module_store import StoredModule
from parpass.runner.observers import Activity, timing
from parpass.runner.placement import (
    Placed,
    Placement,
    PlacementPolicy,
    PlacementReason,
    together,
)
from parpass.runner.stage.outcomes import StageOutcomes, merge_records
from parpass.transform.budget import Budget, budgets_of
from parpass.transform.plan.commands import RunStage, StageResult
from parpass.transform.plan.serial import Suspended, ends_stage, warn_of_unenforced

if TYPE_CHECKING:
    from parpass.runner.driver.remote import RemoteStageExecutor
    from parpass.runner.pool.remote_stage import RemoteStage

_FALLBACK_MESSAGES = {
    PlacementReason.NO_ROOM: (
        "no room for files shared with the workers ({})",
        "; enlarge /dev/shm, or set TMPDIR to a folder with room",
    ),
    PlacementReason.UNSENDABLE: ("the workers cannot be sent {}", ""),
    PlacementReason.UNLOADABLE: ("the workers cannot load {}", ""),
    PlacementReason.NO_PROCESSES: ("no processes can be started ({})", ""),
}


class StageExecutor:
    """Runs the stages of one run, each where it is done soonest.

    Attributes:
        quarantined: The passes that killed a worker, or hung, by function and index of
            the pass in the plan's present stage.
    """

    def __init__(self, state: RunState) -> None:
        self._state = state
        self._local = LocalStageExecutor(state)
        self._policy = state.policy  # None from a fallback of the run on
        self._why_no_policy = PlacementReason.NO_WORKERS
        self._remote: RemoteStageExecutor | None = None  # until a stage is sent
        self.quarantined: dict[tuple[str, int], Verdict] = {}

    def begin(self, command: RunStage) -> StageResult | Suspended:
        """Run a stage here if that is known to be best, else return it to be awaited.

        Most runs of small modules are nothing but this, and take what a serial run
        takes.
        """
        if not command.done and self.quarantined:
            self.quarantined = {}
        state, policy = self._state, self._policy
        if state.cache is not None:
            return Suspended(functools.partial(self._await, command, None))
        if policy is None:
            return self._local.run(command, self._why_no_policy)
        steps, mod = command.steps, command.mod
        budgets = budgets_of(steps, state.context.config)
        is_stored = type(mod) is StoredModule
        functions = mod.handles if is_stored else state.adapter.functions(mod)
        placed = policy.choose(steps, budgets, functions)
        command = command.first(placed.count)
        if placed.place is not Placement.LOCAL:
            return Suspended(functools.partial(self._await, command, placed))
        outcome = self._local.run(command, placed.why, budgets[: placed.count])
        policy.update(placed, command.steps, mod, outcome)
        return outcome

    async def run(self, command: RunStage) -> StageResult:
        """Run a stage."""
        begun = await self._state.backend.call(self.begin, command)
        return await begun.answer() if isinstance(begun, Suspended) else begun

    async def _await(self, command: RunStage, placed: Placed | None) -> StageResult:
        """Run a stage function by function, first here and then in workers.

        | place  | what runs here, if workers are ready | if they are not             |
        |--------|--------------------------------------|-----------------------------|
        | LOCAL  | all                                  | all                         |
        | PROBE  | until workers would be faster        | the same, and they have     |
        |        |                                      | started meanwhile           |
        | REMOTE | nothing                              | until they have started, if |
        |        |                                      | `may_take_back`             |

        Functions whose outcomes are in the cache run nowhere.

        Args:
            command: The stage.
            placed: Where it runs; None where that depends on what is in the cache.
        """
        call, began = self._state.backend.call_shielded, time.perf_counter()
        stage = await call(self._begun, command, placed, began)
        policy, placed, why = self._policy, stage.placed, stage.placed.why
        if placed.place is Placement.LOCAL or policy is None:
            return await self._complete_locally(stage, why)
        is_ready = placed.place is Placement.REMOTE and stage.was_warm
        if placed.may_take_back and not is_ready:
            why = await self._local.run_until_handover(stage, policy)
            if not stage.outcomes.missing():
                return await self._complete_locally(stage, why)
        return await self._run_in_workers(stage, policy)

    def _begun(
        self, command: RunStage, placed: Placed | None, began: float
    ) -> StageInProgress:
        """Return a stage that begins, with the outcomes that are in the cache."""
        state, policy = self._state, self._policy
        module = state.store.wrap(command.mod)
        key = None
        if state.cache is not None:
            command = command.first(together(command.steps, state.context))
            count, key = state.cache.keys.first_stage(command.steps, module.base)
            command = command.first(count)
        outcomes, cache = StageOutcomes(list(module.handles), len(command.steps)), None
        for one in state.observers:
            one.stage_began(command.steps, outcomes)
        if state.cache is not None and key is not None:
            # Only where there is a cache.
            from parpass.runner.cache.stage_cache import StageCache

            outcomes.recording = state.cache.recording
            cache = StageCache(state.cache, key, command.steps, module)
            cache.recall(outcomes)
        elif state.cache is not None:
            state.cache.computed += len(outcomes.names)
        if policy is None:
            placed = Placed(Placement.LOCAL, self._why_no_policy, len(command.steps))
        elif placed is None:
            budgets = budgets_of(command.steps, state.context.config)
            rest = {name: module.handles[name] for name in outcomes.missing_names()}
            placed = policy.choose(command.steps, budgets, rest)
        is_warm = policy is not None and policy.executor.is_warm
        return StageInProgress(command, module, outcomes, began, is_warm, placed, cache)

    async def _run_in_workers(
        self, stage: StageInProgress, policy: PlacementPolicy
    ) -> StageResult:
        """Run the rest of a stage in workers, and learn from what that took."""
        outcomes, steps, placed = stage.outcomes, stage.command.steps, stage.placed
        rest = stage.missing_handles
        local_seconds = policy.local_seconds(steps, rest)
        taken_back_at = local_seconds if placed.may_take_back else None
        asked = time.perf_counter()
        try:
            remote = await self._send(stage, policy, taken_back_at)
            await self._revalidate(stage, policy, remote.budgets)
        except FallbackError as fallback:
            return await self._fall_back(stage, policy, fallback)
        result = await self._merge_outcomes(stage)
        if not ends_stage(result.records[-1]):
            starting = remote.starting_seconds() / policy.executor.workers
            spent = result.ended - asked - starting
            # Workers that were started just now had to load what passes use.
            is_slower = stage.was_warm and spent > (local_seconds or math.inf)
            if placed.place is Placement.PROBE and (remote.is_reclaimed or is_slower):
                update = policy.update_from_remainder
                await self._state.backend.call(update, steps, rest, spent)
        # Of a cost that only some functions had nothing can be learnt for all.
        if not outcomes.recalled:
            args = placed, steps, stage.command.mod, result
            await self._state.backend.call(policy.update, *args)
        return result

    async def _send(
        self,
        stage: StageInProgress,
        policy: PlacementPolicy,
        taken_back_at: float | None = None,
    ) -> RemoteStage:
        """Run a stage in workers, on the functions without an outcome.

        Args:
            stage: The stage.
            policy: Knows the workers.
            taken_back_at: The seconds that this process would take, which takes back
                what workers that are slower have not begun; None if it does not.

        Raises:
            FallbackError: Workers cannot run it, or some of its passes.
        """
        state = self._state
        if self._remote is None:
            with timing(state.observers, Activity.LOADING):
                load = state.backend.call_shielded
                self._remote = await load(_remote_executor, state)
        sent = await self._remote.run(stage, policy.executor, taken_back_at)
        if sent.is_reclaimed:
            await self._local.run_rest(stage, PlacementReason.WORKERS_SLOWER)
        else:
            stage.outcomes.mark_rechecked()
        return sent

    async def _revalidate(
        self,
        stage: StageInProgress,
        policy: PlacementPolicy,
        budgets: Sequence[Budget],
    ) -> None:
        """Run again the functions that relied on signatures which changed.

        Raises:
            FallbackError: As by `_send`.
        """
        outcomes, steps = stage.outcomes, stage.command.steps
        while outcomes.invalidate_dependents():
            args = steps, budgets, stage.missing_handles
            placed = await self._state.backend.call(policy.choose, *args)
            if outcomes.needs_worker_recheck or placed.place is not Placement.LOCAL:
                begun = msgspec.structs.replace(stage, was_warm=True)  # by now
                await self._send(begun, policy)
            else:
                await self._local.run_rest(stage, PlacementReason.REVALIDATED)

    async def _fall_back(
        self, stage: StageInProgress, policy: PlacementPolicy, fallback: FallbackError
    ) -> StageResult:
        """Run here what workers cannot: some passes of a stage, or the rest of the run.

        Raises:
            RuntimeUseError: The run is isolated.
        """
        if fallback.passes is None:
            self._policy, self._why_no_policy = None, fallback.reason
            self._warn_run_local(fallback)
            return await self._finish_locally(stage, fallback.reason)
        self._check_not_isolated(stage, fallback)
        is_local = [reason is not None for reason in fallback.passes]
        # The plan asks for the passes after those that go where the first one goes.
        count = next(
            (at for at, one in enumerate(is_local) if one != is_local[0]), len(is_local)
        )
        first = stage.first(count)
        if first is not stage:
            for one in self._state.observers:
                one.stage_began(first.command.steps, first.outcomes)
        if is_local[0]:
            self._warn_passes_local(first, fallback)
            return await self._finish_locally(first, PlacementReason.UNSENDABLE)
        if first.outcomes.is_empty:
            return await self.run(first.command)
        return await self._run_in_workers(first, policy)

    async def _finish_locally(
        self, stage: StageInProgress, reason: PlacementReason
    ) -> StageResult:
        """Run the functions of a stage without an outcome in this process.

        Effects that were emitted are not emitted again, and a pass that killed a worker
        is not called on that function.
        """
        if stage.outcomes.is_empty:
            run = self._local.run
            return await self._state.backend.call(run, stage.command, reason)
        return await self._complete_locally(stage, reason)

    async def _complete_locally(
        self, stage: StageInProgress, reason: PlacementReason
    ) -> StageResult:
        if stage.outcomes.missing():
            steps, config = stage.command.steps, self._state.context.config
            warn_of_unenforced(budgets_of(steps, config))
        await self._local.run_rest(stage, reason)
        while stage.outcomes.invalidate_dependents():
            await self._local.run_rest(stage, reason)
        return await self._merge_outcomes(stage)

    async def _merge_outcomes(self, stage: StageInProgress) -> StageResult:
        """Return the result of a stage of which every function has an outcome."""
        state, command, outcomes = self._state, stage.command, stage.outcomes
        for (name, at), verdict in outcomes.local_quarantine().items():
            self.quarantined[name, command.done + at] = verdict
        if stage.cache is not None:
            await state.backend.call_shielded(stage.cache.keep, outcomes)
        made = StoredModule(stage.module.base, outcomes.by_name())
        if len(state.analyses):
            state.analyses.retain(one.function for one in made.handles.values())
        records = merge_records(
            command.steps,
            outcomes,
            with_function_counters=state.context.function_statistics is not None,
        )
        for one in state.observers:
            one.stage_ended(records, outcomes)
        if not state.store.optimizations.retained_bytes:
            await state.backend.call_shielded(state.store.decode_all, made)
        return StageResult(made, records, stage.began, time.perf_counter())

    def _check_not_isolated(
        self, stage: StageInProgress, fallback: FallbackError
    ) -> None:
        assert fallback.passes is not None
        for step, reason in zip(stage.command.steps, fallback.passes, strict=True):
            if reason is not None and self._state.isolated:
                raise _isolation_error(
                    f"pass '{step.info.name}' cannot {fallback.detail}: {reason}"
                )

    def _warn_passes_local(
        self, stage: StageInProgress, fallback: FallbackError
    ) -> None:
        assert fallback.passes is not None
        for step, reason in zip(stage.command.steps, fallback.passes, strict=False):
            name = step.info.name
            for one in self._state.observers:
                one.pass_unsendable(name, str(reason))
            warn(
                f"pass '{name}' cannot {fallback.detail}, so it runs in this process: "
                f"{reason}",
                UnpicklablePassWarning,
            )

    def _warn_run_local(self, fallback: FallbackError) -> None:
        message, advice = _FALLBACK_MESSAGES[fallback.reason]
        message = message.format(fallback.detail)
        if self._state.isolated:
            raise _isolation_error(message)
        warn(
            f"{message}, so the rest of this run stays in this process{advice}",
            SlowerRunWarning,
        )


def _remote_executor(state: RunState) -> RemoteStageExecutor:
    """Return what runs stages in workers, loaded now: small runs do without.

    Raises:
        FallbackError: The program is at its end, when no module can be loaded that
            wants to learn of it.
    """
    try:
        with forks_wait():
            # Not before the first stage goes to workers: it loads trio.
            from parpass.runner.driver.remote import RemoteStageExecutor
    except RuntimeError as error:
        raise FallbackError(PlacementReason.NO_PROCESSES, str(error)) from error
    return RemoteStageExecutor(state)


def _isolation_error(why: str) -> RuntimeUseError:
    return RuntimeUseError(
        HintedMessage(
            f"an isolated run needs workers, but {why}; fix that, or ",
            Hint.NOT_ISOLATED,
        )
    )
