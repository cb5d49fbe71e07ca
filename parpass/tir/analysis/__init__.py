"""Analyses of loop programs, under the names of `tvm.tir.analysis`.

Passes can request `contents` by `PassContext.get_analysis`.
"""

from parpass.tir.analysis.definitions import function_faults, undefined_vars, verify_ssa
from parpass.tir.analysis.expr_analysis import expr_deep_equal, side_effect
from parpass.tir.analysis.function_contents import Contents, contents

__all__ = [
    "Contents",
    "contents",
    "expr_deep_equal",
    "function_faults",
    "side_effect",
    "undefined_vars",
    "verify_ssa",
]
