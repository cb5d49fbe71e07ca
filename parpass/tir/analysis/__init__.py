"""What can be told of loop programs, under the names of `tvm.tir.analysis`."""

from typing import TYPE_CHECKING

from parpass.errors.missing_names import refusing
from parpass.tir.analysis.deep_equal import expr_deep_equal
from parpass.tir.analysis.definitions import function_faults, undefined_vars, verify_ssa
from parpass.tir.analysis.host_access import memory_faults, verify_memory
from parpass.tir.analysis.side_effect import may_be_speculated, side_effect

__all__ = [
    "expr_deep_equal",
    "function_faults",
    "may_be_speculated",
    "memory_faults",
    "side_effect",
    "undefined_vars",
    "verify_memory",
    "verify_ssa",
]

if not TYPE_CHECKING:
    __getattr__ = refusing(__name__)
