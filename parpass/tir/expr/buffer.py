"""Buffers: memory with a shape, and the expressions that read it."""

from __future__ import annotations

from typing import Any, ClassVar, cast

from msgspec.structs import force_setattr

from parpass.diagnostic import Span
from parpass.errors import IRTypeError
from parpass.ir.dialect import dialect_of
from parpass.ir.node import FieldKind, Node, reflected
from parpass.ir.types import PointerType, PrimType
from parpass.tir.data_type import checked, data_type
from parpass.tir.expr.prim_expr import (
    IntImm,
    Operand,
    Operands,
    PrimExpr,
    as_prim_expr,
    as_prim_exprs,
)
from parpass.tir.expr.scalar import Var, check_var, set_dtype

ALIGNMENT = 128  # of a buffer's memory, in bytes, where none is asked for; TVM's


def _structure(buffer: Buffer) -> list[Any]:
    return [buffer.dtype, None, buffer.data_alignment, None, buffer.buffer_type]


@reflected(
    is_graph=False,
    structure=_structure,
    data=FieldKind.BINDING,
    shape=FieldKind.CHILDREN,
    strides=FieldKind.CHILDREN,
    elem_offset=FieldKind.CHILD,
)
class Buffer(Node, frozen=True, eq=False):
    """Memory with a shape; usually created by `decl_buffer`.

    Two buffers are the same only if they are the same object. A declaration binds the
    variables in `data`, `shape`, `strides` and `elem_offset`.

    Attributes:
        data: The pointer to the memory.
        dtype: The dtype of the elements.
        shape: The length of each dimension.
        strides: The distance between neighbours in each dimension, in elements; empty
            if elements are contiguous.
        elem_offset: The element of the memory at which the buffer begins.
        name: Its name, for readers.
        data_alignment: The alignment of the memory, in bytes.
        offset_factor: A divisor of `elem_offset`.
        buffer_type: "auto_broadcast" if dimensions of length 1 are repeated.
    """

    namespace: ClassVar[str] = "tir"

    READ: ClassVar[int] = 1
    WRITE: ClassVar[int] = 2

    data: Var
    dtype: str
    shape: Operands
    strides: Operands = ()
    elem_offset: Operand = cast("Any", None)
    name: str = "buffer"
    data_alignment: int = ALIGNMENT
    offset_factor: int = 1
    buffer_type: str = ""
    span: Span | None = None

    def __post_init__(self) -> None:
        force_setattr(self, "dtype", checked(self.dtype))
        force_setattr(self, "shape", as_prim_exprs(self.shape))
        force_setattr(self, "strides", as_prim_exprs(self.strides or ()))
        if self.elem_offset is None:
            force_setattr(self, "elem_offset", IntImm(self.index_dtype, 0))
        force_setattr(self, "elem_offset", as_prim_expr(self.elem_offset))
        if self.data_alignment <= 0:
            force_setattr(self, "data_alignment", ALIGNMENT)
        if self.offset_factor == 0:
            force_setattr(self, "offset_factor", 1)
        self._check()

    def _check(self) -> None:
        check_var(self, self.data)
        wanted = PrimType(stored_as(self.dtype))
        pointer = self.data.type_annotation
        if not (isinstance(pointer, PointerType) and pointer.element_type == wanted):
            raise IRTypeError(
                f"expected a pointer to {wanted} for the data of buffer '{self.name}', "
                f"got a variable of type {pointer or self.data.dtype}"
            )
        if self.strides and len(self.strides) != len(self.shape):
            raise IRTypeError(
                f"expected as many strides as dimensions for buffer '{self.name}', got "
                f"{len(self.strides)} and {len(self.shape)}"
            )

    @property
    def index_dtype(self) -> str:
        """The dtype of indices: the dtype of the first dimension, or int32."""
        return self.shape[0].dtype if self.shape else "int32"

    @property
    def declared(self) -> tuple[Var, ...]:
        """The variables that a declaration of the buffer binds."""
        parts = (self.data, *self.shape, *self.strides, self.elem_offset)
        return tuple([part for part in parts if isinstance(part, Var)])

    def scope(self) -> str:
        """Return the storage scope: `global` if none is given."""
        pointer = cast("PointerType", self.data.type_annotation)
        return pointer.storage_scope or "global"

    def vload(self, begin: Any, dtype: str | None = None) -> PrimExpr:
        """Return a load of one element, or of a vector, at the indices `begin`."""
        return dialect_of(self).operator("vload", self, begin, dtype or self.dtype)

    def vstore(self, begin: Any, value: Any) -> Any:
        """Return a store of one element, or of a vector, at the indices `begin`."""
        return dialect_of(self).operator("vstore", self, begin, value)

    def access_ptr(
        self,
        access_mask: int | str,
        ptr_type: str = "handle",
        content_lanes: int = 1,
        offset: Any = 0,
    ) -> PrimExpr:
        """Return a pointer to the buffer, for functions defined elsewhere.

        Args:
            access_mask: `READ`, `WRITE` or both; or "r", "w", "rw".
            ptr_type: The dtype of the pointer.
            content_lanes: The number of elements in a vector.
            offset: The distance from the buffer's first element, in elements.
        """
        return dialect_of(self).operator(
            "access_ptr", self, access_mask, ptr_type, content_lanes, offset
        )


