"""Where two expressions that are not structurally equal differ first, for messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from parpass.ir.node import Node, Role, children, reflection
from parpass.ir.structure.canonical import value_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parpass.ir.structure.canonical import Canonical
    from parpass.runtime.ndarray import NDArray

_STEPS_SHOWN = 20


class Mismatch(NamedTuple):
    """The place of a difference, and what stands there on either side."""

    path: str
    lhs: str
    rhs: str
    function: str | None = None


def first_mismatch(left: Canonical, right: Canonical) -> Mismatch:
    """Return where two forms that are not equal differ first.

    The way from the roots down follows the first children that are not equal. They
    are equal if they have the same number and it is below the first record that
    differs.
    """
    pairs = list(zip(left.records, right.records, strict=False))
    differ = (at for at, (mine, theirs) in enumerate(pairs) if mine != theirs)
    equal = next(differ, len(pairs))  # all of the one may be the start of the other
    lhs, rhs = left.root, right.root
    steps: list[str] = []
    while True:
        found = _own_mismatch(left, right, lhs, rhs)
        if found is not None:
            field, mine, theirs = found
            return Mismatch(_path([*steps, field]), mine, theirs)
        below = zip(_labels(lhs), children(lhs), children(rhs), strict=True)
        for label, mine, theirs in below:
            number = left.numbers[mine]
            if number >= equal or number != right.numbers[theirs]:
                steps.append(label)
                lhs, rhs = mine, theirs
                break
        else:
            return Mismatch(_path(steps), _identity(left, lhs), _identity(right, rhs))


def _own_mismatch(
    left: Canonical, right: Canonical, lhs: Node, rhs: Node
) -> tuple[str, str, str] | None:
    """Return in which field two nodes differ, children aside, and both its values."""
    mine, theirs = left.record_of(lhs), right.record_of(rhs)
    if mine.kind is not theirs.kind or len(mine.children) != len(theirs.children):
        return "", repr(lhs), repr(rhs)
    if mine.free is not theirs.free:
        return "", _scope(lhs, mine.free), _scope(rhs, theirs.free)
    if mine.data != theirs.data:
        return ".data", _array(mine.data), _array(theirs.data)
    if mine.values != theirs.values:
        compared = zip(left.values_of(lhs), right.values_of(rhs), strict=True)
        for field, (of_lhs, of_rhs) in zip(_fields(lhs), compared, strict=True):
            if value_bytes([of_lhs]) != value_bytes([of_rhs]):
                return f".{field}", repr(of_lhs), repr(of_rhs)
    return None


def _fields(node: Node) -> Sequence[str]:
    """Return the names of the values that `Canonical.values_of` gives."""
    fields = reflection(type(node))
    return fields.values[fields.is_variable :]


def _labels(node: Node) -> list[str]:
    """Return for each child of a node the field that it stands in."""
    labels: list[str] = []
    for name, role in reflection(type(node)).roles.items():
        value = getattr(node, name)
        if role in (Role.CHILD, Role.BINDING):
            labels.append(f".{name}")
        elif role is Role.OPTIONAL:
            labels += [f".{name}"] * (value is not None)
        elif role in (Role.CHILDREN, Role.BINDINGS):
            labels += [f".{name}[{at}]" for at in range(len(value))]
        elif role is Role.PATTERN:
            labels += [f".{name}.variables[{at}]" for at in range(len(value.variables))]
        elif role is Role.MAPPING:
            labels += [f".{name}.keys[{at}]" for at in range(len(value))]
            labels += [f".{name}[{at}]" for at in range(len(value))]
    return labels


def _path(steps: list[str]) -> str:
    if len(steps) > _STEPS_SHOWN:
        left_out = len(steps) - _STEPS_SHOWN
        half = _STEPS_SHOWN // 2
        steps = [*steps[:half], f"...({left_out} more)...", *steps[-half:]]
    return "<root>" + "".join(steps)


def _array(data: NDArray | None) -> str:
    return repr(data) if data is None else f"{data!r} of {data.numpy()!s:.60}"


def _scope(node: Node, free: Node | None) -> str:
    return f"{node!r} ({'bound' if free is None else 'free'})"


def _identity(side: Canonical, node: Node) -> str:
    how = "bound" if reflection(type(node)).is_variable else "shared"
    return f"{node!r}, {how} elsewhere (node {side.numbers[node]} in post-order)"
