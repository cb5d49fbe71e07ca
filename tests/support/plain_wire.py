"""Relay's functions as bytes in the slowest form: post-order, nothing remembered."""

from __future__ import annotations

import pickle

from parpass.relay.adapter import RelayAdapter
from parpass.relay.expr import Function
from parpass.relay.ndarray import leaving_arrays
from parpass.relay.node import post_order
from parpass.transform.adapter import KeepOutside


class PlainAdapter(RelayAdapter):
    """Packs functions always as others are packed that are too deep."""

    def encode_function(self, function: Function, keep_outside: KeepOutside) -> bytes:
        """Return a function as bytes, without what InferType knows of it."""
        with leaving_arrays(keep_outside):
            return pickle.dumps([*post_order(function), None], protocol=5)
