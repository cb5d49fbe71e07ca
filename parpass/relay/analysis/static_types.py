"""Which types say all of a value's shape before the program runs."""

from __future__ import annotations

from parpass.ir.types.ty import TensorType, Type


def static_tensor(found: Type | None) -> TensorType | None:
    """Return a type if it is that of a tensor whose shape is known, else None."""
    if not isinstance(found, TensorType):
        return None
    return found if all(isinstance(dim, int) for dim in found.shape) else None
