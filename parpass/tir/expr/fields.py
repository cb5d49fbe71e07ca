"""What the nodes of loop programs make of their fields while they are made."""

from __future__ import annotations

from typing import Any

from msgspec.structs import force_setattr

from parpass.ir.node import Node
from parpass.tir.prim_expr import EXPR_KINDS, as_prim_expr


def convert_fields(node: Node, *fields: str) -> None:
    """Make expressions of numbers in the fields of a node that is being made."""
    for name in fields:
        value = getattr(node, name)
        if type(value) not in EXPR_KINDS:
            force_setattr(node, name, as_prim_expr(value))


def set_dtype(node: Any, dtype: str) -> None:
    """Give a node that is being made its dtype."""
    if node.dtype != dtype:
        force_setattr(node, "dtype", dtype)
