"""The type of each kind of node, from the types of its children.

A child without a type was reported before; its users have no type then, or what their
other children say. Whatever does not fit is reported on the expression to blame. What
depends on a type that is not known yet gets an unknown type, and is looked at again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from parpass.errors import IRTypeError
from parpass.ir.adt import Constructor
from parpass.ir.attrs import Attrs
from parpass.ir.node import Node
from parpass.ir.operators.op_table import Op
from parpass.ir.types.ty import (
    FuncType,
    IncompleteType,
    RelayRefType,
    TensorType,
    TupleType,
    Type,
)
from parpass.relay.adt import Clause, Match
from parpass.relay.expr import (
    Call,
    Function,
    GlobalVar,
    If,
    Let,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)
from parpass.relay.op.declaration.relations import (
    bool_identity,
    float_identity,
    identity,
    number_identity,
)
from parpass.relay.typing.attribute_kinds import wrong_attribute
from parpass.relay.typing.inference import Inference

Types = Sequence[Type | None]
Rule = Callable[[Any, Types, Inference], Type | None]

_SCALAR_BOOL = TensorType((), "bool")

# Relations that say that the result is of the argument's type: known from either side.
_SAME_TYPE = {identity, float_identity, number_identity, bool_identity}


def type_of_call(
    call: Call, types: Types, inference: Inference
) -> tuple[Type | None, tuple[Type, ...]]:
    """Return the type of a call and its type arguments.

    An operator's type arguments are the types of what it is called on, as in TVM.
    """
    callee, *args = types
    known = tuple([found for found in args if found is not None])
    if len(known) != len(args):
        inference.excuse(types)
    if isinstance(call.op, Op):
        return _call_of_operator(call, call.op, args, known, inference), known
    if isinstance(callee, IncompleteType):
        callee = inference.solver.outline(callee)
    if isinstance(callee, FuncType):
        return _call_of_function(call, callee, args, inference)
    if isinstance(callee, IncompleteType):
        return _call_of_unknown(call, callee, args, known, inference), ()
    if callee is not None:
        inference.error(call, f"expected a function to call, got {callee}")
        inference.excuse(known)
    return None, ()


def _call_of_operator(
    call: Call, op: Op, args: Types, known: Sequence[Type], inference: Inference
) -> Type | None:
    wrong = None
    if len(args) != op.num_inputs:
        wrong = _arity(f"operator '{op.name}'", op.num_inputs, len(args))
    elif op.attrs_type is not None:
        wrong = _wrong_attributes(op.name, op.attrs_type, call.attrs)
    if wrong is not None:
        inference.excuse(known)
        return inference.error(call, wrong)
    if len(known) != len(args):
        return None
    solver = inference.solver
    if solver.in_use and solver.unknowns_in(known):
        return _call_on_unknown(call, op, known, inference)
    return _relate(call, op, known, inference)


def _wrong_attributes(name: str, wanted: type[Attrs], attrs: Any) -> str | None:
    if isinstance(attrs, wanted):
        wrong = wrong_attribute(attrs)
    else:
        got = type(attrs).__name__
        wrong = f"expected attributes {wanted.__name__}, got {got}"
    return wrong and f"operator '{name}': {wrong}"


def _relate(
    call: Call, op: Op, args: Sequence[Type], inference: Inference
) -> Type | None:
    try:
        return op.relation(args, call.attrs)
    except IRTypeError as error:  # of the relation, or of the type that it makes
        blamed = error if getattr(error, "span", None) else call
        return inference.error(blamed, f"operator '{op.name}': {error}")


def _call_on_unknown(
    call: Call, op: Op, args: Sequence[Type], inference: Inference
) -> Type:
    result = inference.solver.unknown()
    if op.relation in _SAME_TYPE:
        inference.agree(result, args[0])

    def attempt() -> bool:
        if any(map(inference.solver.is_open, args)):
            return _arguments_assigned(call, op, args, inference)
        found = _relate(call, op, [*map(inference.show, args)], inference)
        if found is not None and inference.agree(result, found) is not None:
            return True
        if found is not None:
            wanted = inference.show(result)
            message = f"expected {wanted} from operator '{op.name}', got {found}"
            inference.error(call, message)
        inference.excuse([result])
        return False

    inference.suspend(args, result, attempt)
    return result


def _arguments_assigned(
    call: Call, op: Op, args: Sequence[Type], inference: Inference
) -> bool:
    """Give arguments the types that the operator says they have.

    Returns:
        Whether there is no error.
    """
    if op.argument_types is None:
        return True
    solver = inference.solver
    known = [None if solver.is_open(arg) else inference.show(arg) for arg in args]
    try:
        wanted = op.argument_types(known, call.attrs)
    except IRTypeError as error:
        inference.error(call, f"operator '{op.name}': {error}")
        inference.excuse(args)
        return False
    for at, (arg, want) in enumerate(zip(args, wanted, strict=True)):
        if known[at] is not None or want is None:
            continue
        if inference.agree(arg, want) is None:
            got = inference.show(arg)
            message = f"expected {want} for argument {at + 1}, got {got}"
            inference.error(call, f"operator '{op.name}': {message}")
            return False
    return True


def _call_of_unknown(
    call: Call,
    callee: IncompleteType,
    args: Types,
    known: Sequence[Type],
    inference: Inference,
) -> Type | None:
    if len(known) != len(args):
        inference.excuse([callee])
        return None
    what = _call_name(call)
    if call.type_args:
        inference.excuse([callee, *known])
        message = f"{what}: expected a function with type parameters, not an unknown"
        return inference.error(call, message)
    result = inference.unknown(
        call, f"{what}: expected a type annotation on what is called, or on its result"
    )
    if inference.agree(callee, FuncType(tuple(known), result)) is None:
        message = (
            f"{what}: expected a type that is not a part of itself, got a function"
        )
        return inference.error(call, f"{message} that takes or gives itself")
    return result


def _call_of_function(
    call: Call, callee: FuncType, args: Types, inference: Inference
) -> tuple[Type | None, tuple[Type, ...]]:
    what = _call_name(call)
    params, type_args = callee.type_params, call.type_args
    if len(args) != len(callee.arg_types):
        inference.error(call, _arity(what, len(callee.arg_types), len(args)))
    elif len(type_args) > len(params):
        message = _arity(what, len(params), len(type_args), "type argument")
        inference.error(call, message)
    else:
        if params:
            missing = [
                inference.unknown(
                    call,
                    f"{what}: expected type argument '{param}', which nothing says",
                )
                for param in params[len(type_args) :]
            ]
            type_args = (*type_args, *missing)
            callee = callee.instantiated(type_args, inference.solver.type_vars)
        fits = _arguments_fit(call, what, callee, args, inference)
        return callee.ret_type if fits else None, type_args
    inference.excuse([callee, *args])
    return None, type_args


def _arguments_fit(
    call: Call, what: str, callee: FuncType, args: Types, inference: Inference
) -> bool:
    fits = True
    for at, (want, got) in enumerate(zip(callee.arg_types, args, strict=True)):
        if got is None:
            inference.excuse([want])
        elif inference.agree(want, got) is None:
            fits = False
            want, got = inference.show(want), inference.show(got)
            message = f"{what}: expected {want} for argument {at + 1}, got {got}"
            inference.error(call.args[at], message, call)
    if not fits:
        inference.excuse([callee])
    return fits


def _call_name(call: Call) -> str:
    if isinstance(call.op, Constructor):
        return f"constructor '{call.op.name_hint}'"
    if isinstance(call.op, Var | GlobalVar):
        return f"call of '{call.op.name_hint}'"
    return "call of a function"


def _arity(what: str, wanted: int, got: int, of: str = "argument") -> str:
    plural = "" if wanted == 1 else "s"
    return f"{what}: expected {wanted} {of}{plural}, got {got}"


def _tuple(_tuple: Tuple, types: Types, inference: Inference) -> Type | None:
    known = tuple([found for found in types if found is not None])
    if len(known) == len(types):
        return TupleType(known)
    inference.excuse(known)
    return None


def _projection(get: TupleGetItem, types: Types, inference: Inference) -> Type | None:
    (found,) = types
    if not isinstance(found, IncompleteType):
        return None if found is None else _field(get, found, inference)
    result = inference.solver.unknown()

    def attempt() -> bool:
        known = inference.solver.outline(found)
        if isinstance(known, IncompleteType):
            return True
        field = _field(get, known, inference)
        if field is not None and inference.agree(result, field) is not None:
            return True
        if field is not None:
            wanted, field = inference.show(result), inference.show(field)
            inference.error(get, f"expected {wanted} in the tuple, got {field}")
        inference.excuse([result])
        return False

    inference.suspend([found], result, attempt)
    return result


def _field(get: TupleGetItem, found: Type, inference: Inference) -> Type | None:
    if not isinstance(found, TupleType):
        found = inference.show(found)
        return inference.error(get, f"expected a tuple to take a field of, got {found}")
    size = len(found.fields)
    if not 0 <= get.index < size:
        message = f"expected an index below {size}, got {get.index}"
        return inference.error(get, message)
    return found.fields[get.index]


def _let(let: Let, types: Types, inference: Inference) -> Type | None:
    want, got, body = types
    if want is None or got is None:
        inference.excuse((want, got))
    elif inference.agree(want, got) is None:
        want, got = inference.show(want), inference.show(got)
        name = let.var.name_hint
        message = f"expected {want} for variable '{name}', got {got}"
        inference.error(let.value, message, let)
    return body


def _if(if_: If, types: Types, inference: Inference) -> Type | None:
    cond, true, false = types
    if cond is not None and inference.agree(cond, _SCALAR_BOOL) is None:
        got = inference.show(cond)
        message = f"expected a scalar bool as condition, got {got}"
        inference.error(if_.cond, message, if_)
    if true is None or false is None:
        inference.excuse((true, false))
        return None
    found = inference.agree(true, false)
    if found is None:
        true, false = inference.show(true), inference.show(false)
        message = f"expected {true} from both branches, got {false} from the second"
        inference.error(if_.false_branch, message, if_)
    return found


def _function(fn: Function, types: Types, inference: Inference) -> Type | None:
    *params, body = types
    if fn.ret_type is not None:
        if body is None:
            inference.excuse([fn.ret_type])
        elif inference.agree(fn.ret_type, body) is None:
            want, got = inference.show(fn.ret_type), inference.show(body)
            inference.error(fn.body, f"expected {want} as result, got {got}", fn)
        body = fn.ret_type
    known = tuple([param for param in params if param is not None])
    if body is None or len(known) != len(params):
        inference.excuse(types)
        return None
    return FuncType(known, body, fn.type_params)


def _clause(_clause: Clause, types: Types, _inference: Inference) -> Type | None:
    return types[-1]


def _match(match: Match, types: Types, inference: Inference) -> Type | None:
    _, *found = types
    if not found:
        message = "expected a clause at least, which says of what type the match is"
        return inference.error(match, message)
    common = found[0]
    for clause, got in zip(match.clauses[1:], found[1:], strict=True):
        if common is None or got is None:
            inference.excuse(found)
            return None
        agreed = inference.agree(common, got)
        if agreed is None:
            want, got = inference.show(common), inference.show(got)
            message = f"expected {want} from all clauses, got {got} from one"
            return inference.error(clause.rhs, message, clause)
        common = agreed
    return common


def _ref_create(_ref: RefCreate, types: Types, _inference: Inference) -> Type | None:
    return None if types[0] is None else RelayRefType(types[0])


def _ref_read(read: RefRead, types: Types, inference: Inference) -> Type | None:
    return _referred(read, types[0], inference)


def _ref_write(write: RefWrite, types: Types, inference: Inference) -> Type | None:
    ref, value = types
    wanted = _referred(write, ref, inference)
    if wanted is None or value is None:
        inference.excuse((wanted, value))
    elif inference.agree(wanted, value) is None:
        want, got = inference.show(wanted), inference.show(value)
        message = f"expected {want} for the reference, got {got}"
        inference.error(write.value, message, write)
    return TupleType(())


def _referred(
    user: RefRead | RefWrite, ref: Type | None, inference: Inference
) -> Type | None:
    """Return the type of the value that a reference has."""
    known = ref and inference.solver.outline(ref)
    if isinstance(known, IncompleteType):
        message = "expected a type annotation on the reference"
        value = inference.unknown(user, message)
        known = RelayRefType(value)
        inference.agree(known, ref or known)
    if known is None or isinstance(known, RelayRefType):
        return known and known.value
    got = inference.show(known)
    return inference.error(user.ref, f"expected a reference, got {got}", user)


RULES: dict[type[Node], Rule] = {
    Tuple: _tuple,
    TupleGetItem: _projection,
    Let: _let,
    If: _if,
    Function: _function,
    Clause: _clause,
    Match: _match,
    RefCreate: _ref_create,
    RefRead: _ref_read,
    RefWrite: _ref_write,
}
