"""What type variables stand for where functions are evaluated in the place of calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from parpass.ir.types.ty import IncompleteType, Type, TypeVar
from parpass.ir.types.type_structure import substitute, type_vars_in
from parpass.relay.expr import Function
from parpass.relay.transform.partial_evaluation.partial_values import Closure, Scope


def types_in_call(
    known: Closure, type_args: Sequence[Type], scope: Scope
) -> Mapping[TypeVar, Type]:
    """Return what type variables stand for in the body of a function that is called.

    Args:
        known: The function.
        type_args: The types that it is called with; InferType finds those that are
            missing.
        scope: Where it is called.
    """
    around: Mapping[TypeVar, Type]
    around = known.scope.types if known.scope is not None else {}
    own = known.function.type_params
    if not own:
        return around
    given = [substitute(one, scope.types) for one in type_args]
    given += [IncompleteType()] * (len(own) - len(given))
    return {**around, **dict(zip(own, given, strict=True))}


def types_in_code(
    function: Function, around: Mapping[TypeVar, Type]
) -> tuple[Mapping[TypeVar, Type], tuple[TypeVar, ...]]:
    """Return what type variables stand for in a function, and its type parameters.

    They get other names where types from outside have theirs.
    """
    if not function.type_params:
        return around, ()
    taken = {var.name_hint for typ in around.values() for var in type_vars_in(typ)}
    own: list[TypeVar] = []
    for param in function.type_params:
        name = param.name_hint
        while name in taken:
            name += "_"
        taken.add(name)
        own.append(param if name == param.name_hint else TypeVar(name, param.kind))
    return {**around, **dict(zip(function.type_params, own, strict=True))}, tuple(own)
