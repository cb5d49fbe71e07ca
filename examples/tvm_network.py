"""A network's kernels, compiled by TVM on one core, and on every core.

    python examples/tvm_network.py [NETWORK | COUNT]

Imports a network that the onnx package ships, by TVM's frontend, or makes COUNT
PrimFuncs. Both are compiled to a library by `tvm.compile` and by `ptvm.build`; all
outputs are compared to the bit, and times printed: of a build that starts workers, and
of one that finds them started. Wants `parpass[tvm]` and, for networks, `parpass[onnx]`.
"""

from __future__ import annotations

import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tvm
from tvm import relax, te, tirx, topi

from parpass.integrations import tvm as ptvm
from parpass.runner import open_runner


def network(name: str) -> Any:
    """Return a network as TVM imports it, its operators fused to kernels."""
    from real_networks import load
    from tvm.relax.frontend import onnx

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # on initializers
        mod = onnx.from_onnx(load(name))
    with tvm.target.Target("llvm"):
        return tvm.transform.Sequential(
            [
                relax.transform.LegalizeOps(),
                relax.transform.AnnotateTIROpPattern(),
                relax.transform.FoldConstant(),
                relax.transform.FuseOps(),
                relax.transform.FuseTIR(),
            ]
        )(mod)


def generated(count: int) -> Any:
    """Return a module of PrimFuncs of four sorts, no two the same."""
    sorts = (_dense, _softmax, _conv2d, _pool)
    made = {f"k{at}": sorts[at % len(sorts)](at) for at in range(count)}
    return tvm.IRModule(
        {name: one.with_attr("global_symbol", name) for name, one in made.items()}
    )


def _dense(at: int) -> Any:
    x, w = te.placeholder((8, 32 + at), name="x"), te.placeholder((16, 32 + at))
    return te.create_prim_func([x, w, topi.nn.relu(topi.nn.dense(x, w))])


def _softmax(at: int) -> Any:
    x = te.placeholder((4, 16 + at), name="x")
    return te.create_prim_func([x, topi.nn.softmax(x)])


def _conv2d(at: int) -> Any:
    x = te.placeholder((1, 4, 8 + at, 8 + at), name="x")
    w = te.placeholder((8, 4, 3, 3), name="w")
    made = topi.nn.conv2d_nchw(x, w, stride=1, padding=1, dilation=1)
    return te.create_prim_func([x, w, topi.nn.relu(made)])


def _pool(at: int) -> Any:
    x = te.placeholder((1, 4, 8 + at, 8 + at), name="x")
    pool = topi.nn.pool2d(x, [2, 2], [2, 2], [1, 1], [0, 0, 0, 0], "max", layout="NCHW")
    return te.create_prim_func([x, pool])


def by_tvm(mod: Any, path: Path) -> Any:
    """Return the library that TVM compiles a module to."""
    tvm.compile(mod, target="llvm").export_library(str(path))
    return tvm.runtime.load_module(str(path))


def outputs(mod: Any, library: Any) -> list[Any]:
    """Return all that a library computes, of inputs that are always the same."""
    generator = np.random.default_rng(0)
    if any(isinstance(one, relax.Function) for one in mod.functions.values()):
        main = mod["main"]
        given = [_random(generator, one.ty.shape) for one in main.params]
        made = relax.VirtualMachine(library, tvm.cpu())["main"](*given)
        return [made.numpy()] if isinstance(made, tvm.runtime.Tensor) else [*made]
    found: list[Any] = []
    for name, function in mod.functions.items():
        buffers = [_random(generator, one.ty.shape) for one in function.params]
        library[name.name_hint](*buffers)
        found.append(buffers[-1].numpy())
    return found


def _random(generator: np.random.Generator, shape: Any) -> Any:
    sizes = [int(size) for size in shape]
    return tvm.runtime.tensor(generator.random(sizes, dtype=np.float32))


def kernels(mod: Any) -> Any:
    """Return the PrimFuncs of a module."""
    found = {n: f for n, f in mod.functions.items() if isinstance(f, tirx.PrimFunc)}
    return tvm.IRModule(found)


def _timed(what: str, run: Callable[[], Any]) -> tuple[Any, float]:
    began = time.perf_counter()
    made = run()
    took = time.perf_counter() - began
    print(f"{what:>28}: {took:6.2f} s")
    return made, took


def main(which: str = "squeezenet") -> None:
    """Compile by both, compare, and print the times."""
    mod = generated(int(which)) if which.isdigit() else network(which)
    alone = kernels(mod)
    print(f"{which}: {len(alone.functions)} kernels")
    with tempfile.TemporaryDirectory() as folder, open_runner() as runner:
        theirs, long = _timed(
            "tvm.compile, one core", lambda: by_tvm(mod, Path(folder, "theirs.so"))
        )
        _timed("ptvm.build, cold", lambda: ptvm.build(mod, "llvm", runner=runner))
        ours, short = _timed(
            "ptvm.build", lambda: ptvm.build(mod, "llvm", runner=runner)
        )
        for one, other in zip(outputs(mod, theirs), outputs(mod, ours), strict=True):
            np.testing.assert_array_equal(one, other)
        print(f"{long / short:.2f} x, all outputs the same")


if __name__ == "__main__":
    main(*sys.argv[1:])
