"""Analysis and simplification of integer expressions, under TVM's names."""

from parpass.tir.arith import int_set
from parpass.tir.arith.analyzer import Analyzer
from parpass.tir.arith.bound_deducer import deduce_bound
from parpass.tir.arith.const_int_bound import ConstIntBound
from parpass.tir.arith.domain_touched import domain_touched
from parpass.tir.arith.int_set import IntSet
from parpass.tir.arith.linear_equation import detect_clip_bound, detect_linear_equation
from parpass.tir.arith.modular_set import ModularSet
from parpass.tir.arith.region_bound import estimate_region_lower_bound
from parpass.tir.arith.sets.interval_set import IntervalSet

__all__ = [
    "Analyzer",
    "ConstIntBound",
    "IntSet",
    "IntervalSet",
    "ModularSet",
    "deduce_bound",
    "detect_clip_bound",
    "detect_linear_equation",
    "domain_touched",
    "estimate_region_lower_bound",
    "int_set",
]
