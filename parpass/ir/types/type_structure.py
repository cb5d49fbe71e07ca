"""What types are made of: parts, type variables and how large all that is.

Types share their parts: of `t = (x, x)`, `u = (t, t)` and so on, each type is twice as
large as the one before, as a tree. So what is asked of a whole type is found once for
each object, and kept there: its extent, and a digest by which types are compared.
"""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import msgspec

from parpass.errors import SizeLimitError

# Types, and values of attributes, are compared and printed by recursion. So deep may be
# what programs state; functions that take such types have types, too, one deeper.
MAX_NESTING = 100
MAX_TYPE_DEPTH = MAX_NESTING + 1
MAX_TYPE_SIZE = 1_000_000  # where all parts have to be gone through


class Type(msgspec.Struct, frozen=True):
    """The base of all types, of every IR; a leaf is compared by its fields.

    What is made of other types is a subclass with `dict=True`, where what is found out
    of it is kept, and overrides all that is below but `same_as`.

    Attributes:
        namespace: What stands before the name of the class in JSON; another IR has
            another one.
        visitor: The method of a `TypeFunctor` that is for this kind.
        is_composed: Whether it may be made of other types.
        span: None, but of definitions: equal types are shared, so they have no place.
    """

    namespace: ClassVar[str] = "relay"
    visitor: ClassVar[str] = "visit_default"
    is_composed: ClassVar[bool] = False
    span: ClassVar[Any] = None

    @property
    def parts(self) -> tuple[Type, ...]:
        """The types that this one is made of."""
        return ()

    @property
    def binders(self) -> tuple[TypeVar, ...]:
        """The type variables that this one binds in its parts."""
        return ()

    def rebuilt(self, parts: Sequence[Type], binders: tuple[TypeVar, ...]) -> Type:
        """Return a type like this one with other parts and variables."""
        del parts, binders
        return self

    @property
    def labels(self) -> tuple[Any, ...]:
        """What tells it from others of its class, parts and variables aside."""
        return ()

    def worded(self, texts: Sequence[str]) -> str:
        """Return the text of this type, given those of its parts."""
        del texts
        return str(self)

    def same_as(self, other: object) -> bool:
        """Return whether this is the very same object as `other`."""
        return self is other


class TypeKind(enum.IntEnum):
    """What a type variable stands for, and what a type is of, by TVM's numbers.

    Variables of functions stand for types; a definition has a handle and is data.
    """

    Type = 0
    ShapeVar = 1
    BaseType = 2
    Constraint = 4
    AdtHandle = 5
    TypeData = 6


class TypeVar(Type, frozen=True):
    """A type parameter of a polymorphic function, told apart by its name."""

    visitor: ClassVar[str] = "visit_type_var"

    name_hint: str
    kind: int = TypeKind.Type

    def __str__(self) -> str:
        return self.name_hint


class IncompleteType(Type, frozen=True, eq=False):
    """A type that InferType has to find; prints as `_`.

    As an annotation it leaves open a type or a part of one. Each object is an unknown
    of its own: the same object in two places means the same type in both.
    """

    visitor: ClassVar[str] = "visit_incomplete_type"

    kind: int = TypeKind.Type

    def __str__(self) -> str:
        return "_"


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
        shown = str(size) if size < 10**9 else f"{size:.1e}"
        raise SizeLimitError(
            f"expected a type of at most {MAX_TYPE_SIZE} parts, each counted wherever "
            f"it stands, got {shown}; a tuple that holds another one twice doubles it"
        )


def is_complete(typ: Type) -> bool:
    """Return whether no part of a type is left open."""
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
    """Return a type with types in place of the variables that it does not bind.

    Args:
        typ: The type.
        types: The types by variables.
        taken: Variables that these may have come to have, when what is not known of
            them is: it binds none of these around them.
    """
    return _substituted(typ, types, {}, taken)


def _substituted(
    typ: Type,
    types: Mapping[TypeVar, Type],
    known: dict[int, Type],
    later: Collection[TypeVar],
) -> Type:
    """Return the same; `known` has the results in one scope, by object."""
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
    """Return a variable that is not taken, this one if it can be, and take it."""
    new, tries = var, 0
    while new in taken:
        tries += 1
        new = TypeVar(f"{var.name_hint}_{tries}", var.kind)
    taken.add(new)
    return new


def digest(typ: Type) -> bytes:
    """Return a digest of a type: two are equal exactly if their digests are.

    It is the same in every process where no part is left open; an `IncompleteType` is
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
    """Return the parts, with names for type parameters that do not depend on theirs.

    The name says how deep the function type is that binds it, which is deeper than any
    that binds another one further in.
    """
    if not typ.binders:
        return typ.parts
    depth = extent(typ).depth
    names = [TypeVar(f"\0{depth}.{at}") for at in range(len(typ.binders))]
    types, known = dict(zip(typ.binders, names, strict=True)), dict[int, Type]()
    return tuple([_substituted(part, types, known, ()) for part in typ.parts])
