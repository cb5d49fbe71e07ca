"""Programs as deep as they come through fusion, layouts and scales."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from parpass.ir.module import IRModule
from parpass.relay import transform
from parpass.relay.expr import Expr
from parpass.transform import Pass, PassContext, Sequential
from tests.support.relay.deep import DEEPEST, DEPTH, TYPED_KINDS, X, function_of

PASSES: dict[str, Callable[[], Pass]] = {
    "fusion": lambda: Sequential(
        [transform.FuseOps(), transform.FunctionsFromFusion(), transform.DefuseOps()]
    ),
    "scales": transform.FoldScaleAxis,
    "layouts": lambda: transform.ConvertLayout({"nn.conv2d": ["NHWC", "default"]}),
    "segments": lambda: Sequential(
        [
            transform.OutlineSegments(),
            transform.FoldScaleAxis(),
            transform.InlineSegments(),
        ]
    ),
    "default pipeline": lambda: transform.default_pipeline(3),
}


# Of equal fused functions one is left, of which DefuseOps makes all again: that may be
# hundreds of times what it is given.
COPIES = {"relay.max_copied_nodes": 4 * DEEPEST}


@pytest.mark.stress
@pytest.mark.parametrize("kind", TYPED_KINDS)
@pytest.mark.parametrize("name", PASSES)
def test_programs_may_be_deep_in_every_way(
    name: str, kind: Callable[[int], Expr]
) -> None:
    mod = transform.InferType()(IRModule({"main": function_of(kind(DEPTH))}))
    with PassContext(opt_level=3, config=COPIES):
        after = PASSES[name]()(mod)
    assert transform.InferType()(after)["main"].ret_type == X.type_annotation
