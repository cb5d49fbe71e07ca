"""Every shipped pass, made so that it finds something to do, to test what all keep.

Layouts are altered where there are convolutions and dense layers.
"""

from __future__ import annotations

from collections.abc import Callable

from parpass.relay import transform
from parpass.transform import FunctionPass, ModulePass, Pass, Sequential


def segmented(*passes: Pass) -> Pass:
    """Return passes between those that cut functions and that put them back."""
    cut, put_back = transform.OutlineSegments(2, 2), transform.InlineSegments()
    return Sequential([cut, *passes, put_back])


# Those that make another program of one: its meaning and types are not what it keeps.
DERIVING = {"FirstOrderGradient"}
# How those are made that without arguments cannot be made, or find nothing to do;
# and variants.
_ARRANGED: dict[str, Callable[[], Pass]] = {
    "inline_once": lambda: transform.DeadCodeElimination(inline_once=True),
    "RemoveUnusedFunctions": lambda: transform.RemoveUnusedFunctions(["f0"]),
    "not exact": lambda: transform.SimplifyExpr(exact=False),
    "FuseOps": lambda: transform.FuseOps(fuse_opt_level=2),
    "OutlineSegments": lambda: transform.OutlineSegments(2, 2),
    "InlineSegments": lambda: segmented(transform.SimplifyExpr()),
    "CombineParallelBatchMatmul": lambda: transform.CombineParallelBatchMatmul(2),
    "CombineParallelConv2D": lambda: transform.CombineParallelConv2D(2),
    "CombineParallelDense": lambda: transform.CombineParallelDense(2),
    "dense_flat": lambda: transform.CombineParallelDense(2, to_batch=False),
    "ConvertLayout": lambda: transform.ConvertLayout({"nn.conv2d": ["NHWC"]}),
}

# A pass that the package exports is in the table by itself.
SHIPPED: dict[str, type[Pass]] = {
    name: one
    for name in transform.__all__
    if isinstance(one := getattr(transform, name), type)
    and issubclass(one, Pass)
    and one not in (FunctionPass, ModulePass, Sequential)
}
PASSES: dict[str, Callable[[], Pass]] = {
    name: make for name, make in SHIPPED.items() if name not in DERIVING
} | _ARRANGED
VARIANTS = {"inline_once", "not exact", "dense_flat"}
# Segments are cut and put back each time that it runs.
MARKING = {"InlineSegments"}
# Those that need arguments, or whose steps go by their own names.
UNNAMED = {"ConvertLayout"} | MARKING
