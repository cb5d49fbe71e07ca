"""Which operators are computed in fewer bits, by TVM 0.8's lists.

TVM has them from TensorFlow's grappler, and these lean towards tensor cores.
"""

MIXED_PRECISION_ALWAYS = 0
"""It is worth a cast."""
MIXED_PRECISION_FOLLOW = 1
"""It is not worth one, and does no harm."""
MIXED_PRECISION_NEVER = 2
"""It leaves the range of few bits, or sums too much."""

_LISTS = {
    MIXED_PRECISION_ALWAYS: """
        nn.batch_matmul nn.conv1d nn.conv1d_transpose nn.conv2d nn.conv2d_transpose
        nn.conv3d nn.conv3d_transpose nn.dense
    """,
    MIXED_PRECISION_FOLLOW: """
        add argwhere broadcast_to_like cast cast_like concatenate copy divide
        dyn.broadcast_to dyn.full dyn.reshape dyn.strided_slice dyn.tile expand_dims
        full greater greater_equal less less_equal max maximum min minimum multiply
        nn.adaptive_max_pool1d nn.adaptive_max_pool2d nn.adaptive_max_pool3d
        nn.avg_pool1d nn.avg_pool2d nn.avg_pool3d nn.batch_flatten nn.batch_norm
        nn.bias_add nn.dropout nn.global_max_pool2d nn.leaky_relu nn.max_pool1d
        nn.max_pool2d nn.max_pool3d nn.pad nn.prelu nn.relu reshape
        shape_of sigmoid split sqrt squeeze strided_slice subtract take tanh tile
        transpose where zeros
    """,
    MIXED_PRECISION_NEVER: """
        arange erf exp mean nn.adaptive_avg_pool1d nn.adaptive_avg_pool2d
        nn.adaptive_avg_pool3d nn.cross_entropy nn.cross_entropy_with_logits
        nn.global_avg_pool2d nn.l2_normalize nn.softmax power sum
    """,
}
CATEGORIES = {name: kind for kind, names in _LISTS.items() for name in names.split()}
"""By operator."""

__all__ = [
    "CATEGORIES",
    "MIXED_PRECISION_ALWAYS",
    "MIXED_PRECISION_FOLLOW",
    "MIXED_PRECISION_NEVER",
]
