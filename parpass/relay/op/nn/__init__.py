"""Operators of neural networks: `relay.nn`."""

from __future__ import annotations

from parpass.relay.op.nn.activation import (
    dropout,
    dropout_raw,
    fast_softmax,
    leaky_relu,
    log_softmax,
    prelu,
    relu,
    softmax,
)
from parpass.relay.op.nn.adaptive import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
    global_avg_pool1d,
    global_avg_pool2d,
    global_avg_pool3d,
    global_max_pool1d,
    global_max_pool2d,
    global_max_pool3d,
)
from parpass.relay.op.nn.blocks import (
    batch_to_space_nd,
    depth_to_space,
    space_to_batch_nd,
    space_to_depth,
)
from parpass.relay.op.nn.conv import (
    contrib_conv2d_nchwc,
    contrib_depthwise_conv2d_nchwc,
    conv1d,
    conv2d,
    conv3d,
)
from parpass.relay.op.nn.conv_transpose import (
    conv1d_transpose,
    conv2d_transpose,
    conv3d_transpose,
)
from parpass.relay.op.nn.linear import (
    batch_flatten,
    batch_matmul,
    bias_add,
    dense,
    matmul,
)
from parpass.relay.op.nn.loss import (
    cross_entropy,
    cross_entropy_with_logits,
    nll_loss,
)
from parpass.relay.op.nn.norm import (
    batch_norm,
    group_norm,
    instance_norm,
    l2_normalize,
    layer_norm,
    lrn,
)
from parpass.relay.op.nn.pad import (
    mirror_pad,
    pad,
)
from parpass.relay.op.nn.pool import (
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    max_pool1d,
    max_pool2d,
    max_pool3d,
)
from parpass.relay.op.nn.upsample import (
    upsampling,
    upsampling3d,
)

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "batch_flatten",
    "batch_matmul",
    "batch_norm",
    "batch_to_space_nd",
    "bias_add",
    "contrib_conv2d_nchwc",
    "contrib_depthwise_conv2d_nchwc",
    "conv1d",
    "conv1d_transpose",
    "conv2d",
    "conv2d_transpose",
    "conv3d",
    "conv3d_transpose",
    "cross_entropy",
    "cross_entropy_with_logits",
    "dense",
    "depth_to_space",
    "dropout",
    "dropout_raw",
    "fast_softmax",
    "global_avg_pool1d",
    "global_avg_pool2d",
    "global_avg_pool3d",
    "global_max_pool1d",
    "global_max_pool2d",
    "global_max_pool3d",
    "group_norm",
    "instance_norm",
    "l2_normalize",
    "layer_norm",
    "leaky_relu",
    "log_softmax",
    "lrn",
    "matmul",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "mirror_pad",
    "nll_loss",
    "pad",
    "prelu",
    "relu",
    "softmax",
    "space_to_batch_nd",
    "space_to_depth",
    "upsampling",
    "upsampling3d",
]
