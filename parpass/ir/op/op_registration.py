"""Registration of a program's operators and of operator attributes, in TVM's way.

`register` adds an operator by name, and methods of `Op` set its properties one by one
(the library itself uses `register_op`, with all of them at once). `register_op_attr`
attaches attributes under free keys: passes such as AlterOpLayout look
them up, and are extended for an operator without a change to the pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from parpass.errors import IRError
from parpass.ir.op.op_table import Effect, Op, OpPattern, TypeRelationError, register_op
from parpass.ir.op.shared_op_tables import OP_ATTRS, OpAttr, set_op_attr


def register(op_name: str, describe: str = "") -> Op:
    """Register an operator whose properties `Op.add_type_rel` and its like set.

    It is typed once it has a relation. A numpy implementation, which the interpreter
    needs, is possible with `register_op` alone.

    Raises:
        IRError: The name is taken.
    """
    return register_op(Op(op_name, 1, _unrelated, _uncomputed, description=describe))


def register_pattern(op_name: str, pattern: OpPattern, level: int = 10) -> None:
    """Set the fusion pattern of an operator of the program.

    Args:
        op_name: Its name.
        pattern: The operators it may be fused with.
        level: Ignored: the last call counts.
    """
    del level
    Op.get(op_name).declare(pattern=OpPattern(pattern))


def register_stateful(op_name: str, stateful: bool, level: int = 10) -> None:
    """Set whether an operator of the program has effects.

    Args:
        op_name: Its name.
        stateful: Whether it has; then passes leave its calls unchanged.
        level: Ignored: the last call counts.
    """
    del level
    effect = Effect.WRITES if stateful else Effect.PURE
    Op.get(op_name).declare(effect=effect)


def _unrelated(*_: Any) -> Any:
    raise TypeRelationError("the operator has no type relation; see Op.add_type_rel")


def _uncomputed(*_: Any) -> Any:
    raise IRError(
        "the operator has no meaning; register_op(Op(..., compute=...)) gives one"
    )


FIRST_LEVEL = 10


def register_op_attr(
    op_name: str, attr_key: str, value: Any = None, level: int = FIRST_LEVEL
) -> Any:
    """Set an attribute of an operator; without a value, return a decorator that does.

    Args:
        op_name: The operator, such as `nn.conv2d`.
        attr_key: The key, such as `target.dnnl`.
        value: The value that readers of the key expect, usually a function.
        level: The higher level wins; among equal levels, the later value.

    Raises:
        UnknownOpError: No operator has this name.
    """
    op = Op.get(op_name)

    def register(given: Any) -> Any:
        set_op_attr(attr_key, op.name, given, level)
        return given

    return register if value is None else register(value)


def op_attrs(attr_key: str) -> Mapping[str, Any]:
    """Return the values under a key, by operator name."""
    OP_ATTRS.load_missing(*[one for one in OP_ATTRS.missing if one[0] == attr_key])
    return {
        name: entry.value
        for (key, name), entry in tuple(OP_ATTRS.items())
        if key == attr_key
    }


class TempOpAttr:
    """Sets an attribute of an operator within a `with` block.

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
