"""Operators that are entered in TVM's way: by name, then told what they are.

`register_op`, which takes all at once, is what the library itself uses.
"""

from __future__ import annotations

from typing import Any

from parpass.errors import IRError
from parpass.ir.operators.effect import Effect
from parpass.ir.operators.op_table import Op, OpPattern, TypeRelationError, register_op


def register(op_name: str, describe: str = "") -> Op:
    """Enter an operator, of which `Op.add_type_rel` and its like tell what it is.

    It is typed once it has a relation. A meaning on numpy, which the interpreter asks
    for, is given by `register_op` alone.

    Raises:
        IRError: The name is taken.
    """
    return register_op(Op(op_name, 1, _unrelated, _uncomputed, description=describe))


def register_pattern(op_name: str, pattern: OpPattern, level: int = 10) -> None:
    """Say what an operator of the program's may be fused with.

    Args:
        op_name: Its name.
        pattern: What it may be fused with.
        level: Not used: what is said last counts.
    """
    del level
    Op.get(op_name).declare(pattern=OpPattern(pattern))


def register_stateful(op_name: str, stateful: bool, level: int = 10) -> None:
    """Say whether an operator of the program's does more than give a result.

    Args:
        op_name: Its name.
        stateful: Whether it does; then passes leave its calls alone.
        level: Not used: what is said last counts.
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
