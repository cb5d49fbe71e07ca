"""Analysis and simplification of integer expressions, under TVM's names."""

from parpass.tir.arith import int_set
from parpass.tir.arith.analyzer import Analyzer
from parpass.tir.arith.bound_deducer import deduce_bound
from parpass.tir.arith.const_int_bound import ConstIntBound
from parpass.tir.arith.int_set import IntSet
from parpass.tir.arith.interval_set import IntervalSet
from parpass.tir.arith.modular_set import ModularSet

__all__ = [
    "Analyzer",
    "ConstIntBound",
    "IntSet",
    "IntervalSet",
    "ModularSet",
    "deduce_bound",
    "int_set",
]
