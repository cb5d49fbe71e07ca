"""A digest of what a pass made of a function, by which two runs of it are compared."""

from __future__ import annotations

import hashlib
from functools import partial
from typing import Any

from parpass.transform import ModuleAdapter
from parpass.transform.adapter import keep_inline
from parpass.transform.codecs import placed_codec
from parpass.transform.relative_lines import RelativeLines


class ContentDigests:
    """Digests of functions of one module, at whichever lines they are.

    Args:
        adapter: The adapter of the IR.
        mod: The module.
    """

    def __init__(self, adapter: ModuleAdapter, mod: Any) -> None:
        self._adapter, self._mod = adapter, mod
        shown = partial(adapter.encode_reference, mod)
        self._codec = placed_codec(adapter.portable_codec(mod), shown)

    def of(self, function: Any) -> str:
        """Return a short digest of a function; empty if it cannot be encoded."""
        try:
            encoded = None
            if self._codec is not None:
                lines = RelativeLines()
                encoded = self._codec.encode(function, keep_inline, lines)
            if encoded is None:
                about = function, self._mod, keep_inline
                encoded = self._adapter.encode_content(*about)
        except Exception:  # noqa: BLE001 -- of a codec; what sends the function says more
            return ""
        return hashlib.blake2b(encoded, digest_size=8).hexdigest()
