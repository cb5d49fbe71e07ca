"""Simplification of integer expressions, under TVM's names."""

from parpass.tir.arith.analyzer import Analyzer

__all__ = ["Analyzer"]
