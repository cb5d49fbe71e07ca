"""Algebraic data types: definitions, constructors and the types made of them.

A definition is identified by its name: two `GlobalTypeVar`s of one name mean one type,
and a constructor is identified by the type's name and its own. Recursive types, also
mutually recursive ones, refer to each other by name, so no definition contains itself.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec.structs import force_setattr

from parpass.diagnostic import Span
from parpass.errors import IRTypeError
from parpass.errors.core import quoted
from parpass.ir.node import FieldKind, reflected
from parpass.ir.relay_expr import RelayExpr
from parpass.ir.types import ComposedType, FuncType, Type, TypeKind, TypeVar
from parpass.ir.types.type_structure import type_vars_in


class GlobalTypeVar(Type, frozen=True):
    """The name of a type that a module defines; calling it gives a `TypeCall`."""

    visitor: ClassVar[str] = "visit_global_type_var"

    name_hint: str
    kind: int = TypeKind.AdtHandle

    def __call__(self, *args: Type) -> TypeCall:
        """Return the defined type applied to type arguments."""
        return TypeCall(self, args)

    def __str__(self) -> str:
        return self.name_hint


class TypeCall(ComposedType, frozen=True, eq=False, dict=True):
    """A defined type applied to type arguments: `List[int32]`.

    Raises:
        SizeLimitError: Types would be nested too deep.
    """

    visitor: ClassVar[str] = "visit_type_call"

    func: Type
    args: tuple[Type, ...]

    if TYPE_CHECKING:  # a sequence becomes a tuple below

        def __init__(self, func: Type, args: Sequence[Type]) -> None: ...

    def __post_init__(self) -> None:
        if type(self.args) is not tuple:
            force_setattr(self, "args", tuple(self.args))
        super().__post_init__()

    @property
    def parts(self) -> tuple[Type, ...]:
        """The defined type, followed by the type arguments."""
        return (self.func, *self.args)

    def rebuilt(self, parts: Sequence[Type], binders: tuple[TypeVar, ...]) -> TypeCall:
        """Return a call with another defined type or other arguments."""
        return TypeCall(parts[0], tuple(parts[1:]))

    def worded(self, texts: Sequence[str]) -> str:
        """Return the name followed by the arguments in brackets."""
        return f"{texts[0]}[{', '.join(texts[1:])}]" if texts[1:] else texts[0]


@reflected(
    is_graph=False,
    # As that of a global variable, its name tells what it is.
    structure=lambda constructor: [constructor.name_hint, None, constructor.belong_to],
    tag=FieldKind.DERIVED,
)
class Constructor(RelayExpr, frozen=True, eq=False):
    """Constructor of a defined type's values; as an expression, a function.

    Attributes:
        name_hint: Its name, unique in the module.
        inputs: The types of its arguments, in terms of the definition's type variables.
        belong_to: The defined type.
        tag: Unique number; -1 until a definition owns the constructor.
    """

    name_hint: str
    inputs: tuple[Type, ...]
    belong_to: GlobalTypeVar
    span: Span | None = None
    checked_type_: Type | None = None
    tag: int = -1

    if TYPE_CHECKING:  # a sequence becomes a tuple below

        def __init__(
            self,
            name_hint: str,
            inputs: Sequence[Type],
            belong_to: GlobalTypeVar,
            span: Span | None = None,
            checked_type_: Type | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        if type(self.inputs) is not tuple:
            force_setattr(self, "inputs", tuple(self.inputs))

    def __reduce__(self) -> tuple[Any, ...]:
        return constructor_of, (self.name_hint, self.inputs, self.belong_to, self.tag)


def constructor_of(
    name: str, inputs: tuple[Type, ...], belong_to: GlobalTypeVar, tag: int
) -> Constructor:
    """Return a new constructor; a decoder substitutes its module's constructor."""
    made = Constructor(name, inputs, belong_to)
    force_setattr(made, "tag", tag)
    return made


