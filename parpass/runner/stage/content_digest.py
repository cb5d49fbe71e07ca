"""Digests of the functions that passes return, by which two runs are compared."""

from __future__ import annotations

import hashlib
from typing import Any

from parpass.transform import ModuleAdapter
from parpass.transform.adapter import keep_inline


class ContentDigests:
    def __init__(self, adapter: ModuleAdapter, mod: Any) -> None:
        self._adapter, self._mod = adapter, mod
        self._codec = adapter.store_codec(mod)

    def of(self, function: Any) -> str:
        """Return a short digest of a function; empty if it cannot be encoded."""
        try:
            encoded = None
            if self._codec is not None:
                encoded = self._codec.encode(function, keep_inline)
            if encoded is None:
                about = function, self._mod, keep_inline
                encoded = self._adapter.encode_content(*about)
        except Exception:  # noqa: BLE001 -- of a codec; what sends the function says more
            return ""
        return hashlib.blake2b(encoded, digest_size=8).hexdigest()
