"""Operations that compute tensors: placeholders, and an expression for each element."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from parpass.diagnostic import Span
from parpass.errors import ArgumentError, IRTypeError
from parpass.tir.analysis.expr_analysis import expr_deep_equal
from parpass.tir.expr import (
    IterVar,
    Operands,
    PrimExpr,
    Range,
    Reduce,
    SizeVar,
    Tensor,
    Var,
    as_prim_expr,
    as_prim_exprs,
)
from parpass.tir.expr.iteration import make_range

# Of one index, of two, and so on: then type checkers know what a lambda takes.
Element = (
    Callable[[Any], Any]
    | Callable[[Any, Any], Any]
    | Callable[[Any, Any, Any], Any]
    | Callable[[Any, Any, Any, Any], Any]
    | Callable[[Any, Any, Any, Any, Any], Any]
    | Callable[[Any, Any, Any, Any, Any, Any], Any]
)


def var(name: str = "tindex", dtype: str = "int32", span: Span | None = None) -> Var:
    """Return a variable."""
    return Var(name, dtype, span)


def size_var(name: str = "size", dtype: str = "int32", span: Span | None = None) -> Var:
    """Return a variable that is not negative, such as a length."""
    return SizeVar(name, dtype, span)


@dataclass(frozen=True, eq=False)
class PlaceholderOp:
    """An input tensor.

    Attributes:
        name: Its name.
        shape: The length of each dimension.
        dtype: The dtype of the elements.
    """

    name: str
    shape: Operands
    dtype: str
    num_outputs: int = 1

    def output(self, index: int) -> Tensor:
        """Return the tensor."""
        return Tensor(self.shape, self.dtype, self, index)


@dataclass(frozen=True, eq=False)
class ComputeOp:
    """Tensors of one shape, each with an expression for its elements.

    Attributes:
        name: Their name.
        axis: The axes over the elements.
        body: The expressions; either all or none of them are reductions.
        tag: The kind of operation, for readers.
        attrs: Further attributes.
    """

    name: str
    axis: Sequence[IterVar]
    body: Sequence[PrimExpr]
    tag: str = ""
    attrs: Any = None

    @property
    def num_outputs(self) -> int:
        """The number of tensors that it computes."""
        return len(self.body)

    @property
    def reduce_axis(self) -> Sequence[IterVar]:
        """The axes of its reduction; empty if it has none."""
        first = self.body[0]
        return first.axis if isinstance(first, Reduce) else ()

    def output(self, index: int) -> Tensor:
        """Return one of the tensors."""
        shape = tuple(axis.dom.extent for axis in self.axis)
        return Tensor(shape, self.body[index].dtype, self, index)


def placeholder(shape: Any, dtype: str | None = None, name: str = "placeholder") -> Any:
    """Return an input tensor, by default of float32."""
    return PlaceholderOp(name, as_prim_exprs(shape), dtype or "float32").output(0)


def reduce_axis(
    dom: Any, name: str = "rv", thread_tag: str = "", span: Span | None = None
) -> IterVar:
    """Return an axis to reduce over.

    Args:
        dom: The first value and the end, as a pair, or a `Range`.
        name: The name of its variable.
        thread_tag: The axis of a grid of threads that it maps to.
        span: The place in the source.
    """
    found = dom if isinstance(dom, Range) else make_range(*dom)
    return IterVar(found, name, IterVar.CommReduce, thread_tag, span)


def thread_axis(
    dom: Any = None, tag: str = "", name: str = "", span: Span | None = None
) -> IterVar:
    """Return an axis of a grid of threads, for attributes such as `thread_extent`.

    Args:
        dom: The first value and the end, as a pair, or a `Range`; None if unknown; or
            the tag.
        tag: The axis, such as `threadIdx.x`.
        name: The name of its variable; by default the tag.
        span: The place in the source.

    Raises:
        ArgumentError: There is no tag.
    """
    if isinstance(dom, str):
        tag, dom = dom, None
    if not tag:
        raise ArgumentError(
            "tag must be given as positional or keyword argument: expected an axis "
            "such as 'threadIdx.x', got none"
        )
    return IterVar(dom, name or tag, IterVar.ThreadIndex, tag, span)


def compute(
    shape: Any,
    fcompute: Element,
    name: str = "compute",
    tag: str = "",
    attrs: Any = None,
) -> Any:
    """Return a tensor, defined by an expression for its elements.

    Args:
        shape: The length of each dimension.
        fcompute: Takes an index for each dimension and returns the element, or a tuple
            of elements, as a reduction of tuples does; then there are as many tensors.
        name: The name of the operation.
        tag: The kind of operation, for readers.
        attrs: Further attributes.

    Returns:
        The tensor, or a tuple of tensors.

    Raises:
        ArgumentError: `fcompute` takes another number of indices.
        IRTypeError: It returns something that is not an expression, or reductions other
            than all results of one.
    """
    dims = as_prim_exprs(shape)
    axes = [
        IterVar(make_range(dim), named, IterVar.DataPar)
        for dim, named in zip(dims, _names(fcompute, len(dims), name), strict=True)
    ]
    given = cast("Callable[..., Any]", fcompute)(*[axis.var for axis in axes])
    is_tuple = isinstance(given, list | tuple)
    all_given = cast("Sequence[Any]", given if is_tuple else (given,))
    body = [as_prim_expr(one) for one in all_given]
    _check_one_reduction(name, body)
    op = ComputeOp(name, tuple(axes), tuple(body), tag, attrs)
    outputs = [op.output(index) for index in range(op.num_outputs)]
    return tuple(outputs) if len(outputs) > 1 else outputs[0]


def _check_one_reduction(name: str, body: Sequence[PrimExpr]) -> None:
    """Refuse reductions among elements, unless these are the results of one."""
    found = [one for one in body if isinstance(one, Reduce)]
    if not found:
        return
    of_one = [one for one in found if _is_of(one, found[0])]
    results = [one.value_index for one in of_one]
    if len(of_one) < len(body) or results != [*range(len(found[0].source))]:
        raise IRTypeError(
            f"expected all results of one reduction for '{name}', in order, or "
            f"expressions without one, got the results {results} of "
            f"{len(found[0].source)} among {len(body)} elements"
        )


def _is_of(one: Reduce, other: Reduce) -> bool:
    """Return whether two reductions are results of one."""
    return (
        one.combiner is other.combiner
        and one.axis == other.axis
        and one.source == other.source
        and expr_deep_equal(one.condition, other.condition)
    )


def _names(fcompute: Element, wanted: int, name: str) -> list[str]:
    """Return the names of a function's parameters, of which there must be so many."""
    params = list(inspect.signature(fcompute).parameters.values())
    kinds = {inspect.Parameter.VAR_POSITIONAL}
    names = [param.name for param in params if param.kind not in kinds]
    if len(names) < len(params):  # *indices takes what is left
        names += [f"i{at}" for at in range(len(names), wanted)]
    if len(names) != wanted:
        raise ArgumentError(
            f"expected a function of {wanted} indices for the {wanted} dimensions of "
            f"'{name}', got one of {len(names)}"
        )
    return names
