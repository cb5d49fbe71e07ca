"""A program that defines its own IR, and runs three passes of 0.1 ms on it.

Its classes are those of a program, which others cannot import. It prints the seconds of
a serial run, of processes that share nothing, and of two runs with workers, the first
of which starts them; and processor time.

    python -m bench.own_ir FUNCTIONS WORKERS
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bench.limit import Limit
from bench.measure import clocked
from parpass import RunReport, run_pipeline_sync
from parpass.transform import (
    FunctionPass,
    ModuleAdapter,
    PassContext,
    PassInfo,
    register_adapter,
)

_LOOPS = 4_500  # of a pass: 0.1 ms, on a core for itself


@dataclass(frozen=True)
class _Function:
    ops: tuple[int, ...]


@dataclass(frozen=True)
class _Module:
    functions: Mapping[str, _Function]


class _Adapter(ModuleAdapter):
    module_type = _Module
    function_type = _Function

    def size(self, function: _Function, limit: int) -> int:
        return min(len(function.ops), limit)


class _Increase(FunctionPass):
    """Computes for a while, and adds 1 to each operation."""

    pass_info = PassInfo(0, "Increase")

    def transform_function(
        self, func: _Function, mod: _Module, ctx: PassContext
    ) -> _Function:
        total = 0
        for at in range(_LOOPS):
            total += at
        return _Function(tuple(op + 1 for op in func.ops))


register_adapter(_Module, _Adapter())


def _module(part: int, parts: int) -> _Module:
    count = int(sys.argv[1])
    functions = range(part, count, parts)
    return _Module({f"f{at}": _Function(tuple(range(at % 20))) for at in functions})


def _run(
    mod: _Module, workers: int, report: Callable[[RunReport], object] | None = None
) -> _Module:
    passes = [_Increase(), _Increase(), _Increase()]
    return run_pipeline_sync(mod, passes, workers=workers, report=report)


def _share(part: int, parts: int) -> tuple[_Module, Callable[[Any], object]]:
    return _module(part, parts), lambda mod: _run(mod, 0)


def main() -> None:
    """Measure, and print what was measured as JSON."""
    mod, workers = _module(0, 1), int(sys.argv[2])
    reports: list[RunReport] = []
    serial = clocked(lambda: _run(mod, 0))
    parallel = clocked(lambda: _run(mod, workers, reports.append))
    with Limit(_share, workers) as limit:
        began = time.process_time()
        seconds = {"serial": serial()}
        ours = time.process_time()
        seconds |= {"limit": limit.seconds(), "first run": parallel()}
        here = time.process_time()
        seconds["second run"] = parallel()
        here = time.process_time() - here
    processor = {"serial": ours - began, "second run": here + reports[-1].processor}
    print(json.dumps({"seconds": seconds, "processor": processor}))


if __name__ == "__main__":
    main()
