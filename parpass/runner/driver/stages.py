"""Stage executor: runs a stage in this process, in workers, or in both.

What workers cannot run, such as a pass that cannot be pickled, runs in this process,
with one warning. The result is the same.
"""

from __future__ import annotations

import functools
import math
import time
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
from parpass.runner.observers import Activity, LocalReason, timing
from parpass.runner.placement import Placement, PlacementEstimate, PlacementPolicy
from parpass.runner.stage.outcomes import StageOutcomes, merge_records
from parpass.transform.budget import budgets_of
from parpass.transform.plan.commands import RunStage, StageResult
from parpass.transform.plan.serial import Suspended, ends_stage

if TYPE_CHECKING:
    from parpass.runner.driver.remote import RemoteStageExecutor

# Passes that go together at most: a pass that reads other functions has the passes
# before it run on them, and those read others, as deep on Python's stack as this.
_MAX_FUSED_STEPS = 16

_FALLBACK_MESSAGES = {
    LocalReason.NO_ROOM: (
        "there is no room to share bytes with the workers ({})",
        "; enlarge /dev/shm, or set TMPDIR to a folder with room",
    ),
    LocalReason.UNSENDABLE: ("the workers cannot be sent {}", ""),
    LocalReason.UNLOADABLE: ("the workers cannot load {}", ""),
    LocalReason.NO_PROCESSES: ("no processes can be started ({})", ""),
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
        self._no_policy_reason = LocalReason.NO_WORKERS
        self._workers_slower = False  # in the last stage
        self._finished_locally = False  # that stage
        self._starting_seconds = 0.0  # of it, waiting for workers to start
        self.quarantined: dict[tuple[str, int], Verdict] = {}

    def begin(self, command: RunStage) -> StageResult | Suspended:
        """Run a stage here if that is known to be best, else return it to be awaited.

        Most runs of small modules are nothing but this, and take what a serial run
        takes.
        """
        if not command.done and self.quarantined:
            self.quarantined = {}
        policy = self._policy
        if self._state.cache is not None:
            return Suspended(functools.partial(self._await_cached, command))
        if policy is None:
            return self._local.run(command, self._no_policy_reason)
        state, steps, mod = self._state, command.steps, command.mod
        budgets = budgets_of(steps, state.context.config)
        is_stored = type(mod) is StoredModule
        functions = mod.handles if is_stored else state.adapter.functions(mod)
        estimate = policy.choose(steps, budgets, functions)
        if estimate.place is not Placement.LOCAL:
            return Suspended(functools.partial(self._await, command, policy, estimate))
        reason = policy.local_reason(len(functions))
        outcome = self._local.run(command, reason, budgets)
        if estimate.seconds:
            policy.update(estimate, steps, mod, outcome)
        return outcome

    async def run(self, command: RunStage) -> StageResult:
        """Run a stage."""
        begun = await self._state.backend.call(self.begin, command)
        return await begun.answer() if isinstance(begun, Suspended) else begun

    async def _await_cached(self, command: RunStage) -> StageResult:
        """Run a stage on the functions whose results are not in the cache."""
        state, policy, began = self._state, self._policy, time.perf_counter()
        command = self._fused(command)
        stage = await state.backend.call_shielded(self._recalled, command, began)
        if policy is None or not stage.outcomes.missing():
            return await self._complete_locally(stage, self._no_policy_reason)
        steps, rest = stage.command.steps, stage.missing_handles
        budgets = budgets_of(steps, state.context.config)
        estimate = await state.backend.call(policy.choose, steps, budgets, rest)
        if estimate.place is Placement.LOCAL:
            return await self._complete_locally(stage, policy.local_reason(len(rest)))
        return await self._run_missing(
            stage,
            policy,
            estimate,
            starts=estimate.place is not Placement.PROBE,
        )

    def _recalled(self, command: RunStage, began: float) -> StageInProgress:
        """Return a stage with the outcomes that are in the cache."""
        state, cache = self._state, None
        module = state.store.wrap(command.mod)
        assert state.cache is not None
        count, key = state.cache.first_stage(command.steps, module.base)
        command = command.first(count)
        outcomes = self._outcomes_of(command, module)
        if key is None:
            state.cache.computed += len(outcomes.names)
        else:
            # Only where there is a cache.
            from parpass.runner.cache.stage_cache import StageCache

            outcomes.recording = state.cache.recording
            cache = StageCache(state.cache, key, command.steps, module)
            cache.recall(outcomes)
        return StageInProgress(
            command, module, outcomes, began, was_warm=self._is_warm, cache=cache
        )

    @property
    def _is_warm(self) -> bool:
        """Whether there are workers."""
        return self._policy is not None and self._policy.executor.is_warm

    def _fused(self, command: RunStage) -> RunStage:
        """Return the command for the first steps, as many as go together at most."""
        fuses = self._state.store.optimizations.stages
        return command.first(_MAX_FUSED_STEPS if fuses else 1)

    def _outcomes_of(self, command: RunStage, module: StoredModule) -> StageOutcomes:
        """Return the outcomes of a stage that begins, of which there are none yet."""
        outcomes = StageOutcomes(list(module.handles), len(command.steps))
        for one in self._state.observers:
            one.stage_began(command.steps, outcomes)
        return outcomes

    async def _await(
        self, command: RunStage, policy: PlacementPolicy, estimate: PlacementEstimate
    ) -> StageResult:
        """Run a stage that is probed, or that workers run."""
        state, command = self._state, self._fused(command)
        began = time.perf_counter()
        probed = None
        if estimate.place is Placement.PROBE:
            probed = await state.backend.call(self._local.probe, command, policy)
            if isinstance(probed, StageResult):
                return probed
        module = await state.backend.call_shielded(state.store.wrap, command.mod)
        outcomes = self._outcomes_of(command, module)
        stage = StageInProgress(
            command,
            module,
            outcomes,
            began,
            was_warm=self._is_warm,
            is_probed=probed is not None,
        )
        if probed is not None:
            await self._local.resume_probed(probed, stage)
        return await self._run_missing(stage, policy, estimate, starts=probed is None)

    async def _run_missing(
        self,
        stage: StageInProgress,
        policy: PlacementPolicy,
        estimate: PlacementEstimate,
        *,
        starts: bool,
    ) -> StageResult:
        """Run the rest of a stage in workers, and here until they are ready.

        Args:
            stage: The stage.
            policy: Knows the workers.
            estimate: The estimate for the stage.
            starts: Whether workers are started at once, as the estimate says that they
                are worth it; else when that is known.
        """
        # Without an estimate workers run it for other reasons than speed.
        if not stage.was_warm and (estimate.expected or not starts):
            reason = await self._local.run_until_warm(stage, policy, start=starts)
            if not stage.outcomes.missing():
                return await self._complete_locally(stage, reason)
        return await self._measured(stage, policy, estimate)

    async def _measured(
        self,
        stage: StageInProgress,
        policy: PlacementPolicy,
        estimate: PlacementEstimate,
    ) -> StageResult:
        """Run the rest of a stage in workers, and learn from what that took."""
        state, outcomes, steps = self._state, stage.outcomes, stage.command.steps
        missing, rest = outcomes.missing(), stage.missing_handles
        local_seconds = policy.local_seconds(steps, rest)
        asked, self._starting_seconds = time.perf_counter(), 0.0
        self._workers_slower = self._finished_locally = False
        is_told = stage.is_probed or estimate.expected > 0
        told = local_seconds if is_told else None
        outcome = await self._remote(stage, policy, told)
        was_remote = not (self._finished_locally or outcomes.missing())
        if ends_stage(outcome.records[-1]):
            # A serial run does not come to all of it.
            self._compare(None)
        elif was_remote:
            took = sum([outcomes.seconds[at] for at in missing])
            self._compare(local_seconds, took)
            spent = outcome.ended - asked - self._starting_seconds
            # Workers that were started just now had to load what passes use.
            is_slower = stage.was_warm and spent > (local_seconds or math.inf)
            if stage.is_probed and (self._workers_slower or is_slower):
                update = policy.update_from_remainder
                await state.backend.call(update, steps, rest, spent)
        # Of a cost that only some functions had nothing can be learnt for all.
        is_whole = not (self._finished_locally or outcomes.recalled)
        if estimate.seconds and is_whole:
            args = estimate, steps, stage.command.mod, outcome
            await state.backend.call(policy.update, *args)
        return outcome

    async def _remote(
        self,
        stage: StageInProgress,
        policy: PlacementPolicy,
        local_seconds: float | None = None,
    ) -> StageResult:
        """Run a stage in workers, on the functions without an outcome."""
        state, outcomes, steps = self._state, stage.outcomes, stage.command.steps
        try:
            with timing(state.observers, Activity.LOADING):
                remote = _remote_executor(state)
            ran = await remote.run(stage, policy.executor, local_seconds)
            self._starting_seconds += ran.starting_seconds() / policy.executor.workers
        except FallbackError as fallback:
            return await self._fall_back(stage, policy, fallback)
        if ran.is_reclaimed:
            self._workers_slower = True
            await self._local.run_remainder(stage, LocalReason.WORKERS_SLOWER)
        else:
            outcomes.mark_rechecked()
        while outcomes.invalidate_dependents():
            args = steps, ran.budgets, stage.missing_handles
            estimate = await state.backend.call(policy.choose, *args)
            if outcomes.needs_worker_recheck or estimate.place is not Placement.LOCAL:
                begun = msgspec.structs.replace(stage, was_warm=True)  # by now
                return await self._remote(begun, policy)
            await self._local.run_remainder(stage, LocalReason.REVALIDATED)
        return await self._merge_outcomes(stage)

    async def _fall_back(
        self, stage: StageInProgress, policy: PlacementPolicy, fallback: FallbackError
    ) -> StageResult:
        """Run here what workers cannot: some passes of a stage, or the rest of the run.

        Raises:
            RuntimeUseError: The run is isolated.
        """
        if fallback.passes is None:
            self._policy, self._no_policy_reason = None, fallback.reason
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
            return await self._finish_locally(first, LocalReason.UNSENDABLE)
        if first.outcomes.is_empty:
            return await self.run(first.command)
        begun = first.outcomes.partial
        await self._local.run_remainder(first, LocalReason.SMALL, begun)
        return await self._remote(first, policy)

    async def _finish_locally(
        self, stage: StageInProgress, reason: LocalReason
    ) -> StageResult:
        """Run the functions of a stage without an outcome in this process.

        Effects that were emitted are not emitted again, and a pass that killed a worker
        is not called on that function.
        """
        state, outcomes = self._state, stage.outcomes
        self._finished_locally = True
        if outcomes.is_empty:
            return await state.backend.call(self._local.run, stage.command, reason)
        self._compare(None)  # workers may have run some of it
        return await self._complete_locally(stage, reason)

    async def _complete_locally(
        self, stage: StageInProgress, reason: LocalReason
    ) -> StageResult:
        await self._local.run_remainder(stage, reason)
        while stage.outcomes.invalidate_dependents():
            await self._local.run_remainder(stage, reason)
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

    def _compare(self, here: float | None, there: float = 0.0) -> None:
        for one in self._state.observers:
            one.stage_compared(here, there)

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
        raise FallbackError(LocalReason.NO_PROCESSES, str(error)) from error
    return RemoteStageExecutor(state)


def _isolation_error(why: str) -> RuntimeUseError:
    return RuntimeUseError(
        HintedMessage(
            f"an isolated run has all function passes in workers, and {why}; mend "
            "that, or ",
            Hint.NOT_ISOLATED,
        )
    )
