"""Cases of ONNX's backend tests that are not supported, and why.

The table is exact: a case that begins to work is to be taken out.
"""

from __future__ import annotations

UNSUPPORTED: dict[str, str] = {
    "attributes of before opset 7": """
        test_BatchNorm1d_3d_input_eval test_BatchNorm2d_eval
        test_BatchNorm2d_momentum_eval test_BatchNorm3d_eval
        test_BatchNorm3d_momentum_eval
    """,
    "averages of windows that stick out, padding counted": """
        test_averagepool_3d_dilations_large_count_include_pad_is_1_ceil_mode_is_True
    """,
    "bfloat16, which numpy rounds otherwise": """
        test_attention_3d_causal_bf16_expanded
        test_attention_4d_attn_mask_causal_bf16_expanded
        test_attention_4d_causal_bf16_expanded
        test_attention_4d_causal_padded_kv_bf16_expanded
        test_attention_4d_padded_kv_bf16_expanded test_celu_bfloat16
        test_celu_bfloat16_expanded
    """,
    "casts to floats of 8 bits and fewer, which saturate in ways of their own": """
        test_cast_FLOAT16_to_FLOAT4E2M1 test_cast_FLOAT16_to_FLOAT8E4M3FN
        test_cast_FLOAT16_to_FLOAT8E4M3FNUZ test_cast_FLOAT16_to_FLOAT8E5M2
        test_cast_FLOAT16_to_FLOAT8E5M2FNUZ test_cast_FLOAT_to_FLOAT4E2M1
        test_cast_FLOAT_to_FLOAT8E4M3FN test_cast_FLOAT_to_FLOAT8E4M3FNUZ
        test_cast_FLOAT_to_FLOAT8E5M2 test_cast_FLOAT_to_FLOAT8E5M2FNUZ
        test_cast_e8m0_FLOAT16_to_FLOAT8E8M0 test_cast_e8m0_FLOAT_to_FLOAT8E8M0
        test_cast_no_saturate_FLOAT16_to_FLOAT8E4M3FN
        test_cast_no_saturate_FLOAT16_to_FLOAT8E4M3FNUZ
        test_cast_no_saturate_FLOAT16_to_FLOAT8E5M2
        test_cast_no_saturate_FLOAT16_to_FLOAT8E5M2FNUZ
        test_cast_no_saturate_FLOAT_to_FLOAT8E4M3FN
        test_cast_no_saturate_FLOAT_to_FLOAT8E4M3FNUZ
        test_cast_no_saturate_FLOAT_to_FLOAT8E5M2
        test_cast_no_saturate_FLOAT_to_FLOAT8E5M2FNUZ
        test_castlike_FLOAT16_to_FLOAT4E2M1 test_castlike_FLOAT16_to_FLOAT4E2M1_expanded
        test_castlike_FLOAT16_to_FLOAT8E4M3FN test_castlike_FLOAT16_to_FLOAT8E4M3FNUZ
        test_castlike_FLOAT16_to_FLOAT8E4M3FNUZ_expanded
        test_castlike_FLOAT16_to_FLOAT8E4M3FN_expanded
        test_castlike_FLOAT16_to_FLOAT8E5M2 test_castlike_FLOAT16_to_FLOAT8E5M2FNUZ
        test_castlike_FLOAT16_to_FLOAT8E5M2FNUZ_expanded
        test_castlike_FLOAT16_to_FLOAT8E5M2_expanded test_castlike_FLOAT_to_FLOAT4E2M1
        test_castlike_FLOAT_to_FLOAT4E2M1_expanded test_castlike_FLOAT_to_FLOAT8E4M3FN
        test_castlike_FLOAT_to_FLOAT8E4M3FNUZ
        test_castlike_FLOAT_to_FLOAT8E4M3FNUZ_expanded
        test_castlike_FLOAT_to_FLOAT8E4M3FN_expanded test_castlike_FLOAT_to_FLOAT8E5M2
        test_castlike_FLOAT_to_FLOAT8E5M2FNUZ
        test_castlike_FLOAT_to_FLOAT8E5M2FNUZ_expanded
        test_castlike_FLOAT_to_FLOAT8E5M2_expanded
        test_castlike_no_saturate_FLOAT16_to_FLOAT8E4M3FN
        test_castlike_no_saturate_FLOAT16_to_FLOAT8E4M3FNUZ
        test_castlike_no_saturate_FLOAT16_to_FLOAT8E4M3FNUZ_expanded
        test_castlike_no_saturate_FLOAT16_to_FLOAT8E4M3FN_expanded
        test_castlike_no_saturate_FLOAT16_to_FLOAT8E5M2
        test_castlike_no_saturate_FLOAT16_to_FLOAT8E5M2FNUZ
        test_castlike_no_saturate_FLOAT16_to_FLOAT8E5M2FNUZ_expanded
        test_castlike_no_saturate_FLOAT16_to_FLOAT8E5M2_expanded
        test_castlike_no_saturate_FLOAT_to_FLOAT8E4M3FN
        test_castlike_no_saturate_FLOAT_to_FLOAT8E4M3FNUZ
        test_castlike_no_saturate_FLOAT_to_FLOAT8E4M3FNUZ_expanded
        test_castlike_no_saturate_FLOAT_to_FLOAT8E4M3FN_expanded
        test_castlike_no_saturate_FLOAT_to_FLOAT8E5M2
        test_castlike_no_saturate_FLOAT_to_FLOAT8E5M2FNUZ
        test_castlike_no_saturate_FLOAT_to_FLOAT8E5M2FNUZ_expanded
        test_castlike_no_saturate_FLOAT_to_FLOAT8E5M2_expanded
    """,
    "coordinates that are symmetric about the middle (opset 19)": """
        test_resize_downsample_scales_linear_half_pixel_symmetric
        test_resize_upsample_scales_linear_half_pixel_symmetric
    """,
    "operators that have no converter, in models of several": """
        test_gradient_of_add test_gradient_of_add_and_mul test_sequence_model1
        test_sequence_model2 test_sequence_model3 test_sequence_model4
        test_sequence_model5 test_sequence_model6 test_sequence_model7
        test_sequence_model8 test_strnorm_model_monday_casesensintive_lower
        test_strnorm_model_monday_casesensintive_nochangecase
        test_strnorm_model_monday_casesensintive_upper
        test_strnorm_model_monday_empty_output
        test_strnorm_model_monday_insensintive_upper_twodim
        test_strnorm_model_nostopwords_nochangecase
    """,
    "padding that wraps": """
        test_wrap_pad
    """,
    "reshaping of no elements": """
        test_reshape_allowzero_reordered
    """,
    "resizing by scales that give no whole lengths": """
        test_resize_downsample_scales_cubic
        test_resize_downsample_scales_cubic_A_n0p5_exclude_outside
        test_resize_downsample_scales_cubic_align_corners
        test_resize_downsample_scales_cubic_antialias
        test_resize_downsample_scales_linear
        test_resize_downsample_scales_linear_align_corners
        test_resize_downsample_scales_linear_antialias
        test_resize_downsample_scales_nearest
    """,
    "resizing that smooths, or keeps the ratio of the sides": """
        test_resize_downsample_sizes_cubic_antialias
        test_resize_downsample_sizes_linear_antialias
        test_resize_downsample_sizes_nearest_not_larger
        test_resize_downsample_sizes_nearest_not_smaller
        test_resize_upsample_sizes_nearest_not_larger
        test_resize_upsample_sizes_nearest_not_smaller
    """,
    "slopes and broadcasting as before opset 7": """
        test_Linear test_PReLU_1d_multiparam test_PReLU_2d_multiparam
        test_PReLU_3d_multiparam test_Softsign test_operator_add_broadcast
        test_operator_add_size1_broadcast test_operator_add_size1_right_broadcast
        test_operator_add_size1_singleton_broadcast test_operator_addconstant
        test_operator_addmm test_operator_mm
    """,
    "text": """
        test_equal_string test_equal_string_broadcast
    """,
    "the indices of a maximum": """
        test_maxpool_with_argmax_2d_precomputed_pads
        test_maxpool_with_argmax_2d_precomputed_strides
    """,
    "the larger of bools (opset 20)": """
        test_reduce_max_bool_inputs test_reduce_max_empty_set_bool
        test_reduce_min_bool_inputs
    """,
    "the largest of no elements": """
        test_reduce_log_sum_exp_empty_set test_reduce_max_empty_set
        test_reduce_min_empty_set
    """,
    "the order of channels of SpaceToDepth (opset 28)": """
        test_spacetodepth_crd_mode_example test_spacetodepth_dcr_mode_example
    """,
    "training": """
        test_batchnorm_epsilon_training_mode test_batchnorm_example_training_mode
        test_training_dropout test_training_dropout_default
        test_training_dropout_default_mask test_training_dropout_mask
        test_training_dropout_zero_ratio test_training_dropout_zero_ratio_mask
    """,
}
"""Names of cases, by the reason."""

NO_CONVERTER = """
    Adagrad Adam AffineGrid ArrayFeatureExtractor Attention Bernoulli Binarizer
    BitCast BlackmanWindow CausalConvWithState CenterCropPad Col2Im Compress
    ConvInteger CumProd DFT DeformConv DequantizeLinear Det DynamicQuantizeLinear
    FlexAttention GRU GridSample HammingWindow HannWindow
    If ImageDecoder LSTM LabelEncoder LinearAttention Loop MatMulInteger MaxUnpool
    MelWeightMatrix Momentum NonMaxSuppression OptionalGetElement OptionalHasElement
    QLinearConv QLinearMatMul QuantizeLinear RMSNormalization RNN RandomUniformLike
    RegexFullMatch RoiAlign RotaryEmbedding STFT Scan SequenceEmpty SequenceInsert
    SequenceLength SequenceMap SplitToSequence StringConcat StringNormalizer
    StringSplit SwiGLU Swish TensorScatter TfIdfVectorizer TreeEnsemble Unique
"""
"""Operators of cases that have no converter."""
