"""How widely TVM 0.8 supports its operators, by its levels: 1 is for what all use.

They are facts of `RELAY_REGISTER_OP(...).set_support_level(...)` in TVM's sources. What
is not listed is of level 10, which TVM gives where nothing is said.
"""

_OF_LEVEL = {
    1: """
        acos acosh add asin asinh atan atanh concatenate cos cosh divide erf exp
        expand_dims fast_erf fast_exp fast_tanh floor_divide floor_mod log log10
        log2 mod multiply nn.batch_norm nn.bias_add nn.dense nn.dropout
        nn.fast_softmax nn.group_norm nn.instance_norm nn.layer_norm
        nn.log_softmax nn.matmul nn.relu nn.softmax rsqrt sigmoid sin sinh sqrt
        subtract tan tanh
    """,
    2: """
        dyn.nn.pad nn.avg_pool1d nn.avg_pool2d nn.avg_pool3d nn.batch_flatten
        nn.conv1d nn.conv1d_transpose nn.conv2d nn.conv2d_transpose nn.conv3d
        nn.conv3d_transpose nn.global_avg_pool2d nn.global_max_pool2d
        nn.l2_normalize nn.lrn nn.max_pool1d nn.max_pool2d nn.max_pool3d
        nn.mirror_pad nn.pad nn.upsampling nn.upsampling3d
    """,
    3: """
        abs adv_index arange cast cast_like ceil clip copy cumprod cumsum
        dyn.expand_dims dyn.full dyn.reshape dyn.squeeze dyn.tile floor full
        full_like gather gather_nd isfinite isinf isnan meshgrid negative
        nn.leaky_relu nn.prelu ones reinterpret repeat reshape reshape_like
        reverse reverse_sequence round scatter_nd sign sparse_to_dense split
        squeeze stack take tile transpose trunc unravel_index zeros
    """,
    4: """
        all any argmax argmin bitwise_and bitwise_not bitwise_or bitwise_xor
        broadcast_to dyn.broadcast_to dyn.strided_slice equal greater
        greater_equal left_shift less less_equal logical_and logical_not
        logical_or logical_xor max maximum mean min minimum not_equal ones_like
        power prod right_shift strided_set strided_slice sum variance where
        zeros_like
    """,
    5: """
        image.resize1d image.resize2d image.resize3d layout_transform
        nn.batch_to_space_nd nn.depth_to_space nn.space_to_batch_nd
        nn.space_to_depth
    """,
    6: """
        argsort dyn.topk searchsorted sort topk
    """,
    11: """
        einsum
    """,
}
SUPPORT_LEVELS = {
    name: level for level, names in _OF_LEVEL.items() for name in names.split()
}
