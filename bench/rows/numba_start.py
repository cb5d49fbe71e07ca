"""Rows `numba` and `numba_more`: the start of programs that Numba compiles for.

The functions are those of `examples/numba_kernels.py`; for the second row another
module has them again, which Numba compiles as it does any other. Each start is a
process of its own with an empty cache.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from bench.measure import Setting, children_seconds, interleaved, ratio
from bench.table import Goal, Line, Row

_KERNELS = Path(__file__).parents[2] / "examples" / "numba_kernels.py"
_BETWEEN = "\n\n\n@njit"


class _Start:
    """Starts programs that import modules, and keeps their processor time, too."""

    def __init__(self, folder: Path, modules: Sequence[str], workers: int) -> None:
        self.folder = folder
        self.processor: dict[str, list[float]] = {}
        names = ", ".join(modules)
        warm = ", ".join(repr(name) for name in modules)
        warmed = (
            "from parpass.integrations import numba as pn; "
            f"pn.warm({warm}, workers={workers})"
        )
        self._programs = {
            "serial": [f"import {names}"],
            "warm": [f"{warmed}; import {names}"],
            "together": [f"import {names}"] * workers,
        }

    def sides(self) -> dict[str, Callable[[], float]]:
        """Return the sides, by their names."""
        return {name: self._side(name) for name in self._programs}

    def _side(self, name: str) -> Callable[[], float]:
        def seconds() -> float:
            with tempfile.TemporaryDirectory() as cache:
                began, before = time.perf_counter(), children_seconds()
                started = [
                    subprocess.Popen(
                        [sys.executable, "-W", "ignore", "-c", program],
                        cwd=self.folder,
                        env={**os.environ, "NUMBA_CACHE_DIR": f"{cache}/{number}"},
                    )
                    for number, program in enumerate(self._programs[name])
                ]
                for process in started:
                    if process.wait():
                        raise subprocess.CalledProcessError(
                            process.returncode, process.args
                        )
                took = time.perf_counter() - began
                spent = self.processor.setdefault(name, [])
                spent.append(children_seconds() - before)
                return took

        return seconds


def _first(text: str, count: int) -> str:
    """Return a module of the first functions of another."""
    return _BETWEEN.join(text.split(_BETWEEN)[: count + 1])


def _lines(setting: Setting, copies: int) -> Iterator[Line]:
    text = _KERNELS.read_text()
    count = setting.scaled(text.count(_BETWEEN), 4)
    text = _first(text, count)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        modules = [f"kernels{number}" for number in range(copies)]
        for module in modules:
            (folder / f"{module}.py").write_text(text)
        start = _Start(folder, modules, setting.workers)
        times = interleaved(start.sides(), setting.fewer)
    what = f"start of a program with {count * copies} Numba functions"
    yield Line(
        what,
        "import : warm and import",
        ratio(times, "serial", "warm"),
        Goal(at_least=1.5),
        times=times,
    )
    yield Line(
        f"{what}, processor time",
        "warm and import : import",
        ratio(start.processor, "warm", "serial"),
        times=start.processor,
    )
    yield Line(
        what,
        "an import on each core : import",
        ratio(times, "together", "serial"),
    )


def _numba(setting: Setting) -> Iterator[Line]:
    yield from _lines(setting, 1)


def _more(setting: Setting) -> Iterator[Line]:
    yield from _lines(setting, 2)


ROWS = (
    Row("numba", _numba, needs="numba"),
    Row("numba_more", _more, needs="numba"),
)
