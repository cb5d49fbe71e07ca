"""Rows `xdsl_objects`, `xdsl_text` and `xdsl_command`: passes of xDSL on every core.

Objects are run against xDSL's own pipeline, text against its command, and the command
that takes its place against it, too.

Programs and passes are those of `examples/xdsl_functions.py`.
"""

from __future__ import annotations

import runpy
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import parpass
from bench.limit import Limit
from bench.measure import Setting, clocked, interleaved, ratio
from bench.table import Goal, Line, Row
from parpass.integrations.xdsl import ParallelPipeline

_EXAMPLE = Path(__file__).parents[2] / "examples" / "xdsl_functions.py"
_SCRIPTS = Path(sys.executable).parent
_FUNCTIONS, _FEW = 40, ["-p", "canonicalize,cse"]


@dataclass(frozen=True)
class _Share:
    """A process's share of functions, on which xDSL's own pipeline is run."""

    functions: int

    def __call__(self, part: int, parts: int) -> tuple[Any, Callable[[Any], object]]:
        """Return the share's module, and what runs the passes on a copy of it."""
        example = runpy.run_path(str(_EXAMPLE))
        known, count = example["context"](), len(range(part, self.functions, parts))
        module = _parsed(known, example["program"](count))
        return module, lambda given: example["by_xdsl"](known, given.clone())


def _parsed(known: Any, text: str) -> Any:
    from xdsl.parser import Parser  # which the rest of the table does without

    return Parser(known, text).parse_module()


def _objects(setting: Setting) -> Iterator[Line]:
    example = runpy.run_path(str(_EXAMPLE))
    functions = setting.scaled(_FUNCTIONS, setting.workers)
    known = example["context"]()
    module = _parsed(known, example["program"](functions))
    with (
        parpass.open_runner(workers=setting.workers) as runner,
        Limit(_Share(functions), setting.workers) as limit,
    ):
        pipeline = ParallelPipeline(example["PASSES"], runner=runner)
        pipeline.apply(known, module.clone())
        times = interleaved(
            {
                "parallel": clocked(lambda: pipeline.apply(known, module.clone())),
                "limit": limit.seconds,
                "serial": clocked(lambda: example["by_xdsl"](known, module.clone())),
            },
            setting.fewer,
        )
    what = f"thirteen passes of xDSL on {functions} functions"
    yield Line(
        what,
        "xDSL : parallel run",
        ratio(times, "serial", "parallel"),
        Goal(at_least=1.6),
        times=times,
    )
    yield Line(
        what,
        "parallel run : independent processes that send nothing back",
        ratio(times, "parallel", "limit"),
    )


def _text(setting: Setting) -> Iterator[Line]:
    program = runpy.run_path(str(_EXAMPLE))["program"]
    functions = setting.scaled(_FUNCTIONS, setting.workers)
    with tempfile.TemporaryDirectory() as folder:
        whole, part = Path(folder) / "whole.mlir", Path(folder) / "part.mlir"
        whole.write_text(program(functions))
        part.write_text(program(-(-functions // setting.workers)))
        jobs = f"-j{setting.workers}"
        sides = {
            "parallel": [[_SCRIPTS / "parpass", "opt", jobs, whole, *_FEW]],
            "serial": [[_SCRIPTS / "xdsl-opt", whole, *_FEW]],
            "limit": [[_SCRIPTS / "xdsl-opt", part, *_FEW]] * setting.workers,
        }
        runs = {name: clocked(_together(one)) for name, one in sides.items()}
        times = interleaved(runs, setting.repeat)
    what = f"canonicalize and cse on the text of {functions} functions"
    yield Line(
        what,
        "parpass opt : xdsl-opt",
        ratio(times, "parallel", "serial"),
        Goal(at_most=0.6),
        times=times,
    )
    yield Line(
        what,
        "parpass opt : an xdsl-opt a core, on as many functions in all",
        ratio(times, "parallel", "limit"),
    )


def _command(setting: Setting) -> Iterator[Line]:
    example = runpy.run_path(str(_EXAMPLE))
    functions = setting.scaled(_FUNCTIONS, setting.workers)
    with tempfile.TemporaryDirectory() as folder:
        small, large = Path(folder) / "small.mlir", Path(folder) / "large.mlir"
        small.write_text(example["program"](1, 1))
        large.write_text(example["program"](functions))
        start = interleaved(
            _sides(small, ["-p", "cse"], {"parpass": "-j0"}), 3 * setting.repeat
        )
        jobs = {"one": "-j1", "parallel": f"-j{setting.workers}"}
        few = interleaved(_sides(large, _FEW, jobs), setting.repeat)
        many = interleaved(
            _sides(large, ["-p", example["PASSES"]], jobs), setting.repeat
        )
    yield Line(
        "the command on a function of ten lines",
        "parpass mlir-opt : xdsl-opt",
        ratio(start, "parpass", "xdsl"),
        Goal(at_most=1.05),
        times=start,
    )
    for what, times in (("canonicalize and cse", few), ("thirteen passes", many)):
        what = f"{what} on the text of {functions} functions"
        for side, workers in (("one", 1), ("parallel", setting.workers)):
            yield Line(
                what,
                f"parpass mlir-opt -j{workers} : xdsl-opt",
                ratio(times, side, "xdsl"),
                Goal(at_most=1.05 if workers == 1 else 0.67),
                times=times,
            )


def _sides(
    program: Path, passes: Sequence[str], jobs: Mapping[str, str]
) -> Mapping[str, Callable[[], float]]:
    """Return runs of `xdsl-opt`, and of the command with each of some options."""
    ours = [_SCRIPTS / "parpass", "mlir-opt", program, *passes]
    runs = {name: _together([[*ours, option]]) for name, option in jobs.items()}
    runs["xdsl"] = _together([[_SCRIPTS / "xdsl-opt", program, *passes]])
    return {name: clocked(one) for name, one in runs.items()}


def _together(commands: Sequence[Sequence[str | Path]]) -> Callable[[], None]:
    def run() -> None:
        started = [subprocess.Popen(one, stdout=subprocess.DEVNULL) for one in commands]
        for process in started:
            if process.wait():
                raise subprocess.CalledProcessError(process.returncode, process.args)

    return run


ROWS = (
    Row("xdsl_objects", _objects),
    Row("xdsl_text", _text),
    Row("xdsl_command", _command),
)
