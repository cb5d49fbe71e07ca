"""Row `page`: the page of a large run, how large it is, and how soon it answers."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import parpass
from bench.measure import Figure, Setting, median
from bench.table import Goal, Line, Row
from bench.work import PAIRS, USE_WORKERS, Swap, Work, no_pass
from parpass import PassContext, Sequential
from tests.support.browser import chromium, opened_page

_FUNCTIONS, _NODES = 5_000, 30

_IS_SHOWN = "document.body.dataset.shown !== undefined"
# The milliseconds from a click, which changes the address, to the frame after it.
_CLICK = """address => new Promise((done) => {
  const began = performance.now();
  location.hash = address;
  const look = () => {
    if (document.body.dataset.shown !== address) setTimeout(look, 0);
    else requestAnimationFrame(() => setTimeout(() => done(performance.now() - began)));
  };
  look();
})"""


def _page(setting: Setting) -> Iterator[Line]:
    functions = setting.scaled(_FUNCTIONS, 50)
    what = f"three light passes on {functions:,} functions of {_NODES} nodes"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "report.html")
        file.write_text(_recorded(functions, setting.workers), encoding="utf-8")
        size = Figure(file.stat().st_size / 1e6, unit="MB")
        yield Line(what, "the size of the page", size, Goal(30.0))
        opened, clicked, slowest = None, None, _lacking()
        if not slowest:
            opened, clicked, slowest = _used(file.as_uri(), functions, setting.repeat)
    without = "" if opened else slowest
    yield Line(what, "opened in Chromium", opened, Goal(2.0), note=without)
    compares = "the slowest click, until what it shows is drawn"
    yield Line(what, compares, clicked, Goal(100.0), note=slowest)


def _recorded(functions: int, workers: int) -> str:
    mod = Work(functions, _NODES, no_pass).module()
    passes = Sequential([Swap(PAIRS), Swap(PAIRS), Swap(PAIRS)])
    with (
        PassContext(config=USE_WORKERS),
        parpass.open_runner(workers=workers) as runner,
        runner.record() as recording,
    ):
        runner.run_sync(mod, passes)
    return recording.to_html()


def _lacking() -> str:
    """Return what is missing to open pages; empty if nothing is."""
    if find_spec("playwright") is None:
        return "Playwright is not installed: pip install 'parpass[browser]'"
    return "" if chromium() else "Chromium is not installed"


def _used(url: str, functions: int, repeat: int) -> tuple[Figure, Figure, str]:
    """Return how long it takes to open a page, its slowest click, and which that is."""
    seconds: list[float] = []
    with opened_page(url) as opened:
        page = opened.page
        for _ in range(repeat):
            began = time.perf_counter()
            page.reload()
            page.wait_for_function(_IS_SHOWN)
            seconds.append(time.perf_counter() - began)
        clicks = _clicks(functions)
        times = {one: _clicked(page, one, clicks[0], repeat) for one in clicks[1:]}
        assert opened.errors == []
    slowest = max(times, key=lambda one: sorted(times[one])[repeat // 2])
    return median(seconds), median(times[slowest], "ms"), f"it is '{slowest}'"


def _clicks(functions: int) -> list[str]:
    """Return addresses that a reader goes to; the first one is where each begins."""
    parts = ["#overview", "#timeline", "#passes", "#functions", "#remarks"]
    name = f"#function/f{functions // 2}"
    views = [f"{name}/last/{view}" for view in ("diff", "text", "graph", "remarks")]
    return [*parts, f"#function/f{functions - 1}/0/text", *views]


def _clicked(page: Any, address: str, first: str, repeat: int) -> Sequence[float]:
    times: list[float] = []
    for _ in range(repeat):
        page.evaluate(_CLICK, first)
        times.append(page.evaluate(_CLICK, address))
    return times


ROWS = (Row("page", _page),)
