"""What users say of operators: attributes under free keys, as TVM's `register_op_attr`.

A pass that asks for such an attribute, AlterOpLayout or AnnotateTarget, is extended by
it for an operator, without a change to the pass. In a parallel run the attributes
travel with the pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

from parpass.errors import IRError
from parpass.relay.op.registry import Op


class _Entry(NamedTuple):
    value: Any
    level: int


_attributes: dict[str, dict[str, _Entry]] = {}

_FIRST_LEVEL = 10

ALTER_OP_LAYOUT = "FTVMAlterOpLayout"
CONVERT_OP_LAYOUT = "FTVMConvertOpLayout"


def register_op_attr(
    op_name: str, attr_key: str, value: Any = None, level: int = _FIRST_LEVEL
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
        values = _attributes.setdefault(attr_key, {})
        known = values.get(op.name)
        if known is None or level >= known.level:
            values[op.name] = _Entry(given, level)
        return given

    return register if value is None else register(value)


def register_alter_op_layout(
    op_name: str, alter_layout: Any = None, level: int = _FIRST_LEVEL
) -> Any:
    """Register a rule of AlterOpLayout for an operator; without one, a decorator.

    A rule is a function of the call's attributes, its arguments, their types and the
    type of its result. It returns a call in other layouts, or None.

    Raises:
        UnknownOpError: There is no such operator.
    """
    return register_op_attr(op_name, ALTER_OP_LAYOUT, alter_layout, level)


def register_convert_op_layout(
    op_name: str, convert_layout: Any = None, level: int = _FIRST_LEVEL
) -> Any:
    """Register a rule of ConvertLayout for an operator; without one, a decorator.

    A rule is a function of the call's attributes, its arguments, their types and the
    desired layouts. It returns a call in these layouts, or None.

    Raises:
        UnknownOpError: There is no such operator.
    """
    return register_op_attr(op_name, CONVERT_OP_LAYOUT, convert_layout, level)


def op_attrs(attr_key: str) -> Mapping[str, Any]:
    """Return the attribute of each operator that has it, by the operator's name."""
    entries = _attributes.get(attr_key, {})
    return {name: entry.value for name, entry in entries.items()}


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
        self._op = Op.get(op_name)
        self._key = attr_key
        self._entry = _Entry(value, _FIRST_LEVEL)
        self._before: list[_Entry | None] = []

    def __enter__(self) -> Self:
        values = _attributes.setdefault(self._key, {})
        self._before.append(values.get(self._op.name))
        values[self._op.name] = self._entry
        return self

    def __exit__(self, *_error: object) -> None:
        if not self._before:
            raise IRError(f"attribute '{self._key}' was not set by this object")
        before = self._before.pop()
        values = _attributes[self._key]
        if before is None:
            del values[self._op.name]
        else:
            values[self._op.name] = before


class TravellingAttrs:
    """Makes attributes of operators part of a pass's state, on its way to a worker.

    A pass that inherits it reads them by `attrs_of`: in process those of the moment, in
    a worker those of the moment in which the pass was sent.
    """

    _sent: Mapping[str, Mapping[str, Any]] | None = None

    def attr_keys(self) -> tuple[str, ...]:
        """Return the keys that the pass asks for."""
        raise NotImplementedError

    def attrs_of(self, key: str) -> Mapping[str, Any]:
        """Return an attribute by the operators' names."""
        return op_attrs(key) if self._sent is None else self._sent[key]

    def __getstate__(self) -> dict[str, Any]:
        sent = {key: self.attrs_of(key) for key in self.attr_keys()}
        return {**self.__dict__, "_sent": sent}
