"""LoopPartition: loops cut where conditions in them begin to hold, or cease to."""

from __future__ import annotations

from parpass.fork_safety import fork_lock
from parpass.ir.module import IRModule
from parpass.ir.tir_config import LoopPartitionConfig, loop_option
from parpass.tir.function import PrimFunc
from parpass.tir.transform.function_pass import PrimFuncPass
from parpass.transform import PassContext, PassInfo, register_pass


@register_pass("tir.transform.LoopPartition")
class LoopPartition(PrimFuncPass):
    """Cut loops in parts in which conditions that are marked as likely are known.

    ::

        for i in range(0, n):
            for j in range(0, 4):
                if likely(i * 4 + j < m):
                    A[i * 4 + j] = 1

    becomes, if `m // 4` is known to be between 0 and `n`::

        for i in range(0, m // 4):
            for j in range(0, 4):
                if True:
                    A[i * 4 + j] = 1
        for i in range(0, n - m // 4):
            for j in range(0, 4):
                if (i + m // 4) * 4 + j < m:
                    A[(i + m // 4) * 4 + j] = 1

    If that is not known, the ends of the parts are brought within those of the loop.
    The marks are gone then, whether a loop was cut or not. Loops of constant bounds are
    cut if the option `tir.LoopPartition` has `partition_const_loop`, or where
    `pragma_loop_partition_hint` names their variable; then all their comparisons count.
    A part of one round is no loop, unless the option has
    `no_unroll_loop_with_extent_one`. Conditions are taken apart at `and`, `or`, `not`.
    """

    pass_info = PassInfo(0, "tir.LoopPartition")

    def transform_function(
        self, func: PrimFunc, mod: IRModule, ctx: PassContext
    ) -> PrimFunc:
        """Return the function with loops in parts."""
        with fork_lock:
            # It takes longer to load than all passes, which are loaded together.
            from parpass.tir.transform.loop_partitioner import LoopPartitioner

        config = loop_option(ctx, LoopPartitionConfig)
        body = LoopPartitioner(config).partitioned(func.body)
        return func if body is func.body else func.with_body(body)
