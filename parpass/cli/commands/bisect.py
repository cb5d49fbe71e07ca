"""`parpass bisect`: find the pass and the function that make a result wrong."""

from __future__ import annotations

import shlex
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from parpass.cli.commands import completion, options
from parpass.cli.commands.options import Command
from parpass.cli.output.failure import InputError
from parpass.errors import EvaluationError, PassInputError, UnreadFunctionError
from parpass.transform import Pass, PassContext, ProgramFormat, adapter_of
from parpass.transform.debug.bisect import (
    OPT_BISECT,
    OPT_BISECT_LIMIT,
    Verdict,
    listener,
)

if TYPE_CHECKING:
    from parpass.runner import Runner

NOTHING_FOUND = 3

# Returns what is wrong with a module, None if nothing is.
Check = Callable[[Any], str | None]


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
    """
    from parpass.cli.files.irs import default_suffix, load_irs
    from parpass.cli.files.reading import read_module
    from parpass.cli.operations.executors import opening_runner
    from parpass.cli.operations.pipeline import make_context, read_pipeline
    from parpass.cli.output.instrument_options import InstrumentOptions

    options.check_executor(jobs, executor)
    load_irs(ir, [file.suffix])
    pipeline = read_pipeline(passes)
    limits = {"function_timeout": function_timeout, "memory_limit": memory_limit}
    settings = limits | _settings(jobs)
    context = make_context(
        pipeline, level, config, InstrumentOptions.nothing(), settings
    )
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


class InconclusiveError(Exception):
    """The check said that it cannot tell."""


@dataclass(frozen=True)
class Probe:
    """One run.

    Attributes:
        wrong: What was wrong with it, None if nothing.
        verdicts: The pairs that it came to.
        is_misdirected: Whether there was a pass of another IR.
    """

    wrong: str | None
    verdicts: Sequence[Verdict]
    is_misdirected: bool = False


@dataclass(frozen=True)
class Culprit:
    """The first pair with which it goes wrong.

    Attributes:
        verdict: The pair.
        wrong: What is wrong then.
        alone: Whether it is so, too, if this pair alone runs.
    """

    verdict: Verdict
    wrong: str
    alone: bool


class Bisection:
    """Runs a pipeline again and again, with some of its pairs.

    Args:
        runner: Where.
        mod: The module.
        pipeline: The pipeline.
        context: The settings, bisection aside.
        check: Tells what is wrong with the result of a run that did not fail.
        tell: Called with a line about each run.
    """

    def __init__(
        self,
        runner: Runner,
        mod: Any,
        pipeline: Pass,
        context: PassContext,
        check: Check,
        tell: Callable[[str], None],
    ) -> None:
        self._runner = runner
        self._mod = mod
        self._pipeline = pipeline
        self._context = context
        self._check = check
        self._tell = tell

    def limited(self, limit: int) -> Probe:
        """Run the first pairs, all for -1."""
        probe = self._probe({OPT_BISECT_LIMIT: limit})
        what = "all pairs" if limit < 0 else f"the first {limit}"
        self._tell(f"{what}: {probe.wrong or 'good'}")
        return probe

    def culprit(self, whole: Probe) -> Culprit:
        """Return the pair that makes it wrong; all are wrong, none are good."""
        good, bad, found = 0, len(whole.verdicts), whole
        while bad - good > 1:
            middle = (good + bad) // 2
            probe = self.limited(middle)
            if probe.wrong is None:
                good = middle
            else:
                bad, found = middle, probe
        assert found.wrong is not None
        single = self._probe({OPT_BISECT: str(bad)})
        return Culprit(found.verdicts[bad - 1], found.wrong, single.wrong is not None)

    def _probe(self, settings: Mapping[str, Any]) -> Probe:
        context = PassContext(
            self._context.opt_level,
            self._context.required_pass,
            self._context.disabled_pass,
            config={**self._context.config, **settings},
        )
        verdicts: list[Verdict] = []
        token = listener.set(verdicts.extend)
        try:
            made = self._runner.run_sync(self._mod, self._pipeline, context=context)
        except UnreadFunctionError:
            raise
        except Exception as error:  # noqa: BLE001 -- a pass may raise anything
            wrong = f"{type(error).__name__}: {error}"
            return Probe(wrong, verdicts, isinstance(error, PassInputError))
        finally:
            listener.reset(token)
        return Probe(self._check(made), verdicts)


def check_by_values(mod: Any, seed: int) -> Check:
    """Return a check that compares what functions compute with what they did.

    Raises:
        EvaluationError: They cannot be evaluated.
    """
    from parpass.cli.operations.values import ReferenceValues
    from parpass.ir.module import IRModule

    if not isinstance(mod, IRModule):
        kind = type(mod).__name__
        raise EvaluationError(f"only Relay is evaluated here, and this is a {kind}")
    return ReferenceValues(mod, seed).difference


def check_by_command(command: str, programs: ProgramFormat) -> Check:
    """Return a check by a shell command, which is given the path of a file of IR.

    The path takes the place of `{}`, or comes last. The command exits with 0 if the
    module is good, with 125 if it cannot tell, with anything else if it is bad.
    """
    from parpass.cli.files.irs import default_suffix

    def check(mod: Any) -> str | None:
        with tempfile.TemporaryDirectory(prefix="parpass-bisect-") as folder:
            path = Path(folder) / f"module{default_suffix(programs)}"
            path.write_text(programs.astext(mod), encoding="utf-8")
            quoted = shlex.quote(str(path))
            line = command.replace("{}", quoted) if "{}" in command else ""
            code = subprocess.run(
                line or f"{command} {quoted}", shell=True, check=False
            )
        if code.returncode == 125:
            raise InconclusiveError(f"'{command}' exited with 125: it cannot tell")
        return None if code.returncode == 0 else f"exit code {code.returncode}"

    return check
