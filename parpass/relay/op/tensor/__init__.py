"""Elementwise operators, and operators that create tensors of one value."""

from __future__ import annotations

from parpass.relay.op.tensor import create, elementwise
from parpass.relay.op.tensor.create import *
from parpass.relay.op.tensor.elementwise import *

__all__: list[str] = []
__all__ += create.__all__
__all__ += elementwise.__all__
