"""The work that rows measure: functions made from a seed, and passes."""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from parpass import IRModule, relay
from parpass.ir.op.op_table import Op
from parpass.transform import FunctionPass, Pass, PassContext, PassInfo

UNARY = ("negative", "abs", "exp", "tanh", "sigmoid", "sqrt")
BINARY = ("add", "subtract", "multiply", "maximum")

# What light passes exchange: each of the operators above with another one.
PAIRS = (
    ("negative", "abs"),
    ("exp", "tanh"),
    ("add", "subtract"),
    ("multiply", "maximum"),
    ("sigmoid", "sqrt"),
)

# Has the runner use the workers, however small the work is.
USE_WORKERS = {"parpass.asking_workers_seconds": 0.0}


class Step(NamedTuple):
    """One operation of a random program: on the values of earlier ones, by index."""

    op: str
    args: tuple[int, ...]


def random_program(seed: int, nodes: int) -> list[Step]:
    """Return so many operations; values 0 and 1 are the program's two arguments."""
    rng = random.Random(seed)
    steps: list[Step] = []
    for at in range(2, nodes + 2):
        names = UNARY if rng.random() < 0.5 else BINARY
        arity = 1 if names is UNARY else 2
        args = tuple(max(0, at - 1 - rng.randrange(6)) for _ in range(arity))
        steps.append(Step(rng.choice(names), args))
    return steps


def generated_function(
    seed: int, nodes: int, extra: relay.Expr | None = None
) -> relay.Function:
    """Return a function of so many calls on two tensors.

    Args:
        seed: Of the random program.
        nodes: How many calls.
        extra: Something that the result is added to, such as a constant.
    """
    kind = relay.TensorType((8, 8), "float32")
    params = (relay.var("x", kind), relay.var("y", kind))
    values: list[relay.Expr] = list(params)
    for step in random_program(seed, nodes):
        args = tuple(values[at] for at in step.args)
        values.append(relay.Call(Op.get(step.op), args))
    body = values[-1] if extra is None else relay.add(values[-1], extra)
    return relay.Function(params, body)


class SharedWork(Protocol):
    """Functions that can be dealt out, and passes; can be sent to other processes."""

    @property
    def passes(self) -> Callable[[], Sequence[Pass]]:
        """Makes the passes."""
        ...

    def module(self) -> IRModule:
        """Return all functions."""
        ...

    def share(self, part: int, parts: int) -> IRModule:
        """Return one of so many shares."""
        ...


@dataclass(frozen=True)
class Work:
    """Many functions, some passes; can be sent to other processes.

    Attributes:
        functions: How many functions.
        nodes: How many calls each has.
        passes: Makes the passes; a function of a module.
    """

    functions: int
    nodes: int
    passes: Callable[[], Sequence[Pass]]

    def module(self) -> IRModule:
        """Return all functions, typed; the same each time."""
        return self.share(0, 1)

    def share(self, part: int, parts: int) -> IRModule:
        """Return one of so many shares, which are alike: functions taken by turns."""
        functions = {
            f"f{at}": generated_function(at, self.nodes)
            for at in range(part, self.functions, parts)
        }
        return relay.transform.InferType()(IRModule(functions))


class Swap(FunctionPass):
    """A light pass, all Python: exchanges operators, and so rewrites nearly every node.

    Args:
        pairs: The names that are exchanged.
    """

    cacheable = True

    def __init__(self, pairs: Sequence[tuple[str, str]]) -> None:
        self.pass_info = PassInfo(0, "Swap")
        self.pairs = pairs

    def transform_function(
        self, func: relay.Function, mod: IRModule, ctx: PassContext
    ) -> relay.Function:
        """Exchange the operators."""
        rewritten = Swapper(self.pairs).visit(func)
        assert isinstance(rewritten, relay.Function)
        return rewritten


class Swapper(relay.ExprMutator):
    """The rewrite of `Swap`."""

    def __init__(self, pairs: Sequence[tuple[str, str]]) -> None:
        super().__init__()
        both = [*pairs, *((new, old) for old, new in pairs)]
        self._ops = {Op.get(old): Op.get(new) for old, new in both}

    def visit_call(self, call: relay.Call) -> relay.Expr:
        """Exchange the operator of a call."""
        rewritten: Any = super().visit_call(call)
        new = self._ops.get(rewritten.op)
        return rewritten if new is None else relay.Call(new, rewritten.args)


class Heavy(FunctionPass):
    """A heavy pass: some milliseconds of computing for each function.

    Args:
        seconds: How long, by the processor's clock.
    """

    pass_info = PassInfo(0, "Heavy")

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def transform_function(
        self, func: relay.Function, mod: IRModule, ctx: PassContext
    ) -> relay.Function:
        """Compute for a while and change nothing."""
        until = time.thread_time() + self.seconds
        while time.thread_time() < until:
            sum(range(1000))
        return func


class Counting(FunctionPass):
    """A pass that computes a fixed amount, which takes longer where cores are shared.

    Args:
        loops: How much: each is some microseconds.
    """

    def __init__(self, loops: int) -> None:
        # Its own name for each amount, as costs of passes are known by their names.
        self.pass_info = PassInfo(0, f"Counting{loops}")
        self.loops = loops

    def transform_function(
        self, func: relay.Function, mod: IRModule, ctx: PassContext
    ) -> relay.Function:
        """Compute, and change nothing."""
        return self.run(func)

    def run(self, func: relay.Function) -> relay.Function:
        """Compute, and return the function."""
        for _ in range(self.loops):
            sum(range(100))
        return func


class Nothing(FunctionPass):
    """A pass that does nothing."""

    pass_info = PassInfo(0, "Nothing")
    cacheable = True

    def transform_function(
        self, func: relay.Function, mod: IRModule, ctx: PassContext
    ) -> relay.Function:
        """Return the function."""
        return func


def heavy_pass() -> list[Pass]:
    """Return one pass of 5 ms a function."""
    return [Heavy(0.005)]


def heavier_pass() -> list[Pass]:
    """Return one pass of 20 ms a function."""
    return [Heavy(0.02)]


def light_passes() -> list[Pass]:
    """Return eight light passes: each exchanges one pair of operators."""
    return [Swap([pair]) for pair in PAIRS[:4] * 2]


def light_pass() -> list[Pass]:
    """Return one light pass, which exchanges all operators."""
    return [Swap(PAIRS)]


def no_pass() -> list[Pass]:
    """Return one pass that does nothing."""
    return [Nothing()]


def tiny_program(count: int, *, alike: bool = True) -> str:
    """Return the text of a program of functions of three operators.

    Args:
        count: How many functions.
        alike: Whether they differ in their names alone; else in operators and shapes.
    """
    return "".join(_tiny_function(at, 0 if alike else at) for at in range(count))


def tiny_command(folder: str, count: int, *, alike: bool = True) -> list[str]:
    """Write a tiny program to a folder; return a command that optimizes it."""
    program = Path(folder, "tiny.relay")
    program.write_text(tiny_program(count, alike=alike), encoding="utf-8")
    command = [sys.executable, "-m", "parpass", "opt", str(program), "-O2", "-q"]
    return [*command, "-o", os.devnull]


def _tiny_function(at: int, seed: int) -> str:
    unary = ("nn.relu", *UNARY)[seed % 7]
    outer, inner = BINARY[seed % 4], BINARY[(seed // 4 + 2) % 4]
    return f"""def @f{at}(%x: Tensor[(8, {8 + seed % 500}), float32]) {{
  %0 = {unary}(%x);
  {outer}(%0, {inner}(%x, %x))
}}

"""
