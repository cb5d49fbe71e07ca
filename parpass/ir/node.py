"""What nodes are made of: one reflection of their fields, that everything uses.

Visitors, mutators, structural equality and hash, the printer and the wire never list
the fields of a node kind themselves; they ask `reflection(kind)`.
"""

from __future__ import annotations

import enum
import operator
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, cast

import msgspec

from parpass.errors import InternalError
from parpass.ir.tenants import Annotate, tenant_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


class Role(enum.Enum):
    """What a field is to its node."""

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
    DERIVED = "a plain value that follows from the other fields, and is found anew"


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

_SINGLE = {Role.CHILD, Role.BINDING}
_MANY = {Role.CHILDREN, Role.BINDINGS}
_CHILDREN = {*_SINGLE, *_MANY, Role.OPTIONAL, Role.MAPPING, Role.PATTERN}
_BOUND = {Role.BINDING, Role.BINDINGS, Role.PATTERN}
_PLAIN = {Role.TYPE, Role.TYPE_BINDINGS, Role.VALUE, Role.PATTERN}


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
        values = tuple(name for name, role in roles.items() if role in _PLAIN)
        _reflections[kind] = Reflection(
            kind=kind,
            roles=roles,
            values=values,
            structure=structure or _list_getter(values[is_variable:]),
            types=tuple(name for name, role in roles.items() if role is Role.TYPE),
            type_bindings=_tuple_getter(roles, {Role.TYPE_BINDINGS}),
            children=_tuple_getter(roles, _CHILDREN),
            bindings=bindings or _tuple_getter(roles, _BOUND),
            rebuild=rebuild or _rebuilder(kind, roles),
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


def count_nodes(root: Node, limit: int) -> int:
    """Return how many nodes `root` has, counted no further than to `limit`."""
    return min(len(breadth_first(root, limit)), limit)


# What the functions below make runs for every node that anybody visits or rewrites, so
# it is generated from the roles, as attrs and dataclasses generate their methods: a
# loop over the roles takes three times as long.


def _tuple_getter(
    roles: dict[str, Role], wanted: set[Role]
) -> Callable[[Any], tuple[Any, ...]]:
    names = [name for name, role in roles.items() if role in wanted]
    parts = [_PARTS.get(roles[name], _SPREAD).format(f"n.{name}") for name in names]
    if len(parts) == 1 and parts == [f"*n.{names[0]}"]:
        return operator.attrgetter(names[0])
    return eval(f"lambda n: ({''.join(part + ',' for part in parts)})")


_SPREAD = "*{0}"
_PARTS = {
    Role.CHILD: "{0}",
    Role.BINDING: "{0}",
    Role.OPTIONAL: "*(() if {0} is None else ({0},))",
    Role.MAPPING: "*{0}, *{0}.values()",
    Role.PATTERN: "*{0}.variables",
}


def _list_getter(names: Sequence[str]) -> Callable[[Any], list[Any]]:
    return eval(f"lambda n: [{', '.join(f'n.{name}' for name in names)}]")


def _rebuilder(
    kind: type[Node], roles: dict[str, Role]
) -> Callable[[Any, Sequence[Any]], Any]:
    names = list(roles)
    while names and roles[names[-1]] is Role.DERIVED:
        names.pop()
    if any(roles[name] is Role.DERIVED for name in names):
        raise InternalError(f"{kind.__name__} has fields after one that is derived")
    values: list[str] = []
    below = [name for name in names if roles[name] in _CHILDREN]
    for name in names:
        if name not in below:
            values.append("None" if name == "checked_type_" else f"n.{name}")
            continue
        at = below.index(name)
        before = [_count(roles[one], one) for one in below[:at]]
        after = [_count(roles[one], one) for one in below[at + 1 :]]
        values.append(_taken(roles[name], name, before, after))
    return eval(f"lambda n, c: kind({', '.join(values)})", {"kind": kind})


def _count(role: Role, name: str) -> str:
    """Return how many children a field has, as an expression; a digit if one."""
    if role in _SINGLE:
        return "1"
    if role is Role.OPTIONAL:
        return f"(n.{name} is not None)"
    if role is Role.PATTERN:
        return f"len(n.{name}.variables)"
    return f"2 * len(n.{name})" if role is Role.MAPPING else f"len(n.{name})"


def _taken(role: Role, name: str, before: list[str], after: list[str]) -> str:
    """Return what takes a field's new value from the children `c`, as an expression.

    What stands after it is counted from the end, if that is a plain number: a tuple may
    come back with another length then.
    """
    begin = _sum(before)
    if role in _SINGLE:
        from_end = not begin.isdigit() and _sum(after).isdigit()
        return f"c[{-1 - len(after)}]" if from_end else f"c[{begin}]"
    if role is Role.OPTIONAL:
        return f"(None if n.{name} is None else c[{begin}])"
    end = f"{begin} + {_count(role, name)}"
    if _sum(after).isdigit():
        end = f"{-len(after)}" if after else ""
    if role is Role.MAPPING:
        return f"dict(zip((k := c[{begin}:{end}])[: len(k) // 2], k[len(k) // 2 :]))"
    if role is Role.PATTERN:
        return f"n.{name}.with_variables(c[{begin}:{end}])"
    return f"tuple(c[{begin}:{end}])"


def _sum(counts: list[str]) -> str:
    ones = counts.count("1")
    return " + ".join([str(ones), *(one for one in counts if one != "1")])
