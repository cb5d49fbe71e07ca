"""EtaExpand: a global function, or a constructor, used as a value becomes a closure."""

from __future__ import annotations

from collections.abc import Sequence

from parpass.ir.adt import Constructor
from parpass.ir.module import IRModule
from parpass.relay.expr import Call, Expr, Function, GlobalVar, Var, eta_expanded
from parpass.relay.functor import ExprMutator
from parpass.relay.transform.binding_check import expects_single_bindings
from parpass.transform import ModulePass, PassContext, PassInfo, register_pass


@register_pass("relay._transform.EtaExpand")
@expects_single_bindings
class EtaExpand(ModulePass):
    """Wrap each reference to a global function, or a constructor, that is no call.

    ::

        def @double(%x: float32) -> float32 {
          add(%x, %x)
        }

        def @main() {
          @double
        }

    becomes::

        def @double(%x: float32) -> float32 {
          add(%x, %x)
        }

        def @main() {
          fn (%x: float32) -> float32 {
            @double(%x)
          }
        }

    Args:
        expand_constructor: Whether to wrap constructors.
        expand_global_var: Whether to wrap globals.
    """

    pass_info = PassInfo(opt_level=1, name="EtaExpand")

    def __init__(
        self, expand_constructor: bool = False, expand_global_var: bool = False
    ) -> None:
        self.expand_constructor = expand_constructor
        self.expand_global_var = expand_global_var

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Return the module with references wrapped."""
        if not self.expand_global_var and not self.expand_constructor:
            return mod
        functions = dict(mod.functions_by_name)
        expanded = 0
        for name, function in mod.functions_by_name.items():
            if not isinstance(function, Function):
                continue
            expander = EtaExpander(
                mod,
                constructors=self.expand_constructor,
                global_vars=self.expand_global_var,
            )
            functions[name] = expander.visit(function)
            expanded += expander.expanded
        if not expanded:
            return mod
        ctx.count("expanded", expanded)
        return IRModule.assemble(mod, functions)


class EtaExpander(ExprMutator):
    """Wraps references to globals, or to constructors, in one function.

    Attributes:
        expanded: How many were wrapped.
    """

    def __init__(self, mod: IRModule, *, constructors: bool, global_vars: bool) -> None:
        super().__init__()
        self.expanded = 0
        self._mod = mod
        self._constructors = constructors
        self._global_vars = global_vars

    def visited_before(self, expr: Expr) -> Sequence[Expr]:
        """Return what may have references: of a call of a global, the arguments."""
        if isinstance(expr, Call) and isinstance(expr.op, GlobalVar | Constructor):
            return expr.args
        return super().visited_before(expr)

    def visit_call(self, call: Call) -> Expr:
        """Return the call with its arguments rewritten."""
        if not isinstance(call.op, GlobalVar | Constructor):
            return super().visit_call(call)
        args = tuple(self.memo_map[arg] for arg in call.args)
        if all(new is old for new, old in zip(args, call.args, strict=True)):
            return call
        return Call(call.op, args, call.attrs, call.type_args, call.span)

    def visit_constructor(self, con: Constructor) -> Expr:
        """Return a function that calls the constructor."""
        known = self._mod.types.by_name
        definition = known.get(con.belong_to.name_hint)
        if not self._constructors or definition is None:
            return con
        self.expanded += 1
        params = [Var("eta_expand_param", of) for of in con.inputs]
        types = definition.type_vars
        call = Call(con, params, None, types)
        return Function(params, call, definition.made, types)

    def visit_global_var(self, global_var: GlobalVar) -> Expr:
        """Return a function that calls the global one."""
        if not self._global_vars or global_var.name_hint not in self._mod:
            return global_var  # an error that InferType reports
        self.expanded += 1
        return eta_expanded(global_var, self._mod[global_var.name_hint])
