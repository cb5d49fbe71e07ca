"""Results of a function cache as bytes, for the store, which other processes read.

It is MessagePack by typed schemas: what is read is checked against them, and makes
plain values alone. No pickle is in it. What cannot be written so, such as a warning of
a class of the program, stays in the memory of the process that computed it.
"""

from __future__ import annotations

import builtins
import weakref
from collections.abc import Callable, Sequence
from typing import Any, cast

import msgspec

from parpass.diagnostic import Diagnostic
from parpass.remark import Remark
from parpass.runner.cache.function_cache import (
    BoundObjects,
    CacheEntry,
    digest_of,
)
from parpass.runner.ipc.function_outcome import Effects, ReadKind
from parpass.transform import LargeValue, StoreCodec
from parpass.transform.capture.emission import (
    BufferedLogRecord,
    BufferedRegistryReset,
    BufferedWarning,
    Emission,
    pickle_for_parent,
    unpickle_from_worker,
)

_Plain = str | int | float | bool | None
_Attributes = dict[str, _Plain | list[_Plain]]


class _Emitted(msgspec.Struct, array_like=True):
    """The first fields of all emissions."""

    function: str | None
    diagnostic_count: int
    remark_count: int


class _Record(_Emitted, tag="log"):
    attributes: _Attributes


class _Warning(_Emitted, tag="warning"):
    """A warning of a class of Python's own."""

    pass_name: str | None
    category: str
    text: str
    filename: str
    lineno: int
    module: str | None
    is_decided: bool


class _Reset(_Emitted, tag="reset"):
    pass


_Emission = _Record | _Warning | _Reset


class _Effects(msgspec.Struct, array_like=True):
    diagnostics: list[Diagnostic]
    counters: dict[str, int] | None
    emissions: list[_Emission]
    remarks: list[Remark]
    result: str | None


class _Entry(msgspec.Struct, array_like=True):
    """A result; `content` is the digest of its function in keys of later stages."""

    reads: tuple[tuple[tuple[ReadKind, str], bytes], ...]
    result: bytes | None
    effects: dict[int, _Effects]
    dependencies: tuple[str, ...] | None
    signature_changed: bool
    content: bytes | None


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[_Entry]).decode


class _NotStorableError(Exception):
    """Something cannot be written."""


def encode_entries(
    entries: Sequence[CacheEntry], codec: StoreCodec | None, large_bytes: int
) -> bytes | None:
    """Return results of one key as bytes; None if no one can be written.

    With each there is its digest in keys, unless there is a value of `large_bytes` in
    it: those are digested apart.
    """
    written: list[_Entry] = []
    for entry in entries:
        try:
            written.append(_written(entry, codec, large_bytes))
        except Exception:  # noqa: BLE001 -- such as of a codec; it stays in memory
            continue
    if not written:
        return None
    try:
        return _encode(written)
    except Exception:  # noqa: BLE001 -- a number beyond 64 bits, a lone surrogate
        return None


def decode_entries(
    encoded: bytes,
    codec: StoreCodec | None,
    bound: weakref.ref[BoundObjects],
    note_digest: Callable[[Any, bytes], None],
) -> tuple[CacheEntry, ...]:
    """Return the results that `encode_entries` wrote; none of what is not like that.

    Functions are decoded as members of a module, whose functions refer to `bound`.
    `note_digest` is given each that has a digest, with that.
    """
    try:
        found = _decode(encoded)
        entries = tuple([_read(one, codec, bound) for one in found])
    except Exception:  # noqa: BLE001 -- of a codec, on bytes of another version, say
        return ()
    for one, entry in zip(found, entries, strict=True):
        if one.content is not None:
            note_digest(entry.result, one.content)
    return entries


def _written(entry: CacheEntry, codec: StoreCodec | None, large_bytes: int) -> _Entry:
    result, has_large = entry.result, False

    def note_large(value: LargeValue) -> None:
        nonlocal has_large
        has_large = has_large or value.nbytes >= large_bytes

    if result is not None:
        result = None if codec is None else codec.encode(result, note_large)
        if result is None:
            raise _NotStorableError
    return _Entry(
        entry.reads,
        result,
        {at: _written_effects(one) for at, one in entry.effects.items()},
        entry.dependencies,
        entry.signature_changed,
        None if result is None or has_large else digest_of(result),
    )


def _written_effects(effects: Effects) -> _Effects:
    if effects.changes:
        raise _NotStorableError
    return _Effects(
        list(effects.diagnostics),
        None if effects.counters is None else dict(effects.counters),
        [_written_emission(one) for one in effects.emissions],
        list(effects.remarks),
        effects.result,
    )


def _written_emission(emission: Emission) -> _Emission:
    where = emission.function, emission.diagnostic_count, emission.remark_count
    match emission:
        case BufferedLogRecord(rest=None):
            return _Record(*where, msgspec.convert(emission.plain, _Attributes))
        case BufferedRegistryReset():
            return _Reset(*where)
        case BufferedWarning(message=bytes() as packed):
            message = unpickle_from_worker(packed)  # which our own worker sent
            kind = cast("type[Warning]", type(message))
            is_known = _CATEGORIES.get(kind.__name__) is kind
            if is_known and message.args == (str(message),):
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
            pass
    raise _NotStorableError


def _read(
    entry: _Entry, codec: StoreCodec | None, bound: weakref.ref[BoundObjects]
) -> CacheEntry:
    result: Any = entry.result
    if result is not None:
        if codec is None:
            raise _NotStorableError
        result = codec.decode(result)
    return CacheEntry(
        entry.reads,
        result,
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
        result=effects.result,
    )


def _read_emission(emission: _Emission) -> Emission:
    where = emission.function, emission.diagnostic_count, emission.remark_count
    match emission:
        case _Record(attributes=found):
            plain = {k: tuple(v) if type(v) is list else v for k, v in found.items()}
            return BufferedLogRecord(*where, plain)
        case _Reset():
            return BufferedRegistryReset(*where)
        case _Warning():
            kind = _CATEGORIES[emission.category]
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


_CATEGORIES: dict[str, type[Warning]] = {
    name: kind
    for name, kind in vars(builtins).items()
    if isinstance(kind, type) and issubclass(kind, Warning)
}
