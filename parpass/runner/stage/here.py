"""A stage, or a part of it, in this process: the same work without the journey."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterable, Sequence

from parpass.runner.stage.outcomes import StageOutcomes
from parpass.runner.stage.work import StageWork
from parpass.runner.travel.function_outcome import FunctionOutcome, Verdicts
from parpass.runner.travel.retained import Held, HeldModule, Retainer
from parpass.transform import Pass, PassContext
from parpass.transform.plan.commands import Reproduce
from parpass.transform.saying.interception import intercepting
from parpass.transform.saying.record import function_pass_body


@contextlib.contextmanager
def work_here(
    steps: Sequence[Pass],
    mod: HeldModule,
    context: PassContext,
    retainer: Retainer,
    *,
    doubted: Sequence[str],
    verdicts: Verdicts,
) -> Generator[StageWork]:
    """Give the work of a stage on the functions as objects, to be done inside.

    What workers told of bodies that kill a process holds here: they are not called.
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
    work.verdicts = verdicts
    with (
        contextlib.closing(work),
        function_pass_body(),
        intercepting(),
    ):
        yield work


def take_over(
    steps: Sequence[Pass],
    mod: HeldModule,
    context: PassContext,
    retainer: Retainer,
    outcomes: StageOutcomes,
    functions: Iterable[int] | None = None,
) -> None:
    """Run the steps on functions, given by index, by default those without an outcome.

    Those that were begun here go on from there.
    """
    names, begun = outcomes.names, outcomes.begun
    doubted, verdicts = outcomes.doubted_names(), outcomes.verdicts_here()
    with work_here(
        steps, mod, context, retainer, doubted=doubted, verdicts=verdicts
    ) as work:
        work.end = outcomes.end
        for at, one in begun.items():
            work.know(names[at], one.function, 1)
        for at in outcomes.missing() if functions is None else functions:
            retainer.check_open()
            done = begun.get(at)
            made = work.run(names[at]) if done is None else work.go_on(names[at], done)
            put(outcomes, at, mod.held[names[at]], made)


def put(
    outcomes: StageOutcomes, function: int, held: Held, outcome: FunctionOutcome
) -> None:
    """Take down the outcome of a function, given by its index."""
    made = outcome.function
    is_same = made is None or made is held.function
    outcomes.put(function, held if is_same else Held(made), outcome)


def reproduce(
    command: Reproduce,
    mod: HeldModule,
    context: PassContext,
    retainer: Retainer,
    verdicts: Verdicts,
) -> None:
    """Write a reproducer; earlier steps are run again on what it needs, and no more."""
    if not command.steps:
        command.write(retainer.module(mod), context, retainer.adapter)
        return
    steps = command.steps
    with work_here(
        steps, mod, context, retainer, doubted=list(mod.held), verdicts=verdicts
    ) as work:
        before = work.module_before(command.at)
        command.write(before, context, retainer.adapter)
