"""MergeCompilerRegions: regions of one compiler that follow each other become one."""

from __future__ import annotations

from typing import cast

from parpass.ir.module import IRModule
from parpass.ir.node import children, post_order
from parpass.ir.op_table import Op
from parpass.relay.analysis.annotated_regions import (
    BEGIN,
    END,
    Region,
    Regions,
    is_call_of,
)
from parpass.relay.analysis.effects import Effects
from parpass.relay.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    Tuple,
    TupleGetItem,
)
from parpass.relay.functor import ExprMutator
from parpass.relay.transform.infer_type import InferType
from parpass.transform import (
    FunctionPass,
    PassContext,
    PassInfo,
    Sequential,
    register_pass,
)


@register_pass("relay._transform.MergeCompilerRegions")
class MergeCompilerRegions(Sequential):
    """Merge the regions that AnnotateTarget marked, as far as they allow it.

    ::

        def @main(%x: Tensor[(10, 10), float32]) {
          %0 = annotation.compiler_begin(%x, compiler="test");
          %1 = abs(%0);
          %2 = annotation.compiler_end(%1, compiler="test");
          %3 = annotation.compiler_begin(%2, compiler="test");
          %4 = nn.relu(%3);
          annotation.compiler_end(%4, compiler="test")
        }

    becomes::

        def @main(%x: Tensor[(10, 10), float32]) -> Tensor[(10, 10), float32] {
          %0 = annotation.compiler_begin(%x, compiler="test");
          %1 = abs(%0);
          %2 = nn.relu(%1);
          annotation.compiler_end(%2, compiler="test")
        }

    Regions are not merged where one needs what another compiler makes of the other's
    result, since they could not be computed one after the other. Which they are is kept
    as sets of bits, as many as there are regions for each region: the time is quadratic
    in their number, with a small factor.
    """

    def __init__(self) -> None:
        super().__init__([_MergeCompilerRegions(), InferType()])


class _MergeCompilerRegions(FunctionPass):
    """Merges the regions of one function."""

    pass_info = PassInfo(0, "MergeCompilerRegions")

    def transform_function(
        self, func: Function, mod: IRModule, ctx: PassContext
    ) -> Function:
        """Return the function without marks inside merged regions."""
        regions = Regions(func)
        merger = _RegionMerger(regions, func, mod)
        for node in post_order(func):
            if is_call_of(cast("Expr", node), END):
                merger.process(cast("Call", node))
        if merger.merged:
            ctx.count("merged", merger.merged)
        return _InnerMarksRemover(regions).visit(func)


class _RegionMerger:
    """Merges each region with those before it.

    Attributes:
        merged: How many regions were merged into others.
    """

    def __init__(self, regions: Regions, function: Function, mod: IRModule) -> None:
        self.merged = 0
        self._regions = regions
        self._effects = Effects(mod=mod)
        self._apart = self._found_apart(function)
        self._done: set[Region] = set()
        # By bits, one for each region of the start: what a region is made of, and what
        # it must not be merged with.
        self._members: dict[Region, int] = {}
        self._forbidden: dict[Region, int] = {}

    def process(self, end: Call) -> None:
        """Merge the region of a mark, after those that it needs."""
        waiting = [self._regions.of(end)]
        entered: set[Region] = set()
        while waiting:
            region = waiting[-1]
            if region is None or region.root() in self._done:
                waiting.pop()
                continue
            before = [x for x in self._before(region) if x not in self._done]
            if before and region not in entered:
                entered.add(region)
                waiting += before
                continue
            waiting.pop()
            self._merge(region)
            self._done.add(region)

    def _before(self, region: Region) -> list[Region]:
        """Return the regions whose results enter a region."""
        found = [self._regions.of(begin.args[0]) for begin in region.inputs]
        return [x for x in dict.fromkeys(found) if x is not None and x is not region]

    def _merge(self, region: Region) -> None:
        before = self._before(region)
        # What comes by way of a variable, or of an `if`, may come from any region, and
        # what has an effect must not be computed earlier.
        outside = not all(map(self._is_traced, region.inputs))
        forbidden = ~self._bits(region) if outside else 0
        for other in before:
            forbidden |= self._forbidden.get(other, 0)
            if other.compiler != region.compiler:
                forbidden |= self._bits(other)
        members = self._bits(region)
        for other in before:
            bits = self._bits(other)
            if other.compiler == region.compiler and not bits & forbidden:
                members |= bits
                region.merge(other)
                self._done.add(other)
                self.merged += 1
        self._members[region] = members
        self._forbidden[region] = forbidden & ~members

    def _is_traced(self, begin: Call) -> bool:
        (entering,) = begin.args
        if self._regions.of(entering) is not None:
            return self._effects.is_pure(entering)
        return entering in self._apart

    def _found_apart(self, function: Function) -> set[Expr]:
        """Return the values that no region has a part in, and no effect."""
        found = set[Expr](function.params)
        for node in cast("list[Expr]", post_order(function)):
            if isinstance(node, Constant | GlobalVar | Op) or (
                isinstance(node, Call | Tuple | TupleGetItem)
                and self._regions.of(node) is None
                and found.issuperset(children(node))
                and self._effects.is_pure(node)
            ):
                found.add(node)
        return found

    def _bits(self, region: Region) -> int:
        return self._members.get(region, 1 << region.number)


class _InnerMarksRemover(ExprMutator):
    """Drops marks by which a value leaves a region and enters the same one."""

    def __init__(self, regions: Regions) -> None:
        super().__init__()
        self._regions = regions

    def visit_call(self, call: Call) -> Expr:
        new = cast("Call", super().visit_call(call))
        if is_call_of(call, BEGIN) and is_call_of(call.args[0], END):
            region = self._regions.of(call)
            if region is not None and region is self._regions.of(call.args[0]):
                return cast("Call", new.args[0]).args[0]
        return new
