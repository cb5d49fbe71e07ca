"""A stage, or a part of it, in this process: the same work without the journey."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Sequence

from parpass.runner.stage.outcomes import StageOutcomes
from parpass.runner.stage.work import StageWork
from parpass.runner.travel.function_outcome import FunctionOutcome, Said
from parpass.runner.travel.retained import Held, HeldModule, Retainer
from parpass.transform import Pass, PassContext
from parpass.transform.plan.commands import Reproduce
from parpass.transform.plan.steps import StepHere
from parpass.transform.saying.interception import intercepting
from parpass.transform.saying.record import function_pass_body


@contextlib.contextmanager
def work_here(
    steps: Sequence[Pass],
    mod: HeldModule,
    context: PassContext,
    retainer: Retainer,
    *,
    doubted: Sequence[str] = (),
    after_workers: bool = False,
) -> Generator[StageWork]:
    """Give the work of a stage on the functions as objects, to be done inside.

    After workers it is known which bodies kill a process: they are not called here.
    """
    work = StageWork(
        steps,
        context,
        retainer.adapter,
        mod.base,
        list(mod.held),
        lambda name: retainer.function(mod.held[name], mod.base),
        doubted=doubted,
    )
    if after_workers:
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
    """Run steps on a function, given by its index, and take down the outcome."""
    put(outcomes, function, held, work.run(outcomes.names[function]))


def run_rest_here(
    work: StageWork,
    first: StepHere,
    done: int,
    seconds: float,
    mod: HeldModule,
    outcomes: StageOutcomes,
) -> None:
    """Run the steps after the first on those functions that it has been through.

    Args:
        work: The work.
        first: The first step, as far as it came.
        done: How many functions it has been through.
        seconds: What it took on each, about.
        mod: The module.
        outcomes: Where to take down what comes of it.
    """
    names = outcomes.names[:done]
    begun = [first.changed.get(name, mod.held[name].function) for name in names]
    for name, function in zip(names, begun, strict=True):
        work.know(name, function, 1)
    for at, (name, function) in enumerate(zip(names, begun, strict=True)):
        held, own = mod.held[name], first.told.get(at)
        outcome = FunctionOutcome(function, [seconds])
        if own is not None:
            outcome.said = {0: Said(own.said, own.counted)}
        if name in first.changed:
            resigned = not work.adapter.keeps_signature(held.function, function)
            outcome.has_new_signature = resigned
        put(outcomes, at, held, work.go_on(name, outcome))


def take_over(
    steps: Sequence[Pass],
    mod: HeldModule,
    context: PassContext,
    retainer: Retainer,
    outcomes: StageOutcomes,
) -> None:
    """Run the steps on those functions that have no outcome."""
    doubted = outcomes.doubted_names()
    with work_here(
        steps, mod, context, retainer, doubted=doubted, after_workers=True
    ) as work:
        work.end = outcomes.end
        for function in outcomes.missing():
            retainer.check_open()
            run_here(work, function, mod.held[outcomes.names[function]], outcomes)


def put(
    outcomes: StageOutcomes, function: int, held: Held, outcome: FunctionOutcome
) -> None:
    """Take down the outcome of a function, given by its index."""
    made = outcome.function
    is_same = made is None or made is held.function
    outcomes.put(function, held if is_same else Held(made), outcome)


def reproduce(
    command: Reproduce, mod: HeldModule, context: PassContext, retainer: Retainer
) -> None:
    """Write a reproducer; earlier steps are run again on what it needs, and no more."""
    if not command.steps:
        command.write(retainer.module(mod), context, retainer.adapter)
        return
    steps = command.steps
    with work_here(
        steps, mod, context, retainer, doubted=list(mod.held), after_workers=True
    ) as work:
        before = work.module_before(command.at)
        command.write(before, context, retainer.adapter)
