"""Converters of control flow: operators that select a graph, or repeat one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from parpass.relay import op
from parpass.relay.expr import Expr, If, Tuple, TupleWrapper, const
from parpass.relay.frontend.onnx.onnx_node import Converter, OnnxNode
from parpass.relay.frontend.onnx.operators.axes import element, normal_axis


def _if(node: OnnxNode) -> Expr | TupleWrapper:
    """A condition that is known leaves one of the graphs, which alone is converted."""
    known = _condition(node, node.input(0))
    if known is not None:
        name, other = ("then_branch", "else_branch")[:: 1 if known else -1]
        results = node.graph(name)(())
        node.drop(other)
        return _packed(results)
    cond = op.reshape(node.input(0), ())
    graphs = node.graph("then_branch"), node.graph("else_branch")
    then, other = (graph(()) for graph in graphs)
    if len(then) != len(other):
        raise node.fault(f"its graphs return {len(then)} and {len(other)} values")
    for at, pair in enumerate(zip(then, other, strict=True)):
        then[at], other[at] = _alike(node, cond, *pair)
    if len(then) == 1:
        return If(cond, then[0], other[0])
    return TupleWrapper(If(cond, Tuple(tuple(then)), Tuple(tuple(other))), len(then))


def _alike(node: OnnxNode, cond: Expr, one: Expr, other: Expr) -> tuple[Expr, Expr]:
    """Return values of one type: lengths in which they differ are unknown."""
    types = node.type(one), node.type(other)
    if types[0] == types[1]:
        return one, other
    ranks = {len(found.shape) for found in types}
    if len(ranks) > 1 or types[0].dtype != types[1].dtype:
        what = (
            f"graphs that give {types[0]} or {types[1]} are not supported: the choice"
        )
        raise node.unknown(cond, what)
    return _reshaped_to_itself(one), _reshaped_to_itself(other)


def _reshaped_to_itself(data: Expr) -> Expr:
    return op.dyn.reshape(data, op.shape_of(data, "int64"), allowzero=True)


def _packed(results: list[Expr]) -> Expr | TupleWrapper:
    if len(results) == 1:
        return results[0]
    return TupleWrapper(Tuple(tuple(results)), len(results))


@dataclass(frozen=True, slots=True)
class _Scan:
    """A graph that runs on one slice of each sequence after the other.

    Attributes:
        body: Gives the next states, and a slice of each result.
        states: How many states there are.
        axes: Along which each sequence is cut.
        turned: Whether each sequence is read from its end.
    """

    body: Callable[[Sequence[Expr]], list[Expr]]
    states: int
    axes: Sequence[int]
    turned: Sequence[int]

    def run(
        self, node: OnnxNode, inputs: Sequence[Expr]
    ) -> tuple[list[Expr], list[list[Expr]]]:
        """Return the last states, and the slices of each result, step by step."""
        states, sequences = list(inputs[: self.states]), inputs[self.states :]
        pairs = zip(sequences, self.axes, strict=True)
        lengths = {node.lengths(one, [axis])[0] for one, axis in pairs}
        if len(lengths) != 1:
            raise node.fault(f"expected sequences of one length, got {sorted(lengths)}")
        (length,) = lengths
        slices: list[list[Expr]] = []
        for step in node.steps(length):
            cut = [
                element(one, length - 1 - step if back else step, axis)
                for one, axis, back in zip(
                    sequences, self.axes, self.turned, strict=True
                )
            ]
            results = self.body([*states, *cut])
            states = results[: self.states]
            slices.append(results[self.states :])
        if not slices:
            raise node.refusal("sequences without a step are not supported")
        return states, [list(one) for one in zip(*slices, strict=True)]


def _stacked(slices: list[Expr], axis: int, *, turned: bool) -> Expr:
    return op.stack(slices[::-1] if turned else slices, axis)


def _scan(node: OnnxNode) -> Expr | TupleWrapper:
    """Before opset 9 there is a batch of sequences, each of which runs by itself."""
    count = node.integer("num_scan_inputs", 0)
    if node.opset < 9:
        return _scan_of_batches(node, count)
    inputs = node.inputs()
    body = node.graph("body")
    sequences = inputs[len(inputs) - count :]
    none = (0,) * count
    axes = [
        normal_axis(node, axis, node.dims(one))
        for one, axis in zip(
            sequences, node.integers("scan_input_axes") or none, strict=True
        )
    ]
    turned = node.integers("scan_input_directions") or none
    scan = _Scan(body, len(inputs) - count, axes, turned)
    states, slices = scan.run(node, inputs)
    none = (0,) * len(slices)
    places = node.integers("scan_output_axes") or none
    turned = node.integers("scan_output_directions") or none
    results = [
        _stacked(one, axis, turned=bool(back))
        for one, axis, back in zip(slices, places, turned, strict=True)
    ]
    return _packed([*states, *results])


def _scan_of_batches(node: OnnxNode, count: int) -> Expr | TupleWrapper:
    if node.optional(0) is not None:
        raise node.refusal("sequences of different lengths are not supported")
    inputs = [node.input(at) for at in range(1, node.input_count)]
    turned = node.integers("directions") or (0,) * count
    states = len(inputs) - count
    scan = _Scan(node.graph("body"), states, (0,) * count, turned)
    batches: list[list[Expr]] = []
    for at in node.steps(node.lengths(inputs[0], [0])[0]):
        own = [element(one, at) for one in inputs]
        last, slices = scan.run(node, own)
        batches.append([*last, *(_stacked(one, 0, turned=False) for one in slices)])
    return _packed([op.stack(list(one), 0) for one in zip(*batches, strict=True)])


def _loop(node: OnnxNode) -> Expr | TupleWrapper:
    """The steps are written out, as far as the condition is known to hold.

    Without a trip count, and with one as large as integers are, it is the condition
    that ends the loop.
    """
    count = None
    if node.optional(0) is not None:
        count = int(node.known_number(0, "trip count"))
    condition = node.optional(1)
    goes_on = condition is None or _holds(node, condition)
    body = node.graph("body")
    states = [node.input(at) for at in range(2, node.input_count)]
    carried, steps = len(states), 0
    slices: list[list[Expr]] = []
    while goes_on and (count is None or steps < count):
        node.steps(steps + 1)
        given = const(np.int64(steps)), const(np.bool_(True))
        condition, *results = body([*given, *states])
        goes_on = _holds(node, condition)
        states = results[:carried]
        slices.append(results[carried:])
        steps += 1
    if not slices and node.output_count > carried:
        raise node.refusal("loops without a step are not supported")
    stacked = [op.stack(list(one), 0) for one in zip(*slices, strict=True)]
    return _packed([*states, *stacked])


def _holds(node: OnnxNode, condition: Expr) -> bool:
    known = _condition(node, condition)
    if known is None:
        raise node.unknown(condition, "the condition of the loop")
    return known


def _condition(node: OnnxNode, expr: Expr) -> bool | None:
    """Return the value of a condition; None if it depends on the model's inputs."""
    found = node.type(expr)
    dims = [dim for dim in found.shape if isinstance(dim, int)]
    if found.dtype != "bool" or any(dim != 1 for dim in dims):
        raise node.fault(f"expected one bool for its condition, got {found}")
    value = node.value(expr)
    return None if value is None else bool(value.all())


CONTROL: dict[str, Converter] = {"If": _if, "Loop": _loop, "Scan": _scan}
