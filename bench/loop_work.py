"""Work of loops that rows measure: PrimFuncs made from a seed, and passes on them."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from parpass import IRModule, tir
from parpass.tir.ir_builder import BufferVar, IRBuilder
from parpass.tir.transform import PrimFuncPass, Simplify, UnrollLoop, VectorizeLoop
from parpass.transform import Pass, PassContext, PassInfo

_POINTERS = ("A", "B", "C")
_GROUP = 7  # two loops, a condition, three stores, and the sequence of two of them


def generated_loops(seed: int, statements: int) -> tir.PrimFunc:
    """Return a function of so many loops, conditions and stores, or a few more.

    Each group is a loop over a condition, which decides over a short loop that is
    unrolled or vectorized, and over a store. Indices and values are sums of products,
    of which a part is to be simplified.

    Args:
        seed: Of what is chosen.
        statements: How many.
    """
    rng, builder = random.Random(seed), tir.ir_builder.create()
    pointers = [builder.pointer("float32", name=name) for name in _POINTERS]
    made = 0
    while made < statements:
        _group(rng, builder, pointers)
        made += _GROUP
    return tir.PrimFunc([one.asobject() for one in pointers], builder.get())


def _group(rng: random.Random, builder: IRBuilder, pointers: list[BufferVar]) -> None:
    source, target = rng.sample(pointers, 2)
    scale, kind = rng.randrange(1, 5), rng.choice(("unroll", "vectorize"))
    with builder.for_range(0, 16, name="i") as i:
        with (
            builder.if_scope(i * scale + 0 < 16 * scale - rng.randrange(4)),
            builder.for_range(0, 4, name="j", kind=kind) as j,
        ):
            at = i * 4 + j
            read = source[at] * 2.0 + source[at + scale * 4 - 4 * scale]
            target[at] = read + target[at]
        place = tir.floormod(i * 8 + rng.randrange(8), 8) + i * 8
        target[place] = source[i + rng.randrange(32)] - 1.0
        source[i] = target[place] * 3.0


def loop_passes() -> list[Pass]:
    """Return the passes on the way from loops to those that machines run."""
    return [Simplify(), UnrollLoop(), VectorizeLoop()]


@dataclass(frozen=True)
class LoopWork:
    """Many PrimFuncs, some passes; can be sent to other processes.

    Attributes:
        functions: How many.
        statements: How many each has.
        passes: Makes the passes; a function of a module.
    """

    functions: int
    statements: int
    passes: Callable[[], Sequence[Pass]] = loop_passes

    def module(self) -> IRModule:
        """Return all functions; the same each time."""
        return self.share(0, 1)

    def share(self, part: int, parts: int) -> IRModule:
        """Return one of so many shares, which are alike: functions taken by turns."""
        functions = {
            f"f{at}": generated_loops(at, self.statements)
            for at in range(part, self.functions, parts)
        }
        return IRModule(functions)


class Exchange(PrimFuncPass):
    """A light pass: exchanges sums and differences, so rewrites nearly every node."""

    pass_info = PassInfo(0, "Exchange")

    def transform_function(
        self, func: tir.PrimFunc, mod: IRModule, ctx: PassContext
    ) -> tir.PrimFunc:
        """Exchange them."""
        return func.with_body(Exchanger().visit_stmt(func.body))


class Exchanger(tir.StmtExprMutator):
    """The rewrite of `Exchange`."""

    def visit_add_(self, op: tir.Add) -> tir.PrimExpr:
        """Make a difference of a sum."""
        return tir.Sub(self.visit(op.a), self.visit(op.b))

    def visit_sub_(self, op: tir.Sub) -> tir.PrimExpr:
        """Make a sum of a difference."""
        return tir.Add(self.visit(op.a), self.visit(op.b))
