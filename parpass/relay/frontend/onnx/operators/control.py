"""What decides which graph runs, or how often."""

from __future__ import annotations

from parpass.relay import op
from parpass.relay.expr import Expr, If, Tuple, TupleWrapper
from parpass.relay.frontend.onnx.node import Node
from parpass.relay.frontend.onnx.operators.signature import Converter


def _if(node: Node) -> Expr | TupleWrapper:
    """A condition that is known leaves one of the graphs, which alone is converted."""
    known = node.known_or_none(0)
    if known is not None:
        if known.size != 1:
            raise node.fault(f"expected one bool for its condition, got {known.size}")
        name, other = ("then_branch", "else_branch")[:: 1 if known.all() else -1]
        results = node.branch(name)
        node.drop(other)
        return _packed(results)
    cond = op.reshape(node.input(0), ())
    then, other = node.branch("then_branch"), node.branch("else_branch")
    if len(then) != len(other):
        raise node.fault(f"its graphs give {len(then)} and {len(other)} values")
    for at, pair in enumerate(zip(then, other, strict=True)):
        then[at], other[at] = _alike(node, *pair)
    if len(then) == 1:
        return If(cond, then[0], other[0])
    return TupleWrapper(If(cond, Tuple(tuple(then)), Tuple(tuple(other))), len(then))


def _alike(node: Node, one: Expr, other: Expr) -> tuple[Expr, Expr]:
    """Return values of one type: lengths in which they differ are unknown."""
    types = node.type(one), node.type(other)
    if types[0] == types[1]:
        return one, other
    ranks = {len(found.shape) for found in types}
    if len(ranks) > 1 or types[0].dtype != types[1].dtype:
        raise node.refusal(
            f"graphs that give {types[0]} or {types[1]} are not supported"
        )
    return _reshaped_to_itself(one), _reshaped_to_itself(other)


def _reshaped_to_itself(data: Expr) -> Expr:
    return op.dyn.reshape(data, op.shape_of(data, "int64"), allowzero=True)


def _packed(results: list[Expr]) -> Expr | TupleWrapper:
    if len(results) == 1:
        return results[0]
    return TupleWrapper(Tuple(tuple(results)), len(results))


CONTROL: dict[str, Converter] = {"If": _if}
