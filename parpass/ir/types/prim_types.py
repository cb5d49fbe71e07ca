"""Types of scalars and pointers, with which loop programs compute."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from parpass.ir.types.type_structure import Type


class PrimType(Type, frozen=True, gc=False):
    """A scalar, or a vector of a few lanes: `int32`, `float32x4`, `handle`."""

    namespace: ClassVar[str] = "tir"
    visitor: ClassVar[str] = "visit_prim_type"

    dtype: str

    def __str__(self) -> str:
        return self.dtype


class PointerType(Type, frozen=True):
    """A pointer to elements of a type, in a storage scope; "" is TVM's `global`."""

    namespace: ClassVar[str] = "tir"
    visitor: ClassVar[str] = "visit_pointer_type"

    element_type: Type
    storage_scope: str = ""

    def __post_init__(self) -> None:
        if self.storage_scope == "global":
            msgspec.structs.force_setattr(self, "storage_scope", "")

    def __str__(self) -> str:
        scope = f", {self.storage_scope}" if self.storage_scope else ""
        return f"Pointer({self.element_type}{scope})"
