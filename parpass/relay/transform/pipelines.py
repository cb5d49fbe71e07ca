"""The passes of an optimization level, in TVM's order."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from typing import cast

from parpass.errors import ArgumentError
from parpass.relay.transform.combine_parallel import (
    CombineParallelBatchMatmul,
    CombineParallelConv2D,
    CombineParallelDense,
)
from parpass.relay.transform.eliminate_common_subexpr import EliminateCommonSubexpr
from parpass.relay.transform.fold_constant import FoldConstant
from parpass.relay.transform.fold_scale_axis import FoldScaleAxis
from parpass.relay.transform.functions.inline import Inline
from parpass.relay.transform.functions.remove_unused_functions import (
    RemoveUnusedFunctions,
)
from parpass.relay.transform.fusion.fuse_ops import FuseOps
from parpass.relay.transform.infer_type import InferType
from parpass.relay.transform.inline_segments import InlineSegments, at_every_level
from parpass.relay.transform.layout.alter_op_layout import AlterOpLayout
from parpass.relay.transform.normal_forms import ToBasicBlockNormalForm
from parpass.relay.transform.outline_segments import OutlineSegments
from parpass.relay.transform.simplify.canonicalize import (
    CanonicalizeCast,
    CanonicalizeOps,
)
from parpass.relay.transform.simplify.fast_math import FastMath
from parpass.relay.transform.simplify.simplify_expr import SimplifyExpr
from parpass.relay.transform.simplify.simplify_inference import SimplifyInference
from parpass.transform import Pass, Sequential, register_pass
from parpass.transform.pass_info import checked_names

# From so many nodes on a function is cut: its passes take seconds. To cut it, to put it
# together, and what runs again take a fifth of that, and the way to the workers some
# more, so that two cores gain little, and four much.
_LARGE = 10_000

# What runs on the segments of a large function. Both tables are in the order of TVM's
# `GetPassPrefix`. A Sequential counts with the highest level in it, for below that it
# does nothing of its own.
_ON_SEGMENTS: tuple[tuple[int, Callable[[], Pass]], ...] = (
    (0, SimplifyInference),
    (3, EliminateCommonSubexpr),
    (0, SimplifyExpr),
    (4, CombineParallelConv2D),
    (4, CombineParallelDense),
    (4, CombineParallelBatchMatmul),
    (2, FoldConstant),
    (3, FoldScaleAxis),
    (3, CanonicalizeCast),
    (3, CanonicalizeOps),
)
# The first two look at the type of a node and no further, so what they make of segments
# is what they make of the whole; FoldConstant runs on the whole later. The others look
# at neighbours, which may be behind a seam, and run once more on what was cut.
_ONCE_IS_ENOUGH = (SimplifyInference, CanonicalizeOps, FoldConstant)

# AlterOpLayout changes layouts where values come into a function and leave it, so it
# would at each seam; and fusion, which follows, is of the whole.
_ON_THE_WHOLE: tuple[tuple[int, Callable[[], Pass]], ...] = (
    (3, AlterOpLayout),
    (4, FastMath),
    (2, FoldConstant),
)


@register_pass("parpass.DefaultPipeline")
def default_pipeline(
    opt_level: int = 2,
    entry_functions: Iterable[str] | None = None,
    required: Iterable[str] = (),
) -> Sequential:
    """Return the passes of an optimization level, from simplification to fusion.

    These passes run at any level of the context, but its `disabled_pass` applies. The
    last step fuses operators, so the result consists of primitive functions; see
    FunctionsFromFusion.

    From level 2 on, functions of 10,000 nodes or more are cut into segments that
    workers share. They are put back together before the layouts change; see
    OutlineSegments. Runs without workers do the same, so the result is the same. The
    option `relay.OutlineSegments.min_nodes` sets the threshold.
    `disabled_pass=["OutlineSegments"]` turns cutting off; `["InlineSegments"]` keeps
    the segments as functions.

    Args:
        opt_level: The level. Level 0 expands normalisation and makes each operator a
            function; 1 fuses operators; 2 folds constants; 3 merges common
            subexpressions and folds scales into weights; 4 combines parallel operators
            and approximates functions.
        entry_functions: The names of the functions to keep, with all that they call;
            None keeps all.
        required: The names of passes from higher levels to run as well.

    Raises:
        ArgumentError: The level is not an int from 0 on, or `entry_functions` or
            `required` is not a list of names.
    """
    if not isinstance(cast("object", opt_level), int) or opt_level < 0:
        raise ArgumentError(f"expected a level from 0 on, got {opt_level!r}")
    passes: list[Pass] = []
    if entry_functions is not None:
        passes.append(RemoveUnusedFunctions(entry_functions))
    passes.append(InferType())
    if opt_level >= 1:
        passes.append(ToBasicBlockNormalForm())
    asked_for = checked_names(required, "required")
    on_segments = _made(_ON_SEGMENTS, opt_level, asked_for)
    if opt_level >= 2:
        further = [one for one in on_segments if not isinstance(one, _ONCE_IS_ENOUGH)]
        again = [type(one).__name__ for one in further]
        on_segments = [OutlineSegments(_LARGE), *on_segments, InlineSegments(again)]
    passes += on_segments
    passes += _made(_ON_THE_WHOLE, opt_level, asked_for)
    passes.append(FuseOps(fuse_opt_level=opt_level))
    if opt_level >= Inline.pass_info.opt_level:
        passes.append(Inline())
    for one in passes:
        at_every_level(one)
    return Sequential(passes, name=f"O{opt_level}")


def _made(
    table: Iterable[tuple[int, Callable[[], Pass]]],
    opt_level: int,
    required: Container[str],
) -> list[Pass]:
    """Return the passes of a level and those before it, and some by their names."""
    each = ((level, make()) for level, make in table)
    return [
        one for level, one in each if level <= opt_level or one.info.name in required
    ]
