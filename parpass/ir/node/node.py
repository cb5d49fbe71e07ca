"""Node classes and the reflection of their fields.

Each field has a `FieldKind`. Visitors, mutators, structural equality and hash, printer
and codec do not list the fields of a node kind themselves; they use `reflection(kind)`.
"""

from __future__ import annotations

import enum
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, cast

import msgspec

from parpass.errors import InternalError
from parpass.ir.dialect import Annotate, dialect_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence


class FieldKind(enum.Enum):
    """The meaning of a field for its node."""

    CHILD = "an expression"
    CHILDREN = "a tuple of expressions"
    OPTIONAL = "an expression, or None"
    MAPPING = "a mapping from expressions to expressions"
    BINDING = "a variable bound by this node"
    BINDINGS = "a tuple of variables bound by this node"
    PATTERN = "a pattern with variables that are bound by this node"
    TYPE = "a type, a tuple of types, or None"
    TYPE_BINDINGS = "a tuple of type variables bound by this node"
    VALUE = "a plain value, compared by ==, or an array"
    META = "not part of the structure: a span, an inferred type, an operator's meaning"
    DERIVED = "a plain value that follows from the other fields, and is computed again"


_SINGLE = {FieldKind.CHILD, FieldKind.BINDING}
_MANY = {FieldKind.CHILDREN, FieldKind.BINDINGS}
CHILDREN = {*_SINGLE, *_MANY, FieldKind.OPTIONAL, FieldKind.MAPPING, FieldKind.PATTERN}
BOUND = {FieldKind.BINDING, FieldKind.BINDINGS, FieldKind.PATTERN}
PLAIN = {FieldKind.TYPE, FieldKind.TYPE_BINDINGS, FieldKind.VALUE, FieldKind.PATTERN}


# The generated functions run for every node that is visited or rewritten. They are
# generated as source, like the methods of attrs and dataclasses: a loop over the
# field kinds takes three times as long.


def tuple_getter(
    field_kinds: dict[str, FieldKind], wanted: set[FieldKind]
) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function from a node to the values of its fields of the wanted kinds."""
    names = [name for name, field_kind in field_kinds.items() if field_kind in wanted]
    parts = [
        _PARTS.get(field_kinds[name], _SPREAD).format(f"n.{name}") for name in names
    ]
    if len(parts) == 1 and parts == [f"*n.{names[0]}"]:
        return operator.attrgetter(names[0])
    return eval(f"lambda n: ({''.join(part + ',' for part in parts)})")


_SPREAD = "*{0}"
_PARTS = {
    FieldKind.CHILD: "{0}",
    FieldKind.BINDING: "{0}",
    FieldKind.OPTIONAL: "*(() if {0} is None else ({0},))",
    FieldKind.MAPPING: "*{0}, *{0}.values()",
    FieldKind.PATTERN: "*{0}.variables",
}


def list_getter(names: Sequence[str]) -> Callable[[Any], list[Any]]:
    """Return a function from a node to the list of some of its fields' values."""
    return eval(f"lambda n: [{', '.join(f'n.{name}' for name in names)}]")


def rebuilder(
    kind: type[Any], field_kinds: dict[str, FieldKind]
) -> Callable[[Any, Sequence[Any]], Any]:
    """Return a function that copies a node with other children.

    Raises:
        InternalError: A field that is not derived stands behind a derived one.
    """
    names = list(field_kinds)
    while names and field_kinds[names[-1]] is FieldKind.DERIVED:
        names.pop()
    if any(field_kinds[name] is FieldKind.DERIVED for name in names):
        raise InternalError(f"{kind.__name__} has fields after one that is derived")
    values: list[str] = []
    below = [name for name in names if field_kinds[name] in CHILDREN]
    for name in names:
        if name not in below:
            values.append("None" if name == "checked_type_" else f"n.{name}")
            continue
        at = below.index(name)
        before = [_count(field_kinds[one], one) for one in below[:at]]
        after = [_count(field_kinds[one], one) for one in below[at + 1 :]]
        values.append(_taken(field_kinds[name], name, before, after))
    return eval(f"lambda n, c: kind({', '.join(values)})", {"kind": kind})


def _count(field_kind: FieldKind, name: str) -> str:
    """Return the number of a field's children as an expression; a digit if fixed."""
    if field_kind in _SINGLE:
        return "1"
    if field_kind is FieldKind.OPTIONAL:
        return f"(n.{name} is not None)"
    if field_kind is FieldKind.PATTERN:
        return f"len(n.{name}.variables)"
    return f"2 * len(n.{name})" if field_kind is FieldKind.MAPPING else f"len(n.{name})"


