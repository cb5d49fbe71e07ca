"""The work that the benchmarks measure, made from a seed."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from parpass import IRModule, relay
from parpass.relay.op.registry import Op
from parpass.transform import FunctionPass, Pass, PassContext, PassInfo

_UNARY = ("negative", "abs", "exp", "tanh", "sigmoid", "sqrt")
_BINARY = ("add", "subtract", "multiply", "maximum")


@dataclass(frozen=True)
class Kind:
    """One kind of work: many functions, some passes.

    Attributes:
        name: What it is called in tables.
        functions: How many functions.
        nodes: How many calls each has.
        passes: Makes the passes.
    """

    name: str
    functions: int
    nodes: int
    passes: Callable[[], Sequence[Pass]]

    def module(self, first: int, stop: int, step: int = 1) -> IRModule:
        """Return a module of the functions in a range, typed; the same each time."""
        functions = {
            f"f{at}": generated_function(at, self.nodes)
            for at in range(first, stop, step)
        }
        return relay.transform.InferType()(IRModule(functions))


def generated_function(seed: int, nodes: int) -> relay.Function:
    """Return a function of so many calls: a random expression over two tensors."""
    rng = random.Random(seed)
    kind = relay.TensorType((8, 8), "float32")
    params = (relay.var("x", kind), relay.var("y", kind))
    known: list[relay.Expr] = list(params)
    for _ in range(nodes):
        if rng.random() < 0.5:
            op, arity = Op.get(rng.choice(_UNARY)), 1
        else:
            op, arity = Op.get(rng.choice(_BINARY)), 2
        args = [known[max(0, len(known) - 1 - rng.randrange(6))] for _ in range(arity)]
        known.append(relay.Call(op, tuple(args)))
    return relay.Function(params, known[-1], kind)


class Swap(FunctionPass):
    """A light pass, all Python: exchanges two operators, and so rewrites every node."""

    def __init__(self, one: str, other: str) -> None:
        self.pass_info = PassInfo(0, f"Swap_{one}_{other}")
        self.names = {one: other, other: one}

    def transform_function(
        self, func: relay.Function, mod: IRModule, ctx: PassContext
    ) -> relay.Function:
        """Exchange the operators."""
        return _Swapper(self.names).visit(func)  # pyright: ignore[reportReturnType]


class _Swapper(relay.ExprMutator):
    def __init__(self, names: dict[str, str]) -> None:
        super().__init__()
        self._ops = {Op.get(old): Op.get(new) for old, new in names.items()}

    def visit_call(self, call: relay.Call) -> relay.Expr:
        rewritten: Any = super().visit_call(call)
        new = self._ops.get(rewritten.op)
        return rewritten if new is None else relay.Call(new, rewritten.args)


class Heavy(FunctionPass):
    """A heavy pass: some milliseconds of computing for each function."""

    pass_info = PassInfo(0, "Heavy")

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def transform_function(
        self, func: relay.Function, mod: IRModule, ctx: PassContext
    ) -> relay.Function:
        """Compute for a while, by the processor's clock, and change nothing."""
        until = time.thread_time() + self.seconds
        while time.thread_time() < until:
            sum(range(1000))
        return func


def _swaps() -> list[Pass]:
    pairs = [
        ("negative", "abs"),
        ("exp", "tanh"),
        ("add", "maximum"),
        ("sigmoid", "sqrt"),
    ]
    return [Swap(*pair) for pair in pairs * 2]


KINDS = (
    Kind("heavy: one pass of 5 ms a function", 400, 30, lambda: [Heavy(0.005)]),
    Kind("light: eight rewriting passes", 1000, 300, _swaps),
    Kind("one light pass", 1000, 300, lambda: _swaps()[:1]),
)
