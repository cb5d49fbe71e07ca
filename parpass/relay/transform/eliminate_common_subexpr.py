"""EliminateCommonSubexpr: what is computed twice is computed once."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar, cast

from parpass.ir.module import IRModule
from parpass.ir.op.op_table import Op
from parpass.relay.analysis.operator_names import operators
from parpass.relay.expr import Call, Constant, Expr, Function, TupleGetItem
from parpass.relay.functor import ExprMutator
from parpass.relay.transform.binding_check import expects_single_bindings
from parpass.transform import FunctionPass, PassContext, PassInfo, register_pass

ExprT = TypeVar("ExprT", bound=Expr)
Skip = Callable[[Expr], bool]


@register_pass("relay._transform.EliminateCommonSubexpr")
@expects_single_bindings
class EliminateCommonSubexpr(FunctionPass):
    """Merge calls of the same operator on the same arguments.

    ::

        def @main(%x: Tensor[(3,), float32]) {
          %0 = add(%x, 1f);
          %1 = add(%x, 1f);
          multiply(%0, %1)
        }

    becomes::

        def @main(%x: Tensor[(3,), float32]) {
          %0 = add(%x, 1f);
          multiply(%0, %0)
        }

    Arguments are the same if they are one object, possibly after merging, or equal
    scalar constants. Projections of the same tuple are merged, too. The pass leaves
    alone calls of functions, calls of operators with effects, and calls without
    arguments.

    Args:
        fskip: Called with each call and projection that could be merged; return true to
            keep it.
    """

    pass_info = PassInfo(3, "EliminateCommonSubexpr", required=("InferType",))
    cacheable = True

    def __init__(self, fskip: Skip | None = None) -> None:
        self.fskip = fskip

    preserves = (operators,)

    def transform_function(
        self, func: Function, mod: IRModule, ctx: PassContext
    ) -> Function:
        """Return the function with common subexpressions merged."""
        eliminator = CommonSubexprEliminator(self.fskip)
        result = eliminator.visit(func)
        if eliminator.merged:
            ctx.count("merged", eliminator.merged)
        return result


def eliminate_common_subexpr(expr: ExprT, fskip: Skip | None = None) -> ExprT:
    """Return an expression with common subexpressions merged."""
    return cast("ExprT", CommonSubexprEliminator(fskip).visit(expr))


class CommonSubexprEliminator(ExprMutator):
    """Rewrites each expression to the first one that computes the same.

    Attributes:
        merged: How many expressions were replaced by an earlier one.
    """

    def __init__(self, fskip: Skip | None = None) -> None:
        super().__init__()
        self.merged = 0
        self._fskip = fskip
        self._first: dict[Hashable, Expr] = {}

    def visit_call(self, call: Call) -> Expr:
        """Return the first call like this one."""
        new = cast("Call", super().visit_call(call))
        if not isinstance(new.op, Op) or new.op.effect or not new.args:
            return new
        return self._merge(new, (new.op, new.attrs, *map(_argument_key, new.args)))

    def visit_tuple_getitem(self, op: TupleGetItem) -> Expr:
        """Return the first projection like this one."""
        new = cast("TupleGetItem", super().visit_tuple_getitem(op))
        return self._merge(new, (new.tuple_value, new.index))

    def _merge(self, expr: Call | TupleGetItem, key: Hashable) -> Expr:
        if self._fskip is not None and self._fskip(expr):
            return expr
        try:
            first = self._first.setdefault(key, expr)
        except TypeError:  # attributes of a user's operator that cannot be hashed
            return expr
        if first is not expr:
            self.merged += 1
            what = cast("Op", expr.op).name if isinstance(expr, Call) else "projection"
            why = "merged with an equal one before it"
            place = getattr(first, "span", None)
            values = {} if place is None else {"at": place}
            context = PassContext.current()
            context.remark("passed", why, expr.span, name="Merged", op=what, **values)
        return first


def _argument_key(arg: Expr) -> Hashable:
    if isinstance(arg, Constant) and arg.data.shape == ():
        return (arg.data.dtype, arg.data.numpy().tobytes())
    return arg
