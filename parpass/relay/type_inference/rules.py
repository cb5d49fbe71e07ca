"""The type of each kind of node but a call, from the types of its children.

A child without a type was reported before; its users have no type then, or what their
other children say. Whatever does not fit is reported on the expression to blame. What
depends on a type that is not known yet gets an unknown type, and is looked at again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from parpass.ir.node import Node
from parpass.ir.types import (
    FuncType,
    IncompleteType,
    RelayRefType,
    TensorType,
    TupleType,
    Type,
)
from parpass.relay.adt import Clause, Match
from parpass.relay.expr import (
    Function,
    If,
    Let,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
)
from parpass.relay.type_inference.inference_state import InferenceState, Types

Rule = Callable[[Any, Types, InferenceState], Type | None]

_SCALAR_BOOL = TensorType((), "bool")


def _tuple(_tuple: Tuple, types: Types, inference: InferenceState) -> Type | None:
    known = tuple([found for found in types if found is not None])
    if len(known) == len(types):
        return TupleType(known)
    inference.excuse(known)
    return None


def _projection(
    get: TupleGetItem, types: Types, inference: InferenceState
) -> Type | None:
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


def _field(get: TupleGetItem, found: Type, inference: InferenceState) -> Type | None:
    if not isinstance(found, TupleType):
        found = inference.show(found)
        return inference.error(get, f"expected a tuple to take a field of, got {found}")
    size = len(found.fields)
    if not 0 <= get.index < size:
        message = f"expected an index below {size}, got {get.index}"
        return inference.error(get, message)
    return found.fields[get.index]


def _let(let: Let, types: Types, inference: InferenceState) -> Type | None:
    want, got, body = types
    if want is None or got is None:
        inference.excuse((want, got))
    elif inference.agree(want, got) is None:
        want, got = inference.show(want), inference.show(got)
        name = let.var.name_hint
        message = f"expected {want} for variable '{name}', got {got}"
        inference.error(let.value, message, let)
    return body


def _if(if_: If, types: Types, inference: InferenceState) -> Type | None:
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


def _function(fn: Function, types: Types, inference: InferenceState) -> Type | None:
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


def _clause(_clause: Clause, types: Types, _inference: InferenceState) -> Type | None:
    return types[-1]


def _match(match: Match, types: Types, inference: InferenceState) -> Type | None:
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


def _ref_create(
    _ref: RefCreate, types: Types, _inference: InferenceState
) -> Type | None:
    return None if types[0] is None else RelayRefType(types[0])


def _ref_read(read: RefRead, types: Types, inference: InferenceState) -> Type | None:
    return _referred(read, types[0], inference)


def _ref_write(write: RefWrite, types: Types, inference: InferenceState) -> Type | None:
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
    user: RefRead | RefWrite, ref: Type | None, inference: InferenceState
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
