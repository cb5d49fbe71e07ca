"""Visitors and mutators of types, under TVM's names.

They recurse along the nesting of a type, which is shallow where a program is deep, and
visit a part once, however often it is shared.
"""

from __future__ import annotations

from typing import Generic, TypeVar, cast

from parpass.errors import IRTypeError
from parpass.ir.adt import GlobalTypeVar, TypeCall, TypeData
from parpass.ir.type_constraint import TypeRelation
from parpass.ir.types.ty import (
    FuncType,
    IncompleteType,
    RelayRefType,
    TensorType,
    TupleType,
    Type,
)
from parpass.ir.types.ty import TypeVar as RelayTypeVar

ResultT = TypeVar("ResultT")


class TypeFunctor(Generic[ResultT]):
    """Gives a type a result, by its kind: subclass it and override `visit_...`.

    An object that is made of types is dispatched once, and its result remembered. What
    depends on the scope that a type is in needs a functor for each scope.

    Which method is for a kind, the kind says (`Type.visitor`). So a functor for the
    types of another IR has methods for these besides; one that has none gives such a
    type to `visit_default`.
    """

    def visit(self, typ: Type) -> ResultT:
        """Return the result for a type, from memory if the same object was visited.

        Raises:
            IRTypeError: This is no type.
        """
        if not isinstance(cast("object", typ), Type):
            raise IRTypeError(f"expected a type, got {type(typ).__name__}")
        method = getattr(self, typ.visitor, self.visit_default)
        if not typ.parts:
            return method(typ)
        # With the type itself, or another one could get its id.
        memo: dict[int, tuple[Type, ResultT]] = self.__dict__.setdefault("_memo", {})
        if id(typ) not in memo:
            memo[id(typ)] = (typ, method(typ))
        return memo[id(typ)][1]

    def visit_type_var(self, tv: RelayTypeVar) -> ResultT:
        """Give the result for a type variable."""
        return self.visit_default(tv)

    def visit_incomplete_type(self, it: IncompleteType) -> ResultT:
        """Give the result for a type that is not known yet."""
        return self.visit_default(it)

    def visit_tensor_type(self, tt: TensorType) -> ResultT:
        """Give the result for the type of a tensor."""
        return self.visit_default(tt)

    def visit_func_type(self, ft: FuncType) -> ResultT:
        """Give the result for the type of a function."""
        return self.visit_default(ft)

    def visit_tuple_type(self, tt: TupleType) -> ResultT:
        """Give the result for the type of a tuple."""
        return self.visit_default(tt)

    def visit_ref_type(self, rt: RelayRefType) -> ResultT:
        """Give the result for the type of a reference."""
        return self.visit_default(rt)

    def visit_global_type_var(self, gtv: GlobalTypeVar) -> ResultT:
        """Give the result for the name of a defined type."""
        return self.visit_default(gtv)

    def visit_type_call(self, tc: TypeCall) -> ResultT:
        """Give the result for a defined type with types for its parameters."""
        return self.visit_default(tc)

    def visit_type_data(self, td: TypeData) -> ResultT:
        """Give the result for the definition of a type."""
        return self.visit_default(td)

    def visit_type_relation(self, tr: TypeRelation) -> ResultT:
        """Give the result for a relation of types."""
        return self.visit_default(tr)

    def visit_default(self, typ: Type) -> ResultT:
        """Give the result for a type whose kind has no override."""
        raise NotImplementedError(
            f"{type(self).__name__} does not say what to do with "
            f"a {type(typ).__name__}; override {typ.visitor}"
        )


class TypeVisitor(TypeFunctor[None]):
    """Visits all parts of a type; override the `visit_...` of what you look at."""

    def visit_default(self, typ: Type) -> None:
        """Visit the parts of a type: a function's parameters before its result."""
        for part in (*typ.binders, *typ.parts):
            self.visit(part)


class TypeMutator(TypeFunctor[Type]):
    """Rewrites a type; what does not change stays the same object.

    Override the `visit_...` of the kinds you rewrite; `super().visit_...` gives the
    type with its parts rewritten. Type parameters are binders, and are not visited.
    """

    def visit_default(self, typ: Type) -> Type:
        """Return a type with its parts rewritten, itself if none changed."""
        old = typ.parts
        new = tuple([self.visit(part) for part in old])
        if all(before is after for before, after in zip(old, new, strict=True)):
            return typ
        return typ.rebuilt(new, typ.binders)


__all__ = ["TypeFunctor", "TypeMutator", "TypeVisitor"]
