"""FirstOrderGradient, for programs of tensors only, and `relay.transform.gradient`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, cast

from parpass.errors import IRError, IRTypeError
from parpass.ir.module import IRModule
from parpass.ir.node import post_order
from parpass.ir.node.tree_size import MAX_COPIES
from parpass.ir.op.op_table import Op
from parpass.ir.types import TupleType, Type
from parpass.ir.types.type_structure import check_size
from parpass.relay import op
from parpass.relay.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    Tuple,
    TupleGetItem,
    Var,
)
from parpass.relay.transform.gradients.operator_gradients import (
    Gradients,
    is_differentiable,
    op_field,
)
from parpass.relay.type_inference.infer import typed_function
from parpass.transform import ModulePass, PassContext, PassInfo, register_pass


@register_pass("relay._transform.FirstOrderGradient")
class FirstOrderGradient(ModulePass):
    """Make each function return its gradients with its result.

    ::

        def @main(%x: Tensor[(3,), float32], %y: Tensor[(3,), float32]) {
          multiply(%x, %y)
        }

    becomes::

        def @main(%x: Tensor[(3,), float32], %y: Tensor[(3,), float32]) {
          %0 = multiply(%x, %y);
          %1 = ones_like(%0);
          %2 = multiply(%1, %y);
          %3 = multiply(%1, %x);
          %4 = (%2, %3);
          (%0, %4)
        }

    The gradients are of the sum of the tensor that the function returns; if it returns
    a tuple, of the first tensor in it. A function may contain operators, tuples and
    constants. Anything else is an error; see `gradient`.
    """

    pass_info = PassInfo(0, "FirstOrderGradient", required=("InferType",))

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Return the module of functions with gradients."""
        del ctx
        result = mod.copy()
        for var, function in mod.functions.items():
            if isinstance(function, Function):
                result[var] = first_order_gradient(function, mod)
        return result


def first_order_gradient(function: Function, mod: IRModule | None = None) -> Function:
    """Return a function that gives its result, and its gradient by each parameter.

    Raises:
        SizeLimitError: A tuple has too many tensors, as its fields share them.
        IRError: The function has control flow, closures or references, or an operator
            without a gradient.
    """
    typed = typed_function(function, mod or IRModule())
    adjoints = _Adjoints(typed.body)
    grads = [adjoints.total(param) for param in typed.params]
    body = Tuple((typed.body, Tuple(tuple(grads))))
    return Function(typed.params, body, None, typed.type_params, typed.attrs)


class _Adjoints:
    """The gradients of a program's values: sums, field by field."""

    def __init__(self, body: Expr) -> None:
        self._found: dict[Expr, Any] = {}
        self._gradients = Gradients()
        order = cast("list[Expr]", post_order(body))
        for node in order:
            if isinstance(node, Call | Tuple | TupleGetItem | Var):
                check_size(node.checked_type, MAX_COPIES)
        self._seed(body)
        for node in reversed(order):
            if isinstance(node, Op | Var | Constant):
                continue
            if not isinstance(node, Call | Tuple | TupleGetItem) or (
                isinstance(node, Call) and not isinstance(node.op, Op)
            ):
                raise IRError(
                    f"expected operators and tuples alone, got {node!r}: control flow, "
                    "closures and references have no gradient"
                )
            if node in self._found and is_differentiable(node.checked_type):
                self._pass_on(node)

    def _seed(self, body: Expr) -> None:
        typ, found, value = body.checked_type, self._found, body
        part = found.setdefault(body, _none(typ))
        while isinstance(typ, TupleType) and typ.fields:
            typ, part, value = typ.fields[0], part[0], op_field(value, 0)
        if not isinstance(typ, TupleType):
            part.append(op.ones_like(value))

    def total(self, node: Expr) -> Expr:
        """Return the gradient by a value."""
        typ = node.checked_type
        return _total(typ, self._found.get(node, _none(typ)), node)

    def _add(self, node: Expr, grad: Expr) -> None:
        typ = node.checked_type
        _collect(typ, self._found.setdefault(node, _none(typ)), grad)

    def _pass_on(self, node: Call | Tuple | TupleGetItem) -> None:
        if isinstance(node, Tuple):
            grads = self.total(node)
            for at, field in enumerate(node.fields):
                self._add(field, op_field(grads, at))
        elif isinstance(node, TupleGetItem):
            fields = self._found.setdefault(
                node.tuple_value, _none(node.tuple_value.checked_type)
            )
            _collect(node.checked_type, fields[node.index], self.total(node))
        else:
            grads = self._gradients.of(node, self.total(node))
            for arg, grad in zip(node.args, grads, strict=True):
                self._add(arg, grad)


def _none(typ: Type) -> list[Any]:
    if isinstance(typ, TupleType):
        return [_none(field) for field in typ.fields]
    return []


def _collect(typ: Type, found: list[Any], grad: Expr) -> None:
    if isinstance(typ, TupleType):
        for at, field in enumerate(typ.fields):
            _collect(field, found[at], op_field(grad, at))
    else:
        found.append(grad)


def _total(typ: Type, found: Sequence[Any], value: Expr) -> Expr:
    if isinstance(typ, TupleType):
        fields = [
            _total(field, found[at], op_field(value, at))
            for at, field in enumerate(typ.fields)
        ]
        return Tuple(tuple(fields))
    return reduce(op.add, found) if found else op.zeros_like(value)


def gradient(
    expr: Expr, mod: IRModule | None = None, mode: str = "first_order"
) -> Function:
    """Return a function that gives its result, and its gradient by each parameter.

    The result is `(f(x, y), (df/dx, df/dy))`, where gradients are those of the sum of
    the tensor that `f` gives; of a tuple, of the first one in it. It can be
    differentiated again.

    Args:
        expr: A function, or a global variable of the module.
        mod: Has the global functions.
        mode: `first_order`, the one of TVM's modes that there is: programs of operators
            and tuples are differentiated, and give such.

    Raises:
        IRError: An operator has no gradient, the function has control flow, closures or
            references, or there is no such mode.
        IRTypeError: `expr` is no function.
        SizeLimitError: A tuple has too many tensors, as its fields share them.
    """
    if mode != "first_order":
        raise IRError(
            f"expected mode 'first_order', the one that there is, got '{mode}'"
        )
    if isinstance(expr, GlobalVar) and mod is not None:
        expr = mod[expr]
    if not isinstance(expr, Function):
        raise IRTypeError(f"expected a function to differentiate, got {expr!r}")
    return first_order_gradient(expr, mod)
