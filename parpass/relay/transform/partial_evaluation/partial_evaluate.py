"""PartialEvaluate: what is known is computed now, functions and references included."""

from __future__ import annotations

from parpass.errors import DiagnosticError
from parpass.ir.module import IRModule
from parpass.ir.structure.structural import structural_equal
from parpass.relay.analysis.findings import Finding, emit_errors
from parpass.relay.expr import Function
from parpass.relay.transform.evaluator import Evaluator
from parpass.relay.transform.functions.copy_limit import max_copied_nodes
from parpass.relay.transform.normal_forms.block_writer import is_opaque
from parpass.relay.transform.partial_evaluation.partial_evaluator import (
    PartialEvaluator,
)
from parpass.transform import ModulePass, PassContext, PassInfo, register_pass


@register_pass("relay._transform.PartialEvaluate")
class PartialEvaluate(ModulePass):
    """Evaluate what is known of a program, and leave code for the rest.

    ::

        def @power(%x: float32, %n: int32) -> float32 {
          %0 = equal(%n, 0);
          if (%0) {
            1f
          } else {
            %1 = subtract(%n, 1);
            %2 = @power(%x, %1);
            multiply(%x, %2)
          }
        }

        def @main(%x: float32) -> float32 {
          let %r = ref(%x);
          %0 = @power(%x, 2);
          let %u = ref_write(%r, %0);
          ref_read(%r)
        }

    becomes::

        def @power(%x: float32, %n: int32) -> float32 {
          let %x_1 = equal(%n, 0);
          if (%x_1) {
            1f
          } else {
            let %x_2 = subtract(%n, 1);
            let %x_3 = @power(%x, %x_2);
            multiply(%x, %x_3)
          }
        }

        def @main(%x: float32) -> float32 {
          let %r = ref(%x);
          let %x_1 = multiply(%x, 1f);
          let %x_2 = multiply(%x, %x_1);
          let %u = ref_write(%r, %x_2);
          %x_2
        }

    What is known are constants, and what operators give on them; the fields of tuples
    and of values of data types; functions; and what references have that were created
    here, until something may write them of which nothing is known. Branches and matches
    are taken, and functions evaluated in the place of their calls. Functions that call
    themselves are, as long as an argument is part of one before, or counts down.

    DeadCodeElimination with `inline_once` drops what is not needed any more, such as
    `%r`. Operators with effects are called in their order, as often as before; what
    FoldConstant leaves as it is stays here, too, with its limit of bytes. Calls stay
    once more was evaluated in the place of calls than option `relay.max_copied_nodes`
    of the context says. Functions that are marked `Primitive` or `Compiler` stay.
    """

    pass_info = PassInfo(1, "PartialEval", required=("InferType",))

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Return the module with its functions evaluated."""
        old = mod.functions_by_name
        functions, most = dict(old), max_copied_nodes(ctx)
        program = PartialEvaluator(mod, most)
        for name, function in old.items():
            if not isinstance(function, Function) or is_opaque(function):
                continue
            try:
                with Evaluator.of(function, ctx) as evaluator:
                    made = program.evaluated(name, evaluator)
            except DiagnosticError as error:
                found = [Finding(it.span, it.message) for it in error.diagnostics]
                emit_errors(found, ctx, name)
                continue
            if not structural_equal(made, function):
                functions[name] = made
        changed = sum(function is not old[name] for name, function in functions.items())
        if not changed:
            return mod
        ctx.count("evaluated", changed)
        return IRModule.assemble(mod, functions)
