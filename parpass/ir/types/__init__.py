"""Types shared by IRs, under TVM's names and fields, compared by structure."""

from parpass.ir.types.composed_types import (
    VOID,
    ComposedType,
    FuncType,
    RelayRefType,
    TupleType,
    fields_of,
)
from parpass.ir.types.prim_types import PointerType, PrimType
from parpass.ir.types.tensor_types import Any, Dim, TensorType, scalar_type, tensor_type
from parpass.ir.types.type_structure import IncompleteType, Type, TypeKind, TypeVar

__all__ = [
    "VOID",
    "Any",
    "ComposedType",
    "Dim",
    "FuncType",
    "IncompleteType",
    "PointerType",
    "PrimType",
    "RelayRefType",
    "TensorType",
    "TupleType",
    "Type",
    "TypeKind",
    "TypeVar",
    "fields_of",
    "scalar_type",
    "tensor_type",
]
