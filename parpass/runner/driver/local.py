"""The part of a stage that runs in this process: all of it, or what workers leave.

When functions are handed over to workers is decided in `probe`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Sequence

from parpass.runner.cost_model import COST_MODEL
from parpass.runner.driver.probe import StopCriterion, WarmUpCriterion
from parpass.runner.driver.state import RunState, StageInProgress
from parpass.runner.ipc.messages import Recording, Verdicts
from parpass.runner.ipc.module_store import FunctionHandle, StoredModule
from parpass.runner.observers import Activity, timing
from parpass.runner.placement import PlacementPolicy, PlacementReason
from parpass.runner.stage.interpreter import FunctionCursor, StageInterpreter
from parpass.transform import Pass
from parpass.transform.budget import Budget
from parpass.transform.capture.intercept import allowing_capture
from parpass.transform.capture.recorder import function_pass_body
from parpass.transform.plan.commands import Reproduce, RunStage, StageResult
from parpass.transform.plan.serial import run_stage_serially


def run_pass_by_pass(
    state: RunState,
    command: RunStage,
    reason: PlacementReason,
    budgets: Sequence[Budget] | None = None,
) -> StageResult:
    """Run a whole stage as a serial run does; the report has the reason."""
    mod = state.load(command.mod)
    with (
        timing(state.observers, Activity.HERE, reason),
        state.walk(command.steps, mod) as checkpoint,
    ):
        outcome = run_stage_serially(
            command.steps,
            mod,
            state.context,
            state.adapter,
            checkpoint,
            budgets=budgets,
            analyses=state.analyses,
        )
    state.observers.stage_ended(outcome.records, None)
    return outcome


async def run_until_handover(
    state: RunState, stage: StageInProgress, policy: PlacementPolicy
) -> PlacementReason:
    """Run all passes on one batch after another until workers would be faster.

    Afterwards functions without an outcome are left for the workers; none are if that
    was never so.

    Returns:
        Why it ran here: workers were starting, or were not worth it.
    """
    outcomes, observers = stage.outcomes, state.observers
    functions, before = len(outcomes.missing()), list(outcomes.step_seconds)
    if stage.was_warm:
        criterion = StopCriterion(functions, policy, state.store)
    else:
        criterion = WarmUpCriterion(stage, state, policy)
    reason = PlacementReason.SMALL
    with timing(observers, Activity.HERE, reason) as here:
        try:
            await state.backend.call(run_functions, state, stage, criterion)
        except BaseException:
            criterion.cancel()
            raise
        finally:
            if criterion.has_started:
                here.name = reason = PlacementReason.STARTING
    if criterion.has_started:
        observers.workers_started(criterion.start_seconds)
        with timing(observers, Activity.LOADING):
            criterion.start_others()
    elif not outcomes.missing():
        policy.add_missed_saving(criterion.seconds(), criterion.nodes, functions)
    _learn_costs(stage, before, criterion.nodes)
    return reason


async def run_rest(
    state: RunState, stage: StageInProgress, reason: PlacementReason
) -> None:
    """Run all passes on the functions without an outcome."""
    with timing(state.observers, Activity.HERE, reason):
        await state.backend.call(run_functions, state, stage)


def _learn_costs(stage: StageInProgress, before: Sequence[float], nodes: float) -> None:
    """Add to the cost model what the passes took on so many nodes, since `before`."""
    outcomes = stage.outcomes
    if not any(outcome.ended_early for outcome in outcomes.notable.values()):
        spent = zip(before, outcomes.step_seconds, strict=True)
        COST_MODEL.update(
            stage.command.steps, [after - first for first, after in spent], nodes
        )


@contextlib.contextmanager
def _interpreter(
    state: RunState,
    steps: Sequence[Pass],
    mod: StoredModule,
    quarantined: Verdicts,
    *,
    unstable: Sequence[str],
    recording: Recording = Recording.NOTHING,
) -> Generator[StageInterpreter]:
    """Yield the interpreter of a stage on functions as objects, in this process.

    Calls that are `quarantined` are not made in this process either.
    """
    store = state.store
    work = StageInterpreter(
        steps,
        state.context,
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


def run_functions(
    state: RunState, stage: StageInProgress, criterion: StopCriterion | None = None
) -> None:
    """Run passes on the functions without an outcome in this process, and record it.

    The criterion says how many functions are run together, and when the rest is left;
    without one, each is run alone, and none is left.
    """
    store, mod, outcomes = state.store, stage.module, stage.outcomes
    names, watching = outcomes.names, state.observers.of_functions()
    with _interpreter(
        state,
        stage.command.steps,
        mod,
        outcomes.local_quarantine(),
        unstable=outcomes.unstable_names(),
        recording=outcomes.recording,
    ) as work:
        work.cutoff = outcomes.cutoff
        missing, done = outcomes.missing(), 0
        while done < len(missing):
            store.check_open()
            count = 1
            if criterion is not None:
                held = mod.handles[names[missing[done]]]
                store.load(held, mod.base)
                count = criterion(done, held)
            batch = missing[done : done + count]
            if not batch:
                return
            done += count
            cursors = [FunctionCursor(names[at], at) for at in batch]
            if watching is None:
                work.run(cursors)
            else:
                for cursor in cursors:
                    watching.function_began(0, cursor.index, cursor.outcome)
                    work.run([cursor])
                    watching.function_ended(0, cursor.index, cursor.outcome)
            for cursor in cursors:
                held, made = mod.handles[cursor.name], cursor.outcome.function
                if made is not None and made is not held.function:
                    held = FunctionHandle(made)
                outcomes.put(cursor.index, held, cursor.outcome)


def reproduce(state: RunState, command: Reproduce, quarantined: Verdicts) -> None:
    """Write a reproducer; earlier passes run again on the functions that it needs."""
    mod = state.store.wrap(command.mod)
    if not command.steps:
        command.write(state.store.module(mod), state.context, state.adapter)
        return
    with _interpreter(
        state, command.steps, mod, quarantined, unstable=list(mod.handles)
    ) as work:
        before = work.module_before(command.at)
        command.write(before, state.context, state.adapter)
