"""All passes shipped for Relay, and what passes are made with; see the package."""

from parpass.relay.transform import mixed_precision
from parpass.relay.transform.annotate_spans import AnnotateSpans
from parpass.relay.transform.byoc.annotate_target import AnnotateTarget
from parpass.relay.transform.byoc.merge_compiler_regions import MergeCompilerRegions
from parpass.relay.transform.byoc.merge_composite import MergeComposite
from parpass.relay.transform.byoc.partition_graph import PartitionGraph
from parpass.relay.transform.combine.combine_parallel_batch_matmul import (
    CombineParallelBatchMatmul,
)
from parpass.relay.transform.combine.combine_parallel_conv2d import (
    CombineParallelConv2D,
)
from parpass.relay.transform.combine.combine_parallel_dense import CombineParallelDense
from parpass.relay.transform.dead_code_elimination import DeadCodeElimination
from parpass.relay.transform.differentiation.first_order_gradient import (
    FirstOrderGradient,
)
from parpass.relay.transform.differentiation.gradient import gradient
from parpass.relay.transform.differentiation.lazy_gradient_init import LazyGradientInit
from parpass.relay.transform.dynamic_to_static import DynamicToStatic
from parpass.relay.transform.eliminate_common_subexpr import EliminateCommonSubexpr
from parpass.relay.transform.fold_constant import FoldConstant
from parpass.relay.transform.functions.change_batch import ChangeBatch
from parpass.relay.transform.functions.defunctionalization import (
    Defunctionalization,
    Defunctionalize,
)
from parpass.relay.transform.functions.eta_expand import EtaExpand
from parpass.relay.transform.functions.inline import Inline
from parpass.relay.transform.functions.inline_primitives import InlinePrimitives
from parpass.relay.transform.functions.lambda_lift import LambdaLift
from parpass.relay.transform.functions.remove_unused_functions import (
    RemoveUnusedFunctions,
)
from parpass.relay.transform.fusion.defuse_ops import DefuseOps
from parpass.relay.transform.fusion.functions_from_fusion import FunctionsFromFusion
from parpass.relay.transform.fusion.fuse_ops import FuseOps
from parpass.relay.transform.fusion.split_args import SplitArgs
from parpass.relay.transform.infer_type import InferType, InferTypeLocal
from parpass.relay.transform.legalize import Legalize
from parpass.relay.transform.normal_forms.to_a_normal_form import (
    ToANormalForm,
    ToANormalFormExpr,
)
from parpass.relay.transform.normal_forms.to_basic_block_normal_form import (
    ToBasicBlockNormalForm,
    ToBasicBlockNormalFormExpr,
)
from parpass.relay.transform.normal_forms.to_cps import ToCPS, to_cps
from parpass.relay.transform.normal_forms.to_graph_normal_form import ToGraphNormalForm
from parpass.relay.transform.normal_forms.un_cps import UnCPS, un_cps
from parpass.relay.transform.outline.inline_segments import InlineSegments
from parpass.relay.transform.outline.outline_segments import OutlineSegments
from parpass.relay.transform.partial_evaluation.partial_evaluate import PartialEvaluate
from parpass.relay.transform.pipelines import default_pipeline
from parpass.relay.transform.recasting import recast
from parpass.relay.transform.relayout.alter_op_layout import AlterOpLayout
from parpass.relay.transform.relayout.convert_layout import ConvertLayout
from parpass.relay.transform.relayout.layout_config import LayoutConfig
from parpass.relay.transform.scale_axis.backward_fold_scale_axis import (
    BackwardFoldScaleAxis,
)
from parpass.relay.transform.scale_axis.fold_scale_axis import FoldScaleAxis
from parpass.relay.transform.scale_axis.forward_fold_scale_axis import (
    ForwardFoldScaleAxis,
)
from parpass.relay.transform.simplify.canonicalize_cast import CanonicalizeCast
from parpass.relay.transform.simplify.canonicalize_ops import CanonicalizeOps
from parpass.relay.transform.simplify.fast_math import FastMath
from parpass.relay.transform.simplify.fold_explicit_padding import FoldExplicitPadding
from parpass.relay.transform.simplify.simplify_expr import SimplifyExpr
from parpass.relay.transform.simplify.simplify_fc_transpose import (
    SimplifyFCTranspose,
)
from parpass.relay.transform.simplify.simplify_inference import SimplifyInference
from parpass.relay.transform.to_mixed_precision import ToMixedPrecision
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
