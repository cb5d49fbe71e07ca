"""The type of a call, from the types of the callee and of the arguments.

A result that depends on an unknown type gets an unknown type, and is revisited when
more is known. Attributes are checked against the kinds that the operator declares:
builders check theirs, but a call that is constructed directly may hold anything.
"""

from __future__ import annotations

import functools
import types
import typing
from collections.abc import Sequence
from typing import Any

from parpass.errors import IRTypeError
from parpass.ir.adt import Constructor
from parpass.ir.attrs import Attrs
from parpass.ir.op.op_table import Op
from parpass.ir.serialization.schema import Check, check_of
from parpass.ir.types import FuncType, IncompleteType, Type
from parpass.relay.expr import Call, GlobalVar, Var
from parpass.relay.op.declaration.type_relations import (
    bool_identity,
    float_identity,
    identity,
    number_identity,
)
from parpass.relay.type_inference.inference_state import InferenceState, Types


def wrong_attribute(attrs: Attrs) -> str | None:
    """Return what is wrong with the first attribute of a wrong kind, if any."""
    for name, plain, check in _checks(type(attrs)):
        value = getattr(attrs, name)
        misfit = None if type(value) in plain else check(value)
        if misfit is not None:
            where = f"{name}{misfit.where}"
            return f"expected {misfit.expected} for '{where}', got {misfit.found}"
    return None


# What is of these types fits where they are declared, without a closer look.
_PLAIN = frozenset({bool, float, int, str, type(None)})


@functools.cache
def _checks(kind: type[Attrs]) -> list[tuple[str, frozenset[type], Check]]:
    hints: dict[str, Any] = typing.get_type_hints(kind)
    return [
        (name, _plain_types(hints[name]), check_of(hints[name]))
        for name in kind.__struct_fields__
    ]


def _plain_types(hint: Any) -> frozenset[type]:
    is_union = typing.get_origin(hint) in {typing.Union, types.UnionType}
    return _PLAIN & set(typing.get_args(hint) if is_union else (hint,))


# Relations that say that the result is of the argument's type: known from either side.
_SAME_TYPE = {identity, float_identity, number_identity, bool_identity}


def type_of_call(
    call: Call, types: Types, inference: InferenceState
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
    call: Call, op: Op, args: Types, known: Sequence[Type], inference: InferenceState
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
    call: Call, op: Op, args: Sequence[Type], inference: InferenceState
) -> Type | None:
    try:
        return op.relation(args, call.attrs)
    except IRTypeError as error:  # of the relation, or of the type that it makes
        blamed = error if getattr(error, "span", None) else call
        return inference.error(blamed, f"operator '{op.name}': {error}")


def _call_on_unknown(
    call: Call, op: Op, args: Sequence[Type], inference: InferenceState
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
    call: Call, op: Op, args: Sequence[Type], inference: InferenceState
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
    inference: InferenceState,
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
    call: Call, callee: FuncType, args: Types, inference: InferenceState
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
    call: Call, what: str, callee: FuncType, args: Types, inference: InferenceState
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
