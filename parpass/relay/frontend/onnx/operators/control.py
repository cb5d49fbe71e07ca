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
    types = [[node.type(one) for one in results] for results in (then, other)]
    if types[0] != types[1]:
        raise node.refusal(
            "graphs that give values of different types are not supported"
        )
    if len(then) == 1:
        return If(cond, then[0], other[0])
    return TupleWrapper(If(cond, Tuple(tuple(then)), Tuple(tuple(other))), len(then))


def _packed(results: list[Expr]) -> Expr | TupleWrapper:
    if len(results) == 1:
        return results[0]
    return TupleWrapper(Tuple(tuple(results)), len(results))


CONTROL: dict[str, Converter] = {"If": _if}
