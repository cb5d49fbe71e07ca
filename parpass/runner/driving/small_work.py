"""A stage that is begun in this process, because nobody knows what its passes cost.

Its first pass is run here as a serial run would, until what is left would be done
sooner, asking included, by the workers. Those functions that it has been through by
then are brought through the other passes here, and the others go to the workers. A
module that is worth a pool loses a few milliseconds, once, and a small one never pays
for a pool; nor does a large one of which every function is small.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import islice
from typing import Any, NamedTuple

from parpass.runner.executor import Executor
from parpass.runner.placing.costs import COSTS, Gain
from parpass.runner.placing.forecasts import Ledger, asking_seconds, gain_of
from parpass.runner.stage.here import take_over
from parpass.runner.stage.outcomes import StageOutcomes
from parpass.runner.travel.function_outcome import FunctionOutcome, Said
from parpass.runner.travel.retained import HeldModule, Retainer
from parpass.transform import ModuleAdapter, Pass, PassContext
from parpass.transform.budget import budgets_of
from parpass.transform.plan.commands import StageResult
from parpass.transform.plan.steps import StepHere
from parpass.transform.saying.interception import marking
from parpass.transform.saying.record import function_pass_body

_PACE = 2e-5  # seconds for a pass on a node, until it has been measured
_FIRST = 16  # functions of which each is counted, and the clock read before each
_SAMPLED = 8  # of those after them, of so many one is


class _Look:
    """Sees, before each function, whether the workers would be faster with the rest."""

    def __init__(
        self,
        steps: int,
        functions: int,
        asking: float,
        gain: Gain,
        retainer: Retainer,
    ) -> None:
        self._steps, self._functions = steps, functions
        self._asking, self._gain = asking, gain
        self._retainer = retainer
        self._adapter: ModuleAdapter = retainer.adapter
        self._size = 0
        self._began = time.perf_counter()
        self._last = 0, 0.0  # function and time of the last look
        self.nodes = 0
        self.done = 0

    def __call__(self, at: int, function: Any) -> bool:
        """Return whether to go on here with a function."""
        self.done = at
        if at >= _FIRST and at % _SAMPLED:
            self.nodes += self._size
            return True
        self._retainer.check_open()
        spent = time.perf_counter() - self._began
        each = self._seconds_of_each(spent, at)
        if self._saved(each, at) > self._asking:
            return False
        pace = each * at / self.nodes if each else _PACE
        limit = int(min(self._asking / (pace * self._steps or 1e-12), 1e9)) + 1
        self._size = 1 + self._adapter.size(function, limit)
        self.nodes += self._size
        return self._size <= limit

    def _seconds_of_each(self, spent: float, at: int) -> float:
        """Return what the pass takes on a function, 0 until that can be told.

        In an unlucky moment, or when something is loaded, one takes far longer.
        """
        last_at, last = self._last
        self._last = at, spent
        if last_at == 0:
            return 0.0
        return min(spent / at, (spent - last) / (at - last_at))

    def _saved(self, each: float, done: int) -> float:
        """Return what the workers would save on the functions that are left.

        The other passes are taken to cost as much as the first one.
        """
        if not each:
            return 0.0
        gain = self._gain.seconds(each * done * self._steps, self.nodes, done)
        return gain * (self._functions - done) / done


class Left(NamedTuple):
    """A pass that was begun here, and left to the workers.

    Attributes:
        step: The pass, as far as it came.
        done: How many functions it has been through.
        nodes: How many nodes these have, about.
        seconds: What it took on each of them, about.
    """

    step: StepHere
    done: int
    nodes: int
    seconds: float


def begin_here(
    steps: Sequence[Pass],
    mod: Any,
    functions: int,
    context: PassContext,
    executor: Executor,
    retainer: Retainer,
    ledger: Ledger,
) -> StageResult | Left:
    """Run the first pass of a stage on a module here, while that is cheaper."""
    began = time.perf_counter()
    asking = asking_seconds(context, executor, functions, ledger)
    gain = gain_of(executor)
    look = _Look(len(steps), functions, asking, gain, retainer)
    (budget,) = budgets_of(steps[:1], context.config)
    step = StepHere(steps[0], budget, mod, context, retainer.adapter)
    with function_pass_body(), marking:
        is_done = step.run(look)
    if not is_done:
        spent = time.perf_counter() - began
        return Left(step, look.done, look.nodes, spent / max(1, look.done))
    made, record = step.outcome(began)
    if record.failure is None:
        COSTS.learn(steps[:1], [record.seconds], look.nodes)
        ledger.forgo(gain.seconds(record.seconds, look.nodes, functions))
    return StageResult(made, [record], began, time.perf_counter())


def bring_through(
    left: Left,
    steps: Sequence[Pass],
    mod: HeldModule,
    context: PassContext,
    retainer: Retainer,
    outcomes: StageOutcomes,
) -> None:
    """Run the other passes on those functions that the first one has been through."""
    if not left.done:
        return
    outcomes.begun = _begun(left, mod, retainer.adapter)
    take_over(steps, mod, context, retainer, outcomes, outcomes.begun)
    if not any(outcome.ended_early for outcome in outcomes.told.values()):
        COSTS.learn(steps, outcomes.step_seconds, left.nodes)


def _begun(
    left: Left, mod: HeldModule, adapter: ModuleAdapter
) -> dict[int, FunctionOutcome]:
    """Return what came of the first pass, by function; all that it said was heard."""
    step, begun = left.step, dict[int, FunctionOutcome]()
    for at, (name, held) in enumerate(islice(mod.held.items(), left.done)):
        function, own = step.changed.get(name, held.function), step.told.get(at)
        begun[at] = outcome = FunctionOutcome(function, [left.seconds])
        if own is not None:
            outcome.said = {0: Said(own.said, own.counted)}
        if function is not held.function:
            resigned = not adapter.keeps_signature(held.function, function)
            outcome.has_new_signature = resigned
    return begun
