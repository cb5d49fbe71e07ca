"""`parpass bisect`: find the pass and the function that make a result wrong."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from parpass.cli.options import shared
from parpass.cli.options.shared import (
    LimitOptions,
    ModelInputOptions,
    WorkerOptions,
    limit_flags,
)
from parpass.cli.options.structs import command, group, option_struct, running
from parpass.cli.options.syntax import as_written
from parpass.cli.output.failure import InputError
from parpass.errors import EvaluationError
from parpass.limits import LIMITS

if TYPE_CHECKING:
    from parpass.cli.operations.bisection import Check, Culprit
    from parpass.transform import ProgramFormat

NOTHING_FOUND = 3


@option_struct
class BisectOptions:
    file: Path = shared.program()
    passes: str = shared.passes(required=True)
    level: int = shared.level()
    config: Sequence[str] = shared.config()
    workers: WorkerOptions = group(WorkerOptions)
    loaded: Sequence[str] = shared.load()
    ir: str | None = shared.ir()
    model: ModelInputOptions = group(ModelInputOptions)
    limits: LimitOptions = limit_flags()
    check: str | None = running(
        "--check",
        metavar="COMMAND",
        help="Shell command to run on a file of IR, put in the place of {} or at the "
        "end. It exits with 0 if the module is good, 125 if it cannot tell, anything "
        "else if it is bad.",
    )
    seed: int = running(
        "--seed",
        type=int,
        default=0,
        show_default=True,
        help="Seed of the random inputs on which values are compared.",
    )


@command(
    BisectOptions,
    epilog="Exit codes: 0 culprit found, 2 the command, the pipeline or an input is "
    "wrong, 3 nothing to find, 130 interrupted.",
)
def bisect(given: BisectOptions) -> None:
    """Find the first pass and function that break a result.

    A result is wrong if a pass fails. Otherwise --check decides. Without --check, a
    result is wrong if a function computes other values than before, on random inputs;
    'main' is compared, or every function that no other refers to.

    The command runs the pipeline's first N pairs of pass and function for one N after
    another, as --opt-bisect-limit of 'parpass opt' does. Its last lines are the two
    commands that show the difference.

    \b
    Example:
      parpass bisect model.onnx -p InferType,FoldConstant,FuseOps
      parpass bisect model.onnx -p InferType,FoldConstant --check 'grep -q nn.relu {}'
    """  # noqa: D301 -- backslash b keeps click from filling the paragraph
    from parpass.cli.files.irs import default_suffix, load_irs
    from parpass.cli.files.reading import read_module
    from parpass.cli.operations.bisection import Bisection, InconclusiveError
    from parpass.cli.operations.executors import opening_runner
    from parpass.cli.operations.pipeline import make_context, read_pipeline
    from parpass.transform import adapter_of

    given.workers.check()
    jobs, executor = given.workers.jobs, given.workers.executor
    pipeline = read_pipeline(given.passes, load_irs(given.ir, [given.file.suffix]))
    settings = {**given.limits.settings(), **_settings(jobs)}
    context = make_context(pipeline, given.level, given.config, (), settings)
    mod = read_module(given.file, ir=given.ir, model=given.model.by_name)
    programs = adapter_of(mod, "bisect").programs(mod)
    is_good, why_none = _check(given.check, mod, programs, given.seed)
    with opening_runner(jobs, executor) as runner:
        bisection = Bisection(runner, mod, pipeline, context, is_good, _tell)
        try:
            whole = bisection.limited(-1)
            if whole.wrong is None and why_none is not None:
                raise InputError(
                    f"no pass fails, and values cannot be compared: {why_none}; add "
                    "--check"
                )
            if whole.wrong is None:
                _nothing("Nothing is wrong when all passes run.")
            without = bisection.limited(0) if whole.verdicts else whole
            if without.is_misdirected:
                raise InputError(str(without.wrong))
            if without.wrong is not None:
                _nothing("The result is wrong even if no numbered pass runs.")
            culprit = bisection.culprit(whole)
        except InconclusiveError as error:
            raise InputError(error) from None
    _report(culprit, _command(given), default_suffix(programs))


def _settings(jobs: int | None) -> dict[str, float | None]:
    # What runs in this process would end the search if it crashed.
    return {"asking_workers_seconds": None if jobs == 0 else 0.0}


def _check(
    command: str | None, mod: Any, programs: ProgramFormat, seed: int
) -> tuple[Check, str | None]:
    """Return the check of results, and why there is none that compares values."""
    from parpass.cli.operations.bisection import check_by_command, check_by_values

    if command is not None:
        return check_by_command(command, programs), None
    try:
        return check_by_values(mod, seed), None
    except EvaluationError as error:
        # A pass may still fail, and then runs in which none does are good.
        return lambda _: None, str(error)


def _tell(line: str) -> None:
    click.echo(line.partition("\n")[0], err=True)


def _nothing(why: str) -> None:
    click.echo(why, err=True)
    click.get_current_context().exit(NOTHING_FOUND)


def _command(given: BisectOptions) -> list[str]:
    """Return the command that runs the pipeline."""
    models = (field.name for field in dataclasses.fields(ModelInputOptions))
    limits = (limit.name for limit in LIMITS)
    own = as_written("passes", "level", "config", "loaded", "ir", *models, *limits)
    return ["parpass", "opt", str(given.file), *own]


def _report(culprit: Culprit, command: Sequence[str], suffix: str) -> None:
    pair, number = culprit.verdict, culprit.verdict.number
    where = "the module" if pair.function is None else f"function '{pair.function}'"
    click.echo(f"Pass '{pair.pass_name}' on {where}, number {number}: {culprit.wrong}")
    if culprit.alone:
        click.echo(f"This pair alone is enough: --opt-bisect={number}")
    for limit, name in ((number - 1, "good"), (number, "bad")):
        words = [*command, f"--opt-bisect-limit={limit}", "-o", f"{name}{suffix}"]
        click.echo(shlex.join(words))
