"""Relay's functions as bytes in the slowest form: post-order, nothing remembered."""

from __future__ import annotations

from collections.abc import Callable

from parpass.ir.base_func import BaseFunc
from parpass.ir.module_adapter import IRModuleAdapter
from parpass.ir.node import post_order
from parpass.ir.wire import FunctionPickler
from parpass.transform import BlobSink


class PlainAdapter(IRModuleAdapter):
    """Packs functions always as others are packed that are too deep."""

    def encode_function(self, function: BaseFunc, blob_sink: BlobSink) -> bytes:
        """Return a function as bytes, without what InferType knows of it."""
        pickler = FunctionPickler(blob_sink)
        return pickler.pickled(post_order(function), function, None)

    def open_encoder(self, blob_sink: BlobSink) -> Callable[[BaseFunc], None]:
        """Return what has each function packed alone."""
        return lambda _: None
