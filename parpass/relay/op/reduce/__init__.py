"""Operators that reduce a tensor along some of its axes."""

from __future__ import annotations

from parpass.relay.op.reduce import reductions, variances
from parpass.relay.op.reduce.reductions import *
from parpass.relay.op.reduce.variances import *

__all__: list[str] = []
__all__ += reductions.__all__
__all__ += variances.__all__
