"""DynamicToStatic: what arguments say that are known, attributes say instead."""

from __future__ import annotations

from typing import cast

from parpass.errors import IRError
from parpass.ir.module import IRModule
from parpass.ir.op_table import Op
from parpass.ir.types import Type
from parpass.relay.analysis.findings import Finding, emit_notes
from parpass.relay.analysis.matchers import static_tensor
from parpass.relay.expr import Call, Expr, Function, Var
from parpass.relay.op.dyn.counterpart import COUNTERPARTS
from parpass.relay.transform.binding_check import expects_single_bindings
from parpass.relay.transform.evaluator import Evaluator, is_simple_constant, value_of
from parpass.relay.transform.fold_constant import ConstantFolder
from parpass.relay.typing.built import BuiltTypes
from parpass.transform import FunctionPass, PassContext, PassInfo, register_pass


@register_pass("relay._transform.DynamicToStatic")
@expects_single_bindings
class DynamicToStatic(FunctionPass):
    """Make operators static whose shapes are known before the program runs.

    ::

        def @main(%x: Tensor[(2, 6), float32], %y: Tensor[(3, 4), float32]) {
          %0 = shape_of(%y, dtype="int64");
          dyn.reshape(%x, %0)
        }

    becomes::

        def @main(%x: Tensor[(2, 6), float32], %y: Tensor[(3, 4), float32]) {
          reshape(%x, newshape=[3, 4])
        }

    What is known by it is used in its turn: constants are folded, and the shape of what
    has become static is known. What the static operator refuses stays as it is, with a
    note that says why. The type of the function's result stays the one that it had,
    which other functions may rely on.
    """

    # Types are not required: those of a program may be found only by this.
    pass_info = PassInfo(opt_level=2, name="DynamicToStatic")

    def transform_function(
        self, func: Function, mod: IRModule, ctx: PassContext
    ) -> Function:
        """Return the function with what is known in its attributes."""
        with Evaluator.of(func, ctx) as evaluator:
            rewriter = _ToStatic(evaluator, mod)
            result = rewriter.visit(func)
        if rewriter.replaced:
            ctx.count("made static", rewriter.replaced)
        emit_notes(rewriter.kept, ctx)
        return result


class _ToStatic(ConstantFolder):
    def __init__(self, evaluator: Evaluator, mod: IRModule) -> None:
        super().__init__(evaluator, mod)
        self.replaced = 0
        self._types = BuiltTypes()

    def visit_var(self, var: Var) -> Expr:
        """Note what is known of a variable's type since its value is rewritten."""
        found = super().visit_var(var)
        value = (
            self.memo_map.get(self.let_values[var]) if var in self.let_values else None
        )
        typ = None if value is None else static_tensor(self._types.get(value))
        if typ is not None:
            self._types.known[var] = typ
        return found

    def argument_type(self, call: Call, new: Call) -> Type | None:
        """Return the better one of the types before and after."""
        found = static_tensor(self._types.get(new.args[0]))
        return super().argument_type(call, new) if found is None else found

    def visit_call(self, call: Call) -> Expr:
        """Return the static form of a call if the values that it takes are known."""
        new = super().visit_call(call)
        if not isinstance(new, Call) or not isinstance(new.op, Op):
            return new
        counterpart = COUNTERPARTS.get(new.op.name)
        if counterpart is None:
            return new
        if not all(is_simple_constant(new.args[at]) for at in counterpart.values):
            return new
        args = [
            value_of(arg) if at in counterpart.values else arg
            for at, arg in enumerate(new.args)
        ]
        try:
            static = counterpart.static(new.attrs, args)
        except IRError as error:
            self.kept.append(Finding(new.span, f"operator '{new.op.name}': {error}"))
            return new
        self.replaced += 1
        return Call(cast("Op", static.op), static.args, static.attrs, span=new.span)
