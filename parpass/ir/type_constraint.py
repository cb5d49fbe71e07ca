"""Constraints of function types: relations that some types must stand in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import msgspec

from parpass.ir.attrs import Attrs, DictAttrs
from parpass.ir.types.ty import ComposedType
from parpass.ir.types.type_structure import Type, TypeVar
from parpass.runtime.registry import get_global_func


class EnvFunc(msgspec.Struct, frozen=True):
    """A registered function as part of a program: it is told by its name alone.

    So it is the same one in every process that has registered it.
    """

    namespace: ClassVar[str] = "relay"

    name: str

    @classmethod
    def get(cls, name: str) -> Self:
        """Return the function that is registered under a name.

        Raises:
            UnknownFunctionError: There is none.
        """
        get_global_func(name)
        return cls(name)

    @property
    def func(self) -> Any:
        """The function itself."""
        return get_global_func(self.name)

    def __call__(self, *args: Any) -> Any:
        """Call the function."""
        return self.func(*args)


class TypeConstraint(ComposedType, frozen=True, eq=False, dict=True):
    """The base of what function types may demand of types."""


class TypeRelation(TypeConstraint, frozen=True, eq=False, dict=True):
    """The first of some types decide about the others, by a function.

    The function is called with the types, the number of inputs, the attributes and a
    reporter, whose `assign(dst, src)` says that two types are one. It returns whether
    the types were known well enough; if not, it is called again when more is known.

    Attributes:
        func: The function; None for a relation that nobody solves.
        args: The types, inputs first.
        num_inputs: How many of them are inputs.
        attrs: Attributes that the function is told.
    """

    visitor: ClassVar[str] = "visit_type_relation"

    func: EnvFunc | None
    args: tuple[Type, ...]
    num_inputs: int
    attrs: Attrs | DictAttrs | None = None

    if TYPE_CHECKING:  # a sequence becomes a tuple below

        def __init__(
            self,
            func: EnvFunc | None,
            args: Sequence[Type],
            num_inputs: int,
            attrs: Attrs | DictAttrs | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        if type(self.args) is not tuple:
            msgspec.structs.force_setattr(self, "args", tuple(self.args))
        super().__post_init__()

    @property
    def parts(self) -> tuple[Type, ...]:
        """The types that are related."""
        return self.args

    @property
    def labels(self) -> tuple[Any, ...]:
        """The function, how many types are inputs, and the attributes."""
        return (self._name, self.num_inputs, repr(self.attrs))

    @property
    def _name(self) -> str:
        return self.func.name if self.func is not None else ""

    def rebuilt(
        self, parts: Sequence[Type], binders: tuple[TypeVar, ...]
    ) -> TypeRelation:
        """Return the same relation of other types."""
        return TypeRelation(self.func, tuple(parts), self.num_inputs, self.attrs)

    def worded(self, texts: Sequence[str]) -> str:
        """Return the name of the function, and the types."""
        return f"{self._name.rpartition('.')[2]}({', '.join(texts)})"


__all__ = ["EnvFunc", "TypeConstraint", "TypeRelation"]
