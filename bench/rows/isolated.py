"""Row `isolated`: what it costs to run a small function where it can do no harm.

Beside it stands what no way there takes less than, the same bytes to a process and
back, and what loky's executor takes for the same passes on the same function.
"""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Callable, Generator, Iterator, Sequence
from importlib import import_module
from multiprocessing import get_context
from multiprocessing.connection import Connection, Pipe
from typing import Any

import cloudpickle

import parpass
from bench.measure import Figure, Setting, clocked, interleaved, median
from bench.table import Goal, Line, Row
from bench.work import Work, light_pass, no_pass
from parpass import FunctionPass, PassContext, Sequential

_NODES = 10
_MANY = 100  # functions at once
_ROUNDS = 100  # for each of the rounds that are asked for
_WORK = {"no-op": no_pass, "light": light_pass}


def _isolated(setting: Setting) -> Iterator[Line]:
    there = back = 0
    with (
        parpass.open_runner(workers=setting.workers, isolated=True) as runner,
        _loky() as by_loky,
    ):
        for name, passes in _WORK.items():
            mod, root = Work(1, _NODES, passes).module(), Sequential(passes())
            job = passes(), mod["f0"]
            isolated, serial, loky = _medians(
                setting,
                lambda: runner.run_sync(mod, root),  # noqa: B023 -- used at once
                lambda: root(mod),  # noqa: B023
                lambda: by_loky(job),  # noqa: B023
            )
            report = runner.last_report
            if passes is no_pass and report is not None:
                there, back = report.bytes_sent, report.bytes_received
            what = f"a {name} pass on one function of {_NODES} nodes, isolated"
            yield Line(
                what,
                "a warm runner's round trip : cloudpickle and loky's executor alone",
                Figure(isolated.value / loky.value, isolated.noise / loky.value),
                Goal(0.5) if passes is no_pass else None,
                note=f"{isolated.value:.0f} us : {loky.value:.0f} us, which has no "
                f"settings, types, logs, limits, or blame; {serial.value:.0f} serially",
            )
    with _echo(there, back) as to_and_fro:
        (bare,) = _medians(setting, to_and_fro)
    what = f"{there:,} bytes to a process and {back:,} back, as the no-op takes"
    yield Line(what, "a bare round trip", bare)
    yield _many(setting)


def _many(setting: Setting) -> Line:
    """Return the line of many functions at once beside all of their bytes by a pipe."""
    mod, root = Work(_MANY, _NODES, no_pass).module(), Sequential(no_pass())
    with parpass.open_runner(workers=setting.workers, isolated=True) as runner:
        runner.run_sync(mod, root)
        report = runner.last_report
        assert report is not None
        with _echo(report.bytes_sent, report.bytes_received) as to_and_fro:
            isolated, pipe = _medians(
                setting, lambda: runner.run_sync(mod, root), to_and_fro
            )
    return Line(
        f"a no-op pass on {_MANY} functions of {_NODES} nodes at once, isolated",
        "its time : that of its bytes by one pipe",
        Figure(isolated.value / pipe.value, isolated.noise / pipe.value),
        Goal(1.15),
        note=f"{isolated.value:.0f} us : {pipe.value:.0f} us; "
        f"{report.bytes_sent:,} bytes there, {report.bytes_received:,} back",
    )


@contextlib.contextmanager
def _loky() -> Generator[Callable[[object], object]]:
    """Give a call that has loky's executor run passes on a function, by cloudpickle."""
    loky: Any = import_module("loky")
    executor = loky.ProcessPoolExecutor(1)

    def there_and_back(job: object) -> object:
        sent = executor.submit(_run, cloudpickle.dumps(job))
        return pickle.loads(sent.result())

    try:
        yield there_and_back
    finally:
        executor.shutdown()


def _medians(setting: Setting, *sides: Callable[[], object]) -> list[Figure]:
    """Return the medians of several ways, which take turns."""
    runs = {str(at): clocked(side) for at, side in enumerate(sides)}
    interleaved(runs, 20, collect=False)  # not counted: what is made once
    rounds = max(20, round(_ROUNDS * setting.scale)) * setting.repeat
    times = interleaved(runs, rounds, collect=False)
    return [median(times[name]).times(1e6, "us") for name in runs]


@contextlib.contextmanager
def _echo(there: int, back: int) -> Generator[Callable[[], None]]:
    """Give a call that sends a process so many bytes, and receives others from it."""
    ours, theirs = Pipe()
    process = get_context("spawn").Process(target=_answer_all, args=(theirs, back))
    process.start()
    theirs.close()
    message = bytes(there)

    def to_and_fro() -> None:
        ours.send_bytes(message)
        ours.recv_bytes()

    with ours:
        yield to_and_fro
    process.join()


def _answer_all(connection: Connection, answer: int) -> None:
    with contextlib.suppress(EOFError):
        while True:
            connection.recv_bytes()
            connection.send_bytes(bytes(answer))


def _run(job: bytes) -> bytes:
    loaded: tuple[Sequence[FunctionPass], Any] = pickle.loads(job)
    passes, function = loaded
    for one in passes:
        function = one.transform_function(function, None, PassContext.current())
    return cloudpickle.dumps(function)


ROWS = (Row("isolated", _isolated),)
