"""The table of what users say of operators, by key and operator.

It is below the table of operators, which answers for what is said of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from parpass.tables import Table


class OpAttr(NamedTuple):
    """A value, and its level: of two values, that of the higher one counts."""

    value: Any
    level: int


OP_ATTRS: Table[tuple[str, str], OpAttr] = Table("attribute of an operator")


def op_attr(attr_key: str, op_name: str) -> Any:
    """Return an operator's attribute under a free key, None if it has none."""
    found = OP_ATTRS.find((attr_key, op_name))
    return None if found is None else found.value


def set_op_attr(attr_key: str, op_name: str, value: Any, level: int) -> None:
    """Give an operator an attribute, unless it has one of a higher level."""
    known = OP_ATTRS.get((attr_key, op_name))
    if known is None or level >= known.level:
        OP_ATTRS[attr_key, op_name] = OpAttr(value, level)


def reset_op_attr(attr_key: str, op_name: str) -> None:
    """Take an attribute away from an operator; it need not have one."""
    if (attr_key, op_name) in OP_ATTRS:
        del OP_ATTRS[attr_key, op_name]
