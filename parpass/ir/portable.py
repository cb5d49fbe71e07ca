"""Functions for a store on disk: JSON, which names no code, and what InferType knows.

The entry of the inference cache belongs to a function: with it a pass sees what it saw
of the function that was written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import msgspec

from parpass.ir.adt import Constructor
from parpass.ir.inference_cache import (
    InferenceRecord,
    cache_inference,
    cached_inference,
)
from parpass.ir.node import post_order
from parpass.ir.serialization import load_json, save_json
from parpass.ir.typed_expr import BaseFunc, GlobalVar
from parpass.runtime.ndarray import NDArray

_MAX_CHARS = 1 << 24  # of a function with its constants, that is worth a place


class _Portable(msgspec.Struct, array_like=True):
    """A function.

    Attributes:
        json: The function, and the types of the functions that it refers to.
        names: The names of these.
        nodes: How many nodes it has; None if InferType has not returned it.
        used_types: Digests of the types that it refers to.
    """

    json: str
    names: list[str]
    nodes: int | None
    used_types: dict[str, bytes]


_decoder = msgspec.msgpack.Decoder(_Portable)


def encode(function: BaseFunc) -> bytes | None:
    """Return a function as bytes; None if a part of it has no JSON."""
    if _constant_bytes(function) > _MAX_CHARS:
        return None
    known = cached_inference(function)
    used = {} if known is None else dict(known.used_globals)
    try:
        json = save_json((function, *used.values()))
    except Exception:  # noqa: BLE001 -- whatever it is, it stays in memory
        return None
    if len(json) > _MAX_CHARS:
        return None
    if known is None:
        return msgspec.msgpack.encode(_Portable(json, [], None, {}))
    facts = list(used), known.nodes, dict(known.used_types)
    return msgspec.msgpack.encode(_Portable(json, *facts))


def decode(encoded: bytes, bind: Callable[[BaseFunc], BaseFunc]) -> BaseFunc:
    """Return the function that `encode` wrote.

    Args:
        encoded: The bytes.
        bind: Returns a function with references to a module's own global variables.

    Raises:
        Exception: It is no such function.
    """
    found = _decoder.decode(encoded)
    function, *types = cast("tuple[Any, ...]", load_json(found.json))
    if not isinstance(function, BaseFunc):
        raise TypeError(f"expected a function, got {type(function).__name__}")
    if found.nodes is not None:
        used = dict(zip(found.names, types, strict=True))
        record = InferenceRecord(used, found.nodes, found.used_types)
        cache_inference(function, record)
    refers = any(kind.__name__ in found.json for kind in (GlobalVar, Constructor))
    return bind(function) if refers else function


def _constant_bytes(function: BaseFunc) -> int:
    """Return how many bytes its constants have, each array once."""
    found = [getattr(node, "data", None) for node in post_order(function)]
    arrays = {id(one): one for one in found if isinstance(one, NDArray)}
    return sum(one.nbytes for one in arrays.values() if not one.is_uniform)
