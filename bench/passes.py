"""How long inference and every pass take for each node, by the size of the program.

    python -m bench.passes [--largest N] [--only NAME]... [--report]

A pass is linear if its row stays the same from column to column. A program is one
function: a random data flow, a chain of `let`s, for passes on convolutions a network of
them, for passes on loops generated loops. Nodes are those of the typed program that the
pass is given. With `--report` the medians of three runs are kept for the catalogue of
passes, in `docs/passes.json`.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from bench.loop_work import generated_loops
from bench.table import Machine
from bench.work import generated_function
from parpass import IRModule, relay, tir
from parpass.ir.node import count_nodes
from parpass.ir.op.op_registration import TempOpAttr
from parpass.relay import transform
from parpass.relay.transform.layout.alter_op_layout import conv2d_nchwc
from parpass.tir import transform as tir_transform
from parpass.transform import Pass, PassContext, registered_passes

SIZES = (1_000, 10_000, 100_000)
KEPT_SIZES = SIZES[:2]
FIGURES = Path(__file__).parents[1] / "docs" / "passes.json"
Program = Callable[[int], relay.Function | tir.PrimFunc]


def data_flow(nodes: int) -> relay.Function:
    """Return a random expression."""
    return generated_function(0, nodes)


def lets(nodes: int) -> relay.Function:
    """Return a chain of `let`s, each of which uses the variable before."""
    first = relay.var("x", shape=(2, 3))
    names = [first, *(relay.Var(f"v{at}") for at in range(nodes // 3))]
    body: relay.Expr = names[-1]
    for before, name in zip(names[-2::-1], names[:0:-1], strict=True):
        body = relay.Let(name, relay.negative(before), body)
    return relay.Function((first,), body)


def network(nodes: int) -> relay.Function:
    """Return convolutions with scales and activations between them."""
    data = relay.var("x", shape=(1, 4, 8, 8))
    weight = relay.var("w", shape=(4, 4, 3, 3))
    value: relay.Expr = data
    for _ in range(nodes // 4):
        scale = relay.const([[[0.5]], [[1.0]], [[1.5]], [[2.0]]])
        value = relay.nn.relu(relay.nn.conv2d(value, weight, padding=1) * scale)
    return relay.Function((data, weight), value)


def loops(nodes: int) -> tir.PrimFunc:
    """Return loops over conditions and stores."""
    return generated_loops(0, nodes // 12)


def _as_it_is(func: tir.PrimFunc) -> tir.PrimFunc:
    return func


_ON_NETWORKS = {
    "AlterOpLayout",
    "BackwardFoldScaleAxis",
    "CanonicalizeOps",
    "CombineParallelConv2D",
    "FoldScaleAxis",
    "ForwardFoldScaleAxis",
}
_ON_LETS = {"DeadCodeElimination", "ToGraphNormalForm"}
_WITH_OPTIONS: dict[str, Callable[[], Pass]] = {
    "ConvertLayout": lambda: transform.ConvertLayout({"nn.conv2d": ["NHWC"]}),
    "Apply": lambda: tir_transform.Apply(_as_it_is),
}
_PREPARED: dict[str, Callable[[], Sequence[Pass]]] = {
    "DefuseOps": lambda: [transform.FuseOps()],
    "FunctionsFromFusion": lambda: [transform.FuseOps()],
}


def passes() -> Iterator[tuple[str, Callable[[], Pass]]]:
    """Yield the shipped passes that need no options, and some that do, by name."""
    known = registered_passes()
    for name in [*transform.__all__, *tir_transform.__all__]:
        factory: Any = known.get(name)
        if name in _WITH_OPTIONS:
            yield name, _WITH_OPTIONS[name]
        elif factory is not None:
            try:
                factory()
            except TypeError:
                continue  # it needs options, such as patterns
            yield name, factory


def program_for(name: str) -> Program:
    """Return the program that a pass has something to do on."""
    if name in _ON_NETWORKS or name == "ConvertLayout":
        return network
    if name in tir_transform.__all__:
        return loops
    return lets if name in _ON_LETS else data_flow


def microseconds(name: str, make: Callable[[], Pass], size: int) -> float:
    """Return the time of a pass for each node of a program."""
    program = program_for(name)
    mod = IRModule({"main": program(size)})
    if name != "InferType" and program is not loops:
        mod = transform.InferType()(mod)
    for before in _PREPARED.get(name, list[Pass])():
        mod = before(mod)
    nodes = count_nodes(mod["main"], 10 * size)
    start = time.perf_counter()
    make()(mod)
    return (time.perf_counter() - start) / nodes * 1e6


def _keep(found: Mapping[str, Sequence[float]]) -> None:
    rows = ",\n".join(
        f"  {json.dumps(name)}: {json.dumps([round(one, 2) for one in figures])}"
        for name, figures in sorted(found.items())
    )
    machine = json.dumps(asdict(Machine.here()))
    head = f'"machine": {machine},\n "nodes": {json.dumps(KEPT_SIZES)}'
    text = f'{{{head},\n "microseconds": {{\n{rows}\n }}}}\n'
    FIGURES.write_text(text, encoding="utf-8")


def _supported(_call: relay.Expr) -> bool:
    return True


@click.command()
@click.option("--largest", default=SIZES[-1], show_default=True, help="Nodes at most.")
@click.option("--only", multiple=True, metavar="NAME", help="Some passes only.")
@click.option("--report", is_flag=True, help="Keep the figures for the catalogue.")
def main(largest: int, only: Sequence[str], report: bool) -> None:
    """Measure the passes, each with the InferType that follows a function pass."""
    sizes = KEPT_SIZES if report else [size for size in SIZES if size <= largest]
    runs = 3 if report else 1
    found: dict[str, list[float]] = {}
    with (
        PassContext(opt_level=4),
        TempOpAttr("nn.conv2d", "FTVMAlterOpLayout", conv2d_nchwc(2)),
        TempOpAttr("add", "target.test", _supported),
        TempOpAttr("exp", "target.test", _supported),
    ):
        for name, make in passes():
            if report or not only or name in only:
                found[name] = [
                    statistics.median(
                        microseconds(name, make, size) for _ in range(runs)
                    )
                    for size in sizes
                ]
    if report:
        _keep(found)
    table = Table(title="Microseconds for each node")
    table.add_column("pass")
    for size in sizes:
        table.add_column(f"{size:,}", justify="right")
    for name, figures in found.items():
        table.add_row(name, *(f"{one:.1f}" for one in figures))
    Console().print(table)


if __name__ == "__main__":
    main()
