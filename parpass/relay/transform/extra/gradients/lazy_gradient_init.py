"""LazyGradientInit: zeros and ones are created on first use."""

from __future__ import annotations

from typing import cast

from parpass.ir.adt import Constructor, GlobalTypeVar, TypeCall
from parpass.ir.dialect import dialect_of
from parpass.ir.module import IRModule
from parpass.ir.node import bindings, post_order
from parpass.ir.op_table import Op
from parpass.ir.type_functor import TypeMutator
from parpass.ir.types import TensorType, Type, fields_of
from parpass.relay.adt import Match
from parpass.relay.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Var,
)
from parpass.relay.functor import ExprMutator
from parpass.relay.transform.extra.gradients.operator_gradients import mapped
from parpass.relay.transform.infer_type import InferType
from parpass.relay.typing.infer import typed_function
from parpass.transform import ModulePass, PassContext, PassInfo, register_pass

_MADE = {"zeros": "Zero", "zeros_like": "Zero", "ones": "One", "ones_like": "One"}
_COMBINED = {"add": "AddGradCell", "multiply": "MultiplyGradCell"}


@register_pass("relay._transform.LazyGradientInit")
class LazyGradientInit(ModulePass):
    """Make zeros and ones when they are needed, which in sums they are not.

    Inside of a function each tensor becomes a `GradCell` of `gradient.rly`: the tensor,
    or what makes zeros or ones. That such are added or multiplied is found out when
    the program runs. What goes in and comes out stays what it is::

        def @main(%x: Tensor[(3,), float32]) {
          %0 = zeros_like(%x);
          add(%x, %0)
        }

    computes no sum. Functions that match on data types, or give closures to others,
    stay as they are, and so do those that are primitive. Zeros that are multiplied by
    infinity are zeros, as in TVM.

    Raises:
        SizeLimitError: A tuple has too many tensors, as its fields share them.
    """

    pass_info = PassInfo(1, "LazyGradientInit", required=("InferType",))

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Return the module with functions on `GradCell`s."""
        del ctx
        result = mod.copy()
        result.import_from_std("gradient.rly")
        for var, function in mod.functions.items():
            if not isinstance(function, Function) or _is_foreign(function):
                continue
            typed = typed_function(function, mod)
            if _is_taken(typed):
                result[var] = _Cells(result).function(typed)
        return InferType()(result)


def _is_foreign(function: Function) -> bool:
    return dialect_of(function).is_skipped(function)


def _is_taken(function: Function) -> bool:
    """Return whether all that a function takes, gives and calls is plain."""
    if not all(map(_is_plain, function.checked_type.parts)):
        return False
    for node in post_order(function):
        if isinstance(node, Match | Constructor):
            return False
        if isinstance(node, Function) and node.has_nonzero_attr("Primitive"):
            return False
        if isinstance(node, Call):
            if any(isinstance(arg, GlobalVar) for arg in node.args):
                return False
            types = [arg.checked_type for arg in node.args]
            is_global = isinstance(node.op, GlobalVar)
            if is_global and not all(map(_is_plain, (*types, node.checked_type))):
                return False
    return True


def _is_plain(typ: Type) -> bool:
    """Return whether a type is made of tensors and tuples alone."""
    return all(isinstance(field, TensorType) for field in fields_of(typ))


class _CellTypes(TypeMutator):
    def __init__(self, cell: GlobalTypeVar) -> None:
        self._cell = cell

    def visit_tensor_type(self, tt: TensorType) -> Type:
        return TypeCall(self._cell, (tt,))


class _Cells(ExprMutator):
    """Rewrites an expression on tensors to one on cells.

    Args:
        mod: Has `gradient.rly`.
    """

    def __init__(self, mod: IRModule) -> None:
        super().__init__()
        self._mod = mod
        header, *made = mod.get_type("GradCell")
        self._made = {one.name_hint: one for one in made}
        self._types = _CellTypes(header)

    def function(self, fn: Function) -> Function:
        """Return a function of the same type that works on cells inside."""
        for node in post_order(fn.body):
            for var in bindings(node):
                if isinstance(var, Var):
                    typ = self._types.visit(var.checked_type)
                    self.memo_map[var] = Var(var.name_hint, typ)
        for param in fn.params:
            self.memo_map[param] = self._cell(param.checked_type, param)
        body = self._plain(fn.body.checked_type, self.visit(fn.body))
        return Function(fn.params, body, fn.ret_type, fn.type_params, fn.attrs, fn.span)

    def _cell(self, typ: Type, value: Expr) -> Expr:
        """Return tensors as cells."""
        return mapped(typ, value, lambda one: Call(self._made["Raw"], (one,)))

    def _plain(self, typ: Type, value: Expr) -> Expr:
        """Return cells as tensors."""
        read = self._mod.get_global_var("FromGradCell")
        return mapped(typ, value, lambda one: Call(read, (one,)))

    def visit_constant(self, const: Constant) -> Expr:
        """Return a constant as a cell."""
        return self._cell(const.checked_type, const)

    def visit_if(self, if_: If) -> Expr:
        """Return a branch on the condition itself."""
        new = super().visit_if(if_)
        cond = self._plain(if_.cond.checked_type, new.cond)
        return If(cond, new.true_branch, new.false_branch, if_.span)

    def visit_function(self, fn: Function) -> Expr:
        """Return a closure on cells."""
        params = tuple([cast("Var", self.visit(param)) for param in fn.params])
        result = self._types.visit(fn.body.checked_type)
        body = self.visit(fn.body)
        return Function(params, body, result, fn.type_params, fn.attrs, fn.span)

    def visit_call(self, call: Call) -> Expr:
        """Return a call that makes, or is on, cells."""
        if not isinstance(call.op, Op | GlobalVar):
            return super().visit_call(call)
        new = tuple(map(self.visit, call.args))
        types = [arg.checked_type for arg in call.args]
        typ = call.checked_type
        name = call.op.name if isinstance(call.op, Op) else ""
        if name in _COMBINED and types == [typ, typ]:
            left, right = Var("left", typ), Var("right", typ)
            body = Call(call.op, (left, right), call.attrs, (), call.span)
            combine = Function((left, right), body, typ)
            var = self._mod.get_global_var(_COMBINED[name])
            return Call(var, (combine, *new))
        pairs = zip(types, new, strict=True)
        args = tuple([self._plain(one, arg) for one, arg in pairs])
        given = () if name else call.type_args
        plain = Call(call.op, args, call.attrs, given, call.span)
        if name in _MADE:
            return Call(self._made[_MADE[name]], (Function((), plain, typ),))
        if isinstance(typ, TensorType):
            return self._cell(typ, plain)
        result = Var("result", typ)
        return Let(result, plain, self._cell(typ, result))
