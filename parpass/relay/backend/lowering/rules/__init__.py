"""The rules of Relay's operators, in modules that are named as theirs."""

from parpass.relay.backend.lowering.rules import (
    activation,
    blocks,
    broadcast,
    conv,
    elementwise,
    indexing,
    join,
    linear,
    norm,
    padding,
    pool,
    reduce,
    scan,
    select,
    shape,
)

__all__ = [
    "activation",
    "blocks",
    "broadcast",
    "conv",
    "elementwise",
    "indexing",
    "join",
    "linear",
    "norm",
    "padding",
    "pool",
    "reduce",
    "scan",
    "select",
    "shape",
]
