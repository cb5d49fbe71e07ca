"""A digest of what a pass made of a function, by which two runs of it are compared."""

from __future__ import annotations

import hashlib
from typing import Any

from parpass.transform import ModuleAdapter
from parpass.transform.adapter import keep_inline


def content_digest(adapter: ModuleAdapter, function: Any, mod: Any) -> str:
    """Return a short digest of a function of `mod`; empty if it cannot be encoded."""
    try:
        encoded = adapter.encode_portable(function)
        if encoded is None:
            encoded = adapter.encode_content(function, mod, keep_inline)
    except Exception:  # noqa: BLE001 -- of a codec; what sends the function says more
        return ""
    return hashlib.blake2b(encoded, digest_size=8).hexdigest()
