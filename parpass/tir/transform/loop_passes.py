"""All passes for loop programs, and what makes passes; see the package."""

from parpass.tir.transform.flatten_buffer import FlattenBuffer, StorageFlatten
from parpass.tir.transform.function_pass import Apply, PrimFuncPass, prim_func_pass
from parpass.tir.transform.instrument_bound_checkers import InstrumentBoundCheckers
from parpass.tir.transform.remove_no_op import RemoveNoOp
from parpass.tir.transform.rewrite_unsafe_select import RewriteUnsafeSelect
from parpass.tir.transform.simplify import Simplify
from parpass.tir.transform.unroll_loop import UnrollLoop
from parpass.tir.transform.vectorize_loop import VectorizeLoop

__all__ = [
    "Apply",
    "FlattenBuffer",
    "InstrumentBoundCheckers",
    "PrimFuncPass",
    "RemoveNoOp",
    "RewriteUnsafeSelect",
    "Simplify",
    "StorageFlatten",
    "UnrollLoop",
    "VectorizeLoop",
    "prim_func_pass",
]
