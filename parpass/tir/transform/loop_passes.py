"""All passes shipped for loop programs, and what makes passes; see the package."""

from parpass.tir.transform.function_pass import Apply, PrimFuncPass, prim_func_pass
from parpass.tir.transform.remove_no_op import RemoveNoOp
from parpass.tir.transform.rewrite_unsafe_select import RewriteUnsafeSelect
from parpass.tir.transform.unroll_loop import UnrollLoop

__all__ = [
    "Apply",
    "PrimFuncPass",
    "RemoveNoOp",
    "RewriteUnsafeSelect",
    "UnrollLoop",
    "prim_func_pass",
]
