"""Functions that make reductions of values over axes, under TVM's names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from parpass.tir.expr import CommReducer, IterVar, Reduce, Var, as_prim_exprs
from parpass.tir.op.numeric import add, maximum, minimum
from parpass.tir.op.operands import const, max_value, min_value

__all__ = ["comm_reducer", "max", "min", "sum"]

Combine = Callable[[Any, Any], Any]
Identity = Callable[[Any], Any] | Callable[[Any, Any], Any]  # of as many dtypes


def comm_reducer(fcombine: Combine, fidentity: Identity, name: str = "reduce") -> Any:
    """Return a function that builds a reduction over axes, as TVM's does.

    Args:
        fcombine: Combines two values, or two tuples of values, to one.
        fidentity: Returns the identity element for a dtype, or a tuple for several.
        name: The function's name.

    Returns:
        `reducer(expr, axis, where=None, init=None)`.
    """

    def reducer(
        expr: Any, axis: Any, where: Any = None, init: Any = None, *others: Any
    ) -> Any:
        """Return the reduction of a value over axes; with values only, that of these.

        Args:
            expr: The value; a tuple where tuples are combined.
            axis: The reduction axis, or several; or the second value.
            where: The condition under which an element counts; or the third value.
            init: The value to begin with, in the place of the identity element; or
                the fourth value.
            *others: More values.
        """
        is_several = isinstance(axis, list | tuple)
        axes: list[Any] = list(cast("Any", axis)) if is_several else [axis]
        if all(isinstance(one, IterVar) for one in axes):
            return _reduced(fcombine, fidentity, expr, axes, where, init)
        result = fcombine(expr, axis)
        for other in (one for one in (where, init, *others) if one is not None):
            result = fcombine(result, other)
        return result

    reducer.__name__ = reducer.__qualname__ = name
    return reducer


def _reduced(
    fcombine: Combine,
    fidentity: Identity,
    expr: Any,
    axes: Any,
    where: Any,
    init: Any,
) -> Any:
    is_tuple = isinstance(expr, list | tuple)
    source = as_prim_exprs(expr if is_tuple else (expr,))
    dtypes = [one.dtype for one in source]
    lhs = [Var(f"x{at}" if is_tuple else "x", each) for at, each in enumerate(dtypes)]
    rhs = [Var(f"y{at}" if is_tuple else "y", each) for at, each in enumerate(dtypes)]
    if is_tuple:
        result, identity = fcombine(lhs, rhs), cast("Any", fidentity)(*dtypes)
    else:
        result, identity = (
            (fcombine(lhs[0], rhs[0]),),
            (cast("Any", fidentity)(dtypes[0]),),
        )
    combiner = CommReducer(lhs, rhs, result, identity)
    inits = () if init is None else tuple(init) if is_tuple else (init,)
    made = [
        Reduce(combiner, source, axes, where, at, inits) for at in range(len(source))
    ]
    return tuple(made) if is_tuple else made[0]


sum = comm_reducer(add, lambda dtype: const(0, dtype), "sum")  # noqa: A001 -- TVM's
max = comm_reducer(maximum, min_value, "max")  # noqa: A001 -- TVM's
min = comm_reducer(minimum, max_value, "min")  # noqa: A001 -- TVM's
