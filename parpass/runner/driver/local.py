"""The part of a stage that runs in this process: all of it, or what workers leave.

When functions are handed over to workers is decided in `probe`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterator, Sequence
from typing import Any

from parpass.runner.cost_model import COST_MODEL
from parpass.runner.driver.pass_by_pass import known_results, may_go_on_serially
from parpass.runner.driver.probe import HandoverCriterion, Look
from parpass.runner.driver.state import RunState, StageInProgress
from parpass.runner.ipc.function_outcome import Recording, Verdicts
from parpass.runner.ipc.module_store import FunctionHandle, StoredModule
from parpass.runner.observers import Activity, timing
from parpass.runner.placement import PlacementReason
from parpass.runner.stage.interpreter import FunctionCursor, StageInterpreter
from parpass.transform import Pass
from parpass.transform.budget import Budget
from parpass.transform.capture.intercept import allowing_capture_here
from parpass.transform.capture.recorder import function_pass_body
from parpass.transform.plan.commands import Reproduce, RunStage, StageResult
from parpass.transform.plan.serial import KnownResults

_MOST_KEPT = 512  # functions whose results of each pass are kept

Kept = dict[str, list[Any]]  # functions after each pass, by name, in module order


def run_serially(
    state: RunState,
    command: RunStage,
    reason: PlacementReason,
    budgets: Sequence[Budget] | None = None,
) -> StageResult:
    """Run a whole stage as a serial run does; the report has the reason."""
    mod = state.load(command.mod)  # not in the time of the passes
    with timing(state.observers, Activity.HERE, reason):
        outcome = state.walk(command.steps, mod, budgets=budgets)
    state.observers.stage_ended(outcome.records, None)
    return outcome


async def run_until_handover(
    state: RunState, stage: StageInProgress
) -> KnownResults | None:
    """Run all passes on one batch after another until workers would be faster.

    Afterwards functions without an outcome are left for the workers; none are if that
    was never so. Where a serial run is best for the rest, the result is what it takes.
    """
    outcomes = stage.outcomes
    functions = len(outcomes.missing())
    criterion = HandoverCriterion(functions, stage, state)
    with criterion.deciding():
        known = await state.backend.call(run_functions, state, stage, criterion)
    criterion.start_others()
    if known is not None:
        return known
    if not criterion.has_started and not outcomes.missing():
        seconds = criterion.seconds()
        state.policy.add_missed_saving(seconds, criterion.nodes, functions)
    if not any(outcome.ended_early for outcome in outcomes.notable.values()):
        COST_MODEL.update(stage.command.steps, outcomes.step_seconds, criterion.nodes)
    return None


async def run_rest(
    state: RunState, stage: StageInProgress, reason: PlacementReason
) -> None:
    """Run all passes on the functions without an outcome."""
    with timing(state.observers, Activity.HERE, reason):
        await state.backend.call(run_functions, state, stage)


@contextlib.contextmanager
def _interpreter(
    state: RunState,
    steps: Sequence[Pass],
    mod: StoredModule,
    quarantined: Verdicts,
    *,
    is_restoring: bool = False,
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
        is_restoring=is_restoring,
        unstable=unstable,
        recording=recording,
    )
    work.quarantined = quarantined
    with (
        contextlib.closing(work),
        function_pass_body(),
        allowing_capture_here(),
    ):
        yield work


def run_functions(
    state: RunState, stage: StageInProgress, criterion: HandoverCriterion | None = None
) -> KnownResults | None:
    """Run passes on the functions without an outcome in this process, and record it.

    The criterion says how many functions are run together, and when the rest is left;
    without one, each is run alone, and none is left. If passes are to run one after the
    other on the rest, the result is what is known for that.
    """
    outcomes = stage.outcomes
    kept: Kept | None = None
    if criterion is not None and may_go_on_serially(state, stage):
        kept = {}
    with _interpreter(
        state,
        stage.command.steps,
        stage.module,
        outcomes.local_quarantine(),
        is_restoring=stage.command.is_restoring,
        unstable=outcomes.unstable_names(),
        recording=outcomes.recording,
    ) as work:
        work.cutoff = outcomes.cutoff
        for batch, is_small in _batches(state, stage, criterion):
            if kept is not None and is_small:
                known = known_results(kept, outcomes)
                if known is not None:
                    return known
                kept = None
            if outcomes.done > _MOST_KEPT:
                kept = None
            # Printing tells nothing of what the passes cost, so it waits until it is
            # known whether they go on one after the other.
            work.prints_changes = kept is None
            _run_batch(state, stage, work, batch, kept)
    return None


def _batches(
    state: RunState, stage: StageInProgress, criterion: HandoverCriterion | None
) -> Iterator[tuple[Sequence[int], bool]]:
    """Yield functions to run together, by index, until the rest is to be left.

    And whether the rest is known to be small work.
    """
    store, mod, names = state.store, stage.module, stage.outcomes.names
    missing, done = stage.outcomes.missing(), 0
    while done < len(missing):
        store.check_open()
        look = Look(1)
        if criterion is not None:
            held = mod.handles[names[missing[done]]]
            store.load(held, mod.base)
            look = criterion.look(done, held)
            if not look.count:
                return
        batch = missing[done : done + look.count]
        yield batch, look.is_small
        done += len(batch)


def _run_batch(
    state: RunState,
    stage: StageInProgress,
    work: StageInterpreter,
    batch: Sequence[int],
    kept: Kept | None,
) -> None:
    store, outcomes = state.store, stage.outcomes
    watching = state.observers.of_functions()

    def after_step(cursor: FunctionCursor) -> None:
        store.check_open()
        if kept is not None:
            kept.setdefault(cursor.name, []).append(cursor.outcome.function)

    cursors = [FunctionCursor(outcomes.names[at], at) for at in batch]
    if watching is None:
        work.run(cursors, after_step)
    else:
        for cursor in cursors:
            watching.function_began(0, cursor.index, cursor.outcome)
            work.run([cursor], after_step)
            watching.function_ended(0, cursor.index, cursor.outcome)
    for cursor in cursors:
        held, made = stage.module.handles[cursor.name], cursor.outcome.function
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
