"""Rows `gt4py` and `dace`: programs of DSLs, by their own compilers and by workers.

The passes are those of `examples/dsl_programs.py`. Each side is processes of its own,
with empty caches but for what DaCe keeps for all programs of a machine, a compiled
header and the findings of CMake. The example's tests compare what the sides compute.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from bench.measure import (
    Setting,
    Times,
    children_seconds,
    interleaved,
    median,
    ratio,
)
from bench.memory import tree_bytes
from bench.table import Goal, Line, Row

_ROOT = Path(__file__).parents[2]
_EXAMPLES = _ROOT / "examples"
_SAMPLING = 0.25  # seconds between two looks at memory and files
_LIKEWISE = {  # sides of both rows
    "passes": "passes in workers",
    "limit": "independent processes, each with its share",
}

_BY_GT4PY = """
import gt4py.next as gtx
import programs
found = [one for one in vars(programs).values() if type(one).__name__ == "Program"]
for one in found[{part}::{parts}]:
    one.compile(offset_provider={{}})
gtx.wait_for_compilation()
"""
_BY_DACE = """
import programs
from dace import DeviceType
from dace.transformation.auto.auto_optimize import auto_optimize
found = [one for one in vars(programs).values() if hasattr(one, "f")]
for one in found[{part}::{parts}]:
    sdfg = auto_optimize(one.to_sdfg(), DeviceType.CPU)
    sdfg.compile(return_program_handle=False)
