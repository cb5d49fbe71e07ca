"""Visitors and mutators of types, under TVM's names.

They recurse along the nesting of a type, which is shallow where a program is deep, and
visit a shared part once.
"""

from __future__ import annotations

from typing import Generic, TypeVar, cast

from parpass.errors import IRTypeError
from parpass.ir.adt import GlobalTypeVar, TypeCall, TypeData
from parpass.ir.node.node_functor import visits
from parpass.ir.op.type_relation import TypeRelation
from parpass.ir.types import (
    FuncType,
    IncompleteType,
    RelayRefType,
    TensorType,
    TupleType,
    Type,
)
from parpass.ir.types import TypeVar as RelayTypeVar

ResultT = TypeVar("ResultT")


class TypeFunctor(Generic[ResultT]):
    """Computes a result for a type, by its kind; subclasses override `visit_...`.

    Each object that consists of types is dispatched once, and its result is memoized.
    If results depend on the scope of a type, use a functor for each scope.

    `Type.visitor` names the method for a kind. A functor for the types of another IR
    adds methods for these; a type without one goes to `visit_default`.
    """

    def visit(self, typ: Type) -> ResultT:
        """Return the result for a type, from the memo if it was visited before.

        Raises:
            IRTypeError: The argument is not a type.
        """
        if not isinstance(cast("object", typ), Type):
            raise IRTypeError(f"expected a type, got {type(typ).__name__}")
        method = getattr(self, typ.visitor, self.visit_default)
        if not typ.parts:
            return method(typ)
        # With the type itself: after its deletion another one could get its id.
        memo: dict[int, tuple[Type, ResultT]] = self.__dict__.setdefault("_memo", {})
        if id(typ) not in memo:
            memo[id(typ)] = (typ, method(typ))
        return memo[id(typ)][1]

    visit_type_var = visits(RelayTypeVar)
    visit_incomplete_type = visits(IncompleteType)
    visit_tensor_type = visits(TensorType)
    visit_func_type = visits(FuncType)
    visit_tuple_type = visits(TupleType)
    visit_ref_type = visits(RelayRefType)
    visit_global_type_var = visits(GlobalTypeVar)
    visit_type_call = visits(TypeCall)
    visit_type_data = visits(TypeData)
    visit_type_relation = visits(TypeRelation)

    def visit_default(self, typ: Type) -> ResultT:
        """Return the result for a type whose kind has no override."""
        raise NotImplementedError(
            f"{type(self).__name__} does not say what to do with "
            f"a {type(typ).__name__}; override {typ.visitor}"
        )


class TypeVisitor(TypeFunctor[None]):
    """Visits all parts of a type; subclasses override `visit_...`."""

    def visit_default(self, typ: Type) -> None:
        """Visit the parts of a type: a function's parameters before its result."""
        for part in (*typ.binders, *typ.parts):
            self.visit(part)


class TypeMutator(TypeFunctor[Type]):
    """Rewrites a type; an unchanged type stays the same object.

    Subclasses override the `visit_...` of the kinds they rewrite; `super().visit_...`
    returns the type with its parts rewritten. Type parameters are binders, and are not
    visited.
    """

    def visit_default(self, typ: Type) -> Type:
        """Return a type with its parts rewritten, itself if none changed."""
        old = typ.parts
        new = tuple([self.visit(part) for part in old])
        if all(before is after for before, after in zip(old, new, strict=True)):
            return typ
        return typ.rebuilt(new, typ.binders)


__all__ = ["TypeFunctor", "TypeMutator", "TypeVisitor"]
