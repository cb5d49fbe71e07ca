"""Relay's types, compared by structure.

Names and fields are those of `tvm.relay.ty`. A dimension is an int, or `Any()` where
it is known only when the program runs.

Types share their parts: of `t = (x, x)`, `u = (t, t)` and so on, each type is twice as
large as the one before, as a tree and as text. So they are compared by digests, visited
by object (`type_functor.py`), and written only if they are not too large.
"""

from __future__ import annotations

import enum
import operator
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import msgspec

from parpass.errors import IRTypeError, SizeLimitError
from parpass.relay.dtypes import NUMPY_DTYPES, dtype_of


class Any(msgspec.Struct, frozen=True):
    """A dimension that is unknown until the program runs; prints as `?`."""

    namespace: ClassVar[str] = "relay"

    def __str__(self) -> str:
        return "?"


Dim = int | Any


# Types, and values of attributes, are compared and printed by recursion. So deep may be
# what programs state; functions that take such types have types, too, one deeper.
MAX_NESTING = 100
MAX_TYPE_DEPTH = MAX_NESTING + 1
MAX_TYPE_SIZE = 1_000_000  # where all parts have to be gone through
_SHOWN = 1_000  # parts of a type that messages show


class Type(msgspec.Struct, frozen=True):
    """The base of all types; for `namespace`, see `Node`."""

    namespace: ClassVar[str] = "relay"

    @property
    def parts(self) -> tuple[Type, ...]:
        """The types that this one is made of."""
        return ()

    def same_as(self, other: object) -> bool:
        """Return whether this is the very same object as `other`."""
        return self is other


class TensorType(Type, frozen=True):
    """A tensor of a shape and a dtype; a scalar has the shape `()`.

    Dimensions are ints from 0 on that have 64 bits, or `Any()`. The dtype is one that
    programs may name; TVM's `float`, `int` and `uint` are those of 32 bits, and numpy's
    own dtypes are taken by their names.

    Raises:
        IRTypeError: A dimension or the dtype is none.
    """

    shape: tuple[Dim, ...]
    dtype: str = "float32"

    def __post_init__(self) -> None:
        shape, dtype = self.shape, self.dtype
        if type(shape) is tuple and dtype in NUMPY_DTYPES:
            for dim in shape:
                if type(dim) is not int or not 0 <= dim < _LIMIT:
                    break
            else:
                return  # nearly always, and types are made at every call
        msgspec.structs.force_setattr(self, "shape", _dims(shape))
        try:
            msgspec.structs.force_setattr(self, "dtype", dtype_of(dtype))
        except ValueError as error:
            raise IRTypeError(f"expected a dtype for a tensor: {error}") from None

    @property
    def concrete_shape(self) -> tuple[int, ...]:
        """The shape as ints.

        Raises:
            IRTypeError: A dimension is unknown.
        """
        dims = tuple(dim for dim in self.shape if isinstance(dim, int))
        if len(dims) != len(self.shape):
            raise IRTypeError(f"expected a static shape, got {self}")
        return dims

    def __str__(self) -> str:
        dims = ", ".join(str(dim) for dim in self.shape)
        comma = "," if len(self.shape) == 1 else ""
        return f"Tensor[({dims}{comma}), {self.dtype}]" if self.shape else self.dtype


_LIMIT = 1 << 63


def _dims(shape: Sequence[Dim]) -> tuple[Dim, ...]:
    return tuple(dim if isinstance(dim, Any) else _length(dim) for dim in shape)


def _length(dim: object) -> int:
    try:
        length = operator.index(dim)  # pyright: ignore[reportArgumentType]
    except TypeError:
        length = -1
    if not 0 <= length < _LIMIT:
        raise IRTypeError(
            f"expected an int of 64 bits from 0 on, or Any(), for a dimension, "
            f"got {dim!r:.40}"
        )
    return length


class TupleType(Type, frozen=True, eq=False, dict=True):
    """The type of a tuple, field by field.

    Raises:
        SizeLimitError: Types would be nested too deep.
    """

    fields: tuple[Type, ...]

    def __post_init__(self) -> None:
        if type(self.fields) is not tuple:
            msgspec.structs.force_setattr(self, "fields", tuple(self.fields))
        _check_depth(self)

    @property
    def parts(self) -> tuple[Type, ...]:
        """The types of the fields."""
        return self.fields

    def __eq__(self, other: object) -> bool:
        if self is other or not isinstance(other, TupleType):
            return self is other
        if _are_tensors(self.fields):
            return self.fields == other.fields
        return _digest(self) == _digest(other)

    def __hash__(self) -> int:
        return hash(self.fields if _are_tensors(self.fields) else _digest(self))

    def __str__(self) -> str:
        return _text(self, _SHOWN)

    def __repr__(self) -> str:
        return super().__repr__() if _is_small(self) else f"TupleType('{self}')"


class TypeKind(enum.IntEnum):
    """What a type variable stands for; here that is always a type."""

    Type = 0


class TypeVar(Type, frozen=True):
    """A type parameter of a polymorphic function, told apart by its name."""

    name_hint: str
    kind: int = TypeKind.Type

    def __str__(self) -> str:
        return self.name_hint


class IncompleteType(Type, frozen=True, eq=False):
    """A type that InferType has to find; prints as `_`.

    As an annotation it leaves open a type or a part of one. Each object is an unknown
    of its own: the same object in two places means the same type in both.
    """

    kind: int = TypeKind.Type

    def __str__(self) -> str:
        return "_"


