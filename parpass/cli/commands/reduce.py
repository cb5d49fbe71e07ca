"""`parpass reduce`: make the program of a reproducer smaller while it still fails."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from parpass.cli.interrupts import INTERRUPTED
from parpass.cli.options import shared
from parpass.cli.options.structs import command, option_struct, running
from parpass.cli.output.failure import InputError, command_text
from parpass.errors import ParpassError, UnreadFunctionError
from parpass.limits import LIMITS

if TYPE_CHECKING:
    from parpass.cli.operations.reducer import Reducer, TrialRunner
    from parpass.runner import Executor
    from parpass.transform import ModuleAdapter
    from parpass.transform.debug.reproducer import Reproducer

_TIMEOUT = 60.0  # seconds for a candidate
_MARGIN = 3.0  # seconds for what it does besides, where a limit is known


@option_struct
class ReduceOptions:
    file: Path = shared.reproducer()
    loaded: Sequence[str] = shared.load()
    jobs: int | None = shared.jobs()
    match: str | None = running(
        "--match",
        metavar="REGEX",
        help="Text that the error message must contain. By default any failure of the "
        "same type in the same pass counts.",
    )
    timeout: float | None = running(
        "--timeout",
        metavar="SECONDS",
        type=click.FloatRange(min=0, min_open=True),
        show_default="60, or slightly above the limit of the failing pass",
        help="Time limit for each candidate.",
    )
    output: str = shared.output(
        "File to write the smaller reproducer to; - is standard output.",
        may_be_shown=True,
    )


@command(
    ReduceOptions,
    epilog="Exit codes: 0 ok, 2 the command or the file is wrong, 3 the failure "
    "cannot be reproduced, 130 interrupted.",
)
def reduce(given: ReduceOptions) -> None:
    """Shrink the program of a reproducer while it fails in the same way.

    The command removes functions, passes, expressions, statements, fields of tuples,
    parameters of loop programs and attributes. It replaces expressions by parts of
    them, by parameters or by zeros. Candidates run in children of worker processes, so
    passes that crash or hang are reduced as well. The result does not depend on -j. If
    you interrupt the command, it writes the smallest program so far.

    \b
    Example:
      parpass reduce failure.txt --match 'out of range' -o smaller.txt
    """  # noqa: D301 -- backslash b keeps click from filling the paragraph
    from parpass.cli.files.writing import check_folder, write_text
    from parpass.cli.operations.reducer import Reducer
    from parpass.cli.operations.trial import read_reproducer
    from parpass.transform import adapter_of

    check_folder(given.output, "-o")
    reproducer, mod = read_reproducer(given.file)
    adapter = adapter_of(mod, "reduce")
    try:
        with _executor(given.jobs) as executor:
            seconds = given.timeout or _seconds_for(reproducer)
            trials = _trials(reproducer, executor, given.match, seconds)
            reduction = Reducer(reproducer, mod, adapter, trials)
            was_interrupted = _run(reduction)
    except ParpassError as error:
        raise InputError(f"{given.file}: {command_text(error)}") from None
    _report(adapter, mod, reproducer, reduction)
    write_text(reduction.reproducer.to_text().rstrip("\n") + "\n", given.output)
    if was_interrupted:
        click.get_current_context().exit(INTERRUPTED)


def _trials(
    reproducer: Reproducer,
    executor: Executor | None,
    match: str | None,
    timeout: float,
) -> TrialRunner:
    """Return the runner of trials, after it reproduced the failure."""
    from parpass.cli.operations.reducer import TrialRunner
    from parpass.cli.operations.trial import FailurePredicate, load_passes

    load_passes(reproducer)
    try:
        same = FailurePredicate.from_reproducer(
            reproducer, match and re.compile(match).pattern
        )
    except re.error as error:
        raise click.BadParameter(str(error), param_hint="'--match'") from None
    trials = TrialRunner(executor, same, timeout)
    result = trials.run(reproducer)
    if result.error == UnreadFunctionError.__name__:
        raise UnreadFunctionError(f"the program cannot be read: {result.message}")
    if not same(result):
        click.echo(f"The failure cannot be reproduced: {result}", err=True)
        click.echo(f"It was: {reproducer.error}", err=True)
        click.get_current_context().exit(3)
    return trials


def _run(reduction: Reducer) -> bool:
    """Reduce; return whether Ctrl-C ended it early."""
    try:
        reduction.run()
    except KeyboardInterrupt:
        click.echo("Interrupted; this is the smallest program so far.", err=True)
        return True
    return False


def _seconds_for(reproducer: Reproducer) -> float:
    """Return the default time limit of a candidate.

    A pass that hangs in C code, where nothing interrupts it, hangs in each candidate.
    """
    ending = [reproducer.config.get(one.option) for one in LIMITS if one.or_exit]
    given = [2.0 * seconds + _MARGIN for seconds in ending if seconds is not None]
    return min([_TIMEOUT, *given])


@contextlib.contextmanager
def _executor(jobs: int | None) -> Generator[Executor | None]:
    from parpass.runner.driver.executor_source import new_pool

    executor = new_pool(jobs)
    if executor is None:
        yield None
        return
    try:
        executor.start()
        yield executor
    finally:
        executor.kill()


def _report(
    adapter: ModuleAdapter, before: Any, was: Reproducer, reduction: Reducer
) -> None:
    from parpass.cli.output.tables import name_column, print_table

    after = reduction.mod
    rows = [
        ("functions", *(len(adapter.functions(mod)) for mod in (before, after))),
        ("size", *(_size_in(adapter, mod) for mod in (before, after))),
        ("lines", _lines(was), _lines(reduction.reproducer)),
    ]
    cells = [(what, f"{old:,}", f"{new:,}") for what, old, new in rows]
    print_table("Reduced", [name_column(""), "before", "after"], cells)


def _size_in(adapter: ModuleAdapter, mod: Any) -> int:
    return sum(adapter.size(one, 1 << 62) for one in adapter.functions(mod).values())


def _lines(reproducer: Reproducer) -> int:
    return reproducer.text.strip().count("\n") + 1
