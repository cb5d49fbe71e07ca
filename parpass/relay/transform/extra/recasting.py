"""`relay.transform.recast`: chosen operators in another dtype, between casts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar, cast

from msgspec.structs import replace

from parpass.ir.node import Node, post_order
from parpass.ir.op_table import Op
from parpass.ir.types import TensorType
from parpass.relay import op
from parpass.relay.expr import Call, Expr, Tuple
from parpass.relay.functor import ExprMutator
from parpass.relay.typing.built import BuiltTypes

ExprT = TypeVar("ExprT", bound=Expr)


def recast(
    expr: ExprT,
    dtype: str,
    out_dtype: str,
    ops: Sequence[str] | None = None,
    skip_layers: Iterable[int] = (),
) -> ExprT:
    """Return an expression in which some operators compute in another dtype.

    Their arguments are cast to it, and their results back to what they were.

    Args:
        expr: The expression; its variables have types.
        dtype: That of arguments.
        out_dtype: That in which operators with the attribute `out_dtype` give results.
        ops: The operators; None for `nn.conv2d`.
        skip_layers: Which of their calls stay, from 0 on in the order of evaluation; -1
            is the last one.

    Raises:
        UnknownOpError: There is no such operator.
    """
    chosen = {Op.get(name).name for name in (["nn.conv2d"] if ops is None else ops)}
    calls = [node for node in post_order(expr) if _is_of(node, chosen)]
    skipped = {layer % len(calls) for layer in skip_layers} if calls else set[int]()
    kept = {call: at not in skipped for at, call in enumerate(calls)}
    return cast("ExprT", _Recast(kept, dtype, out_dtype).visit(expr))


def _is_of(node: object, names: set[str]) -> bool:
    return isinstance(node, Call) and isinstance(node.op, Op) and node.op.name in names


class _Recast(ExprMutator):
    def __init__(self, calls: Mapping[Node, bool], dtype: str, out_dtype: str) -> None:
        super().__init__()
        self._calls = calls
        self._dtype = dtype
        self._out_dtype = out_dtype
        self._types = BuiltTypes()

    def visit_call(self, call: Call) -> Expr:
        new = super().visit_call(call)
        before = self._types.get(call)
        if not self._calls.get(call) or not isinstance(before, TensorType):
            return new
        attrs, result = call.attrs, self._dtype
        if "out_dtype" in (attrs or ()):
            attrs, result = replace(attrs, out_dtype=self._out_dtype), self._out_dtype
        args = tuple(map(self._cast, new.args))
        recast_call = Call(call.op, args, attrs, (), call.span)
        needs_cast = result != before.dtype or self._dtype != before.dtype
        return op.cast(recast_call, before.dtype) if needs_cast else recast_call

    def _cast(self, arg: Expr) -> Expr:
        if isinstance(arg, Tuple):
            return Tuple(tuple(map(self._cast, arg.fields)), arg.span)
        return op.cast(arg, self._dtype)
