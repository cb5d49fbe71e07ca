"""Analyses of programs, under the names of `tvm.relay.analysis`.

Passes can request `operators` by `PassContext.get_analysis`.
"""

from typing import TYPE_CHECKING

from parpass.ir.module.reachability import called_globals
from parpass.lazy_loader import attach_lazy
from parpass.relay.analysis.call_graph import CallGraph
from parpass.relay.analysis.counts import (
    list_op_freqs,
    node_count,
    post_order_visit,
)
from parpass.relay.analysis.effects import Effects
from parpass.relay.analysis.exhaustiveness import unmatched_cases
from parpass.relay.analysis.faults import function_faults
from parpass.relay.analysis.matchers import check_constant
from parpass.relay.analysis.operator_names import operators
from parpass.relay.analysis.scopes import (
    all_vars,
    bound_vars,
    check_basic_block_normal_form,
    free_vars,
    well_formed,
)
from parpass.relay.analysis.type_analysis import (
    all_type_vars,
    bound_type_vars,
    check_kind,
    free_type_vars,
)

__all__ = [
    "CallGraph",
    "Effects",
    "all_type_vars",
    "all_vars",
    "bound_type_vars",
    "bound_vars",
    "called_globals",
    "check_basic_block_normal_form",
    "check_constant",
    "check_kind",
    "free_type_vars",
    "free_vars",
    "function_faults",
    "list_op_freqs",
    "node_count",
    "operators",
    "post_order_visit",
    "unmatched_cases",
    "well_formed",
]

if not TYPE_CHECKING:
    # It runs programs, which analyses do not.
    _DEFINING_MODULES = {
        "get_calibration_data": "parpass.relay.interpreter.interpreter"
    }
    __getattr__, _ = attach_lazy(__name__, _DEFINING_MODULES)
