"""`parpass reduce`: make the program of a reproducer smaller while it still fails.

By delta debugging, with candidates tried in parallel. They come in a fixed order, and
of those that still fail the first is taken, so the result does not depend on how many
are tried at once.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import re
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

import click
from msgspec import structs

from parpass.cli.commands import options
from parpass.cli.commands.options import Command
from parpass.cli.operations.trial import (
    FailurePredicate,
    TrialResult,
    load_passes,
    read_reproducer,
    run_trial,
)
from parpass.cli.output.failure import InputError, command_text
from parpass.errors import ParpassError, UnreadFunctionError
from parpass.runner import Executor, JobLostError
from parpass.transform import (
    ModuleAdapter,
    ReductionPattern,
    Sequential,
    adapter_of,
    print_pipeline,
)
from parpass.transform.config import FUNCTION_TIMEOUT
from parpass.transform.debug.locate import PassLocator
from parpass.transform.debug.reproducer import Reproducer

KeyT = TypeVar("KeyT")

_TIMEOUT = 60.0  # seconds for a candidate
_MARGIN = 3.0  # seconds for what it does besides, where a limit is known


@click.command(
    cls=Command,
    epilog="Exit codes: 0 ok, 2 the command or the file is wrong, 3 the failure does "
    "not come back, 130 interrupted.",
)
@options.REPRODUCER
@options.load_plugin
@options.jobs
@options.running(
    "--match",
    metavar="REGEX",
    help="What the message of the failure must have in it; otherwise any failure of "
    "the same type in the same pass counts.",
)
@options.running(
    "--timeout",
    metavar="SECONDS",
    type=click.FloatRange(min=0, min_open=True),
    show_default="60, or a little more than the failing pass was given",
    help="How long a candidate may run.",
)
@options.writing(
    "-o",
    "--output",
    metavar="OUT",
    type=click.Path(dir_okay=False, writable=True, allow_dash=True),
    default="-",
    show_default=True,
    help="Where to write the smaller reproducer; - is standard output.",
)
def reduce(
    *,
    file: Path,
    jobs: int | None,
    match: str | None,
    timeout: float | None,
    output: str,
) -> None:
    """Make the program of a reproducer smaller while it fails in the same way.

    Functions, passes, expressions, statements, fields of tuples, parameters of loop
    programs and attributes are taken out, and expressions replaced by parts of them, by
    parameters or by zeros. Candidates run in children of worker processes, so a pass
    that crashes or hangs is reduced as well. The result does not depend on -j. If it is
    interrupted, the smallest program so far is written.
    """
    from parpass.cli.files.writing import check_folder, write_text

    check_folder(output, "-o")
    reproducer, mod = read_reproducer(file)
    adapter = adapter_of(mod, "reduce")
    try:
        with _executor(jobs) as executor:
            seconds = timeout or _seconds_for(reproducer)
            trials = _trials(reproducer, executor, match, seconds)
            reduction = Reducer(reproducer, mod, adapter, trials)
            was_interrupted = _run(reduction)
    except ParpassError as error:
        raise InputError(f"{file}: {command_text(error)}") from None
    _report(adapter, mod, reproducer, reduction)
    write_text(reduction.reproducer.to_text().rstrip("\n") + "\n", output)
    if was_interrupted:
        click.get_current_context().exit(130)


def _trials(
    reproducer: Reproducer,
    executor: Executor | None,
    match: str | None,
    timeout: float,
) -> TrialRunner:
    """Return what tries candidates, after the failure came back."""
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
        raise UnreadFunctionError(f"it cannot be read: {result.message}")
    if not same(result):
        click.echo(f"The failure does not come back: {result}", err=True)
        click.echo(f"It was: {reproducer.error}", err=True)
        click.get_current_context().exit(3)
    return trials


def _run(reduction: Reducer) -> bool:
    """Reduce; return whether Ctrl-C ended it before there was nothing to take out."""
    try:
        reduction.run()
    except KeyboardInterrupt:
        click.echo("Interrupted; this is the smallest so far.", err=True)
        return True
    return False


def _seconds_for(reproducer: Reproducer) -> float:
    """Return how long a candidate may run where that was not given.

    A pass that hangs in C code, where nothing interrupts it, hangs in each candidate.
    """
    limit = reproducer.config.get(FUNCTION_TIMEOUT)
    return _TIMEOUT if limit is None else min(_TIMEOUT, 2.0 * limit + _MARGIN)


@contextlib.contextmanager
def _executor(jobs: int | None) -> Generator[Executor | None]:
    from parpass.runner.driver.session import new_executor

    executor = new_executor(jobs)
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


class TrialRunner:
    """Tries reproducers on workers.

    Args:
        executor: Where; None for children of this process, one at a time.
        same: Which results count.
        seconds: How long one may take.
    """

    def __init__(
        self, executor: Executor | None, same: FailurePredicate, seconds: float
    ) -> None:
        self._executor = executor
        self._same = same
        self._seconds = seconds

    def run(self, reproducer: Reproducer) -> TrialResult:
        """Return what becomes of a reproducer."""
        return self._result(self._submit(reproducer))

    def first(
        self, candidates: Iterable[tuple[KeyT, Reproducer]]
    ) -> tuple[KeyT, TrialResult] | None:
        """Return the key of the first candidate that fails in the same way."""
        window = self._executor.workers if self._executor is not None else 1
        waiting: deque[tuple[KeyT, Callable[[], bytes]]] = deque()
        rest = iter(candidates)
        while True:
            for key, candidate in itertools.islice(rest, window - len(waiting)):
                waiting.append((key, self._submit(candidate)))
            if not waiting:
                return None
            key, answer = waiting.popleft()
            result = self._result(answer)
            if self._same(result):
                return key, result

    def _submit(self, reproducer: Reproducer) -> Callable[[], bytes]:
        job = json.dumps({"text": reproducer.to_text(), "seconds": self._seconds})
        if self._executor is None:
            return functools.partial(run_trial, job.encode())
        answer: Future[bytes] = self._executor.submit(run_trial, job.encode())
        return answer.result

    def _result(self, answer: Callable[[], bytes]) -> TrialResult:
        try:
            return TrialResult(**json.loads(answer()))
        except JobLostError as error:  # where no child protects the worker
            return TrialResult("died", str(error))


class DropFunctions:
    """Takes functions out; where others call them, the module is no good any more.

    Args:
        adapter: How modules are handled.
        kept: The function that stays.
    """

    many = True

    def __init__(self, adapter: ModuleAdapter, kept: str | None) -> None:
        self._adapter = adapter
        self._kept = kept

    def items(self, mod: Any) -> Sequence[str]:
        """Return the names of the functions that may go."""
        return [name for name in self._adapter.functions(mod) if name != self._kept]

    def without(self, mod: Any, items: Sequence[str]) -> Any:
        """Return the module without these functions."""
        gone = set(items)
        functions = self._adapter.functions(mod)
        kept = {name: one for name, one in functions.items() if name not in gone}
        return self._adapter.with_functions(mod, kept)


class Reducer:
    """Makes a reproducer smaller, step by step.

    Args:
        reproducer: The reproducer, which fails.
        mod: The module in it.
        adapter: How it is handled.
        trials: Tries what is smaller.
    """

    def __init__(
        self,
        reproducer: Reproducer,
        mod: Any,
        adapter: ModuleAdapter,
        trials: TrialRunner,
    ) -> None:
        self.reproducer = reproducer
        self._adapter = adapter
        self._programs = adapter.programs(mod)
        self._size = self._programs.module_size
        self.mod = self._restored(mod)
        self._trials = trials
        self._origins = PassLocator()

    def run(self) -> None:
        """Go on until nothing can be taken out."""
        self._shrink_pipeline()
        kept = self.reproducer.function
        before = None
        while before != self._size(self.mod):
            before = self._size(self.mod)
            there = kept if kept in self._adapter.functions(self.mod) else None
            for way in (
                DropFunctions(self._adapter, there),
                *self._programs.reduction_patterns(),
            ):
                self._shrink_module(way)

    def _restored(self, mod: Any) -> Any:
        """Return a module in which, if it can be, hold the invariants of its IR."""
        functions = self._adapter.functions(mod).values()
        kinds = dict.fromkeys(map(self._adapter.kind_of, functions))
        for kind in kinds:
            restoring = None if kind is None else self._adapter.restoring_pass(kind)
            with contextlib.suppress(ParpassError):
                mod = mod if restoring is None else restoring(mod)
        return mod

    def _shrink_pipeline(self) -> None:
        passes = load_passes(self.reproducer).passes
        length = len(passes)
        while length > 0 and len(passes) > 1:
            at = 0
            while at < len(passes):
                shorter = [
                    (k, passes[:k] + passes[k + length :])
                    for k in range(at, len(passes), length)
                    if length < len(passes)
                ]
                texts = ((key, self._with_passes(key[1])) for key in shorter)
                found = self._trials.first(texts)
                if found is None:
                    break
                (at, passes), result = found
                self._take(self._with_passes(passes), result)
            length //= 2

    def _with_passes(self, passes: Sequence[object]) -> Reproducer:
        pipeline = Sequential(passes)  # pyright: ignore[reportArgumentType]
        text = print_pipeline(pipeline, name_of=self._origins.name_of)
        return structs.replace(self.reproducer, pipeline=text)

    def _shrink_module(self, way: ReductionPattern) -> None:
        items = way.items(self.mod)
        length = len(items) if way.many else min(len(items), 1)
        while length > 0:
            at = 0
            while at < len(items):
                found = self._trials.first(self._candidates(way, items, at, length))
                if found is None:
                    break
                (at, mod), result = found
                self.mod = self._restored(mod)
                self._take(self._with_module(mod), result)
                items = way.items(self.mod)
            length //= 2

    def _candidates(
        self, way: ReductionPattern, items: Sequence[object], at: int, length: int
    ) -> Iterator[tuple[tuple[int, Any], Reproducer]]:
        now = self._size(self.mod)
        for k in range(at, len(items), length):
            mod = way.without(self.mod, items[k : k + length])
            if self._size(mod) < now:
                yield (k, mod), self._with_module(mod)

    def _with_module(self, mod: Any) -> Reproducer:
        return structs.replace(self.reproducer, text=self._programs.astext(mod))

    def _take(self, reproducer: Reproducer, result: TrialResult) -> None:
        error = self.reproducer.error
        if result.kind == "raised":
            error = f"{result.error}: {result.message}"
        self.reproducer = structs.replace(reproducer, error=error)
