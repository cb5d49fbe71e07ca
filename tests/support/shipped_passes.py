"""Every shipped pass, made so that it finds something to do, to test what all keep.

Another compiler, `everything`, supports most operators, that of `tests.support.effects`
included; layouts are altered where there are convolutions and dense layers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from parpass import relay
from parpass.ir.op_registration import register_op_attr
from parpass.relay import transform
from parpass.relay.dataflow_pattern import is_op, wildcard
from parpass.transform import FunctionPass, ModulePass, Pass, Sequential
from tests.support import effects

_SUPPORTED = ["add", "negative", "copy", "nn.dense", "subtract", effects.WRITES.name]


def _supported(_call: Any) -> bool:
    return True


def _added_twice(_attrs: Any, args: Any, types: Any) -> Any:
    zeros = relay.zeros_like(args[1])
    is_float = getattr(types[-1], "dtype", "").startswith("float")
    return None if is_float else relay.subtract(args[0], zeros - args[1])


register_op_attr("add", "FTVMLegalizeInTests", _added_twice)

for _name in _SUPPORTED:
    register_op_attr(_name, "target.everything", _supported)

_COMPOSITE = is_op("negative")(is_op("add")(wildcard(), wildcard()))


def regions(*passes: Pass) -> Pass:
    """Return passes behind the one that marks the regions they work on."""
    return Sequential([transform.AnnotateTarget("everything"), *passes])


def segmented(*passes: Pass) -> Pass:
    """Return passes between those that cut functions and that put them back."""
    cut, put_back = transform.OutlineSegments(2, 2), transform.InlineSegments()
    return Sequential([cut, *passes, put_back])


# Those that make another program of one: its meaning and types are not what it keeps.
DERIVING = {"FirstOrderGradient", "LazyGradientInit", "ToCPS", "ToMixedPrecision"}
# How those are made that without arguments cannot be made, or find nothing to do;
# and variants.
_ARRANGED: dict[str, Callable[[], Pass]] = {
    "EtaExpand": lambda: transform.EtaExpand(expand_global_var=True),
    "inline_once": lambda: transform.DeadCodeElimination(inline_once=True),
    "RemoveUnusedFunctions": lambda: transform.RemoveUnusedFunctions(["f0"]),
    "UnCPS": lambda: Sequential([transform.ToCPS(), transform.UnCPS()]),
    "not exact": lambda: transform.SimplifyExpr(exact=False),
    "FuseOps": lambda: transform.FuseOps(fuse_opt_level=2),
    "OutlineSegments": lambda: transform.OutlineSegments(2, 2),
    "InlineSegments": lambda: segmented(transform.SimplifyExpr()),
    "CombineParallelBatchMatmul": lambda: transform.CombineParallelBatchMatmul(2),
    "CombineParallelConv2D": lambda: transform.CombineParallelConv2D(2),
    "CombineParallelDense": lambda: transform.CombineParallelDense(2),
    "dense_flat": lambda: transform.CombineParallelDense(2, to_batch=False),
    "ChangeBatch": lambda: transform.ChangeBatch({"nobody": 0}),
    "SimplifyFCTranspose": lambda: transform.SimplifyFCTranspose(["w"]),
    "SplitArgs": lambda: transform.SplitArgs(3),
    "Legalize": lambda: transform.Legalize("FTVMLegalizeInTests"),
    "ConvertLayout": lambda: transform.ConvertLayout({"nn.conv2d": ["NHWC"]}),
    "MergeComposite": lambda: transform.MergeComposite([("pair", _COMPOSITE)]),
    "AnnotateTarget": regions,
    "MergeCompilerRegions": lambda: regions(transform.MergeCompilerRegions()),
    "PartitionGraph": lambda: regions(
        transform.MergeCompilerRegions(), transform.PartitionGraph()
    ),
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
# Those that mark regions mark again what they find, each time they run; segments are
# cut and put back each time; UnCPS adds functions each time;
# PartialEvaluate goes one more step into functions that call themselves.
MARKING = {
    "AnnotateTarget",
    "InlineSegments",
    "MergeCompilerRegions",
    "PartialEvaluate",
    "PartitionGraph",
    "UnCPS",
}
# Those that need arguments, or whose steps go by their own names.
UNNAMED = {"AnnotateTarget", "ConvertLayout", "MergeComposite"} | MARKING
