"""Operators that arrange, pick, join and place elements, and those on shapes."""

from __future__ import annotations

from parpass.relay.op.transform import (
    grid,
    indexing,
    join,
    matrix,
    reshaping,
    scan,
    scatter,
    select,
    shape,
)
from parpass.relay.op.transform.grid import *
from parpass.relay.op.transform.indexing import *
from parpass.relay.op.transform.join import *
from parpass.relay.op.transform.matrix import *
from parpass.relay.op.transform.reshaping import *
from parpass.relay.op.transform.scan import *
from parpass.relay.op.transform.scatter import *
from parpass.relay.op.transform.select import *
from parpass.relay.op.transform.shape import *

__all__: list[str] = []
__all__ += grid.__all__
__all__ += indexing.__all__
__all__ += join.__all__
__all__ += matrix.__all__
__all__ += reshaping.__all__
__all__ += scan.__all__
__all__ += scatter.__all__
__all__ += select.__all__
__all__ += shape.__all__
