"""Ranges, and the axes that iterate over them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, cast

from msgspec import structs
from msgspec.structs import force_setattr

from parpass.diagnostic import Span
from parpass.errors import IRTypeError
from parpass.ir.dialect import dialect_of
from parpass.ir.node import FieldKind, Node, reflected
from parpass.tir.expr.prim_expr import ExprOp, Operand, as_prim_expr
from parpass.tir.expr.scalar import Var, convert_fields


class _RangeType(type(Node)):
    """Makes ranges by the numbers that Python's `range` takes, as TVM's class does."""

    def __call__(cls, *args: Any, **fields: Any) -> Any:
        if "min" in fields:
            return super().__call__(*args, **fields)
        return make_range(*args, **fields)


def _rebuilt(old: Range, below: Sequence[Any]) -> Range:
    return structs.replace(old, min=below[0], extent=below[1])


@reflected(
    is_graph=False, rebuild=_rebuilt, min=FieldKind.CHILD, extent=FieldKind.CHILD
)
class Range(Node, frozen=True, eq=False, metaclass=_RangeType):
    """The ints from `min` on, `extent` of them.

    As in TVM, `Range(begin, end)` takes the arguments of Python's `range`;
    `Range.from_min_extent` takes the number of ints instead of the end.
    """

    namespace: ClassVar[str] = "tir"

    min: Operand
    extent: Operand
    span: Span | None = None

    def __post_init__(self) -> None:
        convert_fields(self, "min", "extent")

    def __reduce__(self) -> tuple[Any, ...]:
        return Range.from_min_extent, (self.min, self.extent, self.span)

    @staticmethod
    def from_min_extent(min_value: Any, extent: Any, span: Span | None = None) -> Range:
        """Return a range from its first number and its length."""
        return Range(min=min_value, extent=extent, span=span)


def make_range(begin: Any, end: Any = None, span: Span | None = None) -> Range:
    """Return the range from `begin` to before `end`, or from 0 to before `begin`."""
    if isinstance(begin, Range):
        return begin
    if end is None:
        stop = as_prim_expr(begin)
        zero = dialect_of(stop).operator("const", 0, stop.dtype)
        return Range.from_min_extent(zero, stop, span)
    start, stop = as_prim_expr(begin), as_prim_expr(end)
    return Range.from_min_extent(start, stop - start, span)


@reflected(is_graph=False, dom=FieldKind.OPTIONAL, var=FieldKind.BINDING)
class IterVar(ExprOp, Node, frozen=True, eq=False):
    """An axis of iteration: a variable and the range of its values.

    Attributes:
        dom: The range; None while it is unknown.
        var: The variable, which stands for the axis in expressions.
        iter_type: The kind of iteration: `DataPar`, `CommReduce` and so on.
        thread_tag: The axis of a grid of threads that it maps to.
    """

    namespace: ClassVar[str] = "tir"

    DataPar: ClassVar[int] = 0
    ThreadIndex: ClassVar[int] = 1
    CommReduce: ClassVar[int] = 2
    Ordered: ClassVar[int] = 3
    DimInfo: ClassVar[int] = 4
    Unrolled: ClassVar[int] = 5
    Vectorized: ClassVar[int] = 6
    Parallelized: ClassVar[int] = 7
    Tensorized: ClassVar[int] = 8

    dom: Any  # a Range, or None; a pair of numbers makes one
    var: Any  # a Var; its name makes one
    iter_type: int
    thread_tag: str = ""
    span: Span | None = None

    def __post_init__(self) -> None:
        dom, var = self.dom, self.var
        if isinstance(dom, tuple | list):
            force_setattr(self, "dom", make_range(*cast("list[Any]", dom)))
        elif not isinstance(dom, Range | None):
            raise IRTypeError(
                f"expected a Range or a pair for an axis, got {type(dom).__name__}"
            )
        if not isinstance(var, Var):
            dtype = self.dom.extent.dtype if self.dom is not None else "int32"
            name = "iter" if var is None else str(var)
            force_setattr(self, "var", Var(name, dtype, self.span))

    @property
    def dtype(self) -> str:
        """The dtype of the variable."""
        return self.var.dtype

    def asobject(self) -> Var:
        """Return the variable, which stands for the axis in an expression."""
        return self.var

    __hash__ = ExprOp.__hash__
