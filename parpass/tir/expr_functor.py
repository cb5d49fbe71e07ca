"""Visitors and mutators of loop expressions, under TVM's names.

`ir/node/node_functor.py` documents how they traverse an expression without recursion,
and how a method can act before and after the children.
"""

from __future__ import annotations

from typing import TypeVar, cast

from parpass.ir.global_var import GlobalVar
from parpass.ir.node import Node
from parpass.ir.node.node_functor import NodeFunctor, NodeMutator, NodeVisitor, visits
from parpass.ir.op.op_table import Op
from parpass.tir.expr import (
    Any,
    Broadcast,
    Buffer,
    BufferLoad,
    Call,
    Cast,
    CommReducer,
    FloatImm,
    IntImm,
    IterVar,
    Let,
    Load,
    Not,
    PrimExpr,
    ProducerLoad,
    Ramp,
    Range,
    Reduce,
    Select,
    Shuffle,
    SizeVar,
    StringImm,
    Tensor,
    Var,
    binary_op,
)

ResultT = TypeVar("ResultT")


class ExprFunctor(NodeFunctor[Node, ResultT], leaves=(Buffer, Tensor)):
    """Computes one result for every expression: subclass it, override `visit_..._`.

    As in TVM, buffers are leaves: their fields are not visited. Variables are visited
    at their bindings, too.
    """

    def visit_expr(self, expr: PrimExpr) -> ResultT:
        """Return the result for an expression; TVM's name for `visit`."""
        return self.visit(expr)

    visit_var_ = visits(Var, SizeVar)
    visit_int_imm_ = visits(IntImm)
    visit_float_imm_ = visits(FloatImm)
    visit_string_imm_ = visits(StringImm)
    visit_cast_ = visits(Cast)
    visit_add_ = visits(binary_op.Add)
    visit_sub_ = visits(binary_op.Sub)
    visit_mul_ = visits(binary_op.Mul)
    visit_div_ = visits(binary_op.Div)
    visit_mod_ = visits(binary_op.Mod)
    visit_floor_div_ = visits(binary_op.FloorDiv)
    visit_floor_mod_ = visits(binary_op.FloorMod)
    visit_min_ = visits(binary_op.Min)
    visit_max_ = visits(binary_op.Max)
    visit_eq_ = visits(binary_op.EQ)
    visit_ne_ = visits(binary_op.NE)
    visit_lt_ = visits(binary_op.LT)
    visit_le_ = visits(binary_op.LE)
    visit_gt_ = visits(binary_op.GT)
    visit_ge_ = visits(binary_op.GE)
    visit_and_ = visits(binary_op.And)
    visit_or_ = visits(binary_op.Or)
    visit_not_ = visits(Not)
    visit_select_ = visits(Select)
    visit_buffer_load_ = visits(BufferLoad)
    visit_load_ = visits(Load)
    visit_ramp_ = visits(Ramp)
    visit_broadcast_ = visits(Broadcast)
    visit_shuffle_ = visits(Shuffle)
    visit_call_ = visits(Call)
    visit_let_ = visits(Let)
    visit_reduce_ = visits(Reduce)
    visit_comm_reducer_ = visits(CommReducer)
    visit_any_ = visits(Any)
    visit_producer_load_ = visits(ProducerLoad)
    visit_tensor_ = visits(Tensor)
    visit_op_ = visits(Op)
    visit_global_var_ = visits(GlobalVar)
    visit_buffer_ = visits(Buffer)
    visit_range_ = visits(Range)
    visit_iter_var_ = visits(IterVar)


class ExprVisitor(NodeVisitor[Node], ExprFunctor[None]):
    """Visits every node of an expression once, children first, for an analysis."""


class ExprMutator(NodeMutator[Node], ExprFunctor[Node]):
    """Rewrites an expression bottom-up; unchanged nodes stay the same objects.

    A shared node is rewritten once, and the result is shared. If a result depends on
    the place of a node, write the method as a generator, and set `memo_map` to a new
    mapping while it is in that place.
    """

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        """Return an expression rewritten; TVM's name for `visit`."""
        return cast("PrimExpr", self.visit(expr))
