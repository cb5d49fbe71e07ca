"""Visitors and mutators of loop expressions, under TVM's names.

How they go through an expression without recursion, and how a method can do something
before and after the children, is told in `ir/node_functor.py`.
"""

from __future__ import annotations

from typing import TypeVar, cast

from parpass.ir.node import Node
from parpass.ir.node_functor import NodeFunctor, NodeMutator, NodeVisitor
from parpass.ir.operators.op_table import (
    Op,
)
from parpass.ir.relay_expr import (
    GlobalVar,
)
from parpass.tir.binary_op import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    Div,
    FloorDiv,
    FloorMod,
    Max,
    Min,
    Mod,
    Mul,
    Or,
    Sub,
)
from parpass.tir.buffer import (
    Buffer,
    BufferLoad,
)
from parpass.tir.expr import (
    Any,
    Broadcast,
    Call,
    Cast,
    Let,
    Load,
    Not,
    Ramp,
    Select,
    Shuffle,
    SizeVar,
    Var,
)
from parpass.tir.iteration import (
    IterVar,
    Range,
)
from parpass.tir.prim_expr import (
    FloatImm,
    IntImm,
    PrimExpr,
    StringImm,
)
from parpass.tir.reduction import CommReducer, Reduce
from parpass.tir.tensor import ProducerLoad, Tensor

ResultT = TypeVar("ResultT")

EXPR_METHODS: dict[type[Node], str] = {
    Var: "visit_var_",
    SizeVar: "visit_var_",
    IntImm: "visit_int_imm_",
    FloatImm: "visit_float_imm_",
    StringImm: "visit_string_imm_",
    Cast: "visit_cast_",
    Add: "visit_add_",
    Sub: "visit_sub_",
    Mul: "visit_mul_",
    Div: "visit_div_",
    Mod: "visit_mod_",
    FloorDiv: "visit_floor_div_",
    FloorMod: "visit_floor_mod_",
    Min: "visit_min_",
    Max: "visit_max_",
    EQ: "visit_eq_",
    NE: "visit_ne_",
    LT: "visit_lt_",
    LE: "visit_le_",
    GT: "visit_gt_",
    GE: "visit_ge_",
    And: "visit_and_",
    Or: "visit_or_",
    Not: "visit_not_",
    Select: "visit_select_",
    BufferLoad: "visit_buffer_load_",
    Load: "visit_load_",
    Ramp: "visit_ramp_",
    Broadcast: "visit_broadcast_",
    Shuffle: "visit_shuffle_",
    Call: "visit_call_",
    Let: "visit_let_",
    Any: "visit_any_",
    Reduce: "visit_reduce_",
    CommReducer: "visit_comm_reducer_",
    ProducerLoad: "visit_producer_load_",
    Tensor: "visit_tensor_",
    Op: "visit_op_",
    GlobalVar: "visit_global_var_",
    Buffer: "visit_buffer_",
    Range: "visit_range_",
    IterVar: "visit_iter_var_",
}
LEAVES = (Buffer, Tensor)


