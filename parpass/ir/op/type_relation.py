"""Type relations of operators and type constraints of function types.

A relation computes the result's type of a call from the argument types. `TypeRelation`
holds one as a constraint of a function type; this package does not solve constraints.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import msgspec

from parpass.diagnostic import Span
from parpass.errors import IRTypeError
from parpass.function_registry import get_global_func
from parpass.ir.attrs import Attrs, DictAttrs
from parpass.ir.types import ComposedType, Type, TypeVar

__all__ = ["EnvFunc", "TypeConstraint", "TypeRelation"]


TypeRelationFn = Callable[[Sequence[Type], Any], Type]

# Relations that `Op.add_type_rel` finds by name.
TYPE_RELATIONS: dict[str, TypeRelationFn] = {}


class TypeRelationError(IRTypeError):
    """An operator rejects the types of its arguments, or its attributes."""

    def __init__(self, message: str, span: Span | None = None) -> None:
        super().__init__(message)
        self.span = span


def refusing(name: str, relation: Callable[[Any, Any], Type | None]) -> TypeRelationFn:
    """Adapt a TVM relation, which rejects by `assert` or None, to TypeRelationError."""

    def related(types: Sequence[Type], attrs: Any) -> Type:
        try:
            found = relation(types, attrs)
        except AssertionError as error:
            raise TypeRelationError(f"'{name}' refuses it: {error}") from error
        if found is None:
            raise TypeRelationError(f"'{name}' gives no type for the result")
        return found

    return related


class EnvFunc(msgspec.Struct, frozen=True):
    """A registered function as part of a program, identified by its name.

    It is the same function in every process that has registered it.
    """

    namespace: ClassVar[str] = "relay"

    name: str

    @classmethod
    def get(cls, name: str) -> Self:
        """Return the function that is registered under a name.

        Raises:
            UnknownFunctionError: No function has this name.
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
    """Base of the constraints of function types."""


class TypeRelation(TypeConstraint, frozen=True, eq=False, dict=True):
    """A function by which the input types determine the others.

    Programs keep relations; no pass solves them.

    Attributes:
        func: The function; None where there is none.
        args: The types, inputs first.
        num_inputs: How many of them are inputs.
        attrs: Attributes passed to the function.
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
        """The related types."""
        return self.args

    @property
    def labels(self) -> tuple[Any, ...]:
        """The function, the number of inputs, and the attributes."""
        return (self._name, self.num_inputs, repr(self.attrs))

    @property
    def _name(self) -> str:
        return self.func.name if self.func is not None else ""

    def rebuilt(
        self, parts: Sequence[Type], binders: tuple[TypeVar, ...]
    ) -> TypeRelation:
        """Return the relation over other types."""
        return TypeRelation(self.func, tuple(parts), self.num_inputs, self.attrs)

    def worded(self, texts: Sequence[str]) -> str:
        """Return the name of the function, and the types."""
        return f"{self._name.rpartition('.')[2]}({', '.join(texts)})"
