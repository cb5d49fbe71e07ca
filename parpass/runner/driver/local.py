"""The part of a stage that runs in this process: all of it, or what workers leave.

When functions are handed over to workers is decided in `probe`.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Generator, Iterator, Sequence
from itertools import islice

import msgspec

from parpass.runner.cost_model import COST_MODEL
from parpass.runner.driver.kept_results import KeptResults, may_go_on_serially
from parpass.runner.driver.probe import (
    PassByPassCheckpoint,
    StopCriterion,
    WarmUpCriterion,
)
from parpass.runner.driver.state import RunState, StageInProgress
from parpass.runner.ipc.messages import (
    Effects,
    FunctionOutcome,
    Recording,
    Verdicts,
)
from parpass.runner.ipc.module_store import FunctionHandle, StoredModule
from parpass.runner.observers import Activity, timing
from parpass.runner.placement import PlacementPolicy, PlacementReason
from parpass.runner.stage.interpreter import FunctionCursor, StageInterpreter
from parpass.runner.stage.outcomes import StageOutcomes
from parpass.transform import Pass
from parpass.transform.budget import Budget
from parpass.transform.capture.intercept import allowing_capture
from parpass.transform.capture.recorder import function_pass_body
from parpass.transform.plan.commands import Reproduce, RunStage, StageResult
from parpass.transform.plan.serial import (
    KnownResults,
    ends_stage,
    run_stage_serially,
)

_MOST_KEPT = 512  # functions whose results of each pass are kept


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
) -> PlacementReason | KnownResults:
    """Run all passes on one batch after another until workers would be faster.

    Afterwards functions without an outcome are left for the workers; none are if that
    was never so. If a serial run is best for the rest, the result is what is known.

    Returns:
        Why it ran here: workers were starting, or were not worth it.
    """
    outcomes = stage.outcomes
    functions, before = len(outcomes.missing()), list(outcomes.step_seconds)
    criterion = _criterion(functions, stage, state, policy)
    with _deciding(state, criterion):
        known = await state.backend.call(run_functions, state, stage, criterion)
    if not criterion.has_started and not outcomes.missing():
        policy.add_missed_saving(criterion.seconds(), criterion.nodes, functions)
    _learn_costs(stage, before, criterion.nodes)
    if known is not None:
        return known
    return _reason(criterion)


async def run_serially_until_handover(
    state: RunState,
    stage: StageInProgress,
    policy: PlacementPolicy,
    known: KnownResults,
) -> StageResult:
    """Run passes one after the other until workers would be faster with one of them.

    Of functions with an outcome the results are `known`.
    """
    steps, seconds = stage.command.steps, stage.outcomes.step_seconds
    functions, began = len(stage.outcomes.names), time.perf_counter()
    criterion = _criterion(functions, stage, state, policy)
    checkpoint = PassByPassCheckpoint(criterion, functions)

    def run() -> StageResult:
        mod = state.load(stage.command.mod)
        with state.walk(steps, mod, checkpoint) as walk:
            return run_stage_serially(
                steps,
                mod,
                state.context,
                state.adapter,
                walk,
                analyses=state.analyses,
                known=known,
            )

    with _deciding(state, criterion):
        result = await state.backend.call(run)
    records = result.records
    for record, spent in zip(records, seconds, strict=False):
        record.seconds += spent
    if records:
        state.observers.stage_ended(records, None)
        nodes = checkpoint.nodes / len(records)
        if not ends_stage(records[-1]):
            COST_MODEL.update(steps, [record.seconds for record in records], nodes)
        if not criterion.has_started:
            spent = time.perf_counter() - began
            policy.add_missed_saving(spent, nodes, functions)
    return msgspec.structs.replace(result, began=stage.began)


def left_stage(
    state: RunState, stage: StageInProgress, result: StageResult
) -> StageInProgress:
    """Return the stage of the one pass that was left, with its outcomes so far."""
    left, at = result.left, len(result.records)
    assert left is not None
    module = state.store.wrap(result.mod)
    outcomes = StageOutcomes(list(module.handles), 1)
    seconds = ((time.perf_counter() - left.began) / max(1, left.count),)
    for index, (name, held) in enumerate(islice(module.handles.items(), left.count)):
        if name in left.changed:
            held = FunctionHandle(left.changed[name])
        outcome = FunctionOutcome(held.function, seconds)
        own = left.recorders.get(index)
        if own is not None:  # what the pass emitted has been emitted
            found = own.diagnostics, own.counted, (), own.remarks, own.changes
            outcome.effects = {0: Effects(*found)}
        outcomes.put(index, held, outcome)
    command = RunStage(
        stage.command.steps[at : at + 1],
        result.mod,
        wanted=False,
        done=stage.command.done + at,
    )
    state.observers.stage_began(command.steps, outcomes.names, outcomes)
    return msgspec.structs.replace(
        stage,
        command=command,
        module=module,
        outcomes=outcomes,
        placed=msgspec.structs.replace(stage.placed, count=1, estimate=None),
    )


def _criterion(
    functions: int, stage: StageInProgress, state: RunState, policy: PlacementPolicy
) -> StopCriterion:
    if stage.was_warm:
        return StopCriterion(functions, policy, state.store)
    return WarmUpCriterion(functions, stage, state, policy)


@contextlib.contextmanager
def _deciding(state: RunState, criterion: StopCriterion) -> Generator[None]:
    """Notify of the time of a block in which passes run until a criterion is met."""
    observers = state.observers
    with timing(observers, Activity.HERE) as here:
        try:
            yield
        except BaseException:
            criterion.cancel()
            raise
        finally:
            here.name = _reason(criterion)
    if criterion.has_started:
        observers.workers_started(criterion.start_seconds)
        with timing(observers, Activity.LOADING):
            criterion.start_others()


def _reason(criterion: StopCriterion) -> PlacementReason:
    has_started = criterion.has_started
    return PlacementReason.STARTING if has_started else PlacementReason.SMALL


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
) -> KnownResults | None:
    """Run passes on the functions without an outcome in this process, and record it.

    The criterion says how many functions are run together, and when the rest is left;
    without one, each is run alone, and none is left. If passes are to run one after the
    other on the rest, the result is what is known for that.
    """
    outcomes = stage.outcomes
    kept = None
    if criterion is not None and may_go_on_serially(state, stage):
        kept = KeptResults()
    with _interpreter(
        state,
        stage.command.steps,
        stage.module,
        outcomes.local_quarantine(),
        unstable=outcomes.unstable_names(),
        recording=outcomes.recording,
    ) as work:
        work.cutoff = outcomes.cutoff
        for batch in _batches(state, stage, criterion):
            if kept is not None and criterion is not None and criterion.is_settled:
                known = kept.known(outcomes)
                if known is not None:
                    return known
                kept = None
            if outcomes.done > _MOST_KEPT:
                kept = None
            _run_batch(state, stage, work, batch, kept)
    return None


def _batches(
    state: RunState, stage: StageInProgress, criterion: StopCriterion | None
) -> Iterator[Sequence[int]]:
    """Yield functions to run together, by index, until the rest is to be left."""
    store, mod, names = state.store, stage.module, stage.outcomes.names
    missing, done = stage.outcomes.missing(), 0
    while done < len(missing):
        store.check_open()
        count = 1
        if criterion is not None:
            held = mod.handles[names[missing[done]]]
            store.load(held, mod.base)
            count = criterion(done, held)
            if not count:
                return
        yield missing[done : done + count]
        done += count


def _run_batch(
    state: RunState,
    stage: StageInProgress,
    work: StageInterpreter,
    batch: Sequence[int],
    kept: KeptResults | None,
) -> None:
    store, outcomes = state.store, stage.outcomes
    watching = state.observers.of_functions()

    def after_step(cursor: FunctionCursor) -> None:
        store.check_open()
        if kept is not None:
            kept.add(cursor)

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
