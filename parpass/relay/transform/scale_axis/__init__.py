"""Scales along axes: what ForwardFoldScaleAxis and BackwardFoldScaleAxis share."""

from parpass.relay.transform.scale_axis.heavy import is_foldable, scaled_weight
from parpass.relay.transform.scale_axis.scale import (
    Demand,
    Need,
    along_axes,
    broadcasts_to,
    is_known_as,
    squeezed,
    tensor_type,
)

__all__ = [
    "Demand",
    "Need",
    "along_axes",
    "broadcasts_to",
    "is_foldable",
    "is_known_as",
    "scaled_weight",
    "squeezed",
    "tensor_type",
]
