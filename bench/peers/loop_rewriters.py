"""Peers that rewrite loop programs from Python: TVM's visitors of its own TIR.

TVM has had them since 0.21 as `tvm.tir.functor`, later as `tvm.tirx.functor`, and has
none in 0.27. They visit the same programs as `bench.loop_work.Exchanger`, but for the
predicates of accesses, which TVM's have not.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from parpass import tir
from parpass.ir.node import Node, post_order

# Libraries and names in them are looked up when measured: none of them has to be there.
_import = importlib.import_module

_ELEMENTS = 4096  # of each buffer; nothing is run
_BINARY = ("Add", "Sub", "Mul", "FloorMod", "LT")


def _tvms_tir() -> Any:
    _import("tvm")
    for name in ("tvm.tirx", "tvm.tir"):
        try:
            _import(f"{name}.functor")
        except ModuleNotFoundError:
            continue
        return _import(name)
    raise LookupError("this version of TVM has no such visitors")


def _converted(tvm: Any, function: tir.PrimFunc) -> Any:
    """Return a function's body as TVM's: pointers are buffers there."""
    new: dict[Node, Any] = {
        param: tvm.decl_buffer((_ELEMENTS,), "float32", param.name)
        for param in function.params
    }
    for node in post_order(function.body):
        if node not in new:
            new[node] = _made(tvm, node, new)
    return new[function.body]


def _made(tvm: Any, node: Any, new: dict[Node, Any]) -> Any:
    kind = type(node).__name__
    if kind in _BINARY:
        return getattr(tvm, kind)(new[node.a], new[node.b])
    if isinstance(node, tir.Var):
        return tvm.Var(node.name, node.dtype)
    if isinstance(node, tir.IntImm | tir.FloatImm):
        return getattr(tvm, kind)(node.dtype, node.value)
    if isinstance(node, tir.Load):
        return tvm.BufferLoad(new[node.buffer_var], [new[node.index]])
    if isinstance(node, tir.Store):
        index = [new[node.index]]
        return tvm.BufferStore(new[node.buffer_var], new[node.value], index)
    if isinstance(node, tir.For):
        bounds = (new[node.loop_var], new[node.min], new[node.extent])
        return tvm.For(*bounds, node.kind, new[node.body])
    if isinstance(node, tir.SeqStmt):
        return tvm.SeqStmt([new[one] for one in node.seq])
    assert isinstance(node, tir.IfThenElse)
    return tvm.IfThenElse(new[node.condition], new[node.then_case], None)


def _two_kinds(tvm: Any) -> Any:
    """Sums and differences are visited in Python, all others in C++."""

    class Exchanger(tvm.functor.PyStmtExprMutator):
        def visit_add_(self, op: Any) -> Any:
            return tvm.Sub(self.visit_expr(op.a), self.visit_expr(op.b))

        def visit_sub_(self, op: Any) -> Any:
            return tvm.Add(self.visit_expr(op.a), self.visit_expr(op.b))

    return Exchanger


def _all_kinds(tvm: Any) -> Any:
    """All kinds are visited in Python, as a pass does that looks at every node."""

    def binary(kind: Any) -> Callable[[Any, Any], Any]:
        return lambda self, op: kind(self.visit_expr(op.a), self.visit_expr(op.b))

    def itself(_self: Any, op: Any) -> Any:
        return op

    class Exchanger(tvm.functor.PyStmtExprMutator):
        visit_add_, visit_sub_ = binary(tvm.Sub), binary(tvm.Add)
        visit_mul_, visit_lt_ = binary(tvm.Mul), binary(tvm.LT)
        visit_floor_mod_ = binary(tvm.FloorMod)
        visit_var_ = visit_int_imm_ = visit_float_imm_ = itself

        def visit_buffer_load_(self, op: Any) -> Any:
            indices = [self.visit_expr(index) for index in op.indices]
            return tvm.BufferLoad(op.buffer, indices)

        def visit_buffer_store_(self, op: Any) -> Any:
            value = self.visit_expr(op.value)
            indices = [self.visit_expr(index) for index in op.indices]
            return tvm.BufferStore(op.buffer, value, indices)

        def visit_seq_stmt_(self, op: Any) -> Any:
            return tvm.SeqStmt([self.visit_stmt(one) for one in op.seq])

        def visit_if_then_else_(self, op: Any) -> Any:
            condition = self.visit_expr(op.condition)
            return tvm.IfThenElse(condition, self.visit_stmt(op.then_case), None)

        def visit_for_(self, op: Any) -> Any:
            bounds = (op.loop_var, self.visit_expr(op.min), self.visit_expr(op.extent))
            return tvm.For(*bounds, op.kind, self.visit_stmt(op.body))

    return Exchanger


@dataclass(frozen=True)
class LoopPeer:
    """A peer that may be installed."""

    name: str
    mutator: Callable[[Any], Any]

    def make(self, functions: Sequence[tir.PrimFunc]) -> Callable[[], object] | str:
        """Return what runs the pass on functions, or why there is nothing to run."""
        try:
            tvm = _tvms_tir()
            mutator = tvm.functor.mutator(self.mutator(tvm))
            programs = [_converted(tvm, one) for one in functions]
            mutator().visit_stmt(programs[0])
        except ModuleNotFoundError:
            return "not installed"
        except LookupError as error:
            return str(error)
        except Exception as error:  # noqa: BLE001 -- the other peers are still wanted
            return f"does not run here: {error}"
        return lambda: [mutator().visit_stmt(one) for one in programs]


LOOP_PEERS = (
    LoopPeer("TVM's PyStmtExprMutator, all nodes in Python", _all_kinds),
    LoopPeer("TVM's PyStmtExprMutator, a quarter in Python, others in C++", _two_kinds),
)
