"""PartialEvaluate: what is known is computed now, functions and references included."""

from __future__ import annotations

from parpass.errors import DiagnosticError
from parpass.ir.module import IRModule
from parpass.ir.structure.structural import structural_equal
from parpass.relay.analysis.findings import Finding, emit_errors
from parpass.relay.expr import Function, Tuple
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
          let %u = (%r := @power(ref_read(%r), 2));
          ref_read(%r)
        }
    """

    pass_info = PassInfo(1, "PartialEval", required=("InferType",))

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Return the module with its functions evaluated."""
        old = mod.functions_by_name
        functions, most = dict(old), max_copied_nodes(ctx)
        with Evaluator.of(Tuple(()), ctx) as evaluator:
            program = PartialEvaluator(mod, evaluator, most)
            for name, function in old.items():
                if not isinstance(function, Function) or is_opaque(function):
                    continue
                try:
                    made = program.evaluated(name)
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
