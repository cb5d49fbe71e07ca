"""`relay.op.op`: the table of operators, under TVM's names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parpass.errors.missing_names import refusing
from parpass.ir.operators.op_registration import (
    register,
    register_pattern,
    register_stateful,
)
from parpass.ir.operators.op_table import Op, OpPattern
from parpass.relay.op.gradient_hooks import register_gradient
from parpass.relay.op.layout_hooks import (
    register_alter_op_layout,
    register_convert_op_layout,
)

get = Op.get

__all__ = [
    "Op",
    "OpPattern",
    "get",
    "register",
    "register_alter_op_layout",
    "register_convert_op_layout",
    "register_gradient",
    "register_pattern",
    "register_stateful",
]

if not TYPE_CHECKING:
    __getattr__ = refusing(__name__)
