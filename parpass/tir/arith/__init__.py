"""Analysis and simplification of integer expressions, under TVM's names."""

from parpass.tir.arith.analyzer import Analyzer
from parpass.tir.arith.const_int_bound import ConstIntBound
from parpass.tir.arith.modular_set import ModularSet

__all__ = ["Analyzer", "ConstIntBound", "ModularSet"]
