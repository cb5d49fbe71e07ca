"""The table of xDSL's passes that work on each function separately, in parallel.

xDSL does not declare this. The table is of passes of xDSL 0.74 and 0.75 that, by their
purpose, do not touch other functions of a module; on the programs of xDSL's own tests
they gave the same text on whole modules and on single functions. A pass that is not in
the table runs on whole modules, which is always correct.
"""

from __future__ import annotations

from typing import TypeVar

from xdsl.passes import ModulePass

PassT = TypeVar("PassT", bound=type[ModulePass])

_MARK = "parpass_is_function_local"


def function_local(xdsl_pass: PassT) -> PassT:
    """Declare that a pass works on each function by itself; a decorator.

    Such a pass reads and changes nothing outside of the function that it works on: not
    the module, not the pass itself, and not other functions, except for what they
    declare without their bodies. It may add declarations to the module.
    """
    setattr(xdsl_pass, _MARK, True)
    return xdsl_pass


def is_function_local(xdsl_pass: ModulePass) -> bool:
    """Return whether a pass, with its options, works on each function by itself."""
    kind = type(xdsl_pass)
    if vars(kind).get(_MARK):
        return True
    is_of_xdsl = kind.__module__.partition(".")[0] == "xdsl"
    if not is_of_xdsl or kind.name not in FUNCTION_LOCAL:
        return False
    return not getattr(xdsl_pass, _UNLESS.get(kind.name, ""), False)


# Options with which a pass of the table goes beyond the function: it writes beside it,
# or changes the types of what functions call.
_UNLESS = {
    "convert-memref-to-ptr": "lower_func",
    "riscv-allocate-registers": "add_regalloc_stats",
}


FUNCTION_LOCAL: frozenset[str] = frozenset(
    (
        "approximate-math-with-bitcast",
        "arith-add-fastmath",
        "canonicalize",
        "constant-fold-interp",
        "control-flow-hoist",
        "convert-arith-to-riscv",
        "convert-arith-to-varith",
        "convert-arith-to-x86",
        "convert-linalg-to-loops",
        "convert-linalg-to-memref-stream",
        "convert-memref-stream-to-loops",
        "convert-memref-stream-to-snitch-stream",
        "convert-memref-to-ptr",
        "convert-ptr-to-llvm",
        "convert-ptr-to-riscv",
        "convert-ptr-type-offsets",
        "convert-riscv-scf-for-to-frep",
        "convert-riscv-to-llvm",
        "convert-scf-to-cf",
        "convert-scf-to-openmp",
        "convert-scf-to-riscv-scf",
        "convert-scf-to-x86-scf",
        "convert-snitch-stream-to-snitch",
        "convert-varith-to-arith",
        "convert-vector-to-ptr",
        "cse",
        "dce",
        "empty-tensor-to-alloc-tensor",
        "expand-math-to-polynomials",
        "gpu-map-parallel-loops",
        "licm",
        "lift-arith-to-linalg",
        "linalg-fuse-multiply-add",
        "linalg-generalize-named-ops",
        "loop-hoist-memref",
        "lower-affine",
        "lower-snitch",
        "memref-stream-fold-fill",
        "memref-stream-generalize-fill",
        "memref-stream-infer-fill",
        "memref-stream-interleave",
        "memref-stream-legalize",
        "memref-stream-unnest-out-parameters",
        "memref-streamify",
        "reconcile-unrealized-casts",
        "riscv-allocate-infinite-registers",
        "riscv-allocate-registers",
        "riscv-lower-parallel-mov",
        "riscv-prologue-epilogue-insertion",
        "scf-for-loop-flatten",
        "scf-for-loop-range-folding",
        "scf-for-loop-unroll",
        "snitch-allocate-registers",
        "stencil-inlining",
        "stencil-storage-materialization",
        "varith-fuse-repeated-operands",
        "vector-split-load-extract",
        "x86-allocate-registers",
        "x86-infer-broadcast",
        "x86-prologue-epilogue-insertion",
        "x86-regalloc-legalize",
    )
)
