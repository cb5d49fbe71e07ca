"""`parpass bisect`: find the pass and the function that make a result wrong."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from parpass.cli.commands import completion, options
from parpass.cli.commands.option_syntax import Command
from parpass.cli.output.failure import InputError
from parpass.errors import EvaluationError

if TYPE_CHECKING:
    from parpass.cli.operations.bisection import Check, Culprit
    from parpass.transform import ProgramFormat

NOTHING_FOUND = 3


@click.command(
    cls=Command,
    epilog="Exit codes: 0 it was found, 2 the command, the pipeline or an input is "
    "wrong, 3 there is nothing to be found, 130 interrupted.",
)
@options.PROGRAM
@options.running(
    "-p",
    "--passes",
    "--pass-pipeline",
    "passes",
    metavar="PASSES",
    required=True,
    shell_complete=completion.pipelines,
    help=options.PASSES_HELP,
)
@options.level
@options.config
@options.jobs
@options.executor
@options.load_plugin
@options.ir
@options.function_timeout
@options.memory_limit
@options.running(
    "--check",
    metavar="COMMAND",
    help="A shell command that is given a file of IR, in the place of {} or at the "
    "end: it exits with 0 if the module is good, with 125 if it cannot tell, with "
    "anything else if it is bad.",
)
@options.running(
    "--seed",
    type=int,
    default=0,
    show_default=True,
    help="Of the inputs on which values are compared.",
)
def bisect(
    *,
    file: Path,
    passes: str,
    level: int,
    config: Sequence[str],
    jobs: int | None,
    executor: str | None,
    ir: str | None,
    function_timeout: float | None,
    memory_limit: int | None,
    check: str | None,
    seed: int,
) -> None:
    """Find the first pass, and the function, with which a pipeline goes wrong.

    It is wrong if a pass fails. Or, if none does, when --check says so; without
    --check, when a function computes something else than it did, on random inputs:
    'main', or all to which no other refers.

    The pipeline is run with its first N pairs of pass and function, for one N after the
    other; see --opt-bisect-limit of parpass opt. The last lines are the two commands
    that show the difference.

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

    options.check_executor(jobs, executor)
    pipeline = read_pipeline(passes, load_irs(ir, [file.suffix]))
    limits = {"function_timeout": function_timeout, "memory_limit": memory_limit}
    settings = limits | _settings(jobs)
    context = make_context(pipeline, level, config, (), settings)
    mod = read_module(file, ir=ir)
    programs = adapter_of(mod, "bisect").programs(mod)
    is_good, why_none = _check(check, mod, programs, seed)
    with opening_runner(jobs, executor) as runner:
        bisection = Bisection(runner, mod, pipeline, context, is_good, _tell)
        try:
            whole = bisection.limited(-1)
            if whole.wrong is None and why_none is not None:
                raise InputError(
                    f"no pass fails, and values cannot be compared: {why_none}; give "
                    "--check"
                )
            if whole.wrong is None:
                _nothing("Nothing is wrong with all passes.")
            without = bisection.limited(0) if whole.verdicts else whole
            if without.is_misdirected:
                raise InputError(str(without.wrong))
            if without.wrong is not None:
                _nothing("It is wrong without any of the passes that have numbers.")
            culprit = bisection.culprit(whole)
        except InconclusiveError as error:
            raise InputError(error) from None
    command = _command(file, passes, level, config, ir, limits)
    _report(culprit, command, default_suffix(programs))


def _settings(jobs: int | None) -> dict[str, float | None]:
    # What runs in this process would end the search if it crashed.
    return {"asking_workers_seconds": None if jobs == 0 else 0.0}


def _check(
    command: str | None, mod: Any, programs: ProgramFormat, seed: int
) -> tuple[Check, str | None]:
    """Return what tells of a result what is wrong, and why it cannot."""
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


def _command(
    file: Path,
    passes: str,
    level: int,
    config: Sequence[str],
    ir: str | None,
    limits: Mapping[str, float | None],
) -> list[str]:
    words = ["parpass", "opt", str(file), "-p", passes]
    words += [] if level == 2 else [f"-O{level}"]
    for setting in config:
        words += ["--config", setting]
    for name, limit in limits.items():
        words += [] if limit is None else [f"--{name.replace('_', '-')}={limit}"]
    words += [] if ir is None else ["--ir", ir]
    for name in click.get_current_context().meta[options.LOADED]:
        words += ["--load", name]
    return words


def _report(culprit: Culprit, command: Sequence[str], suffix: str) -> None:
    pair, number = culprit.verdict, culprit.verdict.number
    where = "the module" if pair.function is None else f"function '{pair.function}'"
    click.echo(f"Pass '{pair.pass_name}' on {where}, number {number}: {culprit.wrong}")
    if culprit.alone:
        click.echo(f"It alone is enough: --opt-bisect={number}")
    for limit, name in ((number - 1, "good"), (number, "bad")):
        words = [*command, f"--opt-bisect-limit={limit}", "-o", f"{name}{suffix}"]
        click.echo(shlex.join(words))
