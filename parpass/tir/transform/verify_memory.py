"""VerifyMemory: no memory of a device is accessed by the processor."""

from __future__ import annotations

from parpass.errors import IRError
from parpass.ir.module import IRModule
from parpass.tir.analysis.host_access import memory_faults
from parpass.tir.function import PrimFunc
from parpass.tir.transform.function_pass import PrimFuncPass
from parpass.transform import PassContext, PassInfo, register_pass


@register_pass("tir.transform.VerifyMemory")
class VerifyMemory(PrimFuncPass):
    """Refuse functions for a device whose memory is accessed outside of its threads.

    ::

        # attrs: target "cuda"
        B[0] = A[0]

    is refused, and in a thread it stays as it is::

        attr thread_extent(threadIdx.x) = 64:
            B[threadIdx.x] = A[threadIdx.x]

    So does what is for the processor, of which a target is required nevertheless.
    """

    pass_info = PassInfo(0, "tir.VerifyMemory")

    def transform_function(
        self, func: PrimFunc, mod: IRModule, ctx: PassContext
    ) -> PrimFunc:
        """Return the function as it is."""
        faults = memory_faults(func)
        if faults:
            raise IRError(
                "Memory verification failed with the following errors:\n    "
                + "\n    ".join(faults)
                + "\n  Did you forget to bind?"
            )
        return func
