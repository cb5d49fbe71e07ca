"""Row `tvm_build`: the kernels of two networks, compiled by TVM's wheel and by workers.

Networks and compilation are those of `examples/tvm_network.py`. What both compute is
compared by its tests.
"""

from __future__ import annotations

import functools
import runpy
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import parpass
from bench.limit import Limit
from bench.measure import Setting, clocked, interleaved, ratio
from bench.table import Goal, Line, Row
from parpass.integrations import tvm as ptvm

_EXAMPLE = Path(__file__).parents[2] / "examples" / "tvm_network.py"
_KERNELS = {"inception_v1": 79, "densenet121": 191}


def _build(setting: Setting) -> Iterator[Line]:
    for network, kernels in _KERNELS.items():
        yield from _of(network, setting.scaled(kernels, 8), setting)


def _of(network: str, count: int, setting: Setting) -> Iterator[Line]:
    mod = _kernels(network, 0, 1, count)

    def cold() -> Any:
        with parpass.open_runner(workers=setting.workers) as runner:
            return ptvm.build(mod, "llvm", runner=runner)

    with (
        parpass.open_runner(workers=setting.workers) as runner,
        Limit(_Share(network, count), setting.workers) as limit,
    ):
        ptvm.build(mod, "llvm", runner=runner)
        times = interleaved(
            {
                "parallel": clocked(lambda: ptvm.build(mod, "llvm", runner=runner)),
                "cold": clocked(cold),
                "limit": limit.seconds,
                "serial": clocked(lambda: _by_tvm(mod)),
            },
            setting.fewer,
        )
    what = f"{count} kernels of {network} to a library"
    yield Line(
        what,
        "TVM : workers that have been started",
        ratio(times, "serial", "parallel"),
        Goal(at_least=1.5),
        times=times,
    )
    yield Line(what, "TVM : with the start of workers", ratio(times, "serial", "cold"))
    yield Line(
        what,
        "parallel build : independent processes that send nothing back",
        ratio(times, "parallel", "limit"),
    )


@dataclass(frozen=True)
class _Share:
    """A process's share of the kernels, which TVM compiles to a library of its own."""

    network: str
    count: int

    def __call__(self, part: int, parts: int) -> tuple[Any, Callable[[Any], object]]:
        """Return the share, and what compiles it."""
        return _kernels(self.network, part, parts, self.count), _by_tvm


def _kernels(network: str, part: int, parts: int, count: int) -> Any:
    import tvm  # which the rest of the table does without

    example = _example()
    mod = tvm.relax.transform.AttachGlobalSymbol()(example["network"](network))
    kernels = [*example["kernels"](mod).functions.items()][:count]
    return tvm.IRModule(dict(kernels[part::parts]))


def _by_tvm(mod: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        return _example()["by_tvm"](mod, Path(folder, "theirs.so"))


@functools.cache
def _example() -> dict[str, Any]:
    sys.path.insert(0, str(_EXAMPLE.parent))  # where it finds the networks
    return runpy.run_path(str(_EXAMPLE))


ROWS = (Row("tvm_build", _build, needs="tvm"),)
