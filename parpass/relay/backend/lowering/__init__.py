"""Kernels of Relay, which fusion makes, become loop programs."""

from parpass.relay.backend.lowering.lower_to_tir import LowerToTIR, left_to_numpy
from parpass.relay.backend.lowering.rule_registry import (
    NoRuleError,
    OpCall,
    Result,
    Source,
    Store,
    register_injective,
    register_template,
)

__all__ = [
    "LowerToTIR",
    "NoRuleError",
    "OpCall",
    "Result",
    "Source",
    "Store",
    "left_to_numpy",
    "register_injective",
    "register_template",
]
