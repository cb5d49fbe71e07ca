"""Types of tuples, functions and references: those that have parts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, ClassVar

import msgspec

from parpass.ir.types.tensor_types import TensorType
from parpass.ir.types.type_structure import (
    SHOWN,
    Type,
    TypeVar,
    check_size,
    checked_depth,
    digest,
    extent,
    short_text,
    substitute,
)


class ComposedType(Type, frozen=True, eq=False, dict=True):
    """Base of types that have parts, compared by digests."""

    is_composed: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not _are_tensors(self.parts):
            checked_depth(extent(self).depth)

    def __eq__(self, other: object) -> bool:
        if self is other or type(other) is not type(self):
            return self is other
        return digest(self) == digest(other)

    def __ne__(self, other: object) -> bool:
        return not self.__eq__(other)  # the one of structs compares fields

    def __hash__(self) -> int:
        return hash(digest(self))

    def __str__(self) -> str:
        return short_text(self)

    def __repr__(self) -> str:
        is_small = extent(self).size <= SHOWN
        return super().__repr__() if is_small else f"{type(self).__name__}('{self}')"


class TupleType(ComposedType, frozen=True, eq=False, dict=True):
    """The type of a tuple, field by field.

    Raises:
        SizeLimitError: Types would be nested too deep.
    """

    visitor: ClassVar[str] = "visit_tuple_type"

    fields: tuple[Type, ...]

    if TYPE_CHECKING:  # a sequence becomes a tuple below

        def __init__(self, fields: Sequence[Type]) -> None: ...

    def __post_init__(self) -> None:
        if type(self.fields) is not tuple:
            msgspec.structs.force_setattr(self, "fields", tuple(self.fields))
        super().__post_init__()

    @property
    def parts(self) -> tuple[Type, ...]:
        """The types of the fields."""
        return self.fields

    def rebuilt(self, parts: Sequence[Type], binders: tuple[TypeVar, ...]) -> TupleType:
        """Return a tuple type with other fields."""
        return TupleType(tuple(parts))

    def worded(self, texts: Sequence[str]) -> str:
        """Return the fields in parentheses."""
        return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"

    def __eq__(self, other: object) -> bool:
        if self is other or not isinstance(other, TupleType):
            return self is other
        if _are_tensors(self.fields):
            return self.fields == other.fields
        return digest(self) == digest(other)

    def __hash__(self) -> int:
        return hash(self.fields if _are_tensors(self.fields) else digest(self))


def fields_of(typ: Type) -> list[Type]:
    """Return the types nested in a type by tuples alone, each object once."""
    found: list[Type] = []
    seen: set[int] = set()
    waiting = [typ]
    while waiting:
        one = waiting.pop()
        if id(one) in seen:  # all of which live as long as the whole
            continue
        seen.add(id(one))
        if isinstance(one, TupleType):
            waiting += reversed(one.fields)
        else:
            found.append(one)
    return found


class FuncType(ComposedType, frozen=True, eq=False, dict=True):
    """The type of a function; the names of its type parameters do not matter.

    Raises:
        SizeLimitError: Types would be nested too deep, or a polymorphic type too large.
    """

    visitor: ClassVar[str] = "visit_func_type"

    arg_types: tuple[Type, ...]
    ret_type: Type
    type_params: tuple[TypeVar, ...] = ()
    type_constraints: tuple[Type, ...] = ()

    if TYPE_CHECKING:  # sequences become tuples below

        def __init__(
            self,
            arg_types: Sequence[Type],
            ret_type: Type,
            type_params: Sequence[TypeVar] | None = (),
            type_constraints: Sequence[Type] | None = (),
        ) -> None: ...

    def __post_init__(self) -> None:
        if type(self.arg_types) is not tuple:
            msgspec.structs.force_setattr(self, "arg_types", tuple(self.arg_types))
        if type(self.type_params) is not tuple:
            params = tuple(self.type_params or ())
            msgspec.structs.force_setattr(self, "type_params", params)
        if type(self.type_constraints) is not tuple:
            constraints = tuple(self.type_constraints or ())
            msgspec.structs.force_setattr(self, "type_constraints", constraints)
        super().__post_init__()
        if self.type_params:
            check_size(self)

    @property
    def parts(self) -> tuple[Type, ...]:
        """The types of the arguments, the constraints, and the result."""
        return (*self.arg_types, *self.type_constraints, self.ret_type)

    @property
    def binders(self) -> tuple[TypeVar, ...]:
        """The type parameters."""
        return self.type_params

    def rebuilt(self, parts: Sequence[Type], binders: tuple[TypeVar, ...]) -> FuncType:
        """Return a function type with other types and parameters."""
        *others, result = parts
        count = len(self.arg_types)
        return FuncType(tuple(others[:count]), result, binders, tuple(others[count:]))

    @property
    def labels(self) -> tuple[int, ...]:
        """The number of constraints."""
        return (len(self.type_constraints),) if self.type_constraints else ()

    def worded(self, texts: Sequence[str]) -> str:
        """Return the types of the arguments, and that of the result behind an arrow.

        Constraints are omitted, as in TVM's text.
        """
        params = ", ".join(map(str, self.type_params))
        head = f"fn <{params}>" if params else "fn "
        args = texts[:-1][: len(self.arg_types)]
        return f"{head}({', '.join(args)}) -> {texts[-1]}"

    def __eq__(self, other: object) -> bool:
        if self is other or not isinstance(other, FuncType):
            return self is other
        if len(self.type_params) != len(other.type_params):
            return False
        if _are_tensors(self.parts) and not self.type_params:
            return self.parts == other.parts
        return digest(self) == digest(other)

    def __hash__(self) -> int:
        return hash(self.parts if _are_tensors(self.parts) else digest(self))

    def instantiated(
        self, type_args: Sequence[Type], taken: Collection[TypeVar] = ()
    ) -> FuncType:
        """Return this type with its first type parameters replaced by types.

        Args:
            type_args: The types.
            taken: Type variables that these may contain later; see `substitute`.
        """
        given, rest = len(type_args), self.type_params[len(type_args) :]
        known = dict(zip(self.type_params[:given], type_args, strict=True))
        bare = FuncType(self.arg_types, self.ret_type, rest, self.type_constraints)
        found = substitute(bare, known, taken) if known else bare
        assert isinstance(found, FuncType)
        return found


def _are_tensors(parts: tuple[Type, ...]) -> bool:
    return {*map(type, parts)} <= {TensorType}


class RelayRefType(ComposedType, frozen=True, eq=False, dict=True):
    """The type of a mutable reference to a value.

    Raises:
        SizeLimitError: Types would be nested too deep.
    """

    visitor: ClassVar[str] = "visit_ref_type"

    value: Type

    @property
    def parts(self) -> tuple[Type, ...]:
        """The type of the value."""
        return (self.value,)

    def rebuilt(
        self, parts: Sequence[Type], binders: tuple[TypeVar, ...]
    ) -> RelayRefType:
        """Return a reference type to another type."""
        return RelayRefType(parts[0])

    def worded(self, texts: Sequence[str]) -> str:
        """Return the type of the value, after the keyword."""
        return f"ref({texts[0]})"


VOID = TupleType(())  # the type of what gives no value
