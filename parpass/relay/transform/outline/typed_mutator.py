"""Rewriting that changes which objects there are, and no type."""

from __future__ import annotations

from typing import Any

from msgspec.structs import force_setattr

from parpass.ir.node import children
from parpass.relay.expr import Call, Expr, Tuple, TupleGetItem
from parpass.relay.functor import ExprMutator

# Of these the type follows from the types of the children.
_FOLLOWING = (Call, Tuple, TupleGetItem)


class TypedMutator(ExprMutator):
    """A mutator that keeps the type of a node whose new children have the old types.

    So InferType finds little to do behind it. It is for rewrites that give a value
    another origin, and leave operators and attributes as they are.
    """

    def visit_default(self, expr: Expr) -> Expr:
        """Return a node with its children rewritten, with its type if that holds."""
        new = super().visit_default(expr)
        if new is not expr and isinstance(expr, _FOLLOWING):
            _keep_type(expr, new)
        return new


def _keep_type(old: Expr, new: Expr) -> None:
    for before, after in zip(children(old), children(new), strict=True):
        if before is not after:
            known = _type_of(before)
            if known is None or known != _type_of(after):
                return
    force_setattr(new, "checked_type_", _type_of(old))


def _type_of(expr: Expr) -> Any:
    return getattr(expr, "checked_type_", None)
