"""The functions that fusion makes of a module."""

from __future__ import annotations

from parpass.ir.module import IRModule
from parpass.ir.node import post_order
from parpass.ir.structure.structural import structural_hash
from parpass.relay.expr import Function
from parpass.transform import parse_pipeline

# By name, since passes ask analyses, and not the other way round.
_FUSION = "SimplifyInference,FuseOps{fuse_opt_level=3}"


def extract_fused_functions(mod: IRModule) -> dict[str, Function]:
    """Return the primitive functions that FuseOps makes of `main`, one of each kind.

    Returns:
        The functions by their structural hashes, in the order in which they are called.
    """
    fused = parse_pipeline(_FUSION)(mod)
    primitive = (
        node
        for node in post_order(fused["main"])
        if isinstance(node, Function) and node.has_nonzero_attr("Primitive")
    )
    return {str(structural_hash(function)): function for function in primitive}
