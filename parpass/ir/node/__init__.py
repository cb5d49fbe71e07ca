"""Nodes of programs: the reflection of their fields, and what goes through them."""

from parpass.ir.node.node import (
    FieldKind,
    Node,
    Reflection,
    bindings,
    breadth_first,
    children,
    count_nodes,
    outer_children,
    post_order,
    reflected,
    reflection,
    reflections,
    scopes_of,
    users_of,
    with_replaced,
)

__all__ = [
    "FieldKind",
    "Node",
    "Reflection",
    "bindings",
    "breadth_first",
    "children",
    "count_nodes",
    "outer_children",
    "post_order",
    "reflected",
    "reflection",
    "reflections",
    "scopes_of",
    "users_of",
    "with_replaced",
]
