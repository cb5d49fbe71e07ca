"""Stage executor: runs a stage in this process, in workers, or in both.

What workers cannot run, such as a pass that cannot be pickled, runs in this process,
with one warning. The result is the same.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Awaitable, Callable, Sequence
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
from parpass.runner.driver.local import run_rest, run_serially, run_until_handover
from parpass.runner.driver.pass_by_pass import left_stage, run_serially_until_handover
from parpass.runner.driver.state import FallbackError, RunState, StageInProgress
from parpass.runner.ipc.function_outcome import Verdict
from parpass.runner.ipc.module_store import StoredModule
from parpass.runner.observers import Activity, timing
from parpass.runner.placement import (
    Placed,
    Placement,
    PlacementPolicy,
    PlacementReason,
    together,
    undivided,
)
from parpass.runner.stage.outcomes import StageOutcomes, merge_records
from parpass.transform.budget import Budget, budgets_of
from parpass.transform.plan.commands import RunStage, StageResult
from parpass.transform.plan.serial import (
    KnownResults,
    Suspended,
    ends_stage,
    warn_of_unenforced,
)

if TYPE_CHECKING:
    from parpass.runner.pool.remote_stage import RemoteStage

    _RunInWorkers = Callable[
        [RunState, StageInProgress, float | None], Awaitable[RemoteStage]
    ]

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

    | place  | what runs here, if workers are ready | if they are not              |
    |--------|--------------------------------------|------------------------------|
    | LOCAL  | all                                  | all                          |
    | PROBE  | until workers would be faster        | the same, and they have      |
    |        |                                      | started meanwhile            |
    | REMOTE | nothing                              | until they have started, if  |
    |        |                                      | `may_take_back`              |

    Functions whose outcomes are in the cache run nowhere.

    Attributes:
        quarantined: The passes that killed a worker, or hung, by function and index of
            the pass in the plan's present stage.
    """

    def __init__(self, state: RunState) -> None:
        self._state, self._policy = state, state.policy
        self._run_in_workers: _RunInWorkers | None = None  # until a stage is sent
        # A stage that goes on pass by pass once the plan has called hooks.
        self._interrupted: tuple[StageInProgress, KnownResults] | None = None
        self.quarantined: dict[tuple[str, int], Verdict] = {}

    def start(self, command: RunStage) -> StageResult | Suspended:
        """Run a stage here if that is known to be best, else return it to be awaited.

        Most runs of small modules are nothing but this, and take what a serial run
        takes.
        """
        if not command.done and self.quarantined:
            self.quarantined = {}
        interrupted, self._interrupted = self._interrupted, None
        if interrupted is not None and command.done:
            return Suspended(functools.partial(self._go_on, command, *interrupted))
        state, policy = self._state, self._policy
        if state.cache is not None:
            return Suspended(functools.partial(self._run_by_function, command))
        steps, mod = command.steps, command.mod
        budgets = budgets_of(steps, state.context.config)
        is_stored = type(mod) is StoredModule
        functions = mod.handles if is_stored else state.adapter.functions(mod)
        placed = policy.choose(steps, budgets, functions)
        command = command.first(placed.count)
        if placed.place is not Placement.LOCAL:
            return Suspended(functools.partial(self._run_by_function, command, placed))
        budgets = budgets[: placed.count]
        outcome = run_serially(state, command, placed.why, budgets)
        policy.update(placed, command.steps, mod, outcome)
        return outcome

    async def run(self, command: RunStage) -> StageResult:
        started = await self._state.backend.call(self.start, command)
        return await started.answer() if isinstance(started, Suspended) else started

    async def _run_by_function(
        self, command: RunStage, placed: Placed | None = None
    ) -> StageResult:
        """Run a stage function by function, first here and then in workers.

        `placed` is None where that depends on what is in the cache.
        """
        state, began = self._state, time.perf_counter()
        stage = await state.backend.call_shielded(self._open, command, placed, began)
        placed = stage.placed
        if placed.place is Placement.LOCAL:
            return await self._finish_here(stage, placed.why)
        is_ready = placed.place is Placement.REMOTE and stage.was_warm
        if placed.may_take_back and not is_ready:
            known = await run_until_handover(state, stage)
            if known is not None:
                return await self._finish_pass_by_pass(stage, known)
            if not stage.outcomes.missing():
                return await self._finish_here(stage, placed.why)
        return await self._finish_in_workers(stage)

    def _open(
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
        steps = command.steps
        outcomes, cache = StageOutcomes(list(module.handles), len(steps)), None
        state.observers.stage_began(steps, outcomes.names, outcomes)
        if state.cache is not None and key is not None:
            # Only where there is a cache.
            from parpass.runner.cache.stage_cache import StageCache

            outcomes.recording = state.cache.recording
            cache = StageCache(state.cache, key, steps, module)
            cache.recall(outcomes)
        elif state.cache is not None:
            state.cache.computed += len(outcomes.names)
        if placed is None:
            budgets = budgets_of(steps, state.context.config)
            rest = {name: module.handles[name] for name in outcomes.missing_names()}
            placed = policy.choose(steps, budgets, rest)
        return StageInProgress(
            command, module, outcomes, began, policy.is_warm, placed, cache
        )

    async def _finish_here(
        self, stage: StageInProgress, reason: PlacementReason
    ) -> StageResult:
        """Run the functions of a stage without an outcome in this process.

        Effects that were emitted are not emitted again, and a pass that killed a worker
        is not called on that function.
        """
        state, outcomes = self._state, stage.outcomes
        if outcomes.is_empty and stage.cache is None:
            call = state.backend.call
            return await call(run_serially, state, stage.command, reason)
        if outcomes.missing():
            warn_of_unenforced(budgets_of(stage.command.steps, state.context.config))
            await run_rest(state, stage, reason)
        while outcomes.invalidate_dependents():
            await run_rest(state, stage, PlacementReason.REVALIDATED)
        return await self._merge_outcomes(stage)

    async def _finish_pass_by_pass(
        self, stage: StageInProgress, known: KnownResults
    ) -> StageResult:
        """Run the passes here one after the other, as long as workers are no faster."""
        state = self._state
        result = await run_serially_until_handover(state, stage, known)
        if result.left is None:
            done = len(result.records)
            if done < len(stage.command.steps):
                self._interrupted = stage, known.after(done)
            return result
        left = await state.backend.call(left_stage, state, stage, known, result)
        rest = await self._finish_in_workers(left)
        records = [*result.records, *rest.records]
        return StageResult(rest.mod, records, stage.began, rest.ended)

    async def _go_on(
        self, command: RunStage, stage: StageInProgress, known: KnownResults
    ) -> StageResult:
        """Run the rest of a stage that goes on pass by pass."""
        rest = msgspec.structs.replace(
            stage,
            command=command.first(len(known.seconds)),
            began=time.perf_counter(),
            was_warm=self._policy.is_warm,
        )
        return await self._finish_pass_by_pass(rest, known)

    async def _finish_in_workers(self, stage: StageInProgress) -> StageResult:
        """Run the rest of a stage in workers, and learn from what that took."""
        policy, outcomes, placed = self._policy, stage.outcomes, stage.placed
        steps, rest = stage.command.steps, stage.missing_handles
        local_seconds = policy.local_seconds(steps, rest)
        taken_back_at = local_seconds if placed.may_take_back else None
        asked = time.perf_counter()
        try:
            remote = await self._send(stage, taken_back_at)
            await self._revalidate(stage, remote.budgets)
        except FallbackError as fallback:
            return await self._fall_back(stage, fallback)
        result = await self._merge_outcomes(stage)
        call = self._state.backend.call
        if not ends_stage(result.records[-1]):
            starting = remote.starting_seconds() / policy.executor.workers
            spent = result.ended - asked - starting
            # Workers that were started just now had to load what passes use.
            is_slower = stage.was_warm and spent > (local_seconds or math.inf)
            if placed.place is Placement.PROBE and (remote.is_reclaimed or is_slower):
                await call(policy.update_from_remainder, steps, rest, spent)
        # Of a cost that only some functions had nothing can be learnt for all.
        if not outcomes.recalled:
            await call(policy.update, placed, steps, stage.command.mod, result)
        return result

    async def _send(
        self, stage: StageInProgress, local_seconds: float | None = None
    ) -> RemoteStage:
        """Run a stage in workers, on the functions without an outcome.

        See `run_in_workers` for `local_seconds`.

        Raises:
            FallbackError: Workers cannot run it, or some of its passes; or the program
                is at its end, when no module can be loaded that wants to learn of it.
        """
        state = self._state
        if self._run_in_workers is None:
            load = state.backend.call_shielded
            with timing(state.observers, Activity.LOADING):
                self._run_in_workers = await load(_load_remote)
        sent = await self._run_in_workers(state, stage, local_seconds)
        if sent.is_reclaimed:
            await run_rest(state, stage, PlacementReason.WORKERS_SLOWER)
        else:
            stage.outcomes.mark_rechecked()
        return sent

    async def _revalidate(
        self, stage: StageInProgress, budgets: Sequence[Budget]
    ) -> None:
        """Run again the functions that relied on signatures which changed.

        Raises:
            FallbackError: As by `_send`.
        """
        state, outcomes, steps = self._state, stage.outcomes, stage.command.steps
        choose = self._policy.choose
        while outcomes.invalidate_dependents():
            handles = stage.missing_handles
            placed = await state.backend.call(choose, steps, budgets, handles)
            if outcomes.needs_worker_recheck or placed.place is not Placement.LOCAL:
                begun = msgspec.structs.replace(stage, was_warm=True)  # by now
                await self._send(begun)
            else:
                await run_rest(state, stage, PlacementReason.REVALIDATED)

    async def _fall_back(
        self, stage: StageInProgress, fallback: FallbackError
    ) -> StageResult:
        """Run here what workers cannot: some passes of a stage, or the rest of the run.

        Raises:
            RuntimeUseError: The run is isolated.
        """
        policy, reasons = self._policy, fallback.passes
        if reasons is None:
            policy.why_serial = fallback.reason
            _warn_run_local(policy, fallback)
            return await self._finish_here(stage, fallback.reason)
        unsent = [
            (step.info.name, reason)
            for step, reason in zip(stage.command.steps, reasons, strict=True)
            if reason is not None
        ]
        if policy.isolated:
            name, reason = unsent[0]
            raise _isolation_error(f"pass '{name}' cannot {fallback.detail}: {reason}")
        # The plan asks for the passes after those that go where the first one goes.
        is_local = [reason is not None for reason in reasons]
        count = undivided(is_local)
        first = stage.first(count)
        outcomes = first.outcomes
        # Without outcomes it begins as any other stage, below.
        if first is not stage and not outcomes.is_empty:
            steps = first.command.steps
            self._state.observers.stage_began(steps, outcomes.names, outcomes)
        if is_local[0]:
            for name, reason in unsent[:count]:
                self._state.observers.pass_unsendable(name, reason)
                warn(
                    f"pass '{name}' cannot {fallback.detail}, so it runs in this "
                    f"process: {reason}",
                    UnpicklablePassWarning,
                )
            return await self._finish_here(first, PlacementReason.UNSENDABLE)
        if outcomes.is_empty:
            return await self.run(first.command)
        return await self._finish_in_workers(first)

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
        state.observers.stage_ended(records, outcomes)
        if not state.store.optimizations.retained_bytes:
            await state.backend.call_shielded(state.store.decode_all, made)
        return StageResult(made, records, stage.began, time.perf_counter())


def _warn_run_local(policy: PlacementPolicy, fallback: FallbackError) -> None:
    message, advice = _FALLBACK_MESSAGES[fallback.reason]
    message = message.format(fallback.detail)
    if policy.isolated:
        raise _isolation_error(message)
    warn(
        f"{message}, so the rest of this run stays in this process{advice}",
        SlowerRunWarning,
    )


def _isolation_error(why: str) -> RuntimeUseError:
    return RuntimeUseError(
        HintedMessage(
            f"an isolated run needs workers, but {why}; fix that, or ",
            Hint.NOT_ISOLATED,
        )
    )


def _load_remote() -> _RunInWorkers:
    try:
        with forks_wait():
            # Not before the first stage goes to workers: it loads trio.
            from parpass.runner.driver.remote import run_in_workers
    except RuntimeError as error:
        raise FallbackError(PlacementReason.NO_PROCESSES, str(error)) from error
    return run_in_workers
