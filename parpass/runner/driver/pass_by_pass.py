"""A probed stage that goes on pass by pass, as its functions are small work.

The first functions have been through all passes by then. The serial driver takes their
results, and runs the passes on the others, one after the other.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

import msgspec

from parpass.runner.cost_model import COST_MODEL
from parpass.runner.driver.probe import HandoverCriterion
from parpass.runner.driver.state import RunState, StageInProgress
from parpass.runner.ipc.function_outcome import (
    ANY_FUNCTION,
    NO_EFFECTS,
    Effects,
    FunctionOutcome,
)
from parpass.runner.ipc.module_store import FunctionHandle
from parpass.runner.stage.outcomes import StageOutcomes
from parpass.transform import Pass
from parpass.transform.capture.recorder import Recorder
from parpass.transform.plan.commands import RunStage, StageResult
from parpass.transform.plan.serial import (
    KnownResult,
    KnownResults,
    ends_stage,
)


def may_go_on_serially(state: RunState, stage: StageInProgress) -> bool:
    """Return whether a stage may be continued pass by pass.

    Not if something is kept of each function.
    """
    return stage.outcomes.is_empty and state.cache is None


def known_results(
    kept: Mapping[str, Sequence[Any]], outcomes: StageOutcomes
) -> KnownResults | None:
    """Return the results of the first functions, None if they cannot be taken.

    They cannot if a pass failed or emitted something, or if it is not known on which
    assumptions they rest.

    Args:
        kept: Those functions after each pass, by name, in module order.
        outcomes: Theirs.
    """
    by_function: dict[str, Sequence[KnownResult]] = {}
    relying: dict[str, list[str]] = {}
    for at, (name, functions) in enumerate(kept.items()):
        effects, dependencies = outcomes.effects_of(at), outcomes.dependencies_of(at)
        has_emitted = any(one.emissions for one in effects.values())
        is_known = outcomes.is_complete(at) and ANY_FUNCTION not in dependencies
        if has_emitted or not is_known:
            return None
        by_function[name] = [
            (function, _recorder_of(effects.get(step, NO_EFFECTS)))
            for step, function in enumerate(functions)
        ]
        for other in dependencies:
            relying.setdefault(outcomes.names[other], []).append(name)
    return KnownResults(by_function, relying, outcomes.step_seconds)


def _recorder_of(effects: Effects) -> Recorder:
    made = Recorder(None)
    made.take_over(effects)
    return made


class PassByPassCheckpoint:
    """Asks a criterion while passes run one after the other, anew for each.

    It leaves a pass where the criterion would hand over the rest.

    Args:
        criterion: The criterion.
        functions: How many functions the module has.
        state: The run. If it may be abandoned, that is asked before each function.

    Attributes:
        nodes: For each pass so far, the nodes of the functions that it ran on, about.
    """

    def __init__(
        self, criterion: HandoverCriterion, functions: int, state: RunState
    ) -> None:
        self._criterion, self._functions, self._state = criterion, functions, state
        self._first = self._next_look = 0  # functions, of a pass
        self._last = functions
        self.nodes: list[int] = []

    def __call__(self, at: int, function: Any) -> int:
        """Return the next function to be called for; `at` to leave the pass."""
        criterion = self._criterion
        self._state.store.check_open()
        if at <= self._last:
            criterion.begin(self._functions - at)
            self._first = self._next_look = at
            self.nodes.append(0)
        self._last = at
        if at >= self._next_look:
            count = criterion.look(at - self._first, FunctionHandle(function)).count
            if not count:
                return at
            self._next_look = at + count
            self.nodes[-1] = criterion.nodes
        return at + 1 if self._state.backend.abandons else self._next_look


async def run_serially_until_handover(
    state: RunState, stage: StageInProgress, known: KnownResults
) -> StageResult:
    """Run passes one after the other until workers would be faster with one of them.

    If hooks are called after a pass, it ends with that. Of some functions the results
    are `known`.
    """
    steps = stage.command.steps
    functions = len(stage.outcomes.names)
    criterion = HandoverCriterion(functions, stage, state)
    checkpoint = PassByPassCheckpoint(criterion, functions, state)

    with criterion.deciding():
        run = functools.partial(state.walk, known=known)
        result = await state.backend.call(run, steps, stage.command.mod, checkpoint)
    records, nodes = result.records, checkpoint.nodes
    _learn_costs(steps, result, nodes)
    for record, spent in zip(records, known.seconds, strict=False):
        record.seconds += spent
    if records and ends_stage(records[-1]):
        criterion.cancel()
    else:
        criterion.start_others()
    if records:
        state.observers.stage_ended(records, None)
        if not criterion.has_started:
            spent = result.ended - result.began
            mean = sum(nodes) / len(nodes)
            state.policy.add_missed_saving(spent, mean, functions)
    return msgspec.structs.replace(result, began=stage.began)


def _learn_costs(
    steps: Sequence[Pass], result: StageResult, nodes: Sequence[int]
) -> None:
    """Add to the cost model what each pass took on its number of nodes."""
    spent = [record.seconds for record in result.records if not ends_stage(record)]
    if result.left is not None:
        spent.append(result.ended - result.left.began)
    for step, seconds, size in zip(steps, spent, nodes, strict=False):
        COST_MODEL.update([step], [seconds], size)


def left_stage(
    state: RunState, stage: StageInProgress, known: KnownResults, result: StageResult
) -> StageInProgress:
    """Return the stage of the one pass that was left, with its outcomes so far."""
    left, at = result.left, len(result.records)
    assert left is not None
    module = state.store.wrap(result.mod)
    outcomes = StageOutcomes(list(module.handles), 1)
    spent = result.ended - left.began + known.seconds[at]
    seconds = (spent / max(1, left.count),)
    for index, (name, held) in enumerate(islice(module.handles.items(), left.count)):
        if name in left.changed:
            held = FunctionHandle(left.changed[name])
        outcome = FunctionOutcome(held.function, seconds)
        own = left.recorders.get(index)
        if own is not None:  # what the pass emitted has been emitted
            outcome.effects = {0: Effects.of(own)}
        outcomes.put(index, held, outcome)
    command = RunStage(
        stage.command.steps[at : at + 1],
        result.mod,
        wanted=False,
        done=stage.command.done + at,
        # Matters to changes only; if these are watched, each pass is run alone.
        is_restoring=stage.command.is_restoring and not at,
    )
    state.observers.stage_began(command.steps, outcomes.names, outcomes)
    return msgspec.structs.replace(
        stage,
        command=command,
        module=module,
        outcomes=outcomes,
        placed=msgspec.structs.replace(stage.placed, count=1, estimate=None),
    )
