"""Operators of all IRs: their table, attributes and type relations.

Its own names are those of TVM's `tvm.ir.op`, and load when asked for: workers import
single modules of this package.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parpass.ir.dialect import load_dialects
from parpass.lazy_loader import attach_lazy, defining_modules

if TYPE_CHECKING:
    from parpass.ir.op.op_registration import register_op_attr
    from parpass.ir.op.op_table import Op

__all__ = ["Op", "register_op_attr"]

_DEFINING_MODULES = defining_modules(
    {"ir.op.op_table": "Op", "ir.op.op_registration": "register_op_attr"}
)

__getattr__, __dir__ = attach_lazy(
    __name__, _DEFINING_MODULES, before_lookup=load_dialects
)
