"""Lowered networks, written by hand: PrimFuncs, and `main` that calls them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from parpass import IRModule, relay, te, tir
from parpass.object_store import ObjectStore
from parpass.relay.backend.network_library import library_runs
from parpass.runtime import Module
from parpass.target.target import Target
from parpass.transform import Pass

Array = npt.NDArray[Any]

WEIGHT = np.arange(12, dtype="float32").reshape(3, 4) / 10


def kernel_attrs(name: str, outputs: int = 1) -> dict[str, Any]:
    """Return what says that a PrimFunc is a kernel."""
    return {"global_symbol": name, tir.PrimFunc.NUM_OUTPUTS: outputs}


def dense(rows: int = 2) -> tir.PrimFunc:
    """Return `y = x @ w.T`."""
    x, w = te.placeholder((rows, 4), name="x"), te.placeholder((3, 4), name="w")
    k = te.reduce_axis((0, 4), "k")
    y = te.compute((rows, 3), lambda i, j: te.sum(x[i, k] * w[j, k], k), "y")
    return te.create_prim_func([x, w, y]).with_attr(kernel_attrs("fused_dense"))


def added(much: float, name: str, rows: int = 2) -> tir.PrimFunc:
    """Return `y = x + much`."""
    x = te.placeholder((rows, 3), name="x")
    y = te.compute((rows, 3), lambda i, j: x[i, j] + te.const(much, "float32"), "y")
    return te.create_prim_func([x, y]).with_attr(kernel_attrs(name))


def halves(name: str = "fused_split") -> tir.PrimFunc:
    """Return `lo, hi = x - 1, x * 2`."""
    x = te.placeholder((2, 3), name="x")
    lo = te.compute((2, 3), lambda i, j: x[i, j] - te.const(1.0, "float32"), "lo")
    hi = te.compute((2, 3), lambda i, j: x[i, j] * te.const(2.0, "float32"), "hi")
    return te.create_prim_func([x, lo, hi]).with_attr(kernel_attrs(name, 2))


def network() -> IRModule:
    """Return a network of five calls, one of which is not machine code.

    ::

        y = dense(x, WEIGHT) + 1 + 2
        lo, hi = y - 1, y * 2
        (sort(hi), lo)
    """
    x = relay.var("x", shape=(2, 4))
    y = relay.Call(relay.GlobalVar("fused_dense"), [x, relay.const(WEIGHT)])
    y = relay.Call(relay.GlobalVar("fused_add"), [y])
    y = relay.Call(relay.GlobalVar("fused_add_1"), [y])
    both = relay.var("both")
    parts = relay.Call(relay.GlobalVar("fused_split"), [y])
    hi = relay.Call(relay.GlobalVar("fused_sort"), [relay.TupleGetItem(both, 1)])
    result = relay.Tuple([hi, relay.TupleGetItem(both, 0)])
    p = relay.var("p", shape=(2, 3))
    of_numpy = relay.Function([p], relay.sort(p)).with_attr("Primitive", 1)
    typed = relay.transform.InferType()(IRModule({"main": of_numpy}))
    return IRModule(
        {
            "main": relay.Function([x], relay.Let(both, parts, result)),
            "fused_dense": dense(),
            "fused_add": added(1.0, "fused_add"),
            "fused_add_1": added(2.0, "fused_add_1"),
            "fused_split": halves(),
            "fused_sort": typed["main"],
        }
    )


def expected(x: Array) -> list[Array]:
    """Return what the network gives."""
    y = x @ WEIGHT.T + 3
    return [np.sort(y * 2), y - 1]


def built(
    mod: IRModule,
    store: ObjectStore | None = None,
    run: Callable[[IRModule, Pass], Any] | None = None,
    executor: str = "graph",
) -> Module:
    """Return a lowered network as a library; unless it is said how, made here."""
    here = Target("llvm").resolved()
    runs = library_runs({"main": mod}, here, store=store, executor=executor)
    made: Any = None
    while True:
        try:
            wanted = runs.send(made)
        except StopIteration as end:
            return Module(end.value["main"])
        made = run(wanted.mod, wanted.pipeline) if run else wanted.pipeline(wanted.mod)