class TypeData(ComposedType, frozen=True, eq=False, dict=True):
    """The definition of a type: its type parameters and its constructors.

    Raises:
        IRTypeError: A constructor belongs to another type, two have the same name, or
            one uses an unbound type variable.
        SizeLimitError: Types would be nested too deep.
    """

    visitor: ClassVar[str] = "visit_type_data"

    header: GlobalTypeVar
    type_vars: tuple[TypeVar, ...]
    constructors: tuple[Constructor, ...]
    # Other types have no place.
    span: Span | None = None  # pyright: ignore[reportIncompatibleVariableOverride]

    if TYPE_CHECKING:  # sequences become tuples below

        def __init__(
            self,
            header: GlobalTypeVar,
            type_vars: Sequence[TypeVar],
            constructors: Sequence[Constructor],
            span: Span | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        for name in ("type_vars", "constructors"):
            force_setattr(self, name, tuple(getattr(self, name)))
        super().__post_init__()
        self._check()
        first = _first_tag(self.header.name_hint)
        for at, constructor in enumerate(self.constructors):
            force_setattr(constructor, "tag", first + at)

    def _check(self) -> None:
        name = self.header.name_hint
        names = [one.name_hint for one in self.constructors]
        if len({*names}) != len(names):
            raise IRTypeError(f"type '{name}' has two constructors of one name")
        if len({*self.type_vars}) != len(self.type_vars):
            raise IRTypeError(f"type '{name}' has two parameters of one name")
        for one in self.constructors:
            if one.belong_to != self.header:
                raise IRTypeError(
                    f"expected constructors of type '{name}', got '{one.name_hint}' "
                    f"of type '{one.belong_to}'"
                )
            unbound = [
                var.name_hint
                for typ in one.inputs
                for var in type_vars_in(typ)
                if var not in self.type_vars
            ]
            if unbound:
                raise IRTypeError(
                    f"constructor '{one.name_hint}' of type '{name}' has free type "
                    f"variables: {quoted(unbound)}; they belong in its type_vars"
                )

    @property
    def parts(self) -> tuple[Type, ...]:
        """The argument types of all constructors, in order."""
        return tuple([typ for one in self.constructors for typ in one.inputs])

    @property
    def binders(self) -> tuple[TypeVar, ...]:
        """The type variables."""
        return self.type_vars

    @property
    def labels(self) -> tuple[Any, ...]:
        """The names, and the number of types that each constructor takes."""
        takes = [(one.name_hint, len(one.inputs)) for one in self.constructors]
        return (self.header.name_hint, tuple(takes))

    def rebuilt(self, parts: Sequence[Type], binders: tuple[TypeVar, ...]) -> TypeData:
        """Return a definition with other types and new constructors."""
        rest = [*parts]
        made: list[Constructor] = []
        for one in self.constructors:
            count = len(one.inputs)
            made.append(Constructor(one.name_hint, rest[:count], self.header, one.span))
            del rest[:count]
        return TypeData(self.header, binders, made, self.span)

    def worded(self, texts: Sequence[str]) -> str:
        """Return the definition in one line."""
        rest, shown = [*texts], list[str]()
        for one in self.constructors:
            given = ", ".join(rest[: len(one.inputs)])
            del rest[: len(one.inputs)]
            shown.append(f"{one.name_hint}({given})" if given else one.name_hint)
        params = ", ".join(map(str, self.type_vars))
        head = f"{self.header}[{params}]" if params else str(self.header)
        return f"type {head} {{ {', '.join(shown)} }}"

    @property
    def made(self) -> TypeCall:
        """The type of the constructed values."""
        return TypeCall(self.header, self.type_vars)

    def type_of(self, constructor: Constructor) -> FuncType:
        """Return the function type of one of the constructors."""
        return FuncType(constructor.inputs, self.made, self.type_vars)


def _first_tag(name: str) -> int:
    # As in TVM, a hash of the type's name and the number of the constructor.
    return (zlib.crc32(name.encode("utf-8", "replace")) | 1) << 24


__all__ = ["Constructor", "GlobalTypeVar", "TypeCall", "TypeData"]
