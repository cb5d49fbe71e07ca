"""FoldConstant: what is known now is computed now."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeVar, cast

import numpy as np

from parpass.errors import EvaluationError
from parpass.ir.module import IRModule
from parpass.ir.op.op_table import Op
from parpass.ir.types import Type
from parpass.relay.analysis.effects import Effects
from parpass.relay.analysis.findings import Finding, emit_notes
from parpass.relay.analysis.matchers import static_tensor
from parpass.relay.binding import substitute
from parpass.relay.expr import (
    Call,
    Constant,
    Expr,
    Function,
    If,
    Let,
    Tuple,
    TupleGetItem,
    Var,
)
from parpass.relay.functor import ExprMutator
from parpass.relay.transform.binding_check import expects_single_bindings
from parpass.relay.transform.evaluator import (
    ConstantChecker,
    Evaluator,
    constant_of,
    is_simple_constant,
    with_device_of,
    without_device,
)
from parpass.transform import FunctionPass, PassContext, PassInfo, register_pass

# Operators that are never evaluated. Those that ask for the shape of their argument
# fold by its type alone, whether it is a constant or not.
_FOLDED_BY_TYPE = frozenset({"shape_of", "vm.shape_of", "ndarray_size"})
_NEVER_EVALUATED = _FOLDED_BY_TYPE | {"device_copy"}

ExprT = TypeVar("ExprT", bound=Expr)


@register_pass("relay._transform.FoldConstant")
@expects_single_bindings
class FoldConstant(FunctionPass):
    """Evaluate operators on constants, and simplify by their values.

    ::

        def @main(%x: Tensor[(2,), float32]) {
          let %two = add(1f, 1f);
          %0 = less(0f, %two);
          if (%0) {
            multiply(%x, %two)
          } else {
            %x
          }
        }

    becomes::

        def @main(%x: Tensor[(2,), float32]) {
          multiply(%x, 2f)
        }

    Some calls stay: those without arguments, such as `zeros`; those of operators with
    effects or that are not computational; and those in a function with the attribute
    `Primitive`. A call that fails on its constants stays, too, as it may never run. So
    does a call whose result is too large: the option `relay.FoldConstant.max_bytes`
    limits the total size of a function's results, in addition to eight times the size
    of its own constants. A note reports each of these.
    """

    pass_info = PassInfo(opt_level=2, name="FoldConstant")
    cacheable = True

    def transform_function(
        self, func: Function, mod: IRModule, ctx: PassContext
    ) -> Function:
        """Return the function with constants folded."""
        with Evaluator.of(func, ctx) as evaluator:
            folder = ConstantFolder(evaluator, mod)
            folded = folder.visit(func)
        if folder.folded:
            ctx.count("folded", folder.folded)
        emit_notes(folder.kept, ctx)
        for span, message in folder.kept:
            ctx.remark("missed", f"not folded: {message}", span, name="NotFolded")
        return folded


def fold_constant(expr: ExprT) -> ExprT:
    """Return an expression with constants folded; see `FoldConstant`."""
    with Evaluator(expr) as evaluator:
        return cast("ExprT", ConstantFolder(evaluator).visit(expr))


def may_evaluate(op: Op) -> bool:
    """Return whether an operator is computed while a program is compiled."""
    computes = not op.effect and not op.non_computational
    return computes and op.name not in _NEVER_EVALUATED


class ConstantFolder(ExprMutator):
    """Rewrites an expression, folding constants.

    Args:
        evaluator: Evaluates the calls.
        mod: Has the global functions that are called, to know which have effects.

    Attributes:
        folded: How many calls were replaced by their values.
        kept: The calls that could not be evaluated.
        let_values: What variables are bound to, as it was.
    """

    asks_again = True

    def __init__(self, evaluator: Evaluator, mod: IRModule | None = None) -> None:
        super().__init__()
        self.folded = 0
        self.kept: list[Finding] = []
        self._evaluator = evaluator
        self._checker = ConstantChecker()
        self.let_values: dict[Expr, Expr] = {}
        self._known: dict[Var, Expr] = {}
        self._effects = Effects(self.let_values, mod)

    def visited_before(self, expr: Expr) -> Sequence[Expr]:
        """Return the children that the result is made of."""
        if isinstance(expr, Let):
            # The value comes first, because its variable may stand for a constant.
            self.let_values[expr.var] = expr.value
            return (expr.value, expr.var, expr.body)
        if isinstance(expr, If):
            if expr.cond not in self.memo_map:
                return (expr.cond,)
            taken = self._taken_branch(expr)
            return (expr.true_branch, expr.false_branch) if taken is None else (taken,)
        if isinstance(expr, Function):
            return () if expr.has_nonzero_attr("Primitive") else (expr.body,)
        return super().visited_before(expr)

    def visit_var(self, var: Var) -> Expr:
        """Return the constant to which the variable is bound, if it is."""
        bound = self.let_values.get(var)
        value = self.memo_map.get(bound) if bound is not None else None
        if value is None or not is_simple_constant(value):
            return var
        self._known[var] = value
        return value

    def visit_let(self, let: Let) -> Expr:
        """Drop a `let` whose variable was replaced."""
        if let.var in self._known:
            return self.visit(let.body)
        return super().visit_let(let)

    def visit_if(self, if_: If) -> Expr:
        """Return the branch that a constant condition takes."""
        taken = self._taken_branch(if_)
        return super().visit_if(if_) if taken is None else self.visit(taken)

    def _taken_branch(self, if_: If) -> Expr | None:
        cond = without_device(self.visit(if_.cond))
        if not isinstance(cond, Constant) or cond.data.shape != ():
            return None
        holds = cond.data.numpy().tobytes()[0] != 0
        return if_.true_branch if holds else if_.false_branch

    def visit_function(self, fn: Function) -> Expr:
        """Leave a primitive function as it is, save for variables known outside."""
        if fn.has_nonzero_attr("Primitive"):
            return substitute(fn, self._known)
        return super().visit_function(fn)

    def visit_tuple_getitem(self, op: TupleGetItem) -> Expr:
        """Return the field of a literal tuple."""
        new = cast("TupleGetItem", super().visit_tuple_getitem(op))
        literal = without_device(new.tuple_value)
        if not isinstance(literal, Tuple) or not 0 <= new.index < len(literal.fields):
            return new
        field = literal.fields[new.index]
        if not self._effects.survive(literal, field):
            return new
        return with_device_of(new.tuple_value, field)

    def visit_call(self, call: Call) -> Expr:
        """Return the value of a call on constants."""
        new = cast("Call", super().visit_call(call))
        op = new.op
        if not isinstance(op, Op) or not new.args or op.effect:
            return new
        if op.name in _FOLDED_BY_TYPE:
            may_drop = self._effects.may_drop(*new.args)
            typ = self.argument_type(call, new) if may_drop else None
            known = self._fold_by_type(new, typ, op.name)
            return new if known is None else known
        if not may_evaluate(op):
            return new
        if not all(map(self._checker.check, new.args)):
            return new
        return self._evaluate(new, op, call.checked_type_)

    def argument_type(self, call: Call, new: Call) -> Type | None:
        """Return the type of the first argument of a call, which is rewritten.

        It is that of the call as it was: a rewritten argument has no type yet.
        """
        del new
        return getattr(call.args[0], "checked_type_", None)

    def _fold_by_type(self, call: Call, typ: Type | None, name: str) -> Expr | None:
        found = static_tensor(typ)
        if found is None:
            return None
        shape = found.concrete_shape
        told = math.prod(shape) if name == "ndarray_size" else shape
        try:
            value = np.asarray(told, call.attrs.dtype)
        except OverflowError as error:
            self.kept.append(Finding(call.span, f"operator '{name}': {error}"))
            return None
        self.folded += 1
        PassContext.current().remark(
            "passed", "evaluated by its type", call.span, name="Folded", op=name
        )
        return constant_of(value, call.span)

    def _evaluate(self, call: Call, op: Op, typ: Type | None) -> Expr:
        try:
            result = self._evaluator.evaluate(op, call.attrs, call.args, call.span, typ)
        except EvaluationError as error:
            self.kept.append(Finding(call.span, str(error)))
            return call
        self.folded += 1
        PassContext.current().remark(
            "passed", "evaluated on constants", call.span, name="Folded", op=op.name
        )
        return result
