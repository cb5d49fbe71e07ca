"""The base of types: parts, type variables, extent, digest and text.

Types share their parts: of `t = (x, x)`, `u = (t, t)` and so on, each type is twice as
large as the one before, as a tree. So properties of a whole type are computed once for
each object and stored in it: its extent, and a digest by which types are compared. The
text repeats a shared part at each use, so too large a type has no text.
"""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import msgspec

from parpass.errors import SizeLimitError

__all__ = ["SHOWN", "short_text", "type_text"]


# Types, and values of attributes, are compared and printed by recursion. This is the
# depth that programs may state; the type of a function over such types is one deeper.
MAX_NESTING = 100
MAX_TYPE_DEPTH = MAX_NESTING + 1
MAX_TYPE_SIZE = 1_000_000  # where all parts have to be gone through


class Type(msgspec.Struct, frozen=True):
    """Base of all types, of every IR; a leaf is compared by its fields.

    A type with parts is a subclass with `dict=True`, which stores computed properties,
    and overrides the methods below, except `same_as`.

    Attributes:
        namespace: Qualifies the class name in JSON; each IR has its own.
        visitor: The method of `TypeFunctor` for this kind.
        is_composed: Whether it may have parts.
        span: None except for definitions: equal types are shared, so they have no
            place.
    """

    namespace: ClassVar[str] = "relay"
    visitor: ClassVar[str] = "visit_default"
    is_composed: ClassVar[bool] = False
    span: ClassVar[Any] = None

    @property
    def parts(self) -> tuple[Type, ...]:
        """The types of which this one is composed."""
        return ()

    @property
    def binders(self) -> tuple[TypeVar, ...]:
        """The type variables that this one binds in its parts."""
        return ()

    def rebuilt(self, parts: Sequence[Type], binders: tuple[TypeVar, ...]) -> Type:
        """Return a copy of this type with other parts and variables."""
        del parts, binders
        return self

    @property
    def labels(self) -> tuple[Any, ...]:
        """Values that distinguish it within its class, apart from parts and binders."""
        return ()

    def worded(self, texts: Sequence[str]) -> str:
        """Return the text of this type, given the texts of its parts."""
        del texts
        return str(self)

    def same_as(self, other: object) -> bool:
        """Return whether this is the very same object as `other`."""
        return self is other


class TypeKind(enum.IntEnum):
    """The kind of a type or type variable, by TVM's numbers.

    Variables of functions stand for types; a definition has a handle and is data.
    """

    Type = 0
    ShapeVar = 1
    BaseType = 2
    Constraint = 4
    AdtHandle = 5
    TypeData = 6


class TypeVar(Type, frozen=True):
    """A type parameter of a polymorphic function, identified by its name."""

    visitor: ClassVar[str] = "visit_type_var"

    name_hint: str
    kind: int = TypeKind.Type

    def __str__(self) -> str:
        return self.name_hint


class IncompleteType(Type, frozen=True, eq=False):
    """A type for InferType to infer; prints as `_`.

    Use it to leave an annotated type, or a part of one, open. Each object is a separate
    unknown: one object in two places means the same type in both.
    """

    visitor: ClassVar[str] = "visit_incomplete_type"

    kind: int = TypeKind.Type

    def __str__(self) -> str:
        return "_"


class Extent(NamedTuple):
    """The size of a type.

    Attributes:
        depth: The depth of nested types in it.
        size: The number of its parts, each counted at each use.
        kinds: The classes of the type and of its parts.
    """

    depth: int
    size: int
    kinds: frozenset[type[Type]]


def extent(typ: Type) -> Extent:
    """Return the extent of a type, in time linear in its distinct parts."""
    if not typ.is_composed:
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


def checked_depth(depth: int) -> int:
    """Return a nesting depth of types, checked.

    Raises:
        SizeLimitError: It is too large.
    """
    if depth > MAX_TYPE_DEPTH:
        raise SizeLimitError(
            f"expected types nested at most {MAX_TYPE_DEPTH} deep, got {depth}; put "
            "the fields of inner tuples into the outer ones"
        )
    return depth


def check_size(typ: Type, most: int = MAX_TYPE_SIZE) -> None:
    """Check that a type is small enough for a walk over all of its parts.

    Args:
        typ: The type.
        most: How many parts it may have, each counted at each use.

    Raises:
        SizeLimitError: It is larger.
    """
    size = extent(typ).size
    if size > most:
        shown = str(size) if size < 10**9 else f"{size:.1e}"
        raise SizeLimitError(
            f"expected a type of at most {most} parts, counting each use, got {shown}; "
            "a tuple that contains another twice doubles it"
        )


def is_complete(typ: Type) -> bool:
    """Return whether no part of a type is an `IncompleteType`."""
    return IncompleteType not in extent(typ).kinds


def type_vars_in(typ: Type) -> list[TypeVar]:
    """Return the type variables that a type does not bind, by first appearance."""
    return list(_free(typ, {}))


