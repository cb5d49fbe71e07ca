"""Iterators, and what is made of them by splitting and fusing, under TVM's names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from msgspec.structs import force_setattr

from parpass.errors import IRTypeError
from parpass.ir.node import Node, Role, post_order, reflected
from parpass.tir.analysis.deep_equal import expr_deep_equal
from parpass.tir.expr import convert_fields, set_dtype
from parpass.tir.op import const
from parpass.tir.prim_expr import Operand, Operands, PrimExpr


@reflected(is_graph=True, source=Role.CHILD, extent=Role.CHILD)
class IterMark(Node, frozen=True, eq=False):
    """An expression that iterates: it takes each value from 0 to before `extent`."""

    namespace = "tir"

    source: Operand
    extent: Operand

    def __post_init__(self) -> None:
        convert_fields(self, "source", "extent")


class IterMapExpr(PrimExpr, frozen=True, eq=False):
    """The base of expressions that are made of iterators.

    Passes over programs know none of them: `normalize_iter_map_to_expr` gives an
    ordinary expression.
    """

    namespace = "tir"


@reflected(
    is_graph=False,
    source=Role.CHILD,
    lower_factor=Role.CHILD,
    extent=Role.CHILD,
    scale=Role.CHILD,
    dtype=Role.DERIVED,
)
class IterSplitExpr(IterMapExpr, frozen=True, eq=False):
    """`floormod(floordiv(source, lower_factor), extent) * scale`."""

    source: Any  # an IterMark
    lower_factor: Operand
    extent: Operand
    scale: Operand
    dtype: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.source, IterMark):
            raise IRTypeError(
                "expected an IterMark as the source of an IterSplitExpr, got "
                f"{type(self.source).__name__}"
            )
        convert_fields(self, "lower_factor", "extent", "scale")
        set_dtype(self, self.source.source.dtype)

    @staticmethod
    def whole(mark: IterMark, scale: Any = None) -> IterSplitExpr:
        """Return all of an iterator, times a scale."""
        one = const(1, mark.source.dtype)
        return IterSplitExpr(mark, one, mark.extent, one if scale is None else scale)

    def changed(
        self, *, lower_factor: Any = None, extent: Any = None, scale: Any = None
    ) -> IterSplitExpr:
        """Return this split with some of its fields changed."""
        return IterSplitExpr(
            self.source,
            self.lower_factor if lower_factor is None else lower_factor,
            self.extent if extent is None else extent,
            self.scale if scale is None else scale,
        )

    def is_like(self, other: IterSplitExpr) -> bool:
        """Return whether two splits are the same one, but for their scales."""
        return (
            self.source is other.source
            and expr_deep_equal(self.lower_factor, other.lower_factor)
            and expr_deep_equal(self.extent, other.extent)
        )


@reflected(is_graph=False, args=Role.CHILDREN, base=Role.CHILD, dtype=Role.DERIVED)
class IterSumExpr(IterMapExpr, frozen=True, eq=False):
    """The sum of splits, the outermost first, and of a base."""

    args: Operands
    base: Operand
    dtype: str = ""

    def __post_init__(self) -> None:
        force_setattr(self, "args", tuple(self.args))
        for arg in self.args:
            if not isinstance(arg, IterSplitExpr):
                raise IRTypeError(
                    "expected IterSplitExprs as the arguments of an IterSumExpr, got "
                    f"{type(arg).__name__}"
                )
        convert_fields(self, "base")
        set_dtype(self, self.base.dtype)


class Marks(NamedTuple):
    """The marks of an iter map, and the splits of each, in the order of their uses."""

    splits: dict[IterMark, list[IterSplitExpr]]

    @staticmethod
    def of(sums: Iterable[PrimExpr]) -> Marks:
        """Return the marks of sums, those that others are made of first."""
        found: dict[IterMark, list[IterSplitExpr]] = {}
        for one in sums:
            for node in post_order(one):
                if isinstance(node, IterMark) and node not in found:
                    found[node] = []
                    _add_uses(node.source, found)
            _add_uses(one, found)
        return Marks(found)


def _add_uses(sum_: PrimExpr, found: dict[IterMark, list[IterSplitExpr]]) -> None:
    for split in sum_.args if isinstance(sum_, IterSumExpr) else ():
        found[split.source].append(split)
