"""Generated calls of operators in other dtypes than they were generated in."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from parpass import relay
from parpass.relay.expr import Call, Constant, Expr, TupleWrapper
from parpass.relay.functor import ExprMutator
from parpass.runtime.dtypes import numpy_dtype
from tests.support.relay.op.calls import Array
from tests.support.relay.op.shapes import Built


def with_floats(built: Built, change: Callable[[Array], Array]) -> Call:
    """Return a call with its constants of floats changed."""
    call = built.astuple() if isinstance(built, TupleWrapper) else built
    changed = _Changed(change).visit(call)
    assert isinstance(changed, Call)
    return changed


def rounded(values: Array, dtype: str) -> Array:
    """Return values in a dtype, also in one that numpy has not itself."""
    return np.asarray(values).astype(numpy_dtype(dtype))


class _Changed(ExprMutator):
    def __init__(self, change: Callable[[Array], Array]) -> None:
        super().__init__()
        self._change = change

    def visit_constant(self, const: Constant) -> Expr:
        if const.data.dtype not in {"float32", "float64"}:
            return const
        return relay.const(self._change(const.data.numpy()))
