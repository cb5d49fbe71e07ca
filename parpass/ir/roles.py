"""What the fields of nodes are to them, and the code that follows from that."""

from __future__ import annotations

import enum
import operator
from collections.abc import Callable, Sequence
from typing import Any

from parpass.errors import InternalError


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


_SINGLE = {Role.CHILD, Role.BINDING}
_MANY = {Role.CHILDREN, Role.BINDINGS}
CHILDREN = {*_SINGLE, *_MANY, Role.OPTIONAL, Role.MAPPING, Role.PATTERN}
BOUND = {Role.BINDING, Role.BINDINGS, Role.PATTERN}
PLAIN = {Role.TYPE, Role.TYPE_BINDINGS, Role.VALUE, Role.PATTERN}


# What the functions below make runs for every node that anybody visits or rewrites, so
# it is generated from the roles, as attrs and dataclasses generate their methods: a
# loop over the roles takes three times as long.


def tuple_getter(
    roles: dict[str, Role], wanted: set[Role]
) -> Callable[[Any], tuple[Any, ...]]:
    """Return what gets the values of a node's fields of some roles, as one tuple."""
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


def list_getter(names: Sequence[str]) -> Callable[[Any], list[Any]]:
    """Return what gets the values of some fields of a node."""
    return eval(f"lambda n: [{', '.join(f'n.{name}' for name in names)}]")


def rebuilder(
    kind: type[Any], roles: dict[str, Role]
) -> Callable[[Any, Sequence[Any]], Any]:
    """Return what makes a node like its first argument, with other children.

    Raises:
        InternalError: A field that is no derived one stands behind one that is.
    """
    names = list(roles)
    while names and roles[names[-1]] is Role.DERIVED:
        names.pop()
    if any(roles[name] is Role.DERIVED for name in names):
        raise InternalError(f"{kind.__name__} has fields after one that is derived")
    values: list[str] = []
    below = [name for name in names if roles[name] in CHILDREN]
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
