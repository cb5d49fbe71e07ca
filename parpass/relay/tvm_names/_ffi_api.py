"""`relay.analysis._ffi_api`: the solver of types, as TVM's own tests reach it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from parpass.errors import ArgumentError, quoted
from parpass.relay.typing.constraint_solver import ConstraintSolver


def _test_type_solver() -> Callable[[str], Callable[..., Any]]:
    """Return what gives a new solver's methods by TVM's names.

    They are `AddConstraint`, `Solve`, `Unify` and `Resolve`.
    """
    solver = ConstraintSolver()
    methods: dict[str, Callable[..., Any]] = {
        "AddConstraint": solver.add_constraint,
        "Resolve": solver.resolve,
        "Solve": solver.solve,
        "Unify": solver.unify,
    }

    def method(name: str) -> Callable[..., Any]:
        if name not in methods:
            raise ArgumentError(f"expected one of {quoted(methods)}, got '{name}'")
        return methods[name]

    return method


__all__ = ["_test_type_solver"]
