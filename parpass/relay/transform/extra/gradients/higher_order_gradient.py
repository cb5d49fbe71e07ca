"""Gradients of any program: closures, recursion, data types, references.

As in B. A. Pearlmutter and J. M. Siskind, "Reverse-mode AD in a functional framework:
lambda the ultimate backpropagator" (2008), and in Relay since: each tensor of floats
becomes a pair of its value and a reference to its gradient, and each function receives
the *backpropagator*, a reference to the closure that passes gradients on. What an
operator does is put before that: a closure that adds to the gradients of the arguments,
and then calls the one that was there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from parpass.errors import IRError
from parpass.ir.adt import Constructor
from parpass.ir.module import IRModule
from parpass.ir.node import bindings, children, post_order
from parpass.ir.op_table import Op
from parpass.ir.tree_size import MAX_COPIES
from parpass.ir.type_functor import TypeMutator
from parpass.ir.type_structure import check_size
from parpass.ir.types import FuncType, RelayRefType, TensorType, TupleType, Type
from parpass.relay import op
from parpass.relay.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    Var,
)
from parpass.relay.functor import ExprMutator
from parpass.relay.transform.extra.gradients.operator_gradients import (
    Gradients,
    is_differentiable,
    mapped,
    op_field,
)
from parpass.relay.transform.normal_forms import to_a_normal_form
from parpass.relay.typing.infer import infer_type

_UNIT = TupleType(())
_STEP = FuncType((), _UNIT)
_BACKPROPAGATOR = RelayRefType(_STEP)


def higher_order_gradient(function: Function, mod: IRModule | None = None) -> Function:
    """Return a function that gives its result, and its gradient by each parameter.

    Global functions that it calls get counterparts, `f_grad` of `f`, which are added to
    the module.

    Raises:
        IRError: An operator has no gradient.
        SizeLimitError: A tuple has too many tensors, as its fields share them.
    """
    module = mod if mod is not None else IRModule()
    return _Program(module).gradient(function)


class _Block:
    """A chain of `let`s that is written from the front."""

    def __init__(self) -> None:
        self._lets: list[tuple[Var, Expr]] = []

    def bind(self, name: str, value: Expr, typ: Type | None = None) -> Var:
        """Bind a value to a new variable, and return that."""
        var = Var(name, typ, None, typ)
        self._lets.append((var, value))
        return var

    def ending(self, result: Expr) -> Expr:
        """Return the chain around its result."""
        for var, value in reversed(self._lets):
            result = Let(var, value, result)
        return result


class _Program:
    """The functions of a module, and which of them are differentiated."""

    def __init__(self, mod: IRModule) -> None:
        self._mod = mod
        self._counterparts: dict[str, GlobalVar] = {}
        self._waiting: list[GlobalVar] = []
        self.gradients = Gradients()

    def gradient(self, function: Function) -> Function:
        """Return the gradient of a function; see `higher_order_gradient`."""
        typed = _normal(function, self._mod)
        result = self._whole(typed)
        while self._waiting:
            original = self._waiting.pop()
            callee = _normal(self._mod[original], self._mod)
            counterpart = self._counterparts[original.name_hint]
            self._mod[counterpart] = _Reverse(self, callee).visit(callee)
        return result

    def counterpart(self, var: GlobalVar) -> GlobalVar:
        """Return what stands for a global function: its differentiated form."""
        name = var.name_hint
        if name not in self._counterparts:
            taken = {one.name_hint for one in self._mod.functions}
            new = f"{name}_grad"
            while new in taken:
                new += "_"
            self._counterparts[name] = GlobalVar(new)
            self._waiting.append(var)
        return self._counterparts[name]

    def _whole(self, typed: Function) -> Function:
        block = _Block()
        params = [
            Var(p.name_hint, p.type_annotation or p.checked_type) for p in typed.params
        ]
        none = Function((), Tuple(()), _UNIT)
        back = block.bind("backpropagator", RefCreate(none), _BACKPROPAGATOR)
        args = [
            block.bind(f"{new.name_hint}_pair", _paired(old.checked_type, new))
            for new, old in zip(params, typed.params, strict=True)
        ]
        inner = _Reverse(self, typed).visit(typed)
        result = block.bind("result", Call(inner, (*args, back)))
        typ = typed.body.checked_type
        first = _pairs(typ, result)[0]
        ones = op.ones_like(op_field(first, 0))
        block.bind("seed", RefWrite(op_field(first, 1), ones))
        block.bind("done", Call(RefRead(back), ()))
        grads = [
            mapped(old.checked_type, pair, _gradient)
            for old, pair in zip(typed.params, args, strict=True)
        ]
        body = Tuple((_value(typ, result), Tuple(tuple(grads))))
        return Function(
            tuple(params), block.ending(body), None, typed.type_params, typed.attrs
        )


def _normal(function: Function, mod: IRModule) -> Function:
    """Return a function in A-normal form, with types."""
    bare = Function(
        function.params, function.body, function.ret_type, function.type_params
    )
    return infer_type(to_a_normal_form(infer_type(bare, mod), mod), mod)


class _PairedTypes(TypeMutator):
    """Gives tensors in a type their gradients, and functions the backpropagator."""

    def visit_tensor_type(self, tt: TensorType) -> Type:
        return TupleType((tt, RelayRefType(tt)))

    def visit_func_type(self, ft: FuncType) -> Type:
        *args, result = map(self.visit, (*ft.arg_types, ft.ret_type))
        return FuncType((*args, _BACKPROPAGATOR), result, ft.type_params)


def _paired(typ: Type, value: Expr) -> Expr:
    """Return a value of tensors as one of pairs, whose gradients are zeros.

    Raises:
        IRError: It is neither a tensor nor a tuple of such.
        SizeLimitError: The tensors are too many.
    """
    if not isinstance(typ, TensorType | TupleType):
        raise IRError(f"expected tensors and tuples to differentiate by, got {typ}")
    if isinstance(typ, TupleType):
        check_size(typ, MAX_COPIES)
        fields = enumerate(typ.fields)
        return Tuple(tuple([_paired(one, op_field(value, at)) for at, one in fields]))
    return Tuple((value, RefCreate(op.zeros_like(value))))


def _primal(pair: Expr) -> Expr:
    return op_field(pair, 0)


def _gradient(pair: Expr) -> Expr:
    return RefRead(op_field(pair, 1))


def _value(typ: Type, value: Expr) -> Expr:
    return mapped(typ, value, _primal)


def _pairs(typ: Type, value: Expr) -> list[Expr]:
    """Return the pairs, or the tensors, in a value, field by field.

    Raises:
        SizeLimitError: They are too many.
    """
    if isinstance(typ, TupleType):
        check_size(typ, MAX_COPIES)
        fields = enumerate(typ.fields)
        return [one for at, typ in fields for one in _pairs(typ, op_field(value, at))]
    return [value]


class _Reverse(ExprMutator):
    """Rewrites a function in A-normal form to one on pairs.

    Args:
        program: Has the counterparts of global functions.
        root: The function.
    """

    def __init__(self, program: _Program, root: Function) -> None:
        super().__init__()
        self._program = program
        self._types = _PairedTypes()
        self._back = {
            node: Var("backpropagator", _BACKPROPAGATOR)
            for node in post_order(root)
            if isinstance(node, Function)
        }
        self._inside = _enclosing(root)
        for node in post_order(root):
            for var in bindings(node):
                if isinstance(var, Var):
                    typ = self._types.visit(var.checked_type)
                    self.memo_map[var] = Var(var.name_hint, typ)

    def visit_constant(self, const: Constant) -> Expr:
        """Return a pair whose gradient is not read."""
        return _paired(const.checked_type, const)

    def visit_global_var(self, global_var: GlobalVar) -> Expr:
        """Return the counterpart of a global function."""
        return self._program.counterpart(global_var)

    def visit_if(self, if_: If) -> Expr:
        """Return a branch on the value of the condition."""
        new = super().visit_if(if_)
        return If(op_field(new.cond, 0), new.true_branch, new.false_branch, new.span)

    def visit_function(self, fn: Function) -> Expr:
        """Return a function with a parameter for the backpropagator."""
        params = tuple([cast("Var", self.visit(param)) for param in fn.params])
        result = self._types.visit(fn.body.checked_type)
        body = self.visit(fn.body)
        back = self._back[fn]
        return Function((*params, back), body, result, fn.type_params, None, fn.span)

    def visit_call(self, call: Call) -> Expr:
        """Return a call on pairs; of an operator, what it does backwards besides."""
        args = tuple(map(self.visit, call.args))
        if isinstance(call.op, Op):
            return self._operator(call, args)
        types = [*map(self._types.visit, call.type_args)]
        if isinstance(call.op, Constructor):
            return Call(call.op, args, call.attrs, types, call.span)
        back = self._back[self._inside[call]]
        return Call(self.visit(call.op), (*args, back), None, types, call.span)

    def _operator(self, call: Call, args: tuple[Expr, ...]) -> Expr:
        block = _Block()
        types = [arg.checked_type for arg in call.args]
        values = [
            block.bind("value", _value(typ, arg), typ)
            for typ, arg in zip(types, args, strict=True)
        ]
        typ = call.checked_type
        primal = Call(call.op, tuple(values), call.attrs, (), call.span, typ)
        value = block.bind("primal", primal, typ)
        pair = block.bind("pair", _paired(typ, value))
        if is_differentiable(typ) and any(map(is_differentiable, types)):
            back = self._back[self._inside[call]]
            before = block.bind("before", RefRead(back))
            grad = _Block()
            told = mapped(typ, pair, _gradient)
            told = grad.bind("grad", told, typ)
            found = self._program.gradients.of(primal, told)
            for arg, arg_type, one in zip(args, types, found, strict=True):
                if is_differentiable(arg_type):
                    _accumulate(grad, arg, arg_type, _with_value(one, primal, value))
            step = Function((), grad.ending(Call(before, ())), _UNIT)
            block.bind("passed_on", RefWrite(back, step))
        return block.ending(pair)


def _with_value(grad: Expr, call: Call, value: Var) -> Expr:
    """Return a gradient that does not compute the call again, but uses its value."""
    mutator = ExprMutator()
    mutator.memo_map[call] = value
    return mutator.visit(grad)


def _accumulate(block: _Block, arg: Expr, typ: Type, grad: Expr) -> None:
    """Write statements that add to the gradient of an argument."""
    whole = block.bind("part", grad, typ)
    for pair, part in zip(_pairs(typ, arg), _pairs(typ, whole), strict=True):
        reference = op_field(pair, 1)
        block.bind("added", RefWrite(reference, op.add(RefRead(reference), part)))


def _enclosing(root: Function) -> Mapping[Any, Function]:
    """Return in which function each call is."""
    found: dict[Any, Function] = {}
    stack: list[tuple[Any, Function]] = [(root.body, root)]
    while stack:
        node, function = stack.pop()
        if node in found:
            continue
        found[node] = function
        inner = node if isinstance(node, Function) else function
        stack += [(child, inner) for child in children(node)]
    return found
