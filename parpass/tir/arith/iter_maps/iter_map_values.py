"""What iter maps are as ordinary expressions, there and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from parpass.errors import ArgumentError
from parpass.ir.node import Node, post_order
from parpass.tir.arith.analyzer import Analyzer
from parpass.tir.arith.iter_maps.iter_map_expr import (
    IterMapExpr,
    IterMark,
    IterSplitExpr,
    IterSumExpr,
)
from parpass.tir.binary_op import Sub
from parpass.tir.expr import Var
from parpass.tir.op import const, floordiv, floormod
from parpass.tir.prim_expr import PrimExpr, as_prim_expr


def normalize_iter_map_to_expr(expr: IterMapExpr) -> PrimExpr:
    """Return an iter map as an ordinary expression of its iterators."""
    analyzer = Analyzer()
    found: dict[Node, PrimExpr] = {}
    for node in post_order(expr):
        if isinstance(node, IterMark):
            is_made = node.source in found
            found[node] = found[node.source] if is_made else node.source
        elif isinstance(node, IterSplitExpr):
            found[node] = _split_value(node, found[node.source], analyzer)
        elif isinstance(node, IterSumExpr):
            total = const(0, node.dtype)
            for arg in node.args:
                total = total + found[arg]
            found[node] = total + node.base
    return found[expr]


def _split_value(
    split: IterSplitExpr, source: PrimExpr, analyzer: Analyzer
) -> PrimExpr:
    equal, whole = analyzer.can_prove_equal, split.source.extent
    is_inner = equal(split.lower_factor, 1)
    if is_inner and equal(split.extent, whole):
        return source * split.scale
    quotient = source if is_inner else floordiv(source, split.lower_factor)
    if not equal(split.lower_factor * split.extent, whole):
        quotient = floormod(quotient, split.extent)
    return quotient * split.scale


def inverse_affine_iter_map(
    iter_map: Sequence[IterSumExpr], outputs: Sequence[Any]
) -> dict[Var, PrimExpr]:
    """Return what iterators are, by the values of indices that are made of them.

    Args:
        iter_map: The indices, of a bijective iter map.
        outputs: Their values.

    Raises:
        ArgumentError: There is another number of values, or a sum is not one iterator.
    """
    if len(iter_map) != len(outputs):
        raise ArgumentError(
            f"expected a value for each of {len(iter_map)} indices, got {len(outputs)}"
        )
    analyzer = Analyzer()
    values: dict[Node, PrimExpr] = {}

    def add(node: Any, value: PrimExpr) -> None:
        values[node] = values[node] + value if node in values else value

    for index, output in zip(iter_map, outputs, strict=True):
        add(index, as_prim_expr(output))
    inputs: list[IterMark] = []
    for node in _uses_first(iter_map):
        if isinstance(node, IterSumExpr):
            _check_one_iterator(node, analyzer)
            for arg in node.args:
                quotient = floordiv(values[node] - node.base, arg.scale)
                is_only = len(node.args) == 1
                add(arg, quotient if is_only else floormod(quotient, arg.extent))
        elif isinstance(node, IterSplitExpr):
            add(node.source, values[node] * node.lower_factor)
        elif isinstance(node.source, IterSumExpr):
            add(node.source, values[node])
        else:
            inputs.append(node)
    return dict(_input(mark, values[mark]) for mark in reversed(inputs))


def _uses_first(iter_map: Sequence[IterSumExpr]) -> list[Any]:
    """Return the nodes of an iter map, each before those that it is made of."""
    nodes = dict.fromkeys(node for index in iter_map for node in post_order(index))
    kinds = (IterMapExpr, IterMark)
    return [node for node in reversed(nodes) if isinstance(node, kinds)]


def _check_one_iterator(found: IterSumExpr, analyzer: Analyzer) -> None:
    """Refuse a sum whose splits do not begin where others end."""
    for outer, inner in zip(found.args, found.args[1:], strict=False):
        if not analyzer.can_prove_equal(outer.scale, inner.scale * inner.extent):
            raise ArgumentError(
                "expected sums in which each scale is the next one times its extent, "
                f"got {outer.scale} before {inner.scale} of {inner.extent} values; "
                "detect_iter_map with require_bijective gives such"
            )


def _input(mark: IterMark, value: PrimExpr) -> tuple[Var, PrimExpr]:
    """Return which variable an iterator goes over, and what it is."""
    source = mark.source
    return (source.a, value + source.b) if isinstance(source, Sub) else (source, value)
