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
from parpass.relay.op.hooks.gradient_hooks import register_gradient
from parpass.relay.op.hooks.layout_hooks import (
    register_alter_op_layout,
    register_convert_op_layout,
    register_infer_correct_layout,
)
from parpass.relay.op.hooks.legalize_hooks import register_legalize
from parpass.relay.op.hooks.mixed_precision_hooks import (
    register_mixed_precision_conversion,
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
    "register_infer_correct_layout",
    "register_legalize",
    "register_mixed_precision_conversion",
    "register_pattern",
    "register_stateful",
]

if not TYPE_CHECKING:
    __getattr__ = refusing(__name__)
