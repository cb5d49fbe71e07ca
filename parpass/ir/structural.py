"""Structural equality and hash, with TVM's semantics.

Bound variables are equal if they are bound at corresponding places, whatever their
names; a free variable is equal only to itself. Sharing is part of the structure: `z *
z` of one sum `z` is not the product of two sums. Spans and inferred types are not.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, cast

from parpass.errors import StructuralMismatchError
from parpass.ir.adt import TypeData
from parpass.ir.dialect import dialect_of
from parpass.ir.module import IRModule
from parpass.ir.node import Node
from parpass.ir.structural_hashing import (
    Canonical,
    Mismatch,
    first_mismatch,
    value_bytes,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False) -> bool:
    """Return whether two modules, expressions, types or attributes are equal.

    Lists are equal if their items are; free variables of different items are unrelated.
    A Python number compared with an expression becomes a constant, if the IR has
    numbers.

    Args:
        lhs: The left side.
        rhs: The right side.
        map_free_vars: Whether free variables are equal if they have the same type and
            appear at corresponding places.
    """
    return _mismatch(lhs, rhs, map_free_vars=map_free_vars) is None


def assert_structural_equal(
    lhs: Any,
    rhs: Any,
    map_free_vars: bool = False,
) -> None:
    """Check that two modules, expressions, types or attributes are equal.

    Raises:
        StructuralMismatchError: They differ; the message has the first difference.
    """
    found = _mismatch(lhs, rhs, map_free_vars=map_free_vars)
    if found is None:
        return
    where = f"function '{found.function}' at " if found.function is not None else ""
    raise StructuralMismatchError(
        f"not structurally equal: {where}{found.path}\n"
        f"  left:  {found.lhs}\n  right: {found.rhs}",
        path=found.path,
        function=found.function,
    )


def structural_difference(lhs: Any, rhs: Any) -> str | None:
    """Return the path of the first difference, with both sides; None for equal ones."""
    try:
        assert_structural_equal(lhs, rhs)
    except StructuralMismatchError as error:
        return str(error)
    return None


def structural_hash(node: Any, map_free_vars: bool = False) -> int:
    """Return a 64-bit hash, equal for equal nodes in every process."""
    return int.from_bytes(_digest(node, 8, map_free_vars=map_free_vars), "big")


def structural_digest(node: Any) -> bytes:
    """Return 32 bytes that are equal for equal nodes alone, in every process."""
    return _digest(node, 32, map_free_vars=False)


def _digest(node: Any, size: int, *, map_free_vars: bool) -> bytes:
    state = hashlib.blake2b(digest_size=size)
    for part in _parts(node, map_free_vars=map_free_vars):
        state.update(part)
    return state.digest()


def _parts(node: Any, *, map_free_vars: bool) -> Iterator[bytes]:
    node = _as_node(node, None)
    if isinstance(node, IRModule):
        yield value_bytes(node.attrs)
        yield from map(value_bytes, _definitions(node).items())
        for name, function in sorted(node.functions_by_name.items()):
            yield value_bytes((name, structural_hash(function, map_free_vars)))
    elif isinstance(node, Node):
        for record in Canonical(node, map_free_vars=map_free_vars).records:
            digest = record.data.digest() if record.data is not None else None
            kind = f"{record.kind.namespace}.{record.kind.__name__}"
            yield value_bytes((kind, record.values, digest, record.children))
    elif isinstance(node, list | tuple):
        for item in cast("Sequence[Any]", node):
            yield value_bytes(structural_hash(item, map_free_vars))
    else:
        yield value_bytes([node])


def _definitions(module: IRModule) -> dict[str, TypeData]:
    return dict(sorted(module.types.by_name.items()))


def _mismatch(lhs: Any, rhs: Any, *, map_free_vars: bool) -> Mismatch | None:
    if lhs is rhs:
        return None
    lhs, rhs = _as_node(lhs, rhs), _as_node(rhs, lhs)
    if isinstance(lhs, IRModule) and isinstance(rhs, IRModule):
        return _module_mismatch(lhs, rhs, map_free_vars=map_free_vars)
    if isinstance(lhs, Node) and isinstance(rhs, Node):
        return _node_mismatch(lhs, rhs, map_free_vars=map_free_vars)
    if isinstance(lhs, Node | IRModule) or isinstance(rhs, Node | IRModule):
        return Mismatch("<root>", repr(lhs), repr(rhs))
    if isinstance(lhs, list | tuple) and isinstance(rhs, list | tuple):
        return _list_mismatch(
            cast("Sequence[Any]", lhs),
            cast("Sequence[Any]", rhs),
            map_free_vars=map_free_vars,
        )
    return _value_mismatch("<root>", lhs, rhs)


def _as_node(value: Any, other: Any) -> Any:
    """Return the node for a value, by itself or as the counterpart of a node."""
    if isinstance(value, Node | IRModule):
        return value
    if hasattr(value, "asobject"):
        return value.asobject()
    return dialect_of(other).constant(value) if isinstance(other, Node) else value


def _list_mismatch(
    lhs: Sequence[Any], rhs: Sequence[Any], *, map_free_vars: bool
) -> Mismatch | None:
    if len(lhs) != len(rhs):
        return Mismatch("<root>", f"{len(lhs)} items", f"{len(rhs)} items")
    for at, (mine, theirs) in enumerate(zip(lhs, rhs, strict=True)):
        found = _mismatch(mine, theirs, map_free_vars=map_free_vars)
        if found is not None:
            return found._replace(path=found.path.replace("<root>", f"<root>[{at}]", 1))
    return None


def _value_mismatch(path: str, lhs: Any, rhs: Any) -> Mismatch | None:
    if lhs is rhs or value_bytes([lhs]) == value_bytes([rhs]):
        return None
    return Mismatch(path, repr(lhs), repr(rhs))


def _module_mismatch(
    lhs: IRModule, rhs: IRModule, *, map_free_vars: bool
) -> Mismatch | None:
    mine, theirs = lhs.functions_by_name, rhs.functions_by_name
    for name in (*mine, *theirs):
        if name not in mine or name not in theirs:
            has = "it is there" if name in mine else "there is none"
            has_not = "it is there" if name in theirs else "there is none"
            return Mismatch("<root>", has, has_not, name)
        found = _mismatch(mine[name], theirs[name], map_free_vars=map_free_vars)
        if found is not None:
            return found._replace(function=name)
    left, right = _definitions(lhs), _definitions(rhs)
    for name in (*left, *right):
        path = f"<root>.type_definitions[{name!r}]"
        found = _value_mismatch(path, left.get(name), right.get(name))
        if found is not None:
            return found
    return _value_mismatch("<root>.attrs", lhs.attrs, rhs.attrs)


def _node_mismatch(lhs: Node, rhs: Node, *, map_free_vars: bool) -> Mismatch | None:
    left = Canonical(lhs, map_free_vars=map_free_vars)
    right = Canonical(rhs, map_free_vars=map_free_vars)
    return None if left.records == right.records else first_mismatch(left, right)
