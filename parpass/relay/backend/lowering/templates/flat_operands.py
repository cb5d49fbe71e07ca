"""Which operands the templates take: floats, one after the other in memory."""

from __future__ import annotations

from collections.abc import Sequence

from parpass.relay.backend.lowering.template import Result, Source


def suits_vectors(sources: Sequence[Source], out: Result) -> bool:
    """Return whether all is float32, or all float64, and nothing is empty."""
    dtypes = {out.dtype, *(source.dtype for source in sources)}
    lengths = [dim for one in (out, *sources) for dim in one.shape]
    return len(dtypes) == 1 and dtypes <= {"float32", "float64"} and all(lengths)


def is_flat(source: Source) -> bool:
    """Return whether an operand is in memory as it is, element after element."""
    buffer = source.buffer
    if buffer is None or buffer.strides or buffer.dtype != source.dtype:
        return False
    return getattr(buffer.elem_offset, "value", None) == 0
