"""Relay's operators: importing this registers them all and gives their builders.

Each file says in its `__all__` which builders are to be had here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parpass.errors.missing_names import refusing
from parpass.ir.attrs import Attrs
from parpass.ir.operators.op_registration import register as register
from parpass.ir.operators.op_registration import register_pattern as register_pattern
from parpass.ir.operators.op_registration import register_stateful as register_stateful
from parpass.ir.operators.op_table import Op, OpPattern, TypeRelationError, register_op
from parpass.relay.expr import const as const
from parpass.relay.op import (
    annotation,
    broadcast,
    collapse,
    contrib,
    convert,
    create,
    dyn,
    elementwise,
    grid,
    image,
    indexing,
    join,
    matrix,
    nn,
    ordering,
    reduce,
    reshaping,
    scan,
    scatter,
    select,
    sequence,
    shape,
    vm,
)
from parpass.relay.op import op as op
from parpass.relay.op.annotation import device_copy
from parpass.relay.op.broadcast import *
from parpass.relay.op.collapse import *
from parpass.relay.op.convert import *
from parpass.relay.op.create import *
from parpass.relay.op.debug import debug
from parpass.relay.op.elementwise import *
from parpass.relay.op.grid import *
from parpass.relay.op.hooks.gradient_hooks import register_gradient as register_gradient
from parpass.relay.op.hooks.layout_hooks import (
    register_alter_op_layout as register_alter_op_layout,
)
from parpass.relay.op.hooks.layout_hooks import (
    register_convert_op_layout as register_convert_op_layout,
)
from parpass.relay.op.hooks.layout_hooks import (
    register_infer_correct_layout as register_infer_correct_layout,
)
from parpass.relay.op.hooks.legalize_hooks import register_legalize as register_legalize
from parpass.relay.op.hooks.mixed_precision_hooks import (
    register_mixed_precision_conversion as register_mixed_precision_conversion,
)
from parpass.relay.op.indexing import *
from parpass.relay.op.join import *
from parpass.relay.op.matrix import *
from parpass.relay.op.ordering import *
from parpass.relay.op.reduce import *
from parpass.relay.op.reshaping import *
from parpass.relay.op.scan import *
from parpass.relay.op.scatter import *
from parpass.relay.op.select import *
from parpass.relay.op.sequence import *
from parpass.relay.op.shape import *

get = Op.get  # not in __all__, whose names are those of `relay` too

__all__: list[str] = [
    "Attrs", "Op", "OpPattern", "TypeRelationError", "annotation", "contrib", "debug",
    "device_copy", "dyn",
    "image", "nn", "register_op", "vm",
]  # fmt: skip
__all__ += broadcast.__all__
__all__ += collapse.__all__
__all__ += convert.__all__
__all__ += create.__all__
__all__ += elementwise.__all__
__all__ += grid.__all__
__all__ += indexing.__all__
__all__ += join.__all__
__all__ += matrix.__all__
__all__ += ordering.__all__
__all__ += reduce.__all__
__all__ += reshaping.__all__
__all__ += scan.__all__
__all__ += scatter.__all__
__all__ += select.__all__
__all__ += sequence.__all__
__all__ += shape.__all__

if not TYPE_CHECKING:
    __getattr__ = refusing(__name__)
