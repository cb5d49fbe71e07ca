"""Operators of neural networks: `relay.nn`."""

from __future__ import annotations

from parpass.relay.op.nn.activation import (
    dropout,
    dropout_raw,
    leaky_relu,
    log_softmax,
    prelu,
    relu,
    softmax,
)
from parpass.relay.op.nn.conv import conv2d
from parpass.relay.op.nn.linear import batch_flatten, batch_matmul, bias_add, dense
from parpass.relay.op.nn.norm import (
    batch_norm,
    instance_norm,
    l2_normalize,
    layer_norm,
    lrn,
)
from parpass.relay.op.nn.pad import pad
from parpass.relay.op.nn.pool import (
    avg_pool2d,
    global_avg_pool2d,
    global_max_pool2d,
    max_pool2d,
)

__all__ = [
    "avg_pool2d",
    "batch_flatten",
    "batch_matmul",
    "batch_norm",
    "bias_add",
    "conv2d",
    "dense",
    "dropout",
    "dropout_raw",
    "global_avg_pool2d",
    "global_max_pool2d",
    "instance_norm",
    "l2_normalize",
    "layer_norm",
    "leaky_relu",
    "log_softmax",
    "lrn",
    "max_pool2d",
    "pad",
    "prelu",
    "relu",
    "softmax",
]
