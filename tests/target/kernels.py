"""A few functions to compile."""

from __future__ import annotations

from parpass import IRModule, tir
from parpass.target.build_library import lowering


def scaled(factor: float, name: str = "main") -> tir.PrimFunc:
    """Return `B[i] = exp(A[i]) * factor`."""
    n, i = tir.SizeVar("n"), tir.Var("i")
    a, b = (tir.decl_buffer((n,), "float32", name) for name in "AB")
    value = tir.exp(tir.BufferLoad(a, [i])) * tir.const(factor, "float32")
    loop = tir.For(i, 0, n, tir.ForKind.SERIAL, tir.BufferStore(b, value, [i]))
    return tir.PrimFunc((a, b), loop).with_attr("global_symbol", name)


def several() -> IRModule:
    """Return a module of a few functions."""
    return IRModule({f"f{at}": scaled(at, f"f{at}") for at in range(5)})


def codes(mod: IRModule) -> list[bytes]:
    """Return the code of compiled functions."""
    return [function.code for function in mod.functions_by_name.values()]


def objects(mod: IRModule) -> list[bytes]:
    """Return the code of functions, compiled here."""
    return codes(lowering("llvm")(mod))
