"""Relay's operators: importing this package registers them and defines their builders.

Each module lists its builders in `__all__`.
"""

from __future__ import annotations

from parpass.ir.attrs import Attrs
from parpass.ir.op.op_registration import register as register
from parpass.ir.op.op_registration import register_pattern as register_pattern
from parpass.ir.op.op_registration import register_stateful as register_stateful
from parpass.ir.op.op_table import Op, OpPattern, TypeRelationError, register_op
from parpass.relay.expr import const as const
from parpass.relay.op import (
    algorithm,
    annotation,
    dyn,
    image,
    nn,
    reduce,
    tensor,
    transform,
    vm,
)
from parpass.relay.op.algorithm import *
from parpass.relay.op.annotation import device_copy
from parpass.relay.op.debug import debug
from parpass.relay.op.hooks import register_alter_op_layout as register_alter_op_layout
from parpass.relay.op.hooks import (
    register_convert_op_layout as register_convert_op_layout,
)
from parpass.relay.op.hooks import register_gradient as register_gradient
from parpass.relay.op.hooks import (
    register_infer_correct_layout as register_infer_correct_layout,
)
from parpass.relay.op.reduce import *
from parpass.relay.op.tensor import *
from parpass.relay.op.transform import *
from parpass.tvm_paths import attach_tvm_paths

get = Op.get  # not in __all__, whose names are those of `relay` too

__all__: list[str] = [
    "Attrs", "Op", "OpPattern", "TypeRelationError", "annotation", "debug",
    "device_copy", "dyn",
    "image", "nn", "register_op", "vm",
]  # fmt: skip
__all__ += algorithm.__all__
__all__ += reduce.__all__
__all__ += tensor.__all__
__all__ += transform.__all__

attach_tvm_paths(__name__)
