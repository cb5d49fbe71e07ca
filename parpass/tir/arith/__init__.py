"""Analysis and simplification of integer expressions, under TVM's names."""

from typing import TYPE_CHECKING

from parpass.errors.lazy_names import lazy_names
from parpass.tir.arith import int_set
from parpass.tir.arith.analyzer import Analyzer
from parpass.tir.arith.bound_deducer import deduce_bound
from parpass.tir.arith.const_int_bound import ConstIntBound
from parpass.tir.arith.domain_touched import domain_touched
from parpass.tir.arith.int_set import IntSet
from parpass.tir.arith.iter_maps.iter_map_detection import detect_iter_map
from parpass.tir.arith.iter_maps.iter_map_expr import (
    IterMapExpr,
    IterMark,
    IterSplitExpr,
    IterSumExpr,
)
from parpass.tir.arith.iter_maps.iter_map_values import (
    inverse_affine_iter_map,
    normalize_iter_map_to_expr,
)
from parpass.tir.arith.iter_maps.subspace_division import subspace_divide
from parpass.tir.arith.linear_equation import detect_clip_bound, detect_linear_equation
from parpass.tir.arith.linear_systems.equation_solver import solve_linear_equations
from parpass.tir.arith.linear_systems.group_bounds import IntGroupBounds
from parpass.tir.arith.linear_systems.inequality_solver import solve_linear_inequalities
from parpass.tir.arith.linear_systems.int_constraints import (
    IntConstraints,
    IntConstraintsTransform,
)
from parpass.tir.arith.modular_set import ModularSet
from parpass.tir.arith.region_bound import estimate_region_lower_bound
from parpass.tir.arith.sets.interval_set import IntervalSet

__all__ = [
    "Analyzer",
    "ConstIntBound",
    "IntConstraints",
    "IntConstraintsTransform",
    "IntGroupBounds",
    "IntSet",
    "IntervalSet",
    "IterMapExpr",
    "IterMark",
    "IterSplitExpr",
    "IterSumExpr",
    "ModularSet",
    "deduce_bound",
    "detect_clip_bound",
    "detect_iter_map",
    "detect_linear_equation",
    "domain_touched",
    "estimate_region_lower_bound",
    "int_set",
    "inverse_affine_iter_map",
    "normalize_iter_map_to_expr",
    "solve_linear_equations",
    "solve_linear_inequalities",
    "subspace_divide",
]

if not TYPE_CHECKING:
    _ROOMS = {"_ffi_api": "parpass.tir.arith.tvm_functions"}
    __getattr__, _ = lazy_names(__name__, {}, rooms=_ROOMS)
