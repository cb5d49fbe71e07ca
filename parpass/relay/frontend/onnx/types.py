"""Types while importing: what shape does this expression have?"""

from __future__ import annotations

from typing import cast

import numpy as np
import onnx
from onnx import helper

from parpass.errors import IRTypeError
from parpass.ir.op_table import Op
from parpass.ir.ty import TensorType, TupleType, Type
from parpass.relay.expr import Call, Constant, Expr, If, Tuple, TupleGetItem, Var
from parpass.relay.functor import ExprFunctor


class TypeOf(ExprFunctor[Type]):
    """The type of what a converter may build: calls of operators on typed leaves.

    It asks the operators' own relations, one call at a time and each only once, since
    a converter needs the shapes of its inputs before the function is complete.
    """

    def tensor(self, expr: Expr) -> TensorType:
        """Return the type of an expression whose value is one tensor."""
        found = self.visit(expr)
        if not isinstance(found, TensorType):
            raise IRTypeError(f"expected a tensor, got {found}")
        return found

    def visit_var(self, var: Var) -> Type:
        """Give the annotation, which parameters always have."""
        return cast("Type", var.type_annotation)

    def visit_constant(self, const: Constant) -> Type:
        """Give the type of the array."""
        return const.checked_type

    def visit_op(self, op: Op) -> Type:
        """Give a stand-in: calls ask the operator's relation themselves."""
        return TupleType(())

    def visit_call(self, call: Call) -> Type:
        """Give what the operator's relation says."""
        op = cast("Op", call.op)
        return op.relation([self.visit(arg) for arg in call.args], call.attrs)

    def visit_if(self, if_: If) -> Type:
        """Give the type of the branches, which agree."""
        self.visit(if_.cond)
        self.visit(if_.false_branch)
        return self.visit(if_.true_branch)

    def visit_tuple(self, tup: Tuple) -> Type:
        """Give the tuple of the fields' types."""
        return TupleType(tuple(self.visit(field) for field in tup.fields))

    def visit_tuple_getitem(self, op: TupleGetItem) -> Type:
        """Give the type of the field."""
        return cast("TupleType", self.visit(op.tuple_value)).fields[op.index]


def type_proto(tensor: TensorType) -> onnx.TypeProto:
    """Return a tensor's type as ONNX writes it; a dimension may be unknown."""
    code = helper.np_dtype_to_tensor_dtype(np.dtype(tensor.dtype))
    shape = [dim if isinstance(dim, int) else None for dim in tensor.shape]
    return helper.make_tensor_type_proto(code, shape)
