"""`relay.ty`: Relay's types, which `relay` itself has, too."""

from parpass.ir.adt import GlobalTypeVar, TypeCall, TypeData
from parpass.ir.type_constraint import TypeConstraint, TypeRelation
from parpass.ir.types.prim_ty import PrimType
from parpass.ir.types.ty import (
    Any,
    FuncType,
    IncompleteType,
    RelayRefType,
    TensorType,
    TupleType,
    Type,
    TypeKind,
    TypeVar,
    scalar_type,
)

RefType = RelayRefType

__all__ = [
    "Any",
    "FuncType",
    "GlobalTypeVar",
    "IncompleteType",
    "PrimType",
    "RefType",
    "RelayRefType",
    "TensorType",
    "TupleType",
    "Type",
    "TypeCall",
    "TypeConstraint",
    "TypeData",
    "TypeKind",
    "TypeRelation",
    "TypeVar",
    "scalar_type",
]