def _free(typ: Type, known: dict[int, dict[TypeVar, None]]) -> dict[TypeVar, None]:
    if isinstance(typ, TypeVar):
        return {typ: None}
    if TypeVar not in extent(typ).kinds:
        return {}
    if id(typ) not in known:  # which lives as long as the whole
        inside = {var: None for part in typ.parts for var in _free(part, known)}
        known[id(typ)] = {var: None for var in inside if var not in typ.binders}
    return known[id(typ)]


def substitute(
    typ: Type, types: Mapping[TypeVar, Type], taken: Collection[TypeVar] = ()
) -> Type:
    """Return a type with types in place of its free variables.

    Args:
        typ: The type.
        types: The types by variables.
        taken: Variables that these may contain once their unknown parts are inferred:
            no binder around them gets one of these names.
    """
    return _substituted(typ, types, {}, taken)


def _substituted(
    typ: Type,
    types: Mapping[TypeVar, Type],
    known: dict[int, Type],
    later: Collection[TypeVar],
) -> Type:
    """Implement `substitute`; `known` has the results in one scope, by object."""
    if isinstance(typ, TypeVar):
        return types.get(typ, typ)
    if TypeVar not in extent(typ).kinds:
        return typ
    if id(typ) not in known:
        known[id(typ)] = _composed(typ, types, known, later)
    return known[id(typ)]


def _composed(
    typ: Type,
    types: Mapping[TypeVar, Type],
    known: dict[int, Type],
    later: Collection[TypeVar],
) -> Type:
    old, binders = typ.parts, typ.binders
    if binders:
        free = type_vars_in(typ)
        inner = {var: new for var, new in types.items() if var in free}
        if not inner:
            return typ
        taken = {*free, *(var for new in inner.values() for var in type_vars_in(new))}
        if not all(map(is_complete, inner.values())):
            taken.update(later)
        binders = tuple([_renamed(var, taken) for var in binders])
        types, known = inner | dict(zip(typ.binders, binders, strict=True)), {}
    new = tuple([_substituted(part, types, known, later) for part in old])
    if binders == typ.binders and all(map(lambda a, b: a is b, old, new)):
        return typ
    return typ.rebuilt(new, binders)


def _renamed(var: TypeVar, taken: set[TypeVar]) -> TypeVar:
    """Return a variable that is not taken, preferably `var`, and mark it as taken."""
    new, tries = var, 0
    while new in taken:
        tries += 1
        new = TypeVar(f"{var.name_hint}_{tries}", var.kind)
    taken.add(new)
    return new


def digest(typ: Type) -> bytes:
    """Return a digest of a type: two types are equal exactly if their digests are.

    It is equal in every process where no part is left open; an `IncompleteType` is
    equal only to itself.
    """
    if not typ.is_composed:
        return _of_leaf(typ)
    found: bytes | None = vars(typ).get("digest")
    if found is None:
        kinds = [int(var.kind) for var in typ.binders]
        parts = [digest(part) for part in _named(typ)]
        form = repr((kind_of(typ), *typ.labels, kinds, parts))
        found = hashlib.blake2b(form.encode(), digest_size=16).digest()
        vars(typ)["digest"] = found
    return found


def kind_of(value: Any) -> str:
    """Return the name of a value's class with its namespace, as `relay.TensorType`."""
    return f"{value.namespace}.{type(value).__qualname__}"


def _of_leaf(typ: Type) -> bytes:
    if isinstance(typ, IncompleteType):
        return f"{kind_of(typ)} {id(typ)}".encode()  # it lives as long as the whole
    fields = [getattr(typ, name) for name in typ.__struct_fields__]
    plain = [one.value if isinstance(one, enum.Enum) else one for one in fields]
    return repr((kind_of(typ), plain)).encode()


def _named(typ: Type) -> tuple[Type, ...]:
    """Return the parts, with canonical names of type parameters.

    The name is the depth of the binding function type, which is greater than that of
    any binder further in.
    """
    if not typ.binders:
        return typ.parts
    depth = extent(typ).depth
    names = [TypeVar(f"\0{depth}.{at}") for at in range(len(typ.binders))]
    types, known = dict(zip(typ.binders, names, strict=True)), dict[int, Type]()
    return tuple([_substituted(part, types, known, ()) for part in typ.parts])


SHOWN = 1_000  # parts of a type that messages show


def type_text(typ: Type, of_leaf: Callable[[Type], str] = str) -> str:
    """Return the whole text of a type; `str` omits inner parts of a large one.

    Args:
        typ: The type.
        of_leaf: Returns the text of a part without parts.

    Raises:
        SizeLimitError: It is too large to be written.
    """
    if typ.is_composed:
        check_size(typ)
    return short_text(typ, MAX_TYPE_SIZE, of_leaf)


def short_text(
    typ: Type, most: int = SHOWN, of_leaf: Callable[[Type], str] = str
) -> str:
    """Return a type as text; `...` stands for parts beyond `most`."""
    if not typ.is_composed:
        return of_leaf(typ)
    if most == 0:
        return "..."
    parts = typ.parts
    inner = most if extent(typ).size <= most else most // len(parts)
    texts = [short_text(part, inner, of_leaf) for part in parts[:most]]
    if len(parts) > most:
        texts.append("...")
    return typ.worded(texts)
