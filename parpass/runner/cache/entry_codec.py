"""Results of a function cache as bytes, for a store that other processes read.

It is MessagePack by typed schemas: what is read is checked against them, and makes
plain values alone. No pickle is in it. What cannot be written so, such as a warning of
a class of the program, stays in the memory of the process that computed it.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any, cast

import msgspec

from parpass.diagnostic import Diagnostic
from parpass.remark import Remark
from parpass.runner.cache.function_cache import BoundObjects, CacheEntry
from parpass.runner.ipc.messages import Effects, ReadKind
from parpass.transform import ModuleAdapter
from parpass.transform.capture.emission import (
    BufferedLogRecord,
    BufferedRegistryReset,
    BufferedWarning,
    Emission,
    pickle_for_parent,
    unpickle_from_worker,
)

_PLAIN = (str, int, float, bool, type(None))
_Plain = str | int | float | bool | None


class _Record(msgspec.Struct, array_like=True, tag="log"):
    """A log record: its attributes, those that are tuples apart."""

    function: str | None
    diagnostic_count: int
    remark_count: int
    plain: dict[str, _Plain]
    tuples: dict[str, list[_Plain]]


class _Warning(msgspec.Struct, array_like=True, tag="warning"):
    """A warning of a class of Python's own."""

    function: str | None
    diagnostic_count: int
    remark_count: int
    pass_name: str | None
    category: str
    text: str
    filename: str
    lineno: int
    module: str | None
    is_decided: bool


class _Reset(msgspec.Struct, array_like=True, tag="reset"):
    function: str | None
    diagnostic_count: int
    remark_count: int


_Emission = _Record | _Warning | _Reset


class _Effects(msgspec.Struct, array_like=True):
    diagnostics: list[Diagnostic] = []
    counters: dict[str, int] | None = None
    emissions: list[_Emission] = []
    remarks: list[Remark] = []


class _Entry(msgspec.Struct, array_like=True):
    reads: list[tuple[ReadKind, str, bytes]]
    result: bytes | None
    effects: dict[int, _Effects]
    dependencies: list[str] | None
    signature_changed: bool


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(list[_Entry])


class _NotPortableError(Exception):
    """Something cannot be written."""


def encode_entries(
    entries: Sequence[CacheEntry], adapter: ModuleAdapter, *, is_frozen: bool
) -> bytes | None:
    """Return results of one key as bytes; None if no one can be written.

    Args:
        entries: The results.
        adapter: Encodes functions, by `encode_portable`.
        is_frozen: Whether results are functions as objects.
    """
    written: list[_Entry] = []
    for entry in entries:
        try:
            written.append(_written(entry, adapter, is_frozen=is_frozen))
        except Exception:  # noqa: BLE001 -- such as of a codec; it stays in memory
            continue
    if not written:
        return None
    try:
        return _encoder.encode(written)
    except Exception:  # noqa: BLE001 -- a number beyond 64 bits, a lone surrogate
        return None


def decode_entries(
    encoded: bytes,
    adapter: ModuleAdapter,
    base: Any,
    bound: weakref.ref[BoundObjects],
) -> list[CacheEntry]:
    """Return the results that `encode_entries` wrote; none of what is not like that.

    Functions become objects, members of `base`.

    Args:
        encoded: The bytes.
        adapter: Decodes functions.
        base: The module.
        bound: What functions of that module refer to by identity.
    """
    try:
        found = _decoder.decode(encoded)
        return [_read(one, adapter, base, bound) for one in found]
    except Exception:  # noqa: BLE001 -- of a codec, on bytes of another version, say
        return []


def _written(entry: CacheEntry, adapter: ModuleAdapter, *, is_frozen: bool) -> _Entry:
    result = entry.result
    if result is not None:
        result = adapter.encode_portable(result) if is_frozen else None
        if result is None:
            raise _NotPortableError
    return _Entry(
        [(kind, name, digest) for (kind, name), digest in entry.reads],
        result,
        {at: _written_effects(one) for at, one in entry.effects.items()},
        None if entry.dependencies is None else list(entry.dependencies),
        entry.signature_changed,
    )


def _written_effects(effects: Effects) -> _Effects:
    if effects.changes:
        raise _NotPortableError
    return _Effects(
        list(effects.diagnostics),
        None if effects.counters is None else dict(effects.counters),
        [_written_emission(one) for one in effects.emissions],
        list(effects.remarks),
    )


def _written_emission(emission: Emission) -> _Emission:
    where = emission.function, emission.diagnostic_count, emission.remark_count
    match emission:
        case BufferedLogRecord(rest=None):
            plain = {k: v for k, v in emission.plain.items() if isinstance(v, _PLAIN)}
            tuples = {
                name: list(cast("tuple[Any, ...]", value))
                for name, value in emission.plain.items()
                if isinstance(value, tuple)
            }
            others = (one for value in tuples.values() for one in value)
            is_plain = all(isinstance(one, _PLAIN) for one in others)
            if not is_plain or len(plain) + len(tuples) < len(emission.plain):
                raise _NotPortableError
            return _Record(*where, plain, tuples)
        case BufferedRegistryReset():
            return _Reset(*where)
        case BufferedWarning(message=bytes() as packed):
            message = unpickle_from_worker(packed)  # which our own worker sent
            kind = cast("type[Warning]", type(message))
            if kind.__module__ != "builtins" or message.args != (str(message),):
                raise _NotPortableError
            return _Warning(
                *where,
                emission.pass_name,
                kind.__name__,
                str(message),
                emission.filename,
                emission.lineno,
                emission.module,
                emission.is_decided,
            )
        case _:
            raise _NotPortableError


def _read(
    entry: _Entry,
    adapter: ModuleAdapter,
    base: Any,
    bound: weakref.ref[BoundObjects],
) -> CacheEntry:
    result = entry.result
    return CacheEntry(
        [((kind, name), digest) for kind, name, digest in entry.reads],
        None if result is None else adapter.decode_portable(result, base),
        bound,
        {at: _read_effects(one) for at, one in entry.effects.items()},
        entry.dependencies,
        entry.signature_changed,
    )


def _read_effects(effects: _Effects) -> Effects:
    return Effects(
        effects.diagnostics,
        effects.counters,
        [_read_emission(one) for one in effects.emissions],
        effects.remarks,
    )


def _read_emission(emission: _Emission) -> Emission:
    where = emission.function, emission.diagnostic_count, emission.remark_count
    match emission:
        case _Record():
            tuples = {name: tuple(value) for name, value in emission.tuples.items()}
            return BufferedLogRecord(*where, {**emission.plain, **tuples})
        case _Reset():
            return BufferedRegistryReset(*where)
        case _Warning():
            kind: Any = _CATEGORIES[emission.category]
            message = pickle_for_parent(kind(emission.text))
            assert message is not None
            return BufferedWarning(
                *where,
                emission.pass_name,
                message,
                message,
                emission.filename,
                emission.lineno,
                emission.module,
                emission.is_decided,
            )


_CATEGORIES = {
    kind.__name__: kind
    for kind in (
        *(Warning, UserWarning, DeprecationWarning, PendingDeprecationWarning),
        *(SyntaxWarning, RuntimeWarning, FutureWarning, ImportWarning),
        *(UnicodeWarning, BytesWarning, ResourceWarning, EncodingWarning),
    )
}
