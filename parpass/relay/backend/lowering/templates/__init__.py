"""Templates of the operators that take nearly all the time of a network.

They are for floats in layouts that suit vectors, and come before the plain loops of
`lowering.rules`, which take whatever the operator takes.
"""

from parpass.relay.backend.lowering.templates import (
    blocked_conv,
    depthwise_conv,
    local_response_norm,
    matrix_product,
    plain_conv,
    pooling,
    transposed_conv,
    window_products,
)

__all__ = [
    "blocked_conv",
    "depthwise_conv",
    "local_response_norm",
    "matrix_product",
    "plain_conv",
    "pooling",
    "transposed_conv",
    "window_products",
]
