"""Sums and products: neutral elements, tensors of one value, constants in a row.

Sums and products of integers wrap, so they are the same in any order; those of floats
are not. What is not exact to the bit is in `ROUNDING_RULES`, apart from
`ARITHMETIC_RULES`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np

from parpass.errors import EvaluationError
from parpass.ir.op.op_table import Op
from parpass.ir.types import TensorType, Type
from parpass.relay import op
from parpass.relay.analysis.matchers import call_of
from parpass.relay.expr import Call, Constant, Expr, const
from parpass.relay.transform.simplify.peephole import Peephole, Rule
from parpass.runtime.dtypes import computed_in, float_range

_NEUTRAL = {"add": 0, "subtract": 0, "multiply": 1, "divide": 1}
_COMMUTATIVE = {"add", "multiply"}


def _identity(peephole: Peephole, call: Call, *, signed: bool = True) -> Expr | None:
    """Leave out `+ 0`, `- 0`, `* 1` and `/ 1`.

    Where the sign of a zero counts, it is `+ -0.0` that changes no float: `-0.0 + 0.0`
    is `0.0`.
    """
    name = _name(call)
    left, right = call.args
    sides = [(left, right), (right, left)] if name in _COMMUTATIVE else [(left, right)]
    for kept, neutral in sides:
        value = _fill_value(neutral)
        if value is not None and value == _NEUTRAL[name]:
            if signed and not value and not _is_int(peephole, call):
                is_negative = math.copysign(1, value) < 0
                if is_negative != (name == "add"):
                    continue
            same = peephole.type_of(kept) == peephole.type_of(call)
            if same and peephole.type_of(call) is not None:
                return kept
    return None


def _full_elementwise(peephole: Peephole, call: Call) -> Expr | None:
    """Use a scalar instead of a tensor of one value."""
    for at, full in enumerate(call.args):
        value, found = _fill_value(full), peephole.tensor(full)
        if value is None or found is None or isinstance(full, Constant):
            continue
        if peephole.type_of(call.args[1 - at]) != peephole.type_of(call):
            continue  # the shape is the full tensor's
        args = list(call.args)
        args[at] = const(value, found.dtype)
        return peephole.instead_of(call, Call(call.op, tuple(args)))
    return None


def _doubled(peephole: Peephole, call: Call) -> Expr | None:
    """Return `x * 2` for `x + x`."""
    left, right = call.args
    found = peephole.tensor(left)
    if left is not right or found is None or isinstance(left, Constant):
        return None
    return peephole.instead_of(call, op.multiply(left, const(2, found.dtype)))


def _unsigned_identity(peephole: Peephole, call: Call) -> Expr | None:
    """Leave out `+ 0` also where it makes `-0.0` to `0.0`."""
    return _identity(peephole, call, signed=False)


def _reciprocal_root(peephole: Peephole, call: Call) -> Expr | None:
    """Return `rsqrt(x)` for `1 / sqrt(x)`, which is what it means."""
    constant, root = call.args[0], call_of(call.args[1], "sqrt")
    if root is None or _fill_value(constant) != 1 or _shape(constant) != ():
        return None
    return peephole.instead_of(call, op.rsqrt(root.args[0]))


def _quotient_by_root(peephole: Peephole, call: Call) -> Expr | None:
    """Return `c * rsqrt(x)` for `c / sqrt(x)`."""
    constant, root = call.args[0], call_of(call.args[1], "sqrt")
    if root is None or not isinstance(constant, Constant):
        return None
    inverse = peephole.made(op.rsqrt(root.args[0]))
    return peephole.instead_of(call, op.multiply(constant, inverse))


def _adjacent_constants(peephole: Peephole, call: Call) -> Expr | None:
    """Return `x + (c + d)` for `x + c + d`, and so for products."""
    data, outer = _with_constant(call)
    inner = call_of(data, _name(call))
    if outer is None or inner is None:
        return None
    rest, constant = _with_constant(inner)
    if constant is None:
        return None
    joined = _evaluated(peephole, call.op, constant, outer)
    if joined is None:
        return None
    return peephole.instead_of(call, Call(call.op, (rest, joined)))


def _product_of_sum(peephole: Peephole, call: Call) -> Expr | None:
    """Return `x * d + c * d` for `(x + c) * d`, if that is the only use of the sum."""
    data, factor = _with_constant(call)
    total = call_of(data, "add")
    if factor is None or total is None or peephole.is_shared(total):
        return None
    rest, constant = _with_constant(total)
    if constant is None:
        return None
    shift = _evaluated(peephole, call.op, constant, factor)
    if shift is None:
        return None
    product = peephole.made(op.multiply(rest, factor))
    return peephole.instead_of(call, op.add(product, shift))


def _with_constant(call: Call) -> tuple[Expr, Constant | None]:
    """Return the arguments of a commutative call, the constant last, if one is."""
    left, right = call.args
    if isinstance(right, Constant) and not isinstance(left, Constant):
        return left, right
    if isinstance(left, Constant) and not isinstance(right, Constant):
        return right, left
    return call, None


def _evaluated(
    peephole: Peephole, operator: Expr, left: Constant, right: Constant
) -> Constant | None:
    """Return a sum or product of constants, None where more than digits would be lost.

    A product that is too small, or a result that is too large, for its dtype would take
    the place of one that is not: `1e-30 * (1e-30 * x)` is a number for a large `x`.
    """
    try:
        value = peephole.evaluator.evaluate(
            cast("Op", operator), None, (left, right), left.span
        )
    except EvaluationError:
        return None
    if not isinstance(value, Constant):
        return None
    if "int" in value.data.dtype:
        return value
    sizes, one, other = (
        np.abs(side.data.numpy().astype("float64")) for side in (value, left, right)
    )
    least, greatest = float_range(value.data.dtype)
    fits = sizes <= greatest
    if _is(operator, "multiply"):
        fits &= (sizes >= least) | (one == 0) | (other == 0)
    return value if fits.all() else None


def _of_ints(rule: Rule) -> Rule:
    """Return a rule that is applied to integers only."""
    return lambda peephole, call: (
        rule(peephole, call) if _is_int(peephole, call) else None
    )


def _unless_narrow(rule: Rule) -> Rule:
    """Return a rule that is not applied to floats narrower than float32.

    Each operator on these is computed in float32 and rounded, so fewer operators round
    less often; and a product or sum in another order leaves their range early.
    """

    def applied(peephole: Peephole, call: Call) -> Expr | None:
        found = peephole.type_of(call)
        dtype = found.dtype if isinstance(found, TensorType) else ""
        is_narrow = "float" in dtype and computed_in(dtype) != dtype
        return None if is_narrow else rule(peephole, call)

    return applied


def _is_int(peephole: Peephole, call: Call) -> bool:
    found = peephole.type_of(call)
    return isinstance(found, TensorType) and "int" in found.dtype


def _shape(expr: Expr) -> tuple[int, ...] | None:
    return expr.data.shape if isinstance(expr, Constant) else None


def _is(operator: Expr, name: str) -> bool:
    return isinstance(operator, Op) and operator.name == name


def _fill_value(expr: Expr) -> float | int | bool | None:
    """Return the one value of all elements, if it is known without a look at all."""
    if isinstance(expr, Constant):
        data = expr.data
        if not data.is_uniform and data.numpy().size != 1:
            return None
        return data.numpy().flat[0].item() if data.numpy().size else None
    if call_of(expr, "zeros", "zeros_like") is not None:
        return 0
    if call_of(expr, "ones", "ones_like") is not None:
        return 1
    full = call_of(expr, "full", "full_like")
    value = None if full is None else full.args[-1]
    if full is None or not isinstance(value, Constant) or value.data.shape != ():
        return None
    # They may convert the value; what that gives, constant folding knows.
    if full.attrs is not None:
        dtype = full.attrs.dtype or value.data.dtype
    else:
        like: Type | None = getattr(full.args[0], "checked_type_", None)
        dtype = like.dtype if isinstance(like, TensorType) else None
    return _fill_value(value) if dtype == value.data.dtype else None


def _name(call: Call) -> str:
    assert isinstance(call.op, Op)
    return call.op.name


ARITHMETIC_RULES: Mapping[str, Sequence[Rule]] = {
    "add": [_doubled, _identity, _full_elementwise, _of_ints(_adjacent_constants)],
    "subtract": [_identity, _full_elementwise],
    "multiply": [
        _identity,
        _full_elementwise,
        _of_ints(_product_of_sum),
        _of_ints(_adjacent_constants),
    ],
    "divide": [_unless_narrow(_reciprocal_root), _identity, _full_elementwise],
}
"""What changes no value."""

ROUNDING_RULES: Mapping[str, Sequence[Rule]] = {
    "add": [
        _doubled,
        _unsigned_identity,
        _full_elementwise,
        _unless_narrow(_adjacent_constants),
    ],
    "subtract": [_unsigned_identity, _full_elementwise],
    "multiply": [
        _identity,
        _full_elementwise,
        _unless_narrow(_product_of_sum),
        _unless_narrow(_adjacent_constants),
    ],
    "divide": [
        _unless_narrow(_reciprocal_root),
        _unless_narrow(_quotient_by_root),
        _identity,
        _full_elementwise,
    ],
}
"""Also what changes the last digits of floats, or the sign of a zero."""
