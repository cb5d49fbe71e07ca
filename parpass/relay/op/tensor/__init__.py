"""Operators on elements, and those that make tensors of one value."""

from __future__ import annotations

from parpass.relay.op.tensor import broadcast, convert, create, elementwise
from parpass.relay.op.tensor.broadcast import *
from parpass.relay.op.tensor.convert import *
from parpass.relay.op.tensor.create import *
from parpass.relay.op.tensor.elementwise import *

__all__: list[str] = []
__all__ += broadcast.__all__
__all__ += convert.__all__
__all__ += create.__all__
__all__ += elementwise.__all__
