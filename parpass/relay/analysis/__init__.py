"""Facts about programs, under the names of `tvm.relay.analysis`; nothing changes."""

from typing import TYPE_CHECKING

from parpass.errors.lazy_names import lazy_names
from parpass.ir.references import called_globals
from parpass.relay.analysis.annotated_regions import AnnotatedRegionSet
from parpass.relay.analysis.basic_blocks import check_basic_block_normal_form
from parpass.relay.analysis.call_graph import CallGraph
from parpass.relay.analysis.constancy import check_constant
from parpass.relay.analysis.counts import (
    all_dtypes,
    count_layers,
    get_total_mac_number,
    list_op_freqs,
)
from parpass.relay.analysis.effects import Effects
from parpass.relay.analysis.exhaustiveness import unmatched_cases
from parpass.relay.analysis.faults import function_faults
from parpass.relay.analysis.fc_transpose import search_fc_transpose
from parpass.relay.analysis.feature import Feature, detect_feature
from parpass.relay.analysis.fused_functions import extract_fused_functions
from parpass.relay.analysis.traversal import node_count, post_order_visit
from parpass.relay.analysis.type_kinds import check_kind
from parpass.relay.analysis.type_variables import (
    all_type_vars,
    bound_type_vars,
    free_type_vars,
)
from parpass.relay.analysis.variables import (
    all_vars,
    bound_vars,
    free_vars,
    well_formed,
)

__all__ = [
    "AnnotatedRegionSet",
    "CallGraph",
    "Effects",
    "Feature",
    "all_dtypes",
    "all_type_vars",
    "all_vars",
    "bound_type_vars",
    "bound_vars",
    "called_globals",
    "check_basic_block_normal_form",
    "check_constant",
    "check_kind",
    "count_layers",
    "detect_feature",
    "extract_fused_functions",
    "free_type_vars",
    "free_vars",
    "function_faults",
    "get_total_mac_number",
    "list_op_freqs",
    "node_count",
    "post_order_visit",
    "search_fc_transpose",
    "unmatched_cases",
    "well_formed",
]

if not TYPE_CHECKING:
    _ROOMS = {"_ffi_api": "parpass.relay.tvm_names._ffi_api"}
    # It runs programs, which analyses do not.
    _HOME = {"get_calibration_data": "parpass.relay.interpreter.calibration"}
    __getattr__, _ = lazy_names(__name__, _HOME, rooms=_ROOMS)