def _taken(
    field_kind: FieldKind, name: str, before: list[str], after: list[str]
) -> str:
    """Return the expression that takes a field's new value from the children `c`.

    A field behind it is indexed from the end, if its offset is a plain number: a tuple
    may then return with another length.
    """
    begin = _sum(before)
    if field_kind in _SINGLE:
        from_end = not begin.isdigit() and _sum(after).isdigit()
        return f"c[{-1 - len(after)}]" if from_end else f"c[{begin}]"
    if field_kind is FieldKind.OPTIONAL:
        return f"(None if n.{name} is None else c[{begin}])"
    end = f"{begin} + {_count(field_kind, name)}"
    if _sum(after).isdigit():
        end = f"{-len(after)}" if after else ""
    if field_kind is FieldKind.MAPPING:
        return f"dict(zip((k := c[{begin}:{end}])[: len(k) // 2], k[len(k) // 2 :]))"
    if field_kind is FieldKind.PATTERN:
        return f"n.{name}.with_variables(c[{begin}:{end}])"
    return f"tuple(c[{begin}:{end}])"


def _sum(counts: list[str]) -> str:
    ones = counts.count("1")
    return " + ".join([str(ones), *(one for one in counts if one != "1")])


class Node(msgspec.Struct, frozen=True, eq=False):
    """Base of all nodes of a program: immutable, equal only to itself.

    The cyclic collector tracks only those kinds whose children are fields of their own.
    An object that it does not track (`gc=False`) is freed recursively, and a chain of
    them overflows the C stack; but tuples in between, or nodes of tracked kinds, bound
    that (`Py_TRASHCAN_BEGIN` of CPython). So leaves, and kinds whose
    children are in tuples, go untracked, and with them the tuples that hold nothing
    else: nearly all objects of a program of tensors. They are part of no cycle, since a
    node refers only to what was there before it. Untracked kinds have no weak
    references.

    Attributes:
        namespace: The IR of the class. It qualifies the class name wherever kinds are
            identified by name, and is the key of the IR's `Dialect`.
    """

    namespace: ClassVar[str]

    def same_as(self, other: object) -> bool:
        """Return whether this is the very same object as `other`."""
        return self is other

    def __copy__(self) -> Self:
        return self  # nodes are immutable, so a copy would only lose their identity

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def astext(
        self, show_meta_data: bool = True, annotate: Annotate | None = None
    ) -> str:
        """Return the node as text that its IR's parser reads, if it has one.

        Args:
            show_meta_data: Whether the values of large constants are included.
            annotate: Returns a comment for a node, such as `/* here */`; by default the
                type of a call or a constant, where it is known.
        """
        dialect = dialect_of(self)
        return dialect.text_header + dialect.text(
            self, show_meta_data=show_meta_data, annotate=annotate
        )

    def __str__(self) -> str:
        return dialect_of(self).text(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({dialect_of(self).brief(self)})"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return [("", dialect_of(self).brief(self))]


NodeT = TypeVar("NodeT", bound=Node)


class Reflection(msgspec.Struct, frozen=True):
    """The fields of one node kind.

    Attributes:
        kind: The node class.
        field_kinds: The kind of each field, in constructor order.
        values: The fields that hold types, plain values or patterns.
        structure: Returns the types and plain values of a node that are structure.
        types: The fields that state types.
        type_bindings: Returns the type variables that a node binds.
        children: Returns the child expressions of a node, bound variables included,
            in the order of evaluation (a let's variable before its value).
        bindings: Returns the variables that a node binds, in general in its last child.
        rebuild: Returns a copy of a node with other children, in the order of
            `children`; inferred types are dropped.
        is_graph: Whether sharing such a node is part of the structure, as in TVM:
            `let`s, calls, tuples and so on; not constants, operators or projections.
        is_variable: Whether such a node is identified by its binding place. Its name is
            not part of the structure then, its other values are.
        scopes: The fields that are scopes, such as the branches of an `if`: values
            computed in one are not computed outside.
        inside: Returns the children of a node that are scopes.
        outside: Returns its other children, but bound variables.
    """

    kind: type[Node]
    field_kinds: dict[str, FieldKind]
    values: tuple[str, ...]
    structure: Callable[[Any], list[Any]]
    types: tuple[str, ...]
    type_bindings: Callable[[Any], tuple[Any, ...]]
    children: Callable[[Any], tuple[Any, ...]]
    bindings: Callable[[Any], tuple[Any, ...]]
    rebuild: Callable[[Any, Sequence[Any]], Any]
    is_graph: bool
    is_variable: bool
    scopes: tuple[str, ...]
    inside: Callable[[Any], tuple[Any, ...]]
    outside: Callable[[Any], tuple[Any, ...]]


_reflections: dict[type[Node], Reflection] = {}


def reflected(
    *,
    is_graph: bool,
    is_variable: bool = False,
    scopes: tuple[str, ...] = (),
    structure: Callable[[Any], list[Any]] | None = None,
    bindings: Callable[[Any], tuple[Any, ...]] | None = None,
    rebuild: Callable[[Any, Sequence[Any]], Any] | None = None,
    **special: FieldKind,
) -> Callable[[type[NodeT]], type[NodeT]]:
    """Register the reflection of a node class; a class decorator.

    Args:
        is_graph: See `Reflection`.
        is_variable: Its first field is its name.
        scopes: The fields that are scopes.
        structure: Where not all values are structure: returns those that are, and
            something equal for the others.
        bindings: Where a node binds variables outside of its fields of the kinds
            BINDING, BINDINGS and PATTERN: returns all that it binds.
        rebuild: Where the constructor does not take the fields in order: returns a copy
            of a node with other children.
        **special: The kind of each field that is no plain value. `span` and
            `checked_type_` are META always.
    """

    def register(kind: type[NodeT]) -> type[NodeT]:
        field_kinds = dict.fromkeys(kind.__struct_fields__, FieldKind.VALUE) | special
        field_kinds |= dict.fromkeys(
            field_kinds.keys() & {"span", "checked_type_"}, FieldKind.META
        )
        if set(field_kinds) != set(kind.__struct_fields__):
            raise InternalError(f"field kinds of {kind.__name__} name unknown fields")
        if not hasattr(kind, "namespace"):
            raise InternalError(f"{kind.__name__} does not say of which IR it is")
        values = tuple(
            name for name, field_kind in field_kinds.items() if field_kind in PLAIN
        )
        _reflections[kind] = Reflection(
            kind=kind,
            field_kinds=field_kinds,
            values=values,
            structure=structure or list_getter(values[is_variable:]),
            types=tuple(
                name
                for name, field_kind in field_kinds.items()
                if field_kind is FieldKind.TYPE
            ),
            type_bindings=tuple_getter(field_kinds, {FieldKind.TYPE_BINDINGS}),
            children=tuple_getter(field_kinds, CHILDREN),
            bindings=bindings or tuple_getter(field_kinds, BOUND),
            rebuild=rebuild or rebuilder(kind, field_kinds),
            is_graph=is_graph,
            is_variable=is_variable,
            scopes=scopes,
            inside=tuple_getter({one: field_kinds[one] for one in scopes}, CHILDREN),
            outside=tuple_getter(
                {k: v for k, v in field_kinds.items() if k not in scopes},
                CHILDREN - BOUND,
            ),
        )
        return kind

    return register


def reflection(kind: type[Node]) -> Reflection:
    """Return the reflection of a node class."""
    return _reflections[kind]


def reflections() -> tuple[Reflection, ...]:
    """Return the reflections of all node classes."""
    return tuple(_reflections.values())


def children(node: Node) -> tuple[Any, ...]:
    """Return the child expressions of a node, in the order of evaluation."""
    return _reflections[type(node)].children(node)


def scopes_of(node: Node) -> tuple[Any, ...]:
    """Return the child expressions of a node that are scopes."""
    return _reflections[type(node)].inside(node)


def outer_children(node: Node) -> tuple[Any, ...]:
    """Return the child expressions of a node that it does not bind, but for scopes."""
    return _reflections[type(node)].outside(node)


def bindings(node: Node) -> tuple[Any, ...]:
    """Return the variables that a node binds in its last child."""
    return _reflections[type(node)].bindings(node)


def post_order(
    root: Node, below: Callable[[Any], Sequence[Any]] = children
) -> list[Node]:
    """Return the nodes below and at `root`, each once, children before parents.

    Args:
        root: The node to begin with.
        below: Returns the nodes to visit below a node; by default all its children.
    """
    found: set[Node] = set()
    order: list[Node] = []
    stack: list[Any] = [root]  # None is above a node whose children are found
    while stack:
        node = stack.pop()
        if node is None:
            order.append(stack.pop())
        elif node not in found:
            found.add(node)
            under = below(node)
            if under:
                stack += (node, None)
                stack += reversed(under)
            else:
                order.append(node)
    return order


def users_of(order: Iterable[NodeT]) -> dict[NodeT, list[NodeT]]:
    """Return the nodes that use a node, once for each use; of unused ones nothing."""
    users: dict[NodeT, list[NodeT]] = {}
    for node in order:
        for child in children(node):
            users.setdefault(child, []).append(node)
    return users


def breadth_first(root: Node, limit: int | None = None) -> list[Node]:
    """Return the nodes at and below `root`, each once, nearer ones first.

    It takes a fourth of the time of `post_order`. With a limit it stops at that number
    of nodes, or a few more.
    """
    seen = {root}
    found = [root]
    for node in found:  # which grows meanwhile
        if limit is not None and len(found) >= limit:
            break
        for child in _reflections[type(node)].children(node):
            if child not in seen:
                seen.add(child)
                found.append(child)
    return found


def with_replaced(root: NodeT, replaced: Mapping[Any, Node]) -> NodeT:
    """Return an expression in which some nodes are replaced by others."""
    new: dict[Node, Node] = dict(replaced)
    for node in post_order(root):
        if node not in new:
            old = children(node)
            now = [new[child] for child in old]
            changes = any(map(operator.is_not, old, now))
            new[node] = reflection(type(node)).rebuild(node, now) if changes else node
    return cast("NodeT", new[root])


def count_nodes(root: Node, limit: int) -> int:
    """Return the number of nodes of `root`, or `limit` if there are more."""
    return min(len(breadth_first(root, limit)), limit)
