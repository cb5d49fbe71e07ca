"""What users say of operators: attributes under free keys, as TVM's `register_op_attr`.

A pass that asks for such an attribute, AlterOpLayout or AnnotateTarget, is extended by
it for an operator, without a change to the pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from parpass.errors import IRError
from parpass.ir.operators.op_attr_table import OP_ATTRS, OpAttr, set_op_attr
from parpass.ir.operators.op_table import Op

FIRST_LEVEL = 10


def register_op_attr(
    op_name: str, attr_key: str, value: Any = None, level: int = FIRST_LEVEL
) -> Any:
    """Give an operator an attribute; without a value, a decorator of one.

    Args:
        op_name: The operator, such as `nn.conv2d`.
        attr_key: The key, such as `target.dnnl`.
        value: Whatever the readers of the key expect, in general a function.
        level: Of two values, the one of the higher level counts; of equals, the later.

    Raises:
        UnknownOpError: There is no such operator.
    """
    op = Op.get(op_name)

    def register(given: Any) -> Any:
        set_op_attr(attr_key, op.name, given, level)
        return given

    return register if value is None else register(value)


def op_attrs(attr_key: str) -> Mapping[str, Any]:
    """Return the attribute of each operator that has it, by the operator's name."""
    OP_ATTRS.ask(*[one for one in OP_ATTRS.missing if one[0] == attr_key])
    return {
        name: entry.value
        for (key, name), entry in tuple(OP_ATTRS.items())
        if key == attr_key
    }


class TempOpAttr:
    """Gives an operator an attribute for the time of a `with` block.

    Args:
        op_name: The operator.
        attr_key: The key.
        value: The value.

    Raises:
        UnknownOpError: There is no such operator.
        IRError: It is left without having been entered.
    """

    def __init__(self, op_name: str, attr_key: str, value: Any) -> None:
        self._key = attr_key, Op.get(op_name).name
        self._entry = OpAttr(value, FIRST_LEVEL)
        self._before: list[OpAttr | None] = []

    def __enter__(self) -> Self:
        self._before.append(OP_ATTRS.get(self._key))
        OP_ATTRS[self._key] = self._entry
        return self

    def __exit__(self, *_error: object) -> None:
        if not self._before:
            raise IRError(f"attribute '{self._key[0]}' was not set by this object")
        before = self._before.pop()
        if before is None:
            del OP_ATTRS[self._key]
        else:
            OP_ATTRS[self._key] = before
