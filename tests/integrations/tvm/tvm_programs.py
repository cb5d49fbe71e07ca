"""Programs of TVM.

It imports TVM, so tests import it in their bodies.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tvm
from tvm import te, topi


def add_one(size: int, name: str = "main") -> Any:
    """Return a PrimFunc from a vector to one that is larger by 1."""
    x = te.placeholder((size,), name="x")
    return te.create_prim_func([x, topi.add(x, te.const(1.0, "float32"))]).with_attr(
        "global_symbol", name
    )


def dense(size: int, name: str) -> Any:
    """Return a PrimFunc that multiplies two square matrices."""
    x, w = (te.placeholder((size, size), name=one) for one in "xw")
    made = te.create_prim_func([x, w, topi.nn.relu(topi.nn.dense(x, w))])
    return made.with_attr("global_symbol", name)


def program(count: int = 6) -> Any:
    """Return an IRModule of PrimFuncs of two sorts."""
    made = {
        f"f{at}": (dense if at % 2 else add_one)(at + 2, f"f{at}")
        for at in range(count)
    }
    return tvm.IRModule(made)


def calling() -> Any:
    """Return an IRModule in which a PrimFunc calls another, by a global variable."""
    text = """
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def store(data: T.handle("float32")):
        a = T.decl_buffer(4, "float32", data=data)
        a[0] = T.float32(42)

    @T.prim_func(s_tir=True)
    def main(a: T.Buffer((4,), "float32")):
        Module.store(a.data)
"""
    return tvm.script.from_source(text)


def unselectable() -> Any:
    """Return a PrimFunc at which LLVM ends the process: plain x86 cannot do it."""
    text = """
@T.prim_func(s_tir=True)
def main(a: T.Buffer((1,), "int32")):
    a[0] = T.call_llvm_pure_intrin("int32", "llvm.x86.sse42.crc32.32.32", a[0], a[0])
"""
    return tvm.script.from_source(text)


def network() -> Any:
    """Return an IRModule with a Relax function that calls two kernels."""
    from tvm import relax

    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((4, 4), "float32"))
    weights = relax.const(np.arange(16, dtype="float32").reshape(4, 4))
    with builder.function("main", [x]):
        with builder.dataflow():
            hidden = builder.emit(relax.op.matmul(x, weights))
            made = builder.emit_output(relax.op.nn.relu(relax.op.add(hidden, x)))
        builder.emit_func_output(made)
    return relax.transform.LegalizeOps()(builder.finalize())


def values(library: Any, mod: Any) -> list[Any]:
    """Return the last buffer of each PrimFunc of a module after a library ran it."""
    found: list[Any] = []
    for variable, function in mod.functions.items():
        generator = np.random.default_rng(1)
        shapes = [[int(n) for n in one.ty.shape] for one in function.params]
        given = [generator.random(shape, dtype=np.float32) for shape in shapes]
        buffers = [tvm.runtime.tensor(one) for one in given]
        library[variable.name_hint](*buffers)
        found.append(buffers[-1].numpy())
    return found
