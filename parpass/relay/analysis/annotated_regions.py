"""Regions of a program between `compiler_begin` and `compiler_end`, by compiler."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, cast

from parpass.diagnostic import Span
from parpass.errors import ArgumentError, IRError
from parpass.ir.node import children, post_order
from parpass.ir.op_table import Op
from parpass.relay.analysis.matchers import call_of
from parpass.relay.expr import Call, Expr, Function, Tuple, TupleGetItem

BEGIN = "annotation.compiler_begin"
END = "annotation.compiler_end"
DEFAULT = "default"
"""The compiler of what no other one takes."""


def is_call_of(expr: Expr, name: str) -> bool:
    """Return whether an expression is a call of the named operator."""
    return call_of(expr, name) is not None


def compiler_of(mark: Expr) -> str:
    """Return the compiler that an annotation names."""
    return str(cast("Call", mark).attrs.compiler)


class RegionError(IRError):
    """Annotations do not partition a program into regions."""

    def __init__(self, message: str, span: Span | None = None) -> None:
        super().__init__(message)
        self.span = span


class Region:
    """A part of a program that is assigned to one compiler.

    Attributes:
        number: Counts the regions; a merged one keeps the number of its first part.
        compiler: The compiler's name.
        inputs: The annotations by which values enter.
        outputs: The annotations by which values leave.
    """

    def __init__(self, number: int, begin: Call) -> None:
        self.number = number
        self.compiler = compiler_of(begin)
        self.inputs = [begin]
        self.outputs: list[Call] = []
        self._merged_into: Region | None = None

    def root(self) -> Region:
        """Return the region that this one was merged into, itself if it was not."""
        root = self
        while root._merged_into is not None:
            root = root._merged_into
        at = self
        while at is not root and at._merged_into is not None:
            at._merged_into, at = root, at._merged_into
        return root

    def merge(self, other: Region) -> None:
        """Merge another region into this one. Values between the two stay inside."""
        other._merged_into = self
        mine, theirs = self.inputs, other.inputs
        if len(theirs) > len(mine):  # moves the shorter list
            mine, theirs = theirs, mine
        mine += theirs
        self.inputs = mine
        mine, theirs = self.outputs, other.outputs
        if len(theirs) > len(mine):
            mine, theirs = theirs, mine
        mine += theirs
        self.outputs = mine


class Regions:
    """The regions of a function, found from its annotations.

    Annotations enclose data flow; a region that does not end in it, but in a `let` or
    an `if`, has no outputs. Each use of a value has its own annotations, and there is a
    region for each `compiler_begin` first; those that meet in a node are merged.

    Raises:
        RegionError: A node is in regions of different compilers, or a `compiler_end`
            names another compiler than its region.
    """

    def __init__(self, root: Expr) -> None:
        self._of: dict[Expr, Region] = {}
        self._count = 0
        for node in post_order(root):
            self._add(cast("Expr", node))

    def of(self, node: Expr) -> Region | None:
        """Return the region in which a node is."""
        found = self._of.get(node)
        return None if found is None else found.root()

    def __iter__(self) -> Iterator[Region]:
        """Yield the regions in the order in which they were found."""
        return iter(dict.fromkeys(region.root() for region in self._of.values()))

    def _add(self, node: Expr) -> None:
        if is_call_of(node, BEGIN):
            self._of[node] = Region(self._count, cast("Call", node))
            self._count += 1
        elif is_call_of(node, END):
            self._close(cast("Call", node))
        elif isinstance(node, Call | Tuple | TupleGetItem):
            self._join(node)

    def _close(self, end: Call) -> None:
        region = self.of(end.args[0])
        if region is None or is_call_of(end.args[0], END):
            return  # of a constant, or of what has no arguments
        if region.compiler != compiler_of(end):
            raise RegionError(
                f"expected compiler_end of '{region.compiler}', whose region it ends, "
                f"got '{compiler_of(end)}'",
                end.span,
            )
        region.outputs.append(end)
        self._of[end] = region

    def _join(self, node: Expr) -> None:
        for child in children(node):
            if is_call_of(child, END) or isinstance(child, Function):
                continue
            region, mine = self.of(child), self.of(node)
            if region is None or region is mine:
                continue
            if mine is None:
                self._of[node] = region
            elif mine.compiler == region.compiler:
                mine.merge(region)
            else:
                raise RegionError(
                    f"expected arguments in one region, got some of '{mine.compiler}' "
                    f"and some of '{region.compiler}'; each compiler_begin needs a "
                    "compiler_end before another compiler's region begins",
                    getattr(node, "span", None),
                )


class AnnotatedRegion(NamedTuple):
    """A region, under TVM's names.

    Attributes:
        target: The compiler's name.
        args: The annotations by which values enter.
        nodes: All nodes in it, including the annotations at both ends.
        rets: The annotations by which values leave.
    """

    target: str
    args: tuple[Call, ...]
    nodes: tuple[Expr, ...]
    rets: tuple[Call, ...]


class AnnotatedRegionSet:
    """The regions of an expression, under TVM's names.

    Args:
        expr: The expression.
        region_begin_op: `annotation.compiler_begin`.
        region_end_op: `annotation.compiler_end`.

    Raises:
        ArgumentError: The operators are others.
        RegionError: The annotations do not partition the expression into regions.
    """

    def __init__(self, expr: Expr, region_begin_op: Op, region_end_op: Op) -> None:
        given = (region_begin_op.name, region_end_op.name)
        if given != (BEGIN, END):
            raise ArgumentError(
                f"expected operators '{BEGIN}' and '{END}', got {given}"
            )
        found = Regions(expr)
        nodes: dict[Region, list[Expr]] = {region: [] for region in found}
        for node in cast("list[Expr]", post_order(expr)):
            region = found.of(node)
            if region is not None:
                nodes[region].append(node)
        self.regions = [
            AnnotatedRegion(
                region.compiler, tuple(region.inputs), tuple(inside),
                tuple(region.outputs),
            )
            for region, inside in nodes.items()
        ]  # fmt: skip
        self._of = {node: region for region in self.regions for node in region.nodes}

    def __len__(self) -> int:
        return len(self.regions)

    def __iter__(self) -> Iterator[AnnotatedRegion]:
        return iter(self.regions)

    def get_region(self, expr: Expr) -> AnnotatedRegion | None:
        """Return the region in which a node is, None if it is in none."""
        return self._of.get(expr)
