"""LowerToTIR: primitive functions become kernels."""

from __future__ import annotations

from typing import Any

from parpass.ir.base_func import BaseFunc
from parpass.ir.module import IRModule
from parpass.ir.node import post_order
from parpass.ir.op.op_table import Op
from parpass.relay.backend.lowering import rules, templates
from parpass.relay.backend.lowering.kernel_builder import kernel
from parpass.relay.backend.lowering.rule_registry import NoRuleError
from parpass.relay.expr import Function
from parpass.relay.type_inference.infer import typed_function
from parpass.replicated_tables import program_entries
from parpass.target.target import Target
from parpass.transform import FunctionwisePass, PassContext, PassInfo, register_pass

NUMPY = "numpy"  # the compiler of what has no rule
WITHOUT_RULE = "without_rule"

_ = rules.__all__, templates.__all__  # imported for what they register


@register_pass("parpass.LowerToTIR")
class LowerToTIR(FunctionwisePass):
    """Lower each primitive function to a PrimFunc.

    ::

        def @main(%x: Tensor[(4), float32]) -> Tensor[(4), float32] {
          @fused_nn_relu(%x)
        }

        def @fused_nn_relu(%p0: Tensor[(4), float32], Primitive=1) -> \
Tensor[(4), float32] {
          nn.relu(%p0)
        }

    becomes::

        def @main(%x: Tensor[(4), float32]) -> Tensor[(4), float32] {
          @fused_nn_relu(%x)
        }

        @fused_nn_relu = primfn(p0_1: handle, out_1: handle) -> ()
          attr = {"global_symbol": "fused_nn_relu", "tir.noalias": True, \
"num_outputs": 1}
          buffers = {p0: Buffer(p0_2: Pointer(float32), float32, [4], []),
                     out: Buffer(out_2: Pointer(float32), float32, [4], [])}
          buffer_map = {p0_1: p0, out_1: out} {
          for (lane: int64, 0i64, 4i64) "vectorized" {
            out[lane] = max(0f32, p0[lane]);
          }
        }

    The parameters are the buffers of the inputs, then those of the outputs; a tuple has
    several outputs, and `num_outputs` is their number. The type of a kernel call
    follows from the kernel's buffers. FunctionsFromFusion, which this pass requires,
    gives equal functions one name, so each kernel is lowered once.

    Operators without a rule are computed by numpy: the function stays in Relay, marked
    as a foreign compiler's by `Compiler="numpy"`, with the reason as `without_rule`.
    `left_to_numpy` lists these functions.

    Args:
        target: The machine to generate kernels for; default: the current target, else
            this machine.
    """

    pass_info = PassInfo(0, "LowerToTIR", required=("FunctionsFromFusion",))
    cacheable = True

    def __init__(self, target: Any = None) -> None:
        wanted = target or Target.current() or "llvm"
        # By text, and resolved here, as by `target.CodeGen`.
        self.target = str(Target(wanted).resolved())

    def transform_function(
        self, func: Function, mod: IRModule, ctx: PassContext
    ) -> BaseFunc:
        """Return the kernel of a primitive function; other functions as they are."""
        if not is_to_lower(func):
            return func
        name = ctx.function_name or "main"
        try:
            return kernel(typed_function(func, mod), name, Target(self.target))
        except NoRuleError as error:
            ctx.count("left to numpy")
            message = f"no lowering rule, so numpy computes it: {error}"
            span = getattr(func.body, "span", None)
            ctx.remark("missed", message, span, name="NoLoweringRule")
            named = func.with_attr("Compiler", NUMPY).with_attr("global_symbol", name)
            return named.with_attr(WITHOUT_RULE, str(error))


def is_to_lower(func: BaseFunc) -> bool:
    """Return whether LowerToTIR is to make a kernel of a function."""
    if not isinstance(func, Function) or not func.has_nonzero_attr("Primitive"):
        return False
    return "Compiler" not in func.attributes


def is_lowered_by_shipped_rules(func: BaseFunc) -> bool:
    """Return whether neither an operator nor a rule of a function is the program's.

    If so a kernel depends on nothing but the function, the target, and this library.
    """
    known = {entry.key for entry in program_entries()}
    if not known:
        return True
    nodes = post_order(func)
    return known.isdisjoint(one.name for one in nodes if isinstance(one, Op))


def left_to_numpy(mod: IRModule) -> dict[str, str]:
    """Return the kernels that numpy computes, and why, by name."""
    return {
        name: str(function.attributes.get(WITHOUT_RULE, ""))
        for name, function in mod.functions_by_name.items()
        if function.attributes.get("Compiler") == NUMPY
    }
