"""ToMixedPrecision: products in fewer bits, and operators that follow them.

The lists of operators are TVM 0.8's, which has them from TensorFlow's grappler; they
favour tensor cores. Operators that sum or multiply as much as those of the NEVER list,
and are in none of TVM's lists, are added here. `Casts` makes each cast once, and no
cast there and back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from msgspec.structs import replace

from parpass.errors import ArgumentError
from parpass.ir.module import IRModule
from parpass.ir.op_registration import op_attrs
from parpass.ir.op_table import Op
from parpass.ir.tree_size import MAX_COPIES
from parpass.ir.type_structure import check_size
from parpass.ir.types import TensorType, TupleType, Type
from parpass.relay import op
from parpass.relay.adt import Clause, Match
from parpass.relay.analysis.findings import Finding, emit_errors, emit_notes
from parpass.relay.expr import (
    Call,
    Constant,
    Expr,
    Function,
    If,
    Let,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)
from parpass.relay.functor import ExprMutator
from parpass.relay.op.hooks import MIXED_PRECISION
from parpass.relay.span_filler import with_span
from parpass.relay.typing.built import BuiltTypes
from parpass.relay.typing.infer import typed_function
from parpass.runtime.dtypes import dtype_of, is_float_dtype
from parpass.transform import FunctionPass, PassContext, PassInfo, register_pass

__all__ = [
    "CATEGORIES",
    "MIXED_PRECISION_ALWAYS",
    "MIXED_PRECISION_FOLLOW",
    "MIXED_PRECISION_NEVER",
]


MIXED_PRECISION_ALWAYS = 0
"""It is worth a cast."""
MIXED_PRECISION_FOLLOW = 1
"""It is not worth one, and does no harm."""
MIXED_PRECISION_NEVER = 2
"""It leaves the range of few bits, or sums too much."""

_LISTS = {
    MIXED_PRECISION_ALWAYS: """
        nn.batch_matmul nn.conv1d nn.conv1d_transpose nn.conv2d nn.conv2d_transpose
        nn.conv3d nn.conv3d_transpose nn.dense
    """,
    MIXED_PRECISION_FOLLOW: """
        add argwhere broadcast_to_like cast cast_like concatenate copy divide
        dyn.broadcast_to dyn.full dyn.reshape dyn.strided_slice dyn.tile expand_dims
        full greater greater_equal less less_equal max maximum min minimum multiply
        nn.adaptive_max_pool1d nn.adaptive_max_pool2d nn.adaptive_max_pool3d
        nn.avg_pool1d nn.avg_pool2d nn.avg_pool3d nn.batch_flatten nn.batch_norm
        nn.bias_add nn.dropout nn.global_max_pool2d nn.leaky_relu nn.max_pool1d
        nn.max_pool2d nn.max_pool3d nn.pad nn.prelu nn.relu reshape
        shape_of sigmoid split sqrt squeeze strided_slice subtract take tanh tile
        transpose where zeros
    """,
    MIXED_PRECISION_NEVER: """
        arange erf exp mean nn.adaptive_avg_pool1d nn.adaptive_avg_pool2d
        nn.adaptive_avg_pool3d nn.cross_entropy nn.cross_entropy_with_logits
        nn.global_avg_pool2d nn.l2_normalize nn.softmax power sum

        collapse_sum_like collapse_sum_to cumprod cumsum nn.fast_softmax nn.log_softmax
        nn.nll_loss prod variance
    """,
}
CATEGORIES = {name: kind for kind, names in _LISTS.items() for name in names.split()}
"""By operator."""


class Casts:
    """Casts values of floats, and tuples of such, and knows the types of what is built.

    Attributes:
        types: Those of new expressions.
    """

    def __init__(self) -> None:
        self.types = BuiltTypes()
        self._made: dict[tuple[Expr, str], Expr] = {}

    def cast(self, value: Expr, dtype: str) -> Expr:
        """Return a value, its floats in a dtype."""
        return self._cast(value, self.types.type_of(value), dtype)

    def tensors(self, value: Expr) -> list[TensorType]:
        """Return the types of the tensors that a value is, or is made of."""
        return _tensors(self.types.type_of(value))

    def typed(self, old: Expr, new: Expr) -> Expr:
        """Return a new value, which is of the type that the old one had."""
        self.types.known[new] = old.checked_type
        return new

    def as_before(self, old: Expr, new: Expr) -> Expr:
        """Return a new value in the dtypes that the old one had."""
        if new is old:
            return new
        wanted, found = old.checked_type, self.types.get(new)
        return (
            new if found is None or found == wanted else self._like(new, found, wanted)
        )

    def _like(self, value: Expr, found: Type, wanted: Type) -> Expr:
        if isinstance(found, TupleType) and isinstance(wanted, TupleType):
            pairs = zip(found.fields, wanted.fields, strict=True)
            return Tuple(
                tuple(
                    self._like(_field(value, at), one, other)
                    for at, (one, other) in enumerate(pairs)
                ),
                getattr(value, "span", None),
            )
        if isinstance(wanted, TensorType):
            return self._cast(value, found, wanted.dtype)
        return value

    def _cast(self, value: Expr, found: Type, dtype: str) -> Expr:
        """Return a value of floats in a dtype; what was cast from that, as it was."""
        if isinstance(found, TupleType):
            fields = [_field(value, at) for at in range(len(found.fields))]
            pairs = zip(fields, found.fields, strict=True)
            new = [self._cast(field, typ, dtype) for field, typ in pairs]
            span = getattr(value, "span", None)
            return value if new == fields else Tuple(tuple(new), span)
        if not isinstance(found, TensorType) or found.dtype == dtype:
            return value
        if not is_float_dtype(found.dtype):
            return value
        if (value, dtype) not in self._made:
            made = op.cast(value, dtype)
            made = with_span(made, getattr(value, "span", None), [value])
            self._made[value, dtype] = made
            self._made[made, found.dtype] = value
        return self._made[value, dtype]


def _field(value: Expr, at: int) -> Expr:
    if isinstance(value, Tuple):
        return value.fields[at]
    return TupleGetItem(value, at, getattr(value, "span", None))


def _tensors(typ: Type) -> list[TensorType]:
    """Return the tensors in a type of tensors and tuples."""
    if isinstance(typ, TupleType):
        check_size(typ, MAX_COPIES)
        return [one for field in typ.fields for one in _tensors(field)]
    return [typ] if isinstance(typ, TensorType) else []


KEEP_OUTPUT_DTYPE_OPTION = "relay.ToMixedPrecision.keep_orig_output_dtype"


@register_pass("relay._transform.ToMixedPrecision")
class ToMixedPrecision(FunctionPass):
    """Compute products in fewer bits, and what can follow them without a cast.

    ::

        def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(4, 3), float32]) {
          %0 = nn.dense(%x, %w);
          nn.softmax(%0)
        }

    becomes::

        def @main(%x: Tensor[(2, 3), float32], \
%w: Tensor[(4, 3), float32]) -> Tensor[(2, 4), float32] {
          %0 = cast(%x, dtype="float16");
          %1 = cast(%w, dtype="float16");
          %2 = nn.dense(%0, %1, out_dtype="float16");
          %3 = cast(%2, dtype="float32");
          nn.softmax(%3)
        }

    `relay.transform.mixed_precision` has three lists of operators: those that are worth
    a cast, those that follow if all of their arguments have few bits, variables and
    constants aside, and those that never do.
    `relay.op.register_mixed_precision_conversion` says it of others. What branches,
    closures and data types are given, and give, keeps its dtypes. As in TVM, the result
    of the function may be of fewer bits; by the option
    `relay.ToMixedPrecision.keep_orig_output_dtype` of the context it is not, which is
    what functions need that others call.

    Args:
        mixed_precision_type: The dtype of fewer bits.
        missing_op_mode: The treatment of an operator that is in no list: 0 is an error,
            1 makes it follow with a note, 2 without one.

    Raises:
        ArgumentError: The dtype is none of floats, or the mode is none of these.
    """

    pass_info = PassInfo(0, "ToMixedPrecision", required=("InferType",))

    def __init__(
        self, mixed_precision_type: str = "float16", missing_op_mode: int = 1
    ) -> None:
        try:
            self.mixed_precision_type = dtype_of(mixed_precision_type)
        except ValueError as error:
            raise ArgumentError(f"expected a dtype of floats: {error}") from None
        if not is_float_dtype(self.mixed_precision_type):
            raise ArgumentError(
                f"expected a dtype of floats, got '{mixed_precision_type}'"
            )
        if missing_op_mode not in (0, 1, 2):
            raise ArgumentError(
                f"expected missing_op_mode 0, 1 or 2, got {missing_op_mode}"
            )
        self.missing_op_mode = missing_op_mode

    def transform_function(
        self, func: Function, mod: IRModule, ctx: PassContext
    ) -> Function:
        """Return the function with products in fewer bits."""
        typed = typed_function(func, mod)
        rewriter = _Rewriter(self.mixed_precision_type)
        body = rewriter.visit(typed.body)
        if ctx.config.get(KEEP_OUTPUT_DTYPE_OPTION, False):
            body = rewriter.casts.as_before(typed.body, body)
        if self.missing_op_mode == 0 and rewriter.missing:
            emit_errors(rewriter.missing, ctx)
            return func
        if self.missing_op_mode == 1:
            emit_notes(rewriter.missing, ctx)
        if body is typed.body:
            return func
        ctx.count("converted", rewriter.converted)
        return Function(
            typed.params, body, None, typed.type_params, typed.attrs, typed.span
        )


class _Rewriter(ExprMutator):
    def __init__(self, dtype: str) -> None:
        super().__init__()
        self.converted = 0
        self.missing: list[Finding] = []
        self._dtype = dtype
        self.casts = Casts()
        self._values: dict[Var, Expr] = {}
        self._rules = op_attrs(MIXED_PRECISION)
        self._named: set[str] = set()  # of operators that are in no list

    def visited_before(self, expr: Expr) -> Sequence[Expr]:
        """Return the value of a `let` first: it says the type of the variable."""
        if isinstance(expr, Let):
            self._values[expr.var] = expr.value
            return (expr.value, expr.var, expr.body)
        if isinstance(expr, Function) and expr.has_nonzero_attr("Primitive"):
            return ()
        return super().visited_before(expr)

    def visit_var(self, var: Var) -> Expr:
        """Return a variable of the type that its value has now."""
        value = self._values.get(var)
        if value is None or isinstance(value, Function):
            return var  # a function takes and gives what it did, and may call itself
        found = self.casts.types.get(self.memo_map[value])
        if found is None or found == var.checked_type:
            return var
        annotation = None if var.type_annotation is None else found
        return Var(var.name_hint, annotation, var.span, found)

    def visit_call(self, call: Call) -> Expr:
        """Return a call in the precision that its operator has."""
        new = cast("Call", super().visit_call(call))
        if not isinstance(call.op, Op):
            return self._unchanged(call, new)
        category, summed, result = self._category(call, call.op)
        if category == MIXED_PRECISION_FOLLOW:
            follows = all(map(self._may_be_low, new.args))
            category = MIXED_PRECISION_ALWAYS if follows else None
        if category != MIXED_PRECISION_ALWAYS:
            return self._unchanged(call, new)
        args = [self.casts.cast(arg, self._dtype) for arg in new.args]
        attrs = _summing_in(new.attrs, summed)
        self.converted += 1
        low = self._with_args(call, new, args, attrs)
        return low if summed == result else self.casts.cast(low, result)

    def _category(self, call: Call, operator: Op) -> tuple[int | None, str, str]:
        rule = self._rules.get(operator.name)
        if rule is not None:
            category, summed, result = rule(call, self._dtype)
            return int(category), str(summed), str(result)
        known = CATEGORIES.get(operator.name)
        if known is None:
            known = MIXED_PRECISION_FOLLOW
            if operator.name not in self._named:
                self._named.add(operator.name)
                message = (
                    f"operator '{operator.name}' is in no list of precisions; "
                    "relay.op.register_mixed_precision_conversion enters it"
                )
                self.missing.append(Finding(call.span, message))
        return known, self._dtype, self._dtype

    def _may_be_low(self, arg: Expr) -> bool:
        if isinstance(arg, Var | Constant):
            return True
        return all(
            not is_float_dtype(one.dtype) or one.dtype == self._dtype
            for one in self.casts.tensors(arg)
        )

    def _unchanged(self, call: Call, new: Call) -> Expr:
        """Return a call on arguments, and so of a type, as before."""
        args = list(map(self.casts.as_before, call.args, new.args))
        return self.casts.typed(call, self._with_args(call, new, args))

    def _with_args(
        self, call: Call, new: Call, args: Sequence[Expr], attrs: Any = ...
    ) -> Call:
        attrs = new.attrs if attrs is ... else attrs
        if tuple(args) == call.args and attrs is call.attrs and new.op is call.op:
            return call
        given = () if isinstance(new.op, Op) else call.type_args
        return Call(new.op, tuple(args), attrs, given, call.span)

    def visit_function(self, fn: Function) -> Expr:
        """Return a closure that takes and gives what it did."""
        if fn.has_nonzero_attr("Primitive"):
            return fn
        body = self.casts.as_before(fn.body, self.visit(fn.body))
        if body is fn.body:
            return fn
        return Function(
            fn.params, body, fn.ret_type, fn.type_params, fn.attrs, fn.span,
            fn.checked_type_,
        )  # fmt: skip

    def visit_if(self, if_: If) -> Expr:
        """Return branches of the type that they had."""
        branches = [
            self.casts.as_before(one, self.visit(one))
            for one in (if_.true_branch, if_.false_branch)
        ]
        cond = self.casts.as_before(if_.cond, self.visit(if_.cond))
        if [cond, *branches] == [if_.cond, if_.true_branch, if_.false_branch]:
            return if_
        return self.casts.typed(if_, If(cond, branches[0], branches[1], if_.span))

    def visit_match(self, match: Match) -> Expr:
        """Return a match, whose clauses are of the type that they had."""
        return self.casts.typed(match, super().visit_match(match))

    def visit_clause(self, clause: Clause) -> Any:
        """Return a clause of the type that it had."""
        rhs = self.casts.as_before(clause.rhs, self.visit(clause.rhs))
        return clause if rhs is clause.rhs else replace(clause, rhs=rhs)

    def visit_ref_create(self, ref_create: RefCreate) -> Expr:
        """Return a reference to what it had."""
        value = self.casts.as_before(ref_create.value, self.visit(ref_create.value))
        if value is ref_create.value:
            return ref_create
        return self.casts.typed(ref_create, RefCreate(value))

    def visit_ref_read(self, ref_read: RefRead) -> Expr:
        """Read what was read."""
        return self.casts.typed(ref_read, super().visit_ref_read(ref_read))

    def visit_ref_write(self, ref_write: RefWrite) -> Expr:
        """Write what was written."""
        ref = self.visit(ref_write.ref)
        value = self.casts.as_before(ref_write.value, self.visit(ref_write.value))
        if ref is ref_write.ref and value is ref_write.value:
            return ref_write
        return self.casts.typed(ref_write, RefWrite(ref, value))


def _summing_in(attrs: Any, dtype: str) -> Any:
    """Return attributes by which an operator sums in a dtype, or makes tensors so."""
    for name in ("out_dtype", "dtype"):
        if name not in (attrs or ()):
            continue
        if name == "dtype" and "shape" not in attrs:
            continue  # of what is cast, or of a shape
        if not attrs[name] or is_float_dtype(attrs[name]):
            return replace(attrs, **{name: dtype})
    return attrs
