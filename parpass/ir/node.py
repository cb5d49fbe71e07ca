"""What nodes are made of: one reflection of their fields, that everything uses.

Visitors, mutators, structural equality and hash, the printer and the wire never list
the fields of a node kind themselves; they ask `reflection(kind)`.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, cast

import msgspec

from parpass.errors import InternalError
from parpass.ir.roles import (
    BOUND,
    CHILDREN,
    PLAIN,
    list_getter,
    rebuilder,
    tuple_getter,
)
from parpass.ir.roles import Role as Role
from parpass.ir.tenants import Annotate, tenant_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


class Node(msgspec.Struct, frozen=True, eq=False, weakref=True):
    """The base of what programs are made of: immutable, equal only to itself.

    The collector keeps tracking nodes (no `gc=False`): untracked objects are freed
    recursively, and a chain of 100,000 of them overflows the C stack.

    Attributes:
        namespace: The IR that the class is of. It stands before the name of the class
            wherever kinds are told apart by name, and the IR's `Tenant` is under it.
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
        """Return the node as text, such as its IR's parser reads, if it has one.

        Args:
            show_meta_data: Whether the values of large constants are shown as well.
            annotate: Returns what is written behind a node, such as `/* here */`; by
                default that is the type of a call or a constant, where it is known.
        """
        tenant = tenant_of(self)
        return tenant.text_header + tenant.text(
            self, show_meta_data=show_meta_data, annotate=annotate
        )

    def __str__(self) -> str:
        return tenant_of(self).text(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({tenant_of(self).brief(self)})"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return [("", tenant_of(self).brief(self))]


NodeT = TypeVar("NodeT", bound=Node)


class Reflection(msgspec.Struct, frozen=True):
    """The fields of one node kind, by role.

    Attributes:
        kind: The node class.
        roles: The role of each field, in constructor order.
        values: The fields that hold types, plain values or patterns.
        structure: Returns the types and plain values of a node that are structure.
        types: The fields that state types.
        type_bindings: Returns the type variables that a node binds.
        children: Returns the child expressions of a node, bound variables included,
            in the order of evaluation (a let's variable before its value).
        bindings: Returns the variables that a node binds, in general in its last child.
        rebuild: Makes a node like the first argument with other children, in the
            order of `children`; inferred types are dropped.
        is_graph: Whether sharing such a node is part of the structure, as in TVM:
            `let`s, calls, tuples and so on; not constants, operators or projections.
        is_variable: Whether such a node means the place where it is bound. Its name is
            no structure then, its other values are.
        scopes: How many of its last children are scopes, such as the branches of an
            `if`: what is evaluated in one is not evaluated outside.
    """

    kind: type[Node]
    roles: dict[str, Role]
    values: tuple[str, ...]
    structure: Callable[[Any], list[Any]]
    types: tuple[str, ...]
    type_bindings: Callable[[Any], tuple[Any, ...]]
    children: Callable[[Any], tuple[Any, ...]]
    bindings: Callable[[Any], tuple[Any, ...]]
    rebuild: Callable[[Any, Sequence[Any]], Any]
    is_graph: bool
    is_variable: bool
    scopes: int


_reflections: dict[type[Node], Reflection] = {}


def reflected(
    *,
    is_graph: bool,
    is_variable: bool = False,
    scopes: int = 0,
    structure: Callable[[Any], list[Any]] | None = None,
    bindings: Callable[[Any], tuple[Any, ...]] | None = None,
    rebuild: Callable[[Any, Sequence[Any]], Any] | None = None,
    **special: Role,
) -> Callable[[type[NodeT]], type[NodeT]]:
    """Register the reflection of a node class; a class decorator.

    Args:
        is_graph: See `Reflection`, as for the next three.
        is_variable: Its first field is its name.
        scopes: How many children are scopes.
        structure: Where not all values are structure: returns those that are, and
            something equal for the others.
        bindings: Where a node binds other variables than those in fields of the role
            BINDING, BINDINGS or PATTERN: returns all that it binds.
        rebuild: Where a node is not made of its fields in their order: makes one like
            it with other children.
        **special: The role of each field that is no plain value. `span` and
            `checked_type_` are META always.
    """

    def register(kind: type[NodeT]) -> type[NodeT]:
        roles = dict.fromkeys(kind.__struct_fields__, Role.VALUE) | special
        roles |= dict.fromkeys(roles.keys() & {"span", "checked_type_"}, Role.META)
        if set(roles) != set(kind.__struct_fields__):
            raise InternalError(f"roles of {kind.__name__} name unknown fields")
        if not hasattr(kind, "namespace"):
            raise InternalError(f"{kind.__name__} does not say of which IR it is")
        values = tuple(name for name, role in roles.items() if role in PLAIN)
        _reflections[kind] = Reflection(
            kind=kind,
            roles=roles,
            values=values,
            structure=structure or list_getter(values[is_variable:]),
            types=tuple(name for name, role in roles.items() if role is Role.TYPE),
            type_bindings=tuple_getter(roles, {Role.TYPE_BINDINGS}),
            children=tuple_getter(roles, CHILDREN),
            bindings=bindings or tuple_getter(roles, BOUND),
            rebuild=rebuild or rebuilder(kind, roles),
            is_graph=is_graph,
            is_variable=is_variable,
            scopes=scopes,
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


def bindings(node: Node) -> tuple[Any, ...]:
    """Return the variables that a node binds in its last child."""
    return _reflections[type(node)].bindings(node)


def post_order(root: Node) -> list[Node]:
    """Return the nodes below and at `root`, each once, children before parents."""
    done: set[Node] = set()
    order: list[Node] = []
    stack: list[Node | None] = [root]  # None marks a node whose children are done
    while stack:
        node = stack.pop()
        if node is None:
            node = cast("Node", stack.pop())
        elif node in done:
            continue
        else:
            below = _reflections[type(node)].children(node)
            waiting = [child for child in below if child not in done]
            if waiting:
                stack += (node, None)
                stack += reversed(waiting)
                continue
        done.add(node)
        order.append(node)
    return order


def breadth_first(root: Node, limit: int | None = None) -> list[Node]:
    """Return the nodes at and below `root`, each once, nearer ones first.

    It takes a fourth of the time of `post_order`. With a limit it ends when there are
    so many, or a few more.
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
    """Return an expression with other nodes in the place of some of its nodes."""
    new: dict[Node, Node] = dict(replaced)
    for node in post_order(root):
        if node not in new:
            old = children(node)
            now = [new[child] for child in old]
            changes = any(map(operator.is_not, old, now))
            new[node] = reflection(type(node)).rebuild(node, now) if changes else node
    return cast("NodeT", new[root])


def size_as_tree(root: Node) -> int:
    """Return how many nodes there are, each counted wherever it is used."""
    sizes: dict[Node, int] = {}
    for node in post_order(root):
        sizes[node] = 1 + sum([sizes[child] for child in children(node)])
    return sizes[root]


def count_nodes(root: Node, limit: int) -> int:
    """Return how many nodes `root` has, counted no further than to `limit`."""
    return min(len(breadth_first(root, limit)), limit)
