"""Tables sent to workers: the program's operators by name, and operator attributes.

Attributes are keyed by key and operator name; `op_table` checks them. This module needs
no numpy: a worker that receives the program's operators, but runs no pass that uses
one, loads no more than this. It imports `op_table` by name, late.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from msgspec.structs import force_setattr

from parpass.errors import InternalError
from parpass.lazy_loader import load_module
from parpass.replicated_tables import ReplicatedTable


class _Operators(ReplicatedTable[str, Any]):
    """The table; a foreign operator is entered before properties that may name it."""

    def state_of(self, key: str) -> dict[str, Any]:
        op = self[key]
        return {name: getattr(op, name) for name in op.__struct_fields__}

    def declare(self, key: str) -> None:
        op_table: Any = load_module("parpass.ir.op.op_table")
        super().restore(key, op_table.Op(key, 0, _unknown, _unknown))

    def restore(self, key: str, state: dict[str, Any]) -> None:
        for name, value in state.items():
            force_setattr(self[key], name, value)


def _unknown(*_: Any) -> Any:
    raise InternalError("an operator was used before it was known")


OPERATORS: ReplicatedTable[str, Any] = _Operators("operator")


class OpAttr(NamedTuple):
    """A value and its level: of two values, that of the higher level counts."""

    value: Any
    level: int


OP_ATTRS: ReplicatedTable[tuple[str, str], OpAttr] = ReplicatedTable(
    "attribute of an operator"
)


def op_attr(attr_key: str, op_name: str) -> Any:
    """Return an operator's attribute under a key, None if it has none."""
    found = OP_ATTRS.find((attr_key, op_name))
    return None if found is None else found.value


def set_op_attr(attr_key: str, op_name: str, value: Any, level: int) -> None:
    """Set an attribute of an operator, unless it has one of a higher level."""
    known = OP_ATTRS.get((attr_key, op_name))
    if known is None or level >= known.level:
        OP_ATTRS[attr_key, op_name] = OpAttr(value, level)


def reset_op_attr(attr_key: str, op_name: str) -> None:
    """Remove an attribute from an operator, if it has it."""
    if (attr_key, op_name) in OP_ATTRS:
        del OP_ATTRS[attr_key, op_name]
