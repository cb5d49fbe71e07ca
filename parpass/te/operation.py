"""What computes tensors: given ones, and those of an expression for each element."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from parpass.diagnostic import Span
from parpass.errors import ArgumentError, IRTypeError
from parpass.tir.expr import SizeVar, Var
from parpass.tir.iteration import IterVar, Range, make_range
from parpass.tir.prim_expr import Operands, PrimExpr, as_prim_expr, as_prim_exprs
from parpass.tir.reduction import Reduce
from parpass.tir.tensor import Tensor

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
    """A tensor that is given.

    Attributes:
        name: Its name.
        shape: The length of each dimension.
        dtype: That of the elements.
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
    """Tensors of one shape, with an expression for the elements of each.

    Attributes:
        name: Their name.
        axis: The axes that go over the elements.
        body: The expressions; of one reduction where there are several.
        tag: What kind of operation it is, for readers.
        attrs: What else is said of it.
    """

    name: str
    axis: Sequence[IterVar]
    body: Sequence[PrimExpr]
    tag: str = ""
    attrs: Any = None

    @property
    def num_outputs(self) -> int:
        """How many tensors it computes."""
        return len(self.body)

    @property
    def reduce_axis(self) -> Sequence[IterVar]:
        """The axes of its reduction; none where it has none."""
        first = self.body[0]
        return first.axis if isinstance(first, Reduce) else ()

    def output(self, index: int) -> Tensor:
        """Return one of the tensors."""
        shape = tuple(axis.dom.extent for axis in self.axis)
        return Tensor(shape, self.body[index].dtype, self, index)


def placeholder(shape: Any, dtype: str | None = None, name: str = "placeholder") -> Any:
    """Return a tensor that is given, of float32 where nothing else is said."""
    return PlaceholderOp(name, as_prim_exprs(shape), dtype or "float32").output(0)


def reduce_axis(
    dom: Any, name: str = "rv", thread_tag: str = "", span: Span | None = None
) -> IterVar:
    """Return an axis to reduce over.

    Args:
        dom: The first value and that after the last one, as a pair, or a `Range`.
        name: The name of its variable.
        thread_tag: The axis of a grid of threads that it is.
        span: Where it was written.
    """
    found = dom if isinstance(dom, Range) else make_range(*dom)
    return IterVar(found, name, IterVar.CommReduce, thread_tag, span)


def thread_axis(
    dom: Any = None, tag: str = "", name: str = "", span: Span | None = None
) -> IterVar:
    """Return an axis of a grid of threads, for attributes such as `thread_extent`.

    Args:
        dom: The first value and that after the last one, as a pair, or a `Range`; None
            where it is not known; or the tag.
        tag: Which axis it is, such as `threadIdx.x`.
        name: The name of its variable; the tag, if there is none.
        span: Where it was written.

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
    """Return a tensor by what each of its elements is.

    Args:
        shape: The length of each dimension.
        fcompute: Takes an index for each dimension and gives the element; or a tuple,
            which a reduction of tuples gives: then there are as many tensors.
        name: The name of the operation.
        tag: What kind of operation it is, for readers.
        attrs: What else is to be said of it.

    Returns:
        The tensor, or a tuple of them.

    Raises:
        ArgumentError: `fcompute` takes another number of indices.
        IRTypeError: It gives something that is no expression, or a reduction in one.
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
    if len(body) > 1 and not all(isinstance(one, Reduce) for one in body):
        raise IRTypeError(
            f"expected one expression for '{name}', or the tuple of a reduction, got "
            f"a tuple of {len(body)}"
        )
    op = ComputeOp(name, tuple(axes), tuple(body), tag, attrs)
    outputs = [op.output(index) for index in range(op.num_outputs)]
    return tuple(outputs) if len(outputs) > 1 else outputs[0]


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
