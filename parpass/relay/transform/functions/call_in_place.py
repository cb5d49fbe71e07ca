"""What a function computes in the place of its call; Inline and DefuseOps share it."""

from __future__ import annotations

from collections.abc import Sequence

from parpass.relay.analysis.effects import Effects
from parpass.relay.binding import with_new_variables
from parpass.relay.expr import Call, Expr, Function, Let, Var


def body_in_place(
    callee: Function, args: Sequence[Expr], call: Call, effects: Effects
) -> Expr:
    """Return the body of a function with arguments in the place of its parameters.

    An argument with effects is bound by a `let`, for the body may use it in a branch,
    behind other effects, or not at all.

    Args:
        callee: The function.
        args: As many arguments as it has parameters.
        call: The call, whose span the `let`s get.
        effects: Knows those of the arguments.
    """
    values: dict[Var, Expr] = {}
    lets: list[tuple[Var, Expr]] = []
    for param, arg in zip(callee.params, args, strict=True):
        values[param] = arg
        if not effects.is_pure(arg):
            var = Var(param.name_hint, param.type_annotation, param.span)
            values[param] = var
            lets.append((var, arg))
    body = with_new_variables(callee.body, values)
    for var, arg in reversed(lets):
        body = Let(var, arg, body, call.span)
    return body
