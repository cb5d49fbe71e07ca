"""The type of each kind of node, from the types of its children.

A child without a type was reported before; its users have no type then, or what their
other children say. Whatever does not fit is reported on the expression to blame.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from parpass.relay.expr import (
    Call,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Tuple,
    TupleGetItem,
    Var,
)
from parpass.relay.op.registry import Op, TypeRelationError
from parpass.relay.transform.type_agreement import join
from parpass.relay.ty import FuncType, TensorType, TupleType, Type

Types = Sequence[Type | None]

_SCALAR_BOOL = TensorType((), "bool")


class Report(Protocol):
    """Takes down an error."""

    def __call__(self, blamed: Any, message: str, around: Any = None) -> None:
        """Put an error on the span of `blamed`, or of the expression around it."""
        ...


Rule = Callable[[Any, Types, Report], Type | None]


def _call(call: Call, types: Types, report: Report) -> Type | None:
    callee, *args = types
    if isinstance(call.op, Op):
        return _call_of_operator(call, call.op, args, report)
    if isinstance(callee, FuncType):
        return _call_of_function(call, callee, args, report)
    if callee is not None:
        report(call, f"expected a function to call, got {callee}")
    return None


def _call_of_operator(call: Call, op: Op, args: Types, report: Report) -> Type | None:
    what = f"operator '{op.name}'"
    if len(args) != op.num_inputs:
        return report(call, _arity(what, op.num_inputs, len(args)))
    if op.attrs_type is not None and not isinstance(call.attrs, op.attrs_type):
        wanted, got = op.attrs_type.__name__, type(call.attrs).__name__
        return report(call, f"{what}: expected attributes {wanted}, got {got}")
    known = [found for found in args if found is not None]
    if len(known) != len(args):
        return None
    try:
        return op.relation(known, call.attrs)
    except TypeRelationError as error:
        return report(error if error.span else call, f"{what}: {error}")


def _call_of_function(
    call: Call, callee: FuncType, args: Types, report: Report
) -> Type | None:
    what = "call of a function"
    if isinstance(call.op, Var | GlobalVar):
        what = f"call of '{call.op.name_hint}'"
    wanted = callee.arg_types
    if len(args) != len(wanted):
        return report(call, _arity(what, len(wanted), len(args)))
    fits = True
    for at, (want, got) in enumerate(zip(wanted, args, strict=True)):
        if got is not None and join(want, got) is None:
            fits = False
            message = f"{what}: expected {want} for argument {at + 1}, got {got}"
            report(call.args[at], message, call)
    return callee.ret_type if fits else None


def _arity(what: str, wanted: int, got: int) -> str:
    plural = "" if wanted == 1 else "s"
    return f"{what}: expected {wanted} argument{plural}, got {got}"


def _tuple(_tuple: Tuple, types: Types, _report: Report) -> Type | None:
    known = tuple(found for found in types if found is not None)
    return TupleType(known) if len(known) == len(types) else None


def _projection(get: TupleGetItem, types: Types, report: Report) -> Type | None:
    (found,) = types
    if found is None:
        return None
    if not isinstance(found, TupleType):
        return report(get, f"expected a tuple to take a field of, got {found}")
    size = len(found.fields)
    if not 0 <= get.index < size:
        return report(get, f"expected an index below {size}, got {get.index}")
    return found.fields[get.index]


def _let(let: Let, types: Types, report: Report) -> Type | None:
    want, got, body = types
    if want is not None and got is not None and join(want, got) is None:
        name = let.var.name_hint
        report(let.value, f"expected {want} for variable '{name}', got {got}", let)
    return body


def _if(if_: If, types: Types, report: Report) -> Type | None:
    cond, true, false = types
    if cond is not None and cond != _SCALAR_BOOL:
        report(if_.cond, f"expected a scalar bool as condition, got {cond}", if_)
    if true is None or false is None:
        return None
    found = join(true, false)
    if found is None:
        message = f"expected {true} from both branches, got {false} from the second"
        report(if_.false_branch, message, if_)
    return found


def _function(fn: Function, types: Types, report: Report) -> Type | None:
    *params, body = types
    if fn.ret_type is not None:
        if body is not None and join(fn.ret_type, body) is None:
            report(fn.body, f"expected {fn.ret_type} as result, got {body}", fn)
        body = fn.ret_type
    known = tuple(param for param in params if param is not None)
    if body is None or len(known) != len(params):
        return None
    return FuncType(known, body, fn.type_params)


RULES: dict[type[Expr], Rule] = {
    Call: _call,
    Tuple: _tuple,
    TupleGetItem: _projection,
    Let: _let,
    If: _if,
    Function: _function,
}
