"""What each optimization level makes of the nine networks, as a table in Markdown.

    python -m bench.levels [--only NAME]...

Counted are nodes of the program, multiplications when it runs once, the bytes of its
constants, and the bytes of the values that one primitive function (or operator, where
nothing is fused) leaves for others.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import click
import numpy as np

from examples.real_networks import load, network_paths
from parpass import IRModule, relay
from parpass.ir.node import post_order
from parpass.ir.op.op_table import Op
from parpass.relay.transform import default_pipeline

LEVELS = (0, 1, 2, 3)


@dataclass(frozen=True)
class Counts:
    """What is counted of a program."""

    nodes: int
    multiplications: int
    constants: int
    activations: int


def counts_of(function: relay.Function) -> Counts:
    """Return the counts of a function whose nodes have types."""
    nodes = [node for node in post_order(function) if isinstance(node, relay.Expr)]
    constants = [node for node in nodes if isinstance(node, relay.Constant)]
    inside = set(_inside_primitive_functions(nodes))
    stored = [n for n in nodes if isinstance(n, relay.Call) and n not in inside]
    return Counts(
        nodes=sum(not isinstance(node, Op) for node in nodes),
        multiplications=sum(map(multiplications, nodes)),
        constants=sum(node.data.numpy().nbytes for node in constants),
        activations=sum(_bytes(node.checked_type) for node in stored),
    )


def multiplications(node: relay.Expr) -> int:
    """Return how many numbers one call multiplies; of heavy operators and products."""
    if not isinstance(node, relay.Call) or not isinstance(node.op, Op):
        return 0
    name, result = node.op.name, node.checked_type
    if not isinstance(result, relay.TensorType):
        return 0
    elements = math.prod(result.concrete_shape)
    if name == "multiply":
        return elements
    if name in {"nn.conv2d", "nn.dense"}:
        weight = node.args[1].checked_type
        assert isinstance(weight, relay.TensorType)
        return elements * math.prod(weight.concrete_shape[1:])
    return 0


def _inside_primitive_functions(nodes: Sequence[relay.Expr]) -> Iterator[relay.Expr]:
    for node in nodes:
        if isinstance(node, relay.Function) and node.has_nonzero_attr("Primitive"):
            yield from (x for x in post_order(node) if isinstance(x, relay.Expr))


def _bytes(found: relay.Type) -> int:
    if isinstance(found, relay.TupleType):
        return sum(map(_bytes, found.fields))
    if not isinstance(found, relay.TensorType):
        return 0
    return math.prod(found.concrete_shape) * np.dtype(found.dtype).itemsize


def row(name: str, level: str, counts: Counts) -> str:
    """Return one row of the table."""
    return (
        f"| {name} | {level} | {counts.nodes:,} "
        f"| {counts.multiplications / 1e6:,.1f} M "
        f"| {counts.constants / 1e6:,.1f} MB | {counts.activations / 1e6:,.1f} MB |"
    )


@click.command()
@click.option("--only", multiple=True, metavar="NAME", help="Some networks only.")
def main(only: Sequence[str]) -> None:
    """Print the table."""
    print("| network | level | nodes | multiplications | constants | activations |")
    print("|---|---|--:|--:|--:|--:|")
    for name in only or network_paths():
        imported, _ = relay.frontend.from_onnx(load(name), freeze_params=True)
        before = relay.transform.InferType()(imported)
        print(row(name, "as read", counts_of(before["main"])))
        for level in LEVELS:
            after: IRModule = default_pipeline(level)(before)
            print(row("", f"-O{level}", counts_of(after["main"])), flush=True)


if __name__ == "__main__":
    main()
