"""The part of a stage that runs in this process: whole, as a probe, or the remainder.

When functions are handed over to workers is decided in `probe`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterable, Sequence
from itertools import islice

from parpass.runner.cost_model import COST_MODEL
from parpass.runner.driver.probe import (
    ProbeResult,
    StopCriterion,
    WarmUpCriterion,
    probe_stage,
)
from parpass.runner.driver.state import RunState, StageInProgress
from parpass.runner.ipc.messages import (
    Effects,
    FunctionOutcome,
    Recording,
    Verdicts,
)
from parpass.runner.ipc.module_store import FunctionHandle, ModuleStore, StoredModule
from parpass.runner.observers import Activity, LocalReason, RunObserver, timing
from parpass.runner.placement import PlacementPolicy, costs_follow_sizes
from parpass.runner.stage.interpreter import FunctionCursor, StageInterpreter
from parpass.runner.stage.outcomes import StageOutcomes
from parpass.transform import ModuleAdapter, Pass, PassContext
from parpass.transform.budget import Budget
from parpass.transform.capture.intercept import allowing_capture
from parpass.transform.capture.recorder import function_pass_body
from parpass.transform.plan.commands import Reproduce, RunStage, StageResult
from parpass.transform.plan.serial import run_stage_serially


class LocalStageExecutor:
    """Runs stages of one run in this process, whole or in part."""

    def __init__(self, state: RunState) -> None:
        self._state = state

    def run(
        self,
        command: RunStage,
        reason: LocalReason,
        budgets: Sequence[Budget] | None = None,
    ) -> StageResult:
        """Run a whole stage as a serial run does.

        Args:
            command: The stage.
            reason: Why it runs here, for the report.
            budgets: The limits of its passes; by default those of the context.
        """
        state, steps = self._state, command.steps
        mod = state.load(command.mod)
        with (
            timing(state.observers, Activity.HERE, reason),
            state.walk(steps, mod, state.checkpoint) as checkpoint,
        ):
            outcome = run_stage_serially(
                steps,
                mod,
                state.context,
                state.adapter,
                checkpoint,
                budgets=budgets,
                analyses=state.analyses,
            )
        for one in state.observers:
            one.stage_ended(outcome.records, None)
        return outcome

    def probe(
        self, command: RunStage, policy: PlacementPolicy
    ) -> StageResult | ProbeResult:
        """Run the first pass of a stage until workers would be faster with the rest."""
        state = self._state
        mod = state.load(command.mod)  # which is timed by itself
        with timing(state.observers, Activity.HERE, LocalReason.SMALL):
            probed = probe_stage(command.steps, mod, state, policy)
        if isinstance(probed, StageResult):
            for one in state.observers:
                one.stage_ended(probed.records, None)
        return probed

    async def resume_probed(self, probed: ProbeResult, stage: StageInProgress) -> None:
        """Run the other passes on the functions that the first one has been through."""
        if probed.done:
            adapter, outcomes = self._state.adapter, stage.outcomes
            outcomes.partial = _probed_outcomes(probed, stage.module, adapter)
            await self.run_remainder(stage, LocalReason.SMALL, outcomes.partial)
            _learn_costs(stage, [0.0] * len(outcomes.step_seconds), probed.nodes)

    async def run_until_warm(
        self, stage: StageInProgress, policy: PlacementPolicy, *, start: bool
    ) -> LocalReason:
        """Run all passes on one function after another until workers are ready.

        Afterwards functions without an outcome are left for the workers; none are if
        it was not worth starting them.

        Args:
            stage: The stage.
            policy: Knows the workers.
            start: Whether to start them at once; else when they are known to save more
                than that costs.

        Returns:
            Why it ran here: workers were starting, or were not worth it.
        """
        outcomes, steps = stage.outcomes, stage.command.steps
        functions, before = len(outcomes.missing()), list(outcomes.step_seconds)
        pace = COST_MODEL.local_pace(steps) if costs_follow_sizes(steps) else None
        criterion = WarmUpCriterion(stage, self._state, policy, start=start)
        reason, observers = LocalReason.SMALL, self._state.observers
        with timing(observers, Activity.HERE, reason) as here:
            try:
                await self._call_remainder(stage, None, criterion)
            except BaseException:
                criterion.cancel()
                raise
            finally:
                if criterion.has_started:
                    here.name = reason = LocalReason.STARTING
        if criterion.has_started:
            inside, contended = criterion.start_seconds, 0.0
            if pace is not None:
                passes = here.seconds - inside
                contended = max(0.0, passes - pace * criterion.nodes)
            for one in observers:
                one.workers_started(inside, contended)
            with timing(observers, Activity.LOADING):
                criterion.start_others()
        elif not outcomes.missing():
            policy.add_missed_saving(criterion.seconds(), criterion.nodes, functions)
        _learn_costs(stage, before, criterion.nodes)
        return reason

    async def run_remainder(
        self,
        stage: StageInProgress,
        reason: LocalReason,
        functions: Iterable[int] | None = None,
    ) -> None:
        """Run a stage on functions by index, by default those without an outcome."""
        with timing(self._state.observers, Activity.HERE, reason):
            await self._call_remainder(stage, functions)

    async def _call_remainder(
        self,
        stage: StageInProgress,
        functions: Iterable[int] | None,
        proceed: StopCriterion | None = None,
    ) -> None:
        state, steps = self._state, stage.command.steps
        args = steps, stage.module, state.context, state.store, stage.outcomes
        call, watchers = state.backend.call, state.watchers
        await call(run_remainder, *args, functions, proceed, watchers)


def _learn_costs(stage: StageInProgress, before: Sequence[float], nodes: float) -> None:
    """Add to the cost model what the passes took on so many nodes, since `before`."""
    outcomes = stage.outcomes
    if not any(outcome.ended_early for outcome in outcomes.notable.values()):
        spent = zip(before, outcomes.step_seconds, strict=True)
        COST_MODEL.update(
            stage.command.steps, [after - first for first, after in spent], nodes
        )


def _probed_outcomes(
    left: ProbeResult, mod: StoredModule, adapter: ModuleAdapter
) -> dict[int, FunctionOutcome]:
    """Return the outcomes of the probed pass by function; its effects are emitted."""
    step, begun = left.step, dict[int, FunctionOutcome]()
    for at, (name, held) in enumerate(islice(mod.handles.items(), left.done)):
        function, own = step.changed.get(name, held.function), step.recorders.get(at)
        outcome = FunctionOutcome(function, [left.seconds])
        begun[at] = outcome
        if own is not None:
            outcome.effects = {
                0: Effects(own.diagnostics, own.counted, (), own.remarks, own.changes)
            }
        if function is not held.function:
            resigned = not adapter.keeps_signature(held.function, function)
            outcome.signature_changed = resigned
    return begun


@contextlib.contextmanager
def local_interpreter(
    steps: Sequence[Pass],
    mod: StoredModule,
    context: PassContext,
    store: ModuleStore,
    *,
    unstable: Sequence[str],
    quarantined: Verdicts,
    recording: Recording = Recording.NOTHING,
) -> Generator[StageInterpreter]:
    """Yield the interpreter of a stage on functions as objects, in this process.

    Args:
        steps: The passes.
        mod: The functions.
        context: The settings in force.
        store: Decodes functions.
        unstable: The functions whose signatures may change.
        recording: What outcomes have for a function cache.
        quarantined: Which passes killed a worker, or hung, on which function: they are
            not called on it in this process either.
    """
    work = StageInterpreter(
        steps,
        context,
        store.adapter,
        mod.base,
        list(mod.handles),
        lambda name: store.load(mod.handles[name], mod.base),
        unstable=unstable,
        recording=recording,
    )
    work.quarantined = quarantined
    with (
        contextlib.closing(work),
        function_pass_body(),
        allowing_capture(),
    ):
        yield work


def run_remainder(
    steps: Sequence[Pass],
    mod: StoredModule,
    context: PassContext,
    store: ModuleStore,
    outcomes: StageOutcomes,
    functions: Iterable[int] | None = None,
    proceed: StopCriterion | None = None,
    observers: Sequence[RunObserver] = (),
) -> None:
    """Run passes on functions in this process, and record their outcomes.

    Args:
        steps: The passes.
        mod: The functions.
        context: The settings in force.
        store: Decodes functions.
        outcomes: The results so far; functions that were probed go on from there.
        functions: Which ones, by index; by default those without an outcome.
        proceed: Called before each function, with how many were run and itself; the
            rest is left where this returns False.
        observers: Notified of each function.
    """
    names, begun = outcomes.names, outcomes.partial
    unstable, quarantined = outcomes.unstable_names(), outcomes.local_quarantine()
    with local_interpreter(
        steps,
        mod,
        context,
        store,
        unstable=unstable,
        quarantined=quarantined,
        recording=outcomes.recording,
    ) as work:
        work.cutoff = outcomes.cutoff
        for at, one in begun.items():
            work.seed(names[at], one.function, 1)
        missing = outcomes.missing() if functions is None else functions
        for count, at in enumerate(missing):
            store.check_open()
            held = mod.handles[names[at]]
            if proceed and not proceed(count, store.load(held, mod.base)):
                return
            done = begun.get(at)
            cursor = FunctionCursor(names[at], done)
            first = 0 if done is None else 1
            for one in observers:
                one.function_began(first, at, cursor.outcome)
            made = work.resume(cursor)
            for one in observers:
                one.function_ended(first, at, made)
            put_outcome(outcomes, at, held, made)


def put_outcome(
    outcomes: StageOutcomes,
    function: int,
    held: FunctionHandle,
    outcome: FunctionOutcome,
) -> None:
    """Add the outcome of a function, given by its index, to those of the stage."""
    made = outcome.function
    is_same = made is None or made is held.function
    outcomes.put(function, held if is_same else FunctionHandle(made), outcome)


def reproduce(
    command: Reproduce,
    mod: StoredModule,
    context: PassContext,
    store: ModuleStore,
    quarantined: Verdicts,
) -> None:
    """Write a reproducer; earlier passes run again on the functions that it needs."""
    if not command.steps:
        command.write(store.module(mod), context, store.adapter)
        return
    steps = command.steps
    with local_interpreter(
        steps, mod, context, store, unstable=list(mod.handles), quarantined=quarantined
    ) as work:
        before = work.module_before(command.at)
        command.write(before, context, store.adapter)