class ExprFunctor(NodeFunctor[Node, ResultT], kinds=EXPR_METHODS, leaves=LEAVES):
    """Gives every expression a result, once: subclass it, override `visit_..._`.

    Buffers are leaves, as in TVM: what they are made of is not visited. Variables are
    visited where they are bound, too.
    """

    def visit_expr(self, expr: PrimExpr) -> ResultT:
        """Give the result for an expression; TVM's name for `visit`."""
        return self.visit(expr)

    def visit_var_(self, op: Var) -> ResultT:
        """Give the result for a variable."""
        return self.visit_default(op)

    def visit_int_imm_(self, op: IntImm) -> ResultT:
        """Give the result for an int."""
        return self.visit_default(op)

    def visit_float_imm_(self, op: FloatImm) -> ResultT:
        """Give the result for a float."""
        return self.visit_default(op)

    def visit_string_imm_(self, op: StringImm) -> ResultT:
        """Give the result for a string."""
        return self.visit_default(op)

    def visit_cast_(self, op: Cast) -> ResultT:
        """Give the result for a cast."""
        return self.visit_default(op)

    def visit_add_(self, op: Add) -> ResultT:
        """Give the result for a sum."""
        return self.visit_default(op)

    def visit_sub_(self, op: Sub) -> ResultT:
        """Give the result for a difference."""
        return self.visit_default(op)

    def visit_mul_(self, op: Mul) -> ResultT:
        """Give the result for a product."""
        return self.visit_default(op)

    def visit_div_(self, op: Div) -> ResultT:
        """Give the result for a division."""
        return self.visit_default(op)

    def visit_mod_(self, op: Mod) -> ResultT:
        """Give the result for a remainder."""
        return self.visit_default(op)

    def visit_floor_div_(self, op: FloorDiv) -> ResultT:
        """Give the result for a division, rounded down."""
        return self.visit_default(op)

    def visit_floor_mod_(self, op: FloorMod) -> ResultT:
        """Give the result for a remainder of such a division."""
        return self.visit_default(op)

    def visit_min_(self, op: Min) -> ResultT:
        """Give the result for a minimum."""
        return self.visit_default(op)

    def visit_max_(self, op: Max) -> ResultT:
        """Give the result for a maximum."""
        return self.visit_default(op)

    def visit_eq_(self, op: EQ) -> ResultT:
        """Give the result for `a == b`."""
        return self.visit_default(op)

    def visit_ne_(self, op: NE) -> ResultT:
        """Give the result for `a != b`."""
        return self.visit_default(op)

    def visit_lt_(self, op: LT) -> ResultT:
        """Give the result for `a < b`."""
        return self.visit_default(op)

    def visit_le_(self, op: LE) -> ResultT:
        """Give the result for `a <= b`."""
        return self.visit_default(op)

    def visit_gt_(self, op: GT) -> ResultT:
        """Give the result for `a > b`."""
        return self.visit_default(op)

    def visit_ge_(self, op: GE) -> ResultT:
        """Give the result for `a >= b`."""
        return self.visit_default(op)

    def visit_and_(self, op: And) -> ResultT:
        """Give the result for `a and b`."""
        return self.visit_default(op)

    def visit_or_(self, op: Or) -> ResultT:
        """Give the result for `a or b`."""
        return self.visit_default(op)

    def visit_not_(self, op: Not) -> ResultT:
        """Give the result for `not a`."""
        return self.visit_default(op)

    def visit_select_(self, op: Select) -> ResultT:
        """Give the result for a selection."""
        return self.visit_default(op)

    def visit_buffer_load_(self, op: BufferLoad) -> ResultT:
        """Give the result for an element of a buffer."""
        return self.visit_default(op)

    def visit_load_(self, op: Load) -> ResultT:
        """Give the result for a value of memory."""
        return self.visit_default(op)

    def visit_ramp_(self, op: Ramp) -> ResultT:
        """Give the result for a ramp."""
        return self.visit_default(op)

    def visit_broadcast_(self, op: Broadcast) -> ResultT:
        """Give the result for a repeated value."""
        return self.visit_default(op)

    def visit_shuffle_(self, op: Shuffle) -> ResultT:
        """Give the result for a shuffle."""
        return self.visit_default(op)

    def visit_call_(self, op: Call) -> ResultT:
        """Give the result for a call."""
        return self.visit_default(op)

    def visit_let_(self, op: Let) -> ResultT:
        """Give the result for a `let`."""
        return self.visit_default(op)

    def visit_reduce_(self, op: Reduce) -> ResultT:
        """Give the result for a reduction."""
        return self.visit_default(op)

    def visit_comm_reducer_(self, op: CommReducer) -> ResultT:
        """Give the result for the way in which a reduction puts values together."""
        return self.visit_default(op)

    def visit_any_(self, op: Any) -> ResultT:
        """Give the result for an int that nothing is known of."""
        return self.visit_default(op)

    def visit_producer_load_(self, op: ProducerLoad) -> ResultT:
        """Give the result for an element of a tensor."""
        return self.visit_default(op)

    def visit_tensor_(self, op: Tensor) -> ResultT:
        """Give the result for a tensor; what computes it is not visited."""
        return self.visit_default(op)

    def visit_op_(self, op: Op) -> ResultT:
        """Give the result for an operator."""
        return self.visit_default(op)

    def visit_global_var_(self, op: GlobalVar) -> ResultT:
        """Give the result for a reference to a global."""
        return self.visit_default(op)

    def visit_buffer_(self, op: Buffer) -> ResultT:
        """Give the result for a buffer; its parts are not visited."""
        return self.visit_default(op)

    def visit_range_(self, op: Range) -> ResultT:
        """Give the result for a range."""
        return self.visit_default(op)

    def visit_iter_var_(self, op: IterVar) -> ResultT:
        """Give the result for an axis."""
        return self.visit_default(op)


class ExprVisitor(NodeVisitor[Node], ExprFunctor[None]):
    """Visits every node of an expression once, children first, for an analysis."""


class ExprMutator(NodeMutator[Node], ExprFunctor[Node]):
    """Rewrites an expression bottom-up; what does not change stays the same object.

    A shared node is rewritten once, and the result is shared. Where a result depends on
    the place of a node, a method that is a generator gives `memo_map` a new mapping for
    as long as it is in that place.
    """

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        """Return an expression rewritten; TVM's name for `visit`."""
        return cast("PrimExpr", self.visit(expr))
