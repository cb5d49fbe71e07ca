"""All passes for Relay, and what passes are made with; see the package."""

from parpass.relay.transform.combine_parallel import (
    CombineParallelBatchMatmul,
    CombineParallelConv2D,
    CombineParallelDense,
)
from parpass.relay.transform.dead_code_elimination import DeadCodeElimination
from parpass.relay.transform.eliminate_common_subexpr import EliminateCommonSubexpr
from parpass.relay.transform.fold_constant import FoldConstant
from parpass.relay.transform.fold_scale_axis import (
    BackwardFoldScaleAxis,
    FoldScaleAxis,
    ForwardFoldScaleAxis,
)
from parpass.relay.transform.functions.inline import Inline, InlinePrimitives
from parpass.relay.transform.functions.lambda_lift import LambdaLift
from parpass.relay.transform.functions.remove_unused_functions import (
    RemoveUnusedFunctions,
)
from parpass.relay.transform.fusion.defuse_ops import DefuseOps
from parpass.relay.transform.fusion.functions_from_fusion import FunctionsFromFusion
from parpass.relay.transform.fusion.fuse_ops import FuseOps
from parpass.relay.transform.gradients.first_order_gradient import (
    FirstOrderGradient,
    gradient,
)
from parpass.relay.transform.infer_type import InferType, InferTypeLocal
from parpass.relay.transform.inline_segments import InlineSegments
from parpass.relay.transform.layout.alter_op_layout import AlterOpLayout
from parpass.relay.transform.layout.convert_layout import ConvertLayout, LayoutConfig
from parpass.relay.transform.normal_forms import (
    ToANormalForm,
    ToANormalFormExpr,
    ToBasicBlockNormalForm,
    ToBasicBlockNormalFormExpr,
    ToGraphNormalForm,
)
from parpass.relay.transform.outline_segments import OutlineSegments
from parpass.relay.transform.pipelines import default_pipeline
from parpass.relay.transform.simplify.canonicalize import (
    CanonicalizeCast,
    CanonicalizeOps,
)
from parpass.relay.transform.simplify.fast_math import FastMath
from parpass.relay.transform.simplify.simplify_expr import SimplifyExpr
from parpass.relay.transform.simplify.simplify_inference import SimplifyInference
from parpass.transform import (
    FunctionPass,
    ModulePass,
    Sequential,
    function_pass,
    module_pass,
)

__all__ = [
    "AlterOpLayout",
    "BackwardFoldScaleAxis",
    "CanonicalizeCast",
    "CanonicalizeOps",
    "CombineParallelBatchMatmul",
    "CombineParallelConv2D",
    "CombineParallelDense",
    "ConvertLayout",
    "DeadCodeElimination",
    "DefuseOps",
    "EliminateCommonSubexpr",
    "FastMath",
    "FirstOrderGradient",
    "FoldConstant",
    "FoldScaleAxis",
    "ForwardFoldScaleAxis",
    "FunctionPass",
    "FuseOps",
    "InferType",
    "InferTypeLocal",
    "Inline",
    "InlinePrimitives",
    "LambdaLift",
    "LayoutConfig",
    "ModulePass",
    "RemoveUnusedFunctions",
    "Sequential",
    "SimplifyExpr",
    "SimplifyInference",
    "ToANormalForm",
    "ToANormalFormExpr",
    "ToBasicBlockNormalForm",
    "ToBasicBlockNormalFormExpr",
    "ToGraphNormalForm",
    "function_pass",
    "gradient",
    "module_pass",
]
# Those that TVM does not have, as their keys say.
__all__ += [
    "FunctionsFromFusion",
    "InlineSegments",
    "OutlineSegments",
    "default_pipeline",
]
