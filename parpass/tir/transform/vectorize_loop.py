"""VectorizeLoop: the rounds of a loop at once, by loads and stores of vectors."""

from __future__ import annotations

from typing import Any

from msgspec import structs

from parpass.errors import IRError
from parpass.ir.module import IRModule
from parpass.tir.expr import Ramp
from parpass.tir.function import PrimFunc
from parpass.tir.op import cast_to, const
from parpass.tir.prim_expr import IntImm
from parpass.tir.stmt import Evaluate, For, ForKind, Stmt
from parpass.tir.stmt_expr_functor import StmtMutator
from parpass.tir.stmt_functor import substitute
from parpass.tir.transform.function_pass import PrimFuncPass
from parpass.tir.transform.ssa import convert_ssa
from parpass.tir.transform.vectors.vectorizer import Vectorizer
from parpass.transform import PassContext, PassInfo, register_pass


@register_pass("tir.transform.VectorizeLoop")
class VectorizeLoop(PrimFuncPass):
    """Make vectors of the loops that are marked `vectorized`.

    ::

        for i in vectorized(0, 4):
            B[i] = A[i] * 2
            if i < n:
                C[i] = B[i]

    becomes::

        B[ramp(0, 1, 4)] = A[ramp(0, 1, 4)] * broadcast(2, 4)
        for i.s in range(0, 4):
            if i.s < n:
                C[i.s] = B[i.s]

    That the rounds of the loop may be run side by side, statement by statement, is for
    who marked it to know. What there is no vector of, such as a statement under a
    condition that differs between rounds, or an access by `BufferLoad` or
    `BufferStore`, is run round by round.

    Args:
        enable_vectorize: Without it the loops become serial ones.
    """

    pass_info = PassInfo(0, "tir.VectorizeLoop")

    def __init__(self, enable_vectorize: bool = True) -> None:
        self.enable_vectorize = enable_vectorize

    def transform_function(
        self, func: PrimFunc, mod: IRModule, ctx: PassContext
    ) -> PrimFunc:
        """Return the function without loops that are marked."""
        rewriter = LoopVectorizer() if self.enable_vectorize else VectorizeSkipper()
        body = rewriter.visit(func.body)
        assert isinstance(body, Stmt)
        return func if body is func.body else func.with_body(convert_ssa(body))


class LoopVectorizer(StmtMutator):
    """Vectorizes loops that are marked."""

    def visit_for_(self, op: For) -> Any:
        """Vectorize a loop; loops in it are not."""
        if op.kind != ForKind.VECTORIZED:
            return (yield from self.visit_children(op))
        if not isinstance(op.extent, IntImm):
            raise IRError(
                f"Failed to vectorize loop with extent {op.extent!r}: expected a "
                f"constant for the loop over '{op.loop_var.name}'"
            )
        lanes, first = op.extent.value, cast_to(op.min, op.loop_var.dtype)
        if lanes < 1:
            return Evaluate(0)
        if lanes == 1:
            return substitute(op.body, {op.loop_var: first})
        ramp = Ramp(first, const(1, first.dtype), lanes)
        return Vectorizer(op.loop_var, ramp).visit(op.body)


class VectorizeSkipper(StmtMutator):
    """Makes loops that are marked serial ones."""

    def visit_for_(self, op: For) -> Any:
        """Take the mark away."""
        new = yield from self.visit_children(op)
        if op.kind != ForKind.VECTORIZED:
            return new
        return structs.replace(new, kind=ForKind.SERIAL)
