"""The base of Relay's expressions, under TVM's name: what has an inferred type."""

from __future__ import annotations

from typing import ClassVar

from parpass.errors import UntypedError
from parpass.ir.dialect import dialect_of
from parpass.ir.node import Node
from parpass.ir.types import Type


class RelayExpr(Node, frozen=True, eq=False):
    """The base of typed expressions; Python's operators build calls.

    An expression is pickled like any object, so values pickled with it stay shared. The
    price is that `pickle` recurses, and fails on a very deep expression. Modules and
    `save_json` work at any depth.
    """

    namespace: ClassVar[str] = "relay"

    @property
    def checked_type(self) -> Type:
        """The inferred type.

        Raises:
            UntypedError: InferType has not run on this node.
        """
        found: Type | None = getattr(self, "checked_type_", None)
        if found is None:
            raise UntypedError(
                f"this {type(self).__name__} has no checked type yet; run "
                "relay.transform.InferType() on its module first"
            )
        return found

    def astype(self, dtype: str) -> RelayExpr:
        """Return this expression cast to `dtype`."""
        return dialect_of(self).cast(self, dtype)

    def __call__(self, *args: RelayExpr) -> RelayExpr:
        """Return a call of this expression."""
        return dialect_of(self).call(self, args)

    def __neg__(self) -> RelayExpr:
        return dialect_of(self).operator("negative", self)

    def __add__(self, other: Operand) -> RelayExpr:
        return dialect_of(self).operator("add", self, other)

    def __radd__(self, other: Operand) -> RelayExpr:
        return dialect_of(self).operator("add", other, self)

    def __sub__(self, other: Operand) -> RelayExpr:
        return dialect_of(self).operator("subtract", self, other)

    def __rsub__(self, other: Operand) -> RelayExpr:
        return dialect_of(self).operator("subtract", other, self)

    def __mul__(self, other: Operand) -> RelayExpr:
        return dialect_of(self).operator("multiply", self, other)

    def __rmul__(self, other: Operand) -> RelayExpr:
        return dialect_of(self).operator("multiply", other, self)

    def __truediv__(self, other: Operand) -> RelayExpr:
        return dialect_of(self).operator("divide", self, other)

    def __rtruediv__(self, other: Operand) -> RelayExpr:
        return dialect_of(self).operator("divide", other, self)

    def __lt__(self, other: Operand) -> RelayExpr:
        return dialect_of(self).operator("less", self, other)

    def __le__(self, other: Operand) -> RelayExpr:
        return dialect_of(self).operator("less_equal", self, other)

    def __gt__(self, other: Operand) -> RelayExpr:
        return dialect_of(self).operator("greater", self, other)

    def __ge__(self, other: Operand) -> RelayExpr:
        return dialect_of(self).operator("greater_equal", self, other)

    def __bool__(self) -> bool:
        # So that `if expr:` tests for None, also with an empty tuple.
        return True


Operand = RelayExpr | int | float | bool

__all__ = ["Operand", "RelayExpr"]