def stored_as(dtype: str) -> str:
    """Return the dtype of memory that holds values of a dtype: bools are bytes."""
    return "int8" if dtype == "bool" else dtype


def decl_buffer(
    shape: Any,
    dtype: str | None = None,
    name: str = "buffer",
    data: Var | None = None,
    strides: Any = None,
    elem_offset: Any = None,
    scope: str = "",
    data_alignment: int = -1,
    offset_factor: int = 0,
    buffer_type: str = "",
    span: Span | None = None,
) -> Buffer:
    """Return a buffer of new memory, or of the memory of `data`.

    With an offset factor and no offset, the offset is a new variable. An
    `auto_broadcast` buffer has new variables for strides.
    """
    dims = as_prim_exprs(shape)
    dtype = checked("float32" if dtype is None else dtype)
    if offset_factor != 0 and elem_offset is None:
        of_index = dims[0].dtype if dims else "int32"
        elem_offset = Var(f"{name}_elem_offset", of_index)
    if data is None:
        pointer = PointerType(PrimType(stored_as(dtype)), scope)
        data = Var(name, cast("str", pointer), span)
    if buffer_type == "auto_broadcast" and not strides:
        strides = [Var("stride", dim.dtype) for dim in dims]
    return Buffer(
        data,
        dtype,
        dims,
        strides or (),
        elem_offset,
        name,
        data_alignment,
        offset_factor,
        buffer_type,
        span,
    )


@reflected(
    is_graph=False,
    buffer=FieldKind.CHILD,
    indices=FieldKind.CHILDREN,
    dtype=FieldKind.DERIVED,
)
class BufferLoad(PrimExpr, frozen=True, eq=False):
    """An element of a buffer, by its indices."""

    buffer: Buffer
    indices: Operands
    span: Span | None = None
    dtype: str = ""

    def __post_init__(self) -> None:
        check_buffer(self, self.buffer)
        force_setattr(self, "indices", as_prim_exprs(self.indices))
        check_indices(self)
        set_dtype(self, self.buffer.dtype)


def check_buffer(node: Node, buffer: Any) -> None:
    """Check that what stands for the buffer of a node is one.

    Raises:
        IRTypeError: It is none.
    """
    if not isinstance(buffer, Buffer):
        raise IRTypeError(
            f"expected a tir.Buffer in {type(node).__name__}, got "
            f"{type(buffer).__name__}"
        )


def check_indices(node: Any) -> None:
    """Check that a node has an index of ints for each dimension of its buffer.

    Raises:
        IRTypeError: It has not.
    """
    buffer, indices = node.buffer, node.indices
    if len(indices) != len(buffer.shape):
        raise IRTypeError(
            f"expected {len(buffer.shape)} indices for buffer '{buffer.name}', got "
            f"{len(indices)}"
        )
    for index in indices:
        if not data_type(index.dtype).is_integral:
            raise IRTypeError(
                f"expected indices of ints for buffer '{buffer.name}', got "
                f"{index.dtype}"
            )