class FuncType(Type, frozen=True, eq=False, dict=True):
    """The type of a function; equal to one with other names for its type parameters.

    Raises:
        SizeLimitError: Types would be nested too deep, or a polymorphic type too large.
    """

    arg_types: tuple[Type, ...]
    ret_type: Type
    type_params: tuple[TypeVar, ...] = ()

    def __post_init__(self) -> None:
        if type(self.arg_types) is not tuple:
            msgspec.structs.force_setattr(self, "arg_types", tuple(self.arg_types))
        if type(self.type_params) is not tuple:
            params = tuple(self.type_params or ())
            msgspec.structs.force_setattr(self, "type_params", params)
        _check_depth(self)
        if self.type_params:
            check_size(self)

    @property
    def parts(self) -> tuple[Type, ...]:
        """The types of the arguments and the result."""
        return (*self.arg_types, self.ret_type)

    def __eq__(self, other: object) -> bool:
        if self is other or not isinstance(other, FuncType):
            return self is other
        if len(self.type_params) != len(other.type_params):
            return False
        if _are_tensors(self.parts):  # so the parameters do not matter
            return self.parts == other.parts
        return _digest(self) == _digest(other)

    def __hash__(self) -> int:
        return hash(self.parts if _are_tensors(self.parts) else _digest(self))

    def instantiated(self, type_args: Sequence[Type]) -> FuncType:
        """Return this type with types for its first type parameters."""
        from parpass.relay.type_functor import substitute

        given, rest = len(type_args), self.type_params[len(type_args) :]
        known = dict(zip(self.type_params[:given], type_args, strict=True))
        bare = FuncType(self.arg_types, self.ret_type, rest)
        found = substitute(bare, known) if known else bare
        assert isinstance(found, FuncType)
        return found

    def __str__(self) -> str:
        return _text(self, _SHOWN)

    def __repr__(self) -> str:
        return super().__repr__() if _is_small(self) else f"FuncType('{self}')"


class Extent(NamedTuple):
    """How large a type is.

    Attributes:
        depth: How deep types are nested in it.
        size: The number of its parts, each counted wherever it stands.
        kinds: The classes of the type and of its parts.
    """

    depth: int
    size: int
    kinds: frozenset[type[Type]]


def extent(typ: Type) -> Extent:
    """Return how large a type is, which takes no longer for a large one."""
    if not isinstance(typ, TupleType | FuncType):
        return Extent(0, 1, frozenset((type(typ),)))
    found: Extent | None = vars(typ).get("extent")
    if found is None:
        inner = [extent(part) for part in typ.parts]
        found = Extent(
            1 + max((part.depth for part in inner), default=0),
            1 + sum(part.size for part in inner),
            frozenset((type(typ),)).union(*(part.kinds for part in inner)),
        )
        vars(typ)["extent"] = found
    return found


def _check_depth(typ: TupleType | FuncType) -> None:
    if not _are_tensors(typ.parts):
        checked_depth(extent(typ).depth)


def checked_depth(depth: int) -> int:
    """Return a depth of types in each other.

    Raises:
        SizeLimitError: It is too large.
    """
    if depth > MAX_TYPE_DEPTH:
        raise SizeLimitError(
            f"expected types in each other at most {MAX_TYPE_DEPTH} deep, got {depth}; "
            "put the fields of inner tuples into the outer ones"
        )
    return depth


def check_size(typ: Type) -> None:
    """Check that a type is not too large for all of its parts to be gone through.

    Raises:
        SizeLimitError: It is.
    """
    size = extent(typ).size
    if size > MAX_TYPE_SIZE:
        raise SizeLimitError(
            f"expected a type of at most {MAX_TYPE_SIZE} parts, each counted wherever "
            f"it stands, got {_rounded(size)}; a tuple that holds another one twice "
            "doubles it"
        )


def _rounded(size: int) -> str:
    return str(size) if size < 10**9 else f"{size:.1e}"


def _is_small(typ: Type) -> bool:
    return extent(typ).size <= _SHOWN


def _are_tensors(parts: tuple[Type, ...]) -> bool:
    return {*map(type, parts)} <= {TensorType}


def _digest(typ: Type) -> bytes:
    from parpass.relay.structure.type_digest import digest

    return digest(typ)


def type_text(typ: Type) -> str:
    """Return the whole text of a type; `str` leaves out inner parts of a large one.

    Raises:
        SizeLimitError: It is too large to be written.
    """
    check_size(typ)
    return _text(typ, MAX_TYPE_SIZE)


def _text(typ: Type, most: int) -> str:
    """Return a type as text; `...` stands for parts beyond `most`."""
    if not isinstance(typ, TupleType | FuncType):
        return str(typ)
    if most == 0:
        return "..."
    fields = typ.fields if isinstance(typ, TupleType) else typ.arg_types
    inner = most if extent(typ).size <= most else most // len(typ.parts)
    texts = [_text(field, inner) for field in fields[:most]]
    comma = "," if len(texts) == 1 and isinstance(typ, TupleType) else ""
    texts += ["..."] if len(fields) > most else []
    listed = f"({', '.join(texts)}{comma})"
    if isinstance(typ, TupleType):
        return listed
    params = ", ".join(str(param) for param in typ.type_params)
    head = f"fn <{params}>" if params else "fn "
    return f"{head}{listed} -> {_text(typ.ret_type, inner)}"


def scalar_type(dtype: str = "float32") -> TensorType:
    """Return the type of a scalar."""
    return TensorType((), dtype)


def tensor_type(shape: Sequence[Dim], dtype: str = "float32") -> TensorType:
    """Return the type of a tensor."""
    return TensorType(tuple(shape), dtype)


__all__ = [
    "Any",
    "Dim",
    "FuncType",
    "IncompleteType",
    "TensorType",
    "TupleType",
    "Type",
    "TypeKind",
    "TypeVar",
    "scalar_type",
    "tensor_type",
]
