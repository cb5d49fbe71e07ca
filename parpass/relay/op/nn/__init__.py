"""Operators of neural networks: `relay.nn`."""

from __future__ import annotations

from parpass.relay.op.nn import (
    activation,
    blocks,
    conv,
    conv_transpose,
    linear,
    loss,
    norm,
    padding,
    pool,
    pool_grad,
    upsample,
)
from parpass.relay.op.nn.activation import *
from parpass.relay.op.nn.blocks import *
from parpass.relay.op.nn.conv import *
from parpass.relay.op.nn.conv_transpose import *
from parpass.relay.op.nn.linear import *
from parpass.relay.op.nn.loss import *
from parpass.relay.op.nn.norm import *
from parpass.relay.op.nn.padding import *
from parpass.relay.op.nn.pool import *
from parpass.relay.op.nn.pool_grad import *
from parpass.relay.op.nn.upsample import *

__all__: list[str] = []
__all__ += activation.__all__
__all__ += blocks.__all__
__all__ += conv.__all__
__all__ += conv_transpose.__all__
__all__ += linear.__all__
__all__ += loss.__all__
__all__ += norm.__all__
__all__ += padding.__all__
__all__ += pool.__all__
__all__ += pool_grad.__all__
__all__ += upsample.__all__
