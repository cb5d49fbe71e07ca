"""CodeGen: a PrimFunc becomes machine code."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, Self

from parpass.ir.module import IRModule
from parpass.target.compiled_func import CompiledFunc, CompiledFuncCache
from parpass.target.emission.kernel_emitter import emitted
from parpass.target.llvm_object import object_code
from parpass.target.target import Target
from parpass.tir.function import PrimFunc
from parpass.tir.transform import PrimFuncPass
from parpass.transform import PassContext, PassInfo, register_pass

# Characters, for which LLVM takes some 50 ms. Templates write no more results out than
# there are registers, which keeps to it unless much is fused to each of them.
LARGE_TEXT = 60_000
_LONG_KERNEL = "characters of "  # begins the counters of what has more


@register_pass("parpass.CodeGen")
class CodeGen(PrimFuncPass):
    """Compile each PrimFunc to an object of its own: a `CompiledFunc`.

    Workers compile functions in parallel. The result depends only on the function, the
    target and the version of LLVM. Buffers are flattened before. If a function's text
    for LLVM is longer than `LARGE_TEXT`, which takes long, the context's statistics
    name it: `characters of` and its symbol.

    Args:
        target: The target machine; by default the current target, or this machine with
            all its features.
    """

    pass_info = PassInfo(0, "target.CodeGen")
    cacheable = True
    cost_follows_size = False  # but what the loops unroll to

    def __init__(self, target: Any = None) -> None:
        wanted = target or Target.current() or "llvm"
        # By text, so that pipelines can be written down, and resolved here, for the
        # workers may be on another machine.
        self.target = str(Target(wanted).resolved())
        # No argument: written down, the pass is the same, and keeps nothing.
        self._kept: CompiledFuncCache | None = None

    def keeping(self, kept: CompiledFuncCache | None) -> Self:
        """Store each object as soon as it is compiled; return the pass."""
        self._kept = kept
        return self

    def transform_function(
        self, func: PrimFunc, mod: IRModule, ctx: PassContext
    ) -> CompiledFunc:
        """Return the function's machine code."""
        target = Target(self.target)
        symbol = str(
            func.attributes.get("global_symbol") or ctx.function_name or "main"
        )
        text, signature = emitted(func, symbol, target.features())
        if len(text) > LARGE_TEXT:
            ctx.count(f"{_LONG_KERNEL}{symbol}", len(text))
        code = object_code(text, target, symbol)
        interface = json.dumps(signature.export())
        compiled = CompiledFunc(code, interface, self.target, func.attrs)
        if self._kept is not None:
            self._kept.add(symbol, compiled)
        return compiled


def long_kernels(context: PassContext) -> dict[str, int]:
    """Return how many characters the texts have that were long for LLVM, by symbol."""
    counted = context.statistics.get(CodeGen.pass_info.name) or Counter[str]()
    return {
        name.removeprefix(_LONG_KERNEL): amount
        for name, amount in counted.items()
        if name.startswith(_LONG_KERNEL)
    }
