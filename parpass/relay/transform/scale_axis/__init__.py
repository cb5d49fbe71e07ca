"""Scales along axes: what ForwardFoldScaleAxis and BackwardFoldScaleAxis share."""

from parpass.relay.transform.scale_axis.heavy import is_foldable, scaled_weight
from parpass.relay.transform.scale_axis.scale import (
    Demand,
    Need,
    along_axes,
    broadcasts_to,
    is_constant_with,
    squeezed,
    tensor_type,
)

__all__ = [
    "Demand",
    "Need",
    "along_axes",
    "broadcasts_to",
    "is_constant_with",
    "is_foldable",
    "scaled_weight",
    "squeezed",
    "tensor_type",
]