"""


class _Builds:
    """Builds programs in new folders, and keeps what it takes beside its seconds.

    Args:
        text: The programs, a module.
        common: A folder for what all sides find there.
    """

    def __init__(self, text: str, common: Path) -> None:
        self.processor: dict[str, list[float]] = defaultdict(list)
        self.megabytes: dict[str, list[float]] = defaultdict(list)
        self.first: dict[str, list[float]] = defaultdict(list)
        self._text = text
        self._common = common

    def side(
        self, name: str, *commands: Sequence[str], **env: str
    ) -> Callable[[], float]:
        """Return what starts commands at once, waits, and returns seconds."""

        def seconds() -> float:
            with tempfile.TemporaryDirectory() as folder:
                return self._built(name, commands, Path(folder), env)

        return seconds

    def _built(
        self,
        name: str,
        commands: Sequence[Sequence[str]],
        folder: Path,
        env: Mapping[str, str],
    ) -> float:
        (folder / "programs.py").write_text(self._text)
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(folder), str(_ROOT)]),
            "PYTHONWARNINGS": "ignore",
            "GT4PY_BUILD_CACHE_LIFETIME": "persistent",
            "GT4PY_BUILD_CACHE_DIR": str(folder),
            "DACE_BUILD_CACHE_DIR": str(self._common),
            **env,
        }
        before, began = children_seconds(), time.perf_counter()
        first, most = 0.0, 0
        running = [
            subprocess.Popen(
                [sys.executable, *command],
                cwd=folder,
                env=environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            for command in commands
        ]
        while any(process.poll() is None for process in running):
            most = max(most, sum(tree_bytes(process.pid) for process in running))
            if not first and _has_library(folder):
                first = time.perf_counter() - began
            time.sleep(_SAMPLING)
        took = time.perf_counter() - began
        for process in running:
            if process.returncode:
                raise subprocess.CalledProcessError(process.returncode, process.args)
        self.processor[name].append(children_seconds() - before)
        self.megabytes[name].append(most / 1e6)
        self.first[name].append(first)
        return took


def _has_library(folder: Path) -> bool:
    found = (name for _, _, names in os.walk(folder) for name in names)
    return any(name.endswith(".so") for name in found)


def _example(dsl: str, setting: Setting) -> Sequence[str]:
    example = str(_EXAMPLES / "dsl_programs.py")
    return [example, dsl, "programs", "-j", str(setting.workers)]


def _parts(program: str, parts: int) -> list[Sequence[str]]:
    return [["-c", program.format(part=one, parts=parts)] for one in range(parts)]


def _first(text: str, count: int) -> tuple[str, int]:
    """Return a module of the first programs of another, and how many they are."""
    head, *programs = text.split("\n\n\n")
    kept: list[str] = []
    for one in programs:
        if sum(".program" in other for other in kept) < count:
            kept.append(one)
    made = "\n\n\n".join([head, *kept])
    return made + "\n", made.count(".program")


def _gt4py(setting: Setting) -> Iterator[Line]:
    text = (_EXAMPLES / "gt4py_stencils.py").read_text()
    text, count = _first(text, setting.scaled(text.count(".program"), 2))
    serial = {"GT4PY_BUILD_JOBS_MODE": "serial"}
    with tempfile.TemporaryDirectory() as common:
        builds = _Builds(text, Path(common))
        times = interleaved(
            {
                "serial": builds.side("serial", *_parts(_BY_GT4PY, 1), **serial),
                "own": builds.side(
                    "own",
                    *_parts(_BY_GT4PY, 1),
                    GT4PY_BUILD_JOBS_MODE="process",
                    GT4PY_BUILD_JOBS=str(setting.workers),
                ),
                "passes": builds.side("passes", _example("gt4py", setting)),
                "limit": builds.side(
                    "limit", *_parts(_BY_GT4PY, setting.workers), **serial
                ),
            },
            setting.repeat,
            once=("limit",),
        )
    names = {
        "serial": "GT4Py, serial",
        "own": "GT4Py's process runner",
        **_LIKEWISE,
    }
    yield from _lines(f"{count} stencils of GT4Py", names, builds, times)


def _dace(setting: Setting) -> Iterator[Line]:
    text = (_EXAMPLES / "dace_kernels.py").read_text()
    text, half = _first(text, setting.scaled(text.count(".program"), 2))
    head, _, rest = text.partition("\n\n\n")
    single = rest.replace("float64", "float32").replace("def ", "def single_")
    single = single.replace("Matrix", "Matrix32").replace("Vector", "Vector32")
    single = single.replace("Cube", "Cube32")
    shapes = "\n".join(
        f"{name}32 = dace.float32[{shape}]"
        for name, shape in (("Matrix", "N, N"), ("Vector", "N"), ("Cube", "M, M, M"))
    )
    text = f"{head}\n{shapes}\n\n\n{rest}\n\n{single}"
    with tempfile.TemporaryDirectory() as common:
        builds = _Builds(text, Path(common))
        builds.side("", ["-c", _BY_DACE.format(part=0, parts=2 * half)])()
        times = interleaved(
            {
                "serial": builds.side("serial", *_parts(_BY_DACE, 1)),
                "passes": builds.side("passes", _example("dace", setting)),
                "limit": builds.side("limit", *_parts(_BY_DACE, setting.workers)),
            },
            setting.repeat,
        )
    names = {"serial": "DaCe", **_LIKEWISE}
    yield from _lines(f"{2 * half} kernels of DaCe", names, builds, times)


def _lines(
    what: str, names: Mapping[str, str], builds: _Builds, times: Times
) -> Iterator[Line]:
    """Yield seconds as ratios, and what else was taken, for each side."""
    ours = names["passes"]
    yield Line(
        what,
        f"{names['serial']} : {ours}",
        ratio(times, "serial", "passes"),
        Goal(at_least=1.5),
        times=times,
    )
    for side in [name for name in names if name not in ("serial", "passes")]:
        yield Line(what, f"{names[side]} : {ours}", ratio(times, side, "passes"))
    for side, name in names.items():
        yield Line(what, f"{name}: time", median(times[side]))
        yield Line(what, f"{name}: processor time", median(builds.processor[side]))
        yield Line(what, f"{name}: memory", median(builds.megabytes[side], "MB"))
        yield Line(what, f"{name}: time to the first", median(builds.first[side]))


ROWS = (Row("gt4py", _gt4py, needs="gt4py"), Row("dace", _dace, needs="dace"))
