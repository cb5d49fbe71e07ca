"""NarrowDataType: indices computed in as few bits as are asked for."""

from __future__ import annotations

from parpass.errors import IRTypeError
from parpass.fork_safety import fork_lock
from parpass.ir.module import IRModule
from parpass.tir.function import PrimFunc
from parpass.tir.transform.function_pass import PrimFuncPass
from parpass.transform import PassContext, PassInfo, register_pass

_WIDTHS = (8, 16, 32, 64)


@register_pass("tir.transform.NarrowDataType")
class NarrowDataType(PrimFuncPass):
    """Give loop variables, and the constants of indices, a narrower dtype.

    ::

        for i: int64 in range(int64(0), int64(100)):
            A[i * int64(4)] = 1

    becomes, of 32 bits::

        for i: int32 in range(0, 100):
            A[i * 4] = 1

    A variable is narrowed where all expressions that it is in fit, or are as narrow
    already, and so do its bounds; where they do not fit it is as wide as its extent.
    The variables of axes of threads are narrowed, too. What is no index keeps its
    dtype: it is cast where a variable in it was narrowed.

    Args:
        target_bits: How many bits indices are to have; those that do not fit keep
            theirs.
    """

    pass_info = PassInfo(0, "tir.NarrowDataType")

    def __init__(self, target_bits: int) -> None:
        if target_bits not in _WIDTHS:
            raise IRTypeError(f"expected {_WIDTHS} for target_bits, got {target_bits}")
        self.target_bits = target_bits

    def transform_function(
        self, func: PrimFunc, mod: IRModule, ctx: PassContext
    ) -> PrimFunc:
        """Return the function with narrower indices."""
        with fork_lock:
            # It takes longer to load than all passes, which are loaded together.
            from parpass.tir.transform.data_type_rewriter import narrowed

        new = narrowed(func.body, self.target_bits)
        return func if new is func.body else func.with_body(new)
