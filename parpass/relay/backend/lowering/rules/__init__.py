"""The lowering rules of Relay's operators, a module for each family."""

from parpass.relay.backend.lowering.rules import (
    activation,
    conv,
    elementwise,
    indexing,
    linear,
    norm,
    padding,
    pool,
    reduce,
    resize,
    scatter,
    shape,
    top_elements,
)

__all__ = [
    "activation",
    "conv",
    "elementwise",
    "indexing",
    "linear",
    "norm",
    "padding",
    "pool",
    "reduce",
    "resize",
    "scatter",
    "shape",
    "top_elements",
]
