"""Reductions of several values at once, without those that a result does not need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import structs

from parpass.ir.node import Node, post_order
from parpass.tir.analysis.side_effect import side_effect
from parpass.tir.builtin import CallEffectKind
from parpass.tir.expr import Select
from parpass.tir.prim_expr import PrimExpr
from parpass.tir.reduction import CommReducer, Reduce
from parpass.tir.stmt_functor import substitute


def without_unused(reduce: Reduce) -> Reduce:
    """Return a reduction with the values alone that its result is made of.

    What does more than give a value stays.
    """
    combiner = reduce.combiner
    if combiner is None:
        return reduce
    kept = _needed(combiner, reduce)
    if len(kept) == len(reduce.source):
        return reduce

    def of(parts: Sequence[Any]) -> tuple[Any, ...]:
        return tuple([parts[at] for at in kept])

    fields = ("lhs", "rhs", "result", "identity_element")
    smaller = {name: of(getattr(combiner, name)) for name in fields}
    return structs.replace(
        reduce,
        combiner=structs.replace(combiner, **smaller),
        source=of(reduce.source),
        value_index=kept.index(reduce.value_index),
        init=of(reduce.init) if reduce.init else (),
    )


def _needed(combiner: CommReducer, reduce: Reduce) -> list[int]:
    """Return the numbers of the values that a result is made of, in order."""
    place: dict[Node, int] = {}
    for at, (lhs, rhs) in enumerate(zip(combiner.lhs, combiner.rhs, strict=True)):
        place[lhs] = place[rhs] = at
    impure = [
        at
        for at, one in enumerate(reduce.source)
        if side_effect(one) > CallEffectKind.ReadState
    ]
    found: set[int] = set()
    waiting = [reduce.value_index, *impure]
    while waiting:
        at = waiting.pop()
        if at not in found:
            found.add(at)
            nodes = post_order(combiner.result[at])
            waiting += [place[node] for node in nodes if node in place]
    return sorted(found)


def without_axes(reduce: Reduce) -> PrimExpr:
    """Return the value of a reduction over no axes: of one value, if there is one."""
    combiner, at = reduce.combiner, reduce.value_index
    if combiner is None:
        return reduce
    if not reduce.init:
        identity = combiner.identity_element[at]
        return Select(reduce.condition, reduce.source[at], identity)
    values = dict(zip(combiner.lhs, reduce.init, strict=True))
    values |= dict(zip(combiner.rhs, reduce.source, strict=True))
    combined = substitute(combiner.result[at], values)
    return Select(reduce.condition, combined, reduce.init[at])
