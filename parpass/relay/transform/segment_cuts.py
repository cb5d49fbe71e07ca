"""The cuts of a large function into segments, where few values pass."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import cast

from parpass.ir.node import children, post_order
from parpass.ir.types import TensorType
from parpass.relay.analysis.scopes import BlockTree, is_atomic
from parpass.relay.expr import Expr, Function, If, Let, Var


class DataFlow:
    """The nodes that a function computes at its own level, in order of evaluation.

    That is without what its closures and the branches of its `if`s compute, which goes
    where these go, and without names, constants, and closures that one node uses, such
    as what operators were fused to: these go where they are used.

    Args:
        body: The body of a function, with types.

    Attributes:
        nodes: The nodes, operands before users.
        place: The index of each of them.
        operands: What each is computed of, closures and branches included.
        sizes: How many nodes, of whatever kind, there are up to each of them.
        has_lets: Whether there are `let`s among them: these stay around all that uses
            the variable, so that there is no place to cut.
    """

    def __init__(self, body: Expr) -> None:
        order = cast("list[Expr]", post_order(body))
        own = order
        is_flat = not any(isinstance(node, If | Function | Let) for node in order)
        if not is_flat:
            around, once = BlockTree(order).around, _closures_used_once(order)
            here = around[body]
            own = [it for it in order if around.get(it) is here and it not in once]
        self.has_lets = not is_flat and any(isinstance(node, Let) for node in own)
        self.nodes = [node for node in own if not is_atomic(node)]
        self.place = {node: index for index, node in enumerate(self.nodes)}
        below = children if is_flat else self._outside_of
        self.operands = [cast("Sequence[Expr]", below(node)) for node in self.nodes]
        self.sizes = list(accumulate(self._counts()))

    def _counts(self) -> Iterator[int]:
        """Yield how many nodes come with each one, and with no earlier one."""
        seen: set[Expr] = set()
        for operands in self.operands:
            new = [it for it in operands if it not in self.place and it not in seen]
            seen.update(new)
            yield 1 + len(new)

    def _outside_of(self, node: Expr) -> list[Expr]:
        found = dict.fromkeys(cast("tuple[Expr, ...]", children(node)))
        waiting = list(found)
        while waiting:
            child = waiting.pop()
            if child not in self.place:
                new = [one for one in children(child) if one not in found]
                found |= dict.fromkeys(new)
                waiting += new
        return list(found)


def _closures_used_once(order: Sequence[Expr]) -> set[Expr]:
    users = Counter(one for node in order for one in children(node))
    return {it for it in order if isinstance(it, Function) and users[it] == 1}


def segments(flow: DataFlow, size: int) -> list[range]:
    """Return which nodes are best cut out together, as ranges of their places.

    A seam, the end of one and the begin of the next, is where the fewest values pass
    from before to behind, of all places half a size to one and a half behind the last
    seam. What passes are tensors that depend on a variable: a constant that had passed
    would be none to the passes behind, nor a tuple one whose fields they see.

    Args:
        flow: The nodes.
        size: How many nodes, of whatever kind, a segment has, about.
    """
    if not flow.nodes or flow.has_lets:
        return []
    passing, barred = _passing(flow)
    ends, least = flow.sizes, size // 2
    # A seam behind this would leave next to nothing.
    last = min(bisect_right(ends, ends[-1] - least), len(ends) - 1)
    seams, begun = [0], 0
    while begun + size < ends[-1]:
        first = bisect_left(ends, begun + least, seams[-1])
        far = bisect_right(ends, begun + size + least, first)
        found = [at for at in range(first, min(far, last)) if not barred[at]]
        if not found:
            found = [at for at in range(far, last) if not barred[at]][:1]
        if not found:
            break
        goal = begun + size
        best = min(found, key=lambda at: (passing[at], abs(ends[at] - goal)))
        seams.append(best + 1)
        begun = ends[best]
    return [range(*two) for two in pairwise([*seams, len(ends)])]


def _passing(flow: DataFlow) -> tuple[Sequence[int], Sequence[int]]:
    """Return how many values pass behind each node, and how many that must not."""
    last_use = list(range(len(flow.nodes)))
    varying: set[Expr] = set()
    for at, (node, operands) in enumerate(zip(flow.nodes, flow.operands, strict=True)):
        for operand in operands:
            if operand in flow.place:
                last_use[flow.place[operand]] = at
            if operand in varying or isinstance(operand, Var):
                varying.add(node)
    more, bars = [0] * len(last_use), [0] * len(last_use)
    for at, (node, end) in enumerate(zip(flow.nodes, last_use, strict=True)):
        more[at] += 1
        more[end] -= 1
        if node not in varying or not isinstance(node.checked_type, TensorType):
            bars[at] += 1
            bars[end] -= 1
    return list(accumulate(more)), list(accumulate(bars))
