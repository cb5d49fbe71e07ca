"""Dynamic operators, which take attributes as arguments: `relay.dyn`."""

from __future__ import annotations

from parpass.relay.op.dyn import image, nn
from parpass.relay.op.dyn.dynamic import dyn_all as all
from parpass.relay.op.dyn.dynamic import dyn_any as any
from parpass.relay.op.dyn.dynamic import dyn_broadcast_to as broadcast_to
from parpass.relay.op.dyn.dynamic import dyn_expand_dims as expand_dims
from parpass.relay.op.dyn.dynamic import dyn_full as full
from parpass.relay.op.dyn.dynamic import dyn_max as max
from parpass.relay.op.dyn.dynamic import dyn_mean as mean
from parpass.relay.op.dyn.dynamic import dyn_min as min
from parpass.relay.op.dyn.dynamic import dyn_one_hot as one_hot
from parpass.relay.op.dyn.dynamic import dyn_prod as prod
from parpass.relay.op.dyn.dynamic import dyn_reshape as reshape
from parpass.relay.op.dyn.dynamic import dyn_sparse_to_dense as sparse_to_dense
from parpass.relay.op.dyn.dynamic import dyn_squeeze as squeeze
from parpass.relay.op.dyn.dynamic import dyn_strided_slice as strided_slice
from parpass.relay.op.dyn.dynamic import dyn_sum as sum
from parpass.relay.op.dyn.dynamic import dyn_tile as tile
from parpass.relay.op.dyn.dynamic import dyn_topk as topk

__all__ = [
    "all", "any", "broadcast_to", "expand_dims", "full", "image", "max", "mean", "min",
    "nn", "one_hot", "prod", "reshape", "sparse_to_dense", "squeeze", "strided_slice",
    "sum", "tile", "topk",
]  # fmt: skip
