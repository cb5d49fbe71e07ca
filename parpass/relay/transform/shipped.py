"""All passes shipped for Relay, and what passes are made with; see the package."""

from parpass.relay.transform.annotate_spans import AnnotateSpans
from parpass.relay.transform.combine_parallel import (
    CombineParallelBatchMatmul,
    CombineParallelConv2D,
    CombineParallelDense,
)
from parpass.relay.transform.dead_code_elimination import DeadCodeElimination
from parpass.relay.transform.dynamic_to_static import DynamicToStatic
from parpass.relay.transform.eliminate_common_subexpr import EliminateCommonSubexpr
from parpass.relay.transform.extra import mixed_precision
from parpass.relay.transform.extra.byoc.annotate_target import AnnotateTarget
from parpass.relay.transform.extra.byoc.merge_compiler_regions import (
    MergeCompilerRegions,
)
from parpass.relay.transform.extra.byoc.merge_composite import MergeComposite
from parpass.relay.transform.extra.byoc.partition_graph import PartitionGraph
from parpass.relay.transform.extra.cps import ToCPS, UnCPS, to_cps, un_cps
from parpass.relay.transform.extra.defunctionalization import (
    Defunctionalization,
    Defunctionalize,
)
from parpass.relay.transform.extra.gradients.first_order_gradient import (
    FirstOrderGradient,
    gradient,
)
from parpass.relay.transform.extra.gradients.lazy_gradient_init import LazyGradientInit
from parpass.relay.transform.extra.mixed_precision import ToMixedPrecision
from parpass.relay.transform.extra.partial_evaluate import PartialEvaluate
from parpass.relay.transform.extra.recasting import recast
from parpass.relay.transform.fold_constant import FoldConstant
from parpass.relay.transform.fold_scale_axis import (
    BackwardFoldScaleAxis,
    FoldScaleAxis,
    ForwardFoldScaleAxis,
)
from parpass.relay.transform.functions.change_batch import ChangeBatch
from parpass.relay.transform.functions.eta_expand import EtaExpand
from parpass.relay.transform.functions.inline import Inline, InlinePrimitives
from parpass.relay.transform.functions.lambda_lift import LambdaLift
from parpass.relay.transform.functions.remove_unused_functions import (
    RemoveUnusedFunctions,
)
from parpass.relay.transform.fusion.defuse_ops import DefuseOps
from parpass.relay.transform.fusion.functions_from_fusion import FunctionsFromFusion
from parpass.relay.transform.fusion.fuse_ops import FuseOps
from parpass.relay.transform.fusion.split_args import SplitArgs
from parpass.relay.transform.infer_type import InferType, InferTypeLocal
from parpass.relay.transform.inline_segments import InlineSegments
from parpass.relay.transform.layout.alter_op_layout import AlterOpLayout
from parpass.relay.transform.layout.convert_layout import ConvertLayout, LayoutConfig
from parpass.relay.transform.legalize import Legalize
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
from parpass.relay.transform.simplify.fold_explicit_padding import FoldExplicitPadding
from parpass.relay.transform.simplify.simplify_expr import SimplifyExpr
from parpass.relay.transform.simplify.simplify_fc_transpose import (
    SimplifyFCTranspose,
)
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
    "AnnotateSpans",
    "AnnotateTarget",
    "BackwardFoldScaleAxis",
    "CanonicalizeCast",
    "CanonicalizeOps",
    "ChangeBatch",
    "CombineParallelBatchMatmul",
    "CombineParallelConv2D",
    "CombineParallelDense",
    "ConvertLayout",
    "DeadCodeElimination",
    "Defunctionalization",
    "Defunctionalize",
    "DefuseOps",
    "DynamicToStatic",
    "EliminateCommonSubexpr",
    "EtaExpand",
    "FastMath",
    "FirstOrderGradient",
    "FoldConstant",
    "FoldExplicitPadding",
    "FoldScaleAxis",
    "ForwardFoldScaleAxis",
    "FunctionPass",
    "FunctionsFromFusion",
    "FuseOps",
    "InferType",
    "InferTypeLocal",
    "Inline",
    "InlinePrimitives",
    "InlineSegments",
    "LambdaLift",
    "LayoutConfig",
    "LazyGradientInit",
    "Legalize",
    "MergeCompilerRegions",
    "MergeComposite",
    "ModulePass",
    "OutlineSegments",
    "PartialEvaluate",
    "PartitionGraph",
    "RemoveUnusedFunctions",
    "Sequential",
    "SimplifyExpr",
    "SimplifyFCTranspose",
    "SimplifyInference",
    "SplitArgs",
    "ToANormalForm",
    "ToANormalFormExpr",
    "ToBasicBlockNormalForm",
    "ToBasicBlockNormalFormExpr",
    "ToCPS",
    "ToGraphNormalForm",
    "ToMixedPrecision",
    "UnCPS",
    "default_pipeline",
    "function_pass",
    "gradient",
    "mixed_precision",
    "module_pass",
    "recast",
    "to_cps",
    "un_cps",
]
