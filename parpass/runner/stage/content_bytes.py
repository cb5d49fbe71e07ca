"""The bytes of a function, by which two of them are compared in a cache."""

from __future__ import annotations

from typing import Any

from parpass.transform import BlobSink, ModuleAdapter, StoreCodec


def store_codec_of(adapter: ModuleAdapter, mod: Any) -> StoreCodec | None:
    try:
        return adapter.store_codec(mod)
    except Exception:  # noqa: BLE001 -- of an adapter; all stays in memory
        return None


def content_bytes(
    adapter: ModuleAdapter,
    codec: StoreCodec | None,
    function: Any,
    mod: Any,
    blob_sink: BlobSink,
) -> bytes | None:
    """Return a function, a member of a module, as bytes; None if it has none.

    Those of the codec are the same in all processes.
    """
    try:
        encoded = None if codec is None else codec.encode(function, blob_sink)
        if encoded is None:
            encoded = adapter.encode_content(function, mod, blob_sink)
    except Exception:  # noqa: BLE001 -- what sends it to workers says what is wrong
        return None
    return encoded
