"""Row `interactive`: an event loop stays responsive beside a run under full load.

The new module is kept until the last tick: to free it takes its time wherever the
program lets go of it, which is no part of the run.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator

import numpy as np
import trio

import parpass
from bench.fresh import in_fresh_process
from bench.measure import Figure, Setting, median
from bench.table import Goal, Line, Row
from bench.work import Work, generated_function, light_pass
from parpass import IRModule, Sequential
from parpass.runner import Runner

_TICK = 0.01
_IDLE = 0.5  # seconds of ticking without a load, to compare

Run = Callable[[Runner, IRModule, Sequential | str], list[float]]


def _interactive(setting: Setting) -> Iterator[Line]:
    work = Work(setting.scaled(1000, setting.workers), 300, light_pass)
    mod, passes = work.module(), Sequential(work.passes())
    what = f"a ticker at 10 ms beside one light pass on {work.functions:,} functions"
    idle = median([_late(trio.run(_idle)) for _ in range(setting.repeat)]).times(
        1e3, "ms"
    )
    hosts: dict[str, Run] = {"trio": _under_trio, "asyncio": _under_asyncio}
    for name, run in hosts.items():
        with parpass.open_runner(workers=setting.workers) as runner:
            runner.run_sync(mod, passes)
            ticks = [run(runner, mod, passes) for _ in range(setting.repeat)]
        late = [_late(one) for one in ticks]
        together = [lateness for one in ticks for lateness in one]
        # Of all runs together: what makes every other run late must not hide.
        figure = Figure(_late(together), median(late).noise, "s").times(1e3, "ms")
        yield Line(
            f"{what}, {name}",
            "lateness of the ticks of all runs, 99th percentile",
            figure,
            Goal(20),
            note=f"{idle.value:.1f} ms without the run; "
            f"{max(together) * 1e3:.0f} ms at most; {len(together):,} ticks",
            times={"late": late},
        )
    for name in hosts:
        yield from _first_awaits(name, setting)


def _first_awaits(name: str, setting: Setting) -> Iterator[Line]:
    # In a process of its own, where nothing of what a run needs has been loaded.
    ticks = [
        in_fresh_process(_first, name, setting.workers) for _ in range(setting.repeat)
    ]
    together = [lateness for one in ticks for lateness in one]
    what = f"a ticker at 10 ms beside the first await of a program, {name}"
    yield Line(
        what,
        "lateness of the ticks of all runs, 99th percentile",
        Figure(_late(together), 0.0, "s").times(1e3, "ms"),
        Goal(20),
        note=f"{len(together):,} ticks",
    )
    yield Line(
        what,
        "the longest that the loop was blocked",
        median([max(one) for one in ticks]).times(1e3, "ms"),
        Goal(10),
        note=f"{max(together) * 1e3:.1f} ms in the worst of {len(ticks)} runs",
    )


def _first(host: str, workers: int) -> list[float]:
    """Return the lateness of ticks beside the first run of this process."""
    mod = IRModule({f"f{at}": generated_function(at, 60) for at in range(40)})
    text = "InferType,FoldConstant,EliminateCommonSubexpr"
    with parpass.open_runner(workers=workers) as runner:
        return (_under_trio if host == "trio" else _under_asyncio)(runner, mod, text)


def _late(lateness: list[float]) -> float:
    return float(np.percentile(lateness, 99))


class _Ticker:
    """Says how long to wait for the next tick, and notes how late each one is.

    Ticks are due at fixed times: a block of a second makes a hundred of them late.
    """

    def __init__(self) -> None:
        self.lateness: list[float] = []
        self._due = time.perf_counter() + _TICK

    def wait(self) -> float:
        """Return the seconds to the next tick that is not due yet."""
        now = time.perf_counter()
        while self._due <= now:
            self.lateness.append(now - self._due)
            self._due += _TICK
        return self._due - now


def _under_trio(runner: Runner, mod: IRModule, passes: Sequential | str) -> list[float]:
    async def main() -> list[float]:
        ticker = _Ticker()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_tick_trio, ticker)
            new = await runner.run(mod, passes)
            await trio.sleep(ticker.wait() + _TICK)
            nursery.cancel_scope.cancel()
        del new
        return ticker.lateness

    return trio.run(main)


async def _tick_trio(ticker: _Ticker) -> None:
    while True:  # noqa: ASYNC110 -- ticking is what it is for
        await trio.sleep(ticker.wait())


async def _idle() -> list[float]:
    ticker = _Ticker()
    with trio.move_on_after(_IDLE):
        await _tick_trio(ticker)
    return ticker.lateness


def _under_asyncio(
    runner: Runner, mod: IRModule, passes: Sequential | str
) -> list[float]:
    async def main() -> list[float]:
        ticker = _Ticker()
        ticking = asyncio.create_task(_tick_asyncio(ticker))
        new = await runner.run(mod, passes)
        await asyncio.sleep(ticker.wait() + _TICK)
        ticking.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await ticking
        del new
        return ticker.lateness

    return asyncio.run(main())


async def _tick_asyncio(ticker: _Ticker) -> None:
    while True:  # noqa: ASYNC110 -- ticking is what it is for
        await asyncio.sleep(ticker.wait())


ROWS = (Row("interactive", _interactive),)
