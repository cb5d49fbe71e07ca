"""Matrix products: `nn.dense`, `nn.matmul` and `nn.batch_matmul`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from parpass.relay.backend.lowering.template import (
    Result,
    Source,
    Store,
    register_template,
)
from parpass.relay.backend.lowering.templates.flat_operands import (
    is_flat,
    suits_vectors,
)
from parpass.relay.backend.lowering.templates.product_nest import ProductLengths
from parpass.relay.backend.lowering.templates.rows_by_columns import RowsByColumns
from parpass.relay.backend.lowering.templates.rows_by_rows import RowsByRows
from parpass.target.target import Target
from parpass.tir.stmt import Stmt


@register_template("nn.dense", "nn.matmul", "nn.batch_matmul", level=20)
def matrix_product(
    attrs: Any, sources: Sequence[Source], out: Result, store: Store, target: Target
) -> Stmt | None:
    """Multiply matrices of floats; the first factor has its rows as rows."""
    a, b = sources
    if not (is_flat(a) and is_flat(b) and suits_vectors(sources, out)):
        return None
    if attrs.get("transpose_a", False) or len(a.shape) < 2:
        return None
    by_rows = attrs.get("transpose_b", True)
    inner, columns = b.shape[:-3:-1] if by_rows else b.shape[-2:]
    batches = (math.prod(a.shape[:-2]), math.prod(b.shape[:-2]))
    if len(b.shape) == 2:  # one weight for all rows
        lengths = ProductLengths((1, 1), math.prod(a.shape[:-1]), inner, columns)
    else:
        lengths = ProductLengths(batches, a.shape[-2], inner, columns)
    kind = RowsByRows if by_rows else RowsByColumns
    return kind(lengths, sources, out, store, target).stmt()
