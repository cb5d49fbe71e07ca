"""A stage, or a part of it, in this process: the same work without the journey."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Sequence

from parpass.runtime.outcomes import StageOutcomes
from parpass.runtime.retained import Held, HeldModule, Retainer
from parpass.runtime.stage import StageWork
from parpass.transform import Pass, PassContext
from parpass.transform.apply import function_pass_body
from parpass.transform.interception import intercepting
from parpass.transform.plan import Reproduce


@contextlib.contextmanager
def work_here(
    steps: Sequence[Pass],
    mod: HeldModule,
    context: PassContext,
    retainer: Retainer,
    *,
    assumes: bool = True,
) -> Generator[StageWork]:
    """Give the work of a stage on the functions as objects, to be done inside."""
    work = StageWork(
        steps,
        context,
        retainer.adapter,
        mod.base,
        list(mod.held),
        lambda name: retainer.function(mod.held[name], mod.base),
        assumes=assumes,
    )
    if not assumes:  # it is done again, by those that come after the workers
        work.verdicts = retainer.verdicts_of(steps)
    with (
        contextlib.closing(work),
        function_pass_body(),
        intercepting(),
    ):
        yield work


def run_here(
    work: StageWork, function: int, held: Held, outcomes: StageOutcomes
) -> None:
    """Run all steps on a function, given by its index, and take down the outcome."""
    outcome = work.run(outcomes.names[function])
    is_same = outcome.function is held.function
    outcomes.put(function, held if is_same else Held(outcome.function), outcome)


def reproduce(
    command: Reproduce, mod: HeldModule, context: PassContext, retainer: Retainer
) -> None:
    """Write a reproducer; earlier steps are run again on what it needs, and no more."""
    if not command.steps:
        command.write(retainer.module(mod), context, retainer.adapter)
        return
    steps = command.steps
    with work_here(steps, mod, context, retainer, assumes=False) as work:
        before = work.module_before(command.at)
        command.write(before, context, retainer.adapter)


def settle(
    outcomes: StageOutcomes,
    steps: Sequence[Pass],
    mod: HeldModule,
    context: PassContext,
    retainer: Retainer,
) -> None:
    """Correct the outcomes for which functions were wrongly taken to keep signatures.

    It is seldom, so it is simple: whatever looked at other functions runs again.
    """
    if not outcomes.has_new_signature:
        return
    with work_here(steps, mod, context, retainer, assumes=False) as work:
        for function in outcomes.looked_at_others():
            retainer.check_open()
            held = mod.held[outcomes.names[function]]
            retainer.function(held, mod.base)
            run_here(work, function, held, outcomes)
