"""A digest of what a pass made of a function, by which two runs of it are compared."""

from __future__ import annotations

import hashlib
from typing import Any

from parpass.transform import ModuleAdapter
from parpass.transform.adapter import keep_inline


def content_digest(
    adapter: ModuleAdapter, function: Any, mod: Any, *, is_portable: bool
) -> str:
    """Return a short digest of a function; empty if it cannot be encoded.

    Args:
        adapter: The adapter of the IR.
        function: The function.
        mod: The module that it is of.
        is_portable: Whether the function may be compared with one from a disk, which
            can share other parts.
    """
    try:
        encoded = adapter.encode_portable(function) if is_portable else None
        if encoded is None:
            encoded = adapter.encode_content(function, mod, keep_inline)
    except Exception:  # noqa: BLE001 -- of a codec; what sends the function says more
        return ""
    return hashlib.blake2b(encoded, digest_size=8).hexdigest()
