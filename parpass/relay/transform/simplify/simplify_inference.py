"""SimplifyInference: what training needed becomes plain arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

from parpass.errors import IRTypeError
from parpass.ir.module import IRModule
from parpass.ir.op.op_table import Op
from parpass.ir.types import TensorType
from parpass.relay.analysis.effects import Effects
from parpass.relay.analysis.operator_names import has_operator
from parpass.relay.expr import Call, Constant, Expr, Function, TupleGetItem, const
from parpass.relay.functor import ExprMutator
from parpass.relay.op import cast as cast_to
from parpass.relay.op import expand_dims, maximum, mean, reshape, sqrt, variance
from parpass.relay.op import sum as sum_of
from parpass.relay.op.nn.norm import GroupNormAttrs, L2NormalizeAttrs, NormAttrs
from parpass.relay.span_filler import with_span
from parpass.relay.type_inference.infer import typed_function
from parpass.runtime.dtypes import computed_in
from parpass.transform import FunctionPass, PassContext, PassInfo, register_pass

ExprT = TypeVar("ExprT", bound=Expr)


@register_pass("relay._transform.SimplifyInference")
class SimplifyInference(FunctionPass):
    """Expand normalisation into arithmetic, which folds and fuses, and remove dropout.

    ::

        def @main(%x: Tensor[(2, 3), float32], %y: Tensor[(3,), float32]) {
          %0 = nn.batch_norm(%x, %y, %y, %y, %y);
          %1 = nn.dropout(%0.0);
          %1.0
        }

    becomes::

        def @main(%x: Tensor[(2, 3), float32], %y: Tensor[(3,), float32]) {
          %0 = add(%y, 1e-05f);
          %1 = sqrt(%0);
          %2 = divide(1f, %1);
          %3 = multiply(%2, %y);
          %4 = multiply(%x, %3);
          %5 = negative(%y);
          %6 = multiply(%5, %3);
          %7 = add(%6, %y);
          add(%4, %7)
        }

    Layer, instance and group normalisation and `nn.l2_normalize` are expanded by their
    formulas. Batch normalisation becomes a scale and a shift, which round differently
    from its formula. For batch normalisation and dropout, the first field of the result
    is replaced.

    Floats narrower than float32 are cast to float32 for the arithmetic, and the result
    is cast back. The replaced operators compute the same way, and the square of a half
    float from 256 on is infinite in half precision. For these types `nn.batch_norm`
    subtracts the mean first, as its definition does, instead of scaling and shifting.
    """

    pass_info = PassInfo(0, "SimplifyInference", required=("InferType",))
    cacheable = True

    def transform_function(
        self, func: Function, mod: IRModule, ctx: PassContext
    ) -> Function:
        """Return the function with normalisation written out."""
        typed = typed_function(func, mod)
        if not has_operator(typed, _SIMPLIFIED, ctx):
            return typed
        simplifier = InferenceSimplifier(mod)
        result = simplifier.visit(typed)
        if simplifier.simplified:
            ctx.count("simplified", simplifier.simplified)
        return result


def simplify_inference(expr: ExprT) -> ExprT:
    """Return a typed expression with normalisation written out.

    Raises:
        UntypedError: InferType has not run on the expression.
    """
    return cast("ExprT", InferenceSimplifier().visit(expr))


class InferenceSimplifier(ExprMutator):
    """Rewrites the operators of which inference needs only a part.

    Attributes:
        simplified: How many were replaced.
    """

    def __init__(self, mod: IRModule | None = None) -> None:
        super().__init__()
        self.simplified = 0
        self._effects = Effects(mod=mod)

    def visit_call(self, call: Call) -> Expr:
        """Replace an operator whose result is a tensor."""
        new = cast("Call", super().visit_call(call))
        return self._replaced(_TENSOR_RULES, call, new, new)

    def visit_tuple_getitem(self, op: TupleGetItem) -> Expr:
        """Replace an operator whose first field is taken."""
        new = cast("TupleGetItem", super().visit_tuple_getitem(op))
        if op.index != 0 or not isinstance(op.tuple_value, Call):
            return new
        inner = cast("Call", new.tuple_value)
        return self._replaced(_FIRST_FIELD_RULES, op.tuple_value, inner, new)

    def _replaced(
        self, rules: dict[str, Rule], old: Call, new: Call, otherwise: Expr
    ) -> Expr:
        rule = rules.get(old.op.name) if isinstance(old.op, Op) else None
        if rule is None:
            return otherwise
        # The type of the call as it was, for a rewritten argument has none yet.
        found = old.args[0].checked_type
        if not isinstance(found, TensorType):
            raise IRTypeError(f"expected a tensor to normalise, got {found}")
        result = with_span(rule(new, found), old.span, new.args)
        if not self._effects.survive(new, result):
            return otherwise
        self.simplified += 1
        return result


Rule = Callable[[Call, TensorType], Expr]


def _in_wide(rule: Rule, of_narrow: Rule | None = None) -> Rule:
    """Return a rule that computes narrow floats in the dtype that operators do.

    Args:
        rule: The rule for floats that are computed in their own dtype.
        of_narrow: The rule for others, if it is another.
    """

    def replaced(call: Call, of: TensorType) -> Expr:
        wide = computed_in(of.dtype)
        if wide == of.dtype:
            return rule(call, of)
        args = tuple(cast_to(arg, wide) for arg in call.args)
        in_wide = Call(call.op, args, call.attrs), TensorType(of.shape, wide)
        return cast_to((of_narrow or rule)(*in_wide), of.dtype)

    return replaced


def _batch_norm(call: Call, of: TensorType) -> Expr:
    data, gamma, beta, moving_mean, moving_var = call.args
    attrs: NormAttrs = call.attrs
    epsilon = _number(attrs.epsilon, of)
    scale: Expr = _number(1, of) / sqrt(moving_var + epsilon)
    if attrs.scale:
        scale = scale * gamma
    shift: Expr = -moving_mean * scale
    if attrs.center:
        shift = shift + beta
    return data * _along(attrs, of, scale) + _along(attrs, of, shift)


def _centred_batch_norm(call: Call, of: TensorType) -> Expr:
    """Subtract the mean first, as the operator does.

    A scale and a shift are there to be folded into the weights of what is before; of
    narrow floats they are not, and where data and mean cancel the shift has few digits.
    """
    data, gamma, beta, moving_mean, moving_var = call.args
    attrs: NormAttrs = call.attrs
    factor = _number(1, of) / sqrt(moving_var + _number(attrs.epsilon, of))
    centred = data - _along(attrs, of, moving_mean)
    return _affine(attrs, of, centred * _along(attrs, of, factor), gamma, beta)


def _layer_norm(call: Call, of: TensorType) -> Expr:
    axis = call.attrs.axis % len(of.shape)
    result = _normalised(call.args[0], (axis,), call, of)
    return _affine(call.attrs, of, result, *call.args[1:])


def _instance_norm(call: Call, of: TensorType) -> Expr:
    rank = len(of.shape)
    channels = call.attrs.axis % rank
    axes = tuple(axis for axis in range(1, rank) if axis != channels)
    result = _normalised(call.args[0], axes, call, of)
    return _affine(call.attrs, of, result, *call.args[1:])


def _group_norm(call: Call, of: TensorType) -> Expr:
    attrs: GroupNormAttrs = call.attrs
    rank = len(of.shape)
    channels = attrs.axis % rank
    before = (0,) * channels  # in a shape, 0 keeps a dimension and -2 all that follow
    grouped = reshape(call.args[0], (*before, -4, attrs.num_groups, -1, -2))
    axes = tuple(axis for axis in range(1, rank + 1) if axis != channels)
    result = _normalised(grouped, axes, call, of)
    result = reshape(result, (*before, -3, -2))
    return _affine(attrs, of, result, *call.args[1:])


def _normalised(data: Expr, axes: tuple[int, ...], call: Call, of: TensorType) -> Expr:
    around = mean(data, axes, keepdims=True)
    spread = variance(data, axes, keepdims=True, with_mean=around)
    return (data - around) / sqrt(spread + _number(call.attrs.epsilon, of))


def _affine(
    attrs: NormAttrs | GroupNormAttrs,
    of: TensorType,
    result: Expr,
    gamma: Expr,
    beta: Expr,
) -> Expr:
    if attrs.scale:
        result = result * _along(attrs, of, gamma)
    if attrs.center:
        result = result + _along(attrs, of, beta)
    return result


def _l2_normalize(call: Call, of: TensorType) -> Expr:
    (data,) = call.args
    attrs: L2NormalizeAttrs = call.attrs
    squares = sum_of(data * data, attrs.axis, keepdims=True)
    return data / sqrt(maximum(squares, _number(attrs.eps, of)))


def _first_argument(call: Call, _of: TensorType) -> Expr:
    return call.args[0]


def _number(value: float, like: TensorType) -> Constant:
    return const(value, like.dtype)


def _along(attrs: NormAttrs | GroupNormAttrs, of: TensorType, vector: Expr) -> Expr:
    """Return a vector in a shape in which it broadcasts along the axis of `attrs`."""
    rank = len(of.shape)
    behind = rank - attrs.axis % rank - 1
    return expand_dims(vector, axis=1, num_newaxis=behind) if behind else vector


_TENSOR_RULES: dict[str, Rule] = {
    "nn.group_norm": _in_wide(_group_norm),
    "nn.layer_norm": _in_wide(_layer_norm),
    "nn.instance_norm": _in_wide(_instance_norm),
    "nn.l2_normalize": _in_wide(_l2_normalize),
}
_FIRST_FIELD_RULES: dict[str, Rule] = {
    "nn.batch_norm": _in_wide(_batch_norm, _centred_batch_norm),
    "nn.dropout": _first_argument,
}
_SIMPLIFIED = frozenset({*_TENSOR_RULES, *_FIRST_FIELD_RULES})
