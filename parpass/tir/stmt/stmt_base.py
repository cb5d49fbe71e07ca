"""The base of statements, and what their fields may hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, cast

from parpass.errors import IRTypeError
from parpass.ir.attrs import DictAttrs
from parpass.ir.node import Node
from parpass.tir.expr import FloatImm, IntImm, StringImm

STMT_KINDS: set[type] = set()  # every class of statements; see `EXPR_KINDS`


class Stmt(Node, frozen=True, eq=False):
    """The base of statements."""

    namespace: ClassVar[str] = "tir"

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        STMT_KINDS.add(cls)


def check_body(node: Stmt, *fields: str) -> None:
    """Check that fields of a node that is being made are statements.

    Raises:
        IRTypeError: One is none.
    """
    for name in fields:
        body = getattr(node, name)
        if type(body) not in STMT_KINDS:
            raise IRTypeError(
                f"expected a statement for {type(node).__name__}.{name}, got "
                f"{type(body).__name__}"
            )


def check_scalar(node: Stmt, *fields: str) -> None:
    """Check that fields of a node that is being made are scalars.

    Raises:
        IRTypeError: One is a vector.
    """
    for name in fields:
        dtype = getattr(node, name).dtype
        if "x" in dtype:  # as names of vectors alone have
            raise IRTypeError(
                f"expected a scalar for {type(node).__name__}.{name}, got {dtype}"
            )


def plain(value: Any, known: dict[int, Any] | None = None) -> Any:
    """Return what annotations may hold for a value: constants become Python's.

    Args:
        value: The value.
        known: The results so far for parts of a value, by id; what is shared stays so.
    """
    if isinstance(value, IntImm):
        return bool(value.value) if value.dtype == "bool" else value.value
    if isinstance(value, FloatImm | StringImm):
        return value.value
    if isinstance(value, tuple | list):
        known = {} if known is None else known
        items = cast("list[Any]", value)
        if id(items) not in known:
            known[id(items)] = tuple([plain(one, known) for one in items])
        return known[id(items)]
    return value


def plain_attrs(attrs: Mapping[str, Any] | None) -> DictAttrs:
    """Return annotations of a statement, or attributes of a function."""
    if type(attrs) is DictAttrs:
        return attrs
    return DictAttrs({key: plain(value) for key, value in (attrs or {}).items()})
