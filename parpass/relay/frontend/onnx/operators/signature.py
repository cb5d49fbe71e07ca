"""What a converter is."""

from __future__ import annotations

from collections.abc import Callable

from parpass.relay.expr import Expr, TupleWrapper
from parpass.relay.frontend.onnx.onnx_node import OnnxNode

Converter = Callable[[OnnxNode], Expr | TupleWrapper]
"""Returns the expression of a node's first output, or those of several.

It reads every attribute that it honours, and raises `node.refusal(...)` for what is
valid but not supported, `node.fault(...)` for what ONNX does not allow.
"""
