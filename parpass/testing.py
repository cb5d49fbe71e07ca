"""`tvm.testing`, as far as programs that compare values need it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from parpass.errors.missing_names import refusing


def assert_allclose(
    actual: npt.ArrayLike,
    desired: npt.ArrayLike,
    rtol: float = 1e-7,
    atol: float = 1e-7,
) -> None:
    """Check that two arrays have one shape, and agree up to `atol + rtol * desired`.

    Raises:
        AssertionError: They do not; it shows where.
    """
    found, wanted = np.asanyarray(actual), np.asanyarray(desired)
    if found.shape != wanted.shape:
        raise AssertionError(f"expected shape {wanted.shape}, got {found.shape}")
    np.testing.assert_allclose(found, wanted, rtol=rtol, atol=atol)


def assert_prim_expr_equal(lhs: Any, rhs: Any) -> None:
    """Check that two expressions of ints are found to be equal, whatever variables are.

    Raises:
        ValueError: They are not.
    """
    # It takes longer to load than all that compares arrays.
    from parpass.tir.analysis import expr_deep_equal
    from parpass.tir.arith import Analyzer

    if not expr_deep_equal(lhs, rhs) and not Analyzer().can_prove_equal(lhs, rhs):
        raise ValueError(f"expected equal expressions, got {lhs} and {rhs}")


def check_bool_expr_is_true(
    bool_expr: Any, vranges: Mapping[Any, Any], cond: Any = None
) -> None:
    """Check that a condition holds for all values of its variables.

    Args:
        bool_expr: The condition.
        vranges: What each of its variables is within, a `Range` of constants.
        cond: Another condition; where it does not hold nothing is checked.

    Raises:
        AssertionError: It does not hold; the message has values for which it does not.
    """
    from parpass.tir.interpreter.value_grid import value_grid  # as above
    from parpass.tir.op import logical_not, logical_or

    claim = bool_expr if cond is None else logical_or(logical_not(cond), bool_expr)
    holds = np.asarray(value_grid(claim, vranges))
    if not holds.all():
        at = np.argwhere(~holds)[0]
        values = {
            var.name: int(within.min) + int(offset)
            for (var, within), offset in zip(vranges.items(), at, strict=True)
        }
        raise AssertionError(f"expected {bool_expr} to hold, got a case: {values}")


def check_int_constraints_trans_consistency(
    constraints_trans: Any, vranges: Mapping[Any, Any] | None = None
) -> None:
    """Check that each solution of one of two systems is one of the other.

    Args:
        constraints_trans: An `arith.IntConstraintsTransform`.
        vranges: What variables are within that neither system has a range of.

    Raises:
        AssertionError: There is a solution that is not, or comes back as another one.
    """
    trans, others = constraints_trans, vranges or {}
    _check_one_way(trans.src, trans.dst, trans.src_to_dst, trans.dst_to_src, others)
    _check_one_way(trans.dst, trans.src, trans.dst_to_src, trans.src_to_dst, others)


def _check_one_way(one: Any, other: Any, there: Any, back: Any, vranges: Any) -> None:
    """Check that solutions of one system solve the other, and come back."""
    from parpass.tir.op import all as conjunction
    from parpass.tir.op import const
    from parpass.tir.stmt_functor import substitute

    true = const(1, "bool")
    claims = [
        var.equal(substitute(there[var], back)) for var in one.variables if var in there
    ]
    conditions = [*other.relations]
    for var in other.variables:
        if var in other.ranges:
            within = other.ranges[var]
            conditions += (var >= within.min, var < within.min + within.extent)
    claims += [substitute(condition, back) for condition in conditions]
    given = conjunction(true, *one.relations)
    check_bool_expr_is_true(
        conjunction(true, *claims), {**vranges, **one.ranges}, given
    )


if not TYPE_CHECKING:
    __getattr__ = refusing(__name__)
