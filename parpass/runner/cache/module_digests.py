"""Digests of a stage's module: of its functions, for keys, and of what is read."""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterable
from typing import Any

import msgspec

from parpass.runner.cache.entry_codec import decode_entries
from parpass.runner.cache.function_cache import BoundObjects, CacheEntry, digest_of
from parpass.runner.cache.run_cache import RunCache
from parpass.runner.ipc.function_outcome import Read, ReadKind
from parpass.runner.ipc.module_store import StoredModule
from parpass.runner.stage.content_bytes import content_bytes
from parpass.transform import BlobSink, LargeValue

# Digests of constants take a second for some 500 MB. A function with more than so many
# bytes of them, whose digests are not known, has one if passes take five times as long.
_LARGE_BYTES = 1 << 24
_BYTES_PER_SECOND = 100e6


class Content(msgspec.Struct, frozen=True, gc=False):
    """The content of a function: its digest, and what it refers to by identity."""

    digest: bytes
    bound: weakref.ref[BoundObjects]


class ModuleDigests:
    """The digests of a module before a stage, each computed once.

    Attributes:
        bound: What functions of the module refer to by identity; a weak reference.
    """

    def __init__(self, run: RunCache, stage_key: bytes, module: StoredModule) -> None:
        self._run, self._stage_key, self._module = run, stage_key, module
        self._base, self._adapter, self._cache = module.base, run.adapter, run.cache
        # Layers have kernels, too. Results of a stage are neighbours on disk.
        self._place = f"function {stage_key[:4].hex()} "
        self._encode_reference = run.adapter.encode_reference  # wrapped at each look-up
        self._objects = self._cache.bound(self._adapter.bound_objects(self._base))
        self.bound = weakref.ref(self._objects)
        # What was read from disk may share other parts than what was computed, which
        # the bytes for workers show.
        self._codec = run.store_codec(self._base)
        self._fits: dict[weakref.ref[BoundObjects], bool] = {}
        self._functions: dict[str, bytes | None] = {}
        self._reads: dict[Read, bytes] = {}

    # Functions.

    def key_of(self, name: str) -> str | None:
        """Return the key of a function in this stage; None if it has no digest."""
        whole = self._whole(name)
        if whole is None:
            return None
        return (
            self._place + digest_of(self._stage_key, whole, _encoded_name(name)).hex()
        )

    def key_after(self, name: str, seconds: float) -> str | None:
        """Return the key of a function on which the passes have taken so long.

        If it has none for its large constants, and that took longer than their digests,
        it has one from now on, or, if it may be another by now, in later runs.
        """
        nbytes = self._run.undigested.get(name)
        if nbytes is not None and seconds * _BYTES_PER_SECOND >= nbytes:
            self._cache.slow.add(self._slow_key(name))
            if self._run.is_frozen:
                self._functions.pop(name, None)
        return self.key_of(name)

    def _whole(self, name: str) -> bytes | None:
        """Return the digest of a function and of what references show of it.

        It is as before the stage, whenever it is asked for.
        """
        if name not in self._functions:
            self._run.store.check_open()
            function = self._run.store.load(self._module.handles[name], self._base)
            content = self.content(function, name)
            self._functions[name] = content and digest_of(
                content, self._encode_reference(self._base, name)
            )
        return self._functions[name]

    def _is_slow(self, name: str) -> bool:
        return self._slow_key(name) in self._cache.slow

    def _slow_key(self, name: str) -> bytes:
        return digest_of(self._stage_key, _encoded_name(name))

    def decoded(self, encoded: bytes) -> tuple[CacheEntry, ...]:
        """Return results that a layer has, of functions as members of this module."""
        return decode_entries(encoded, self._codec, self.bound, self._note)

    def _note(self, function: Any, digest: bytes) -> None:
        self._cache.digests.put(function, Content(digest, self.bound))

    def content(self, function: Any, name: str = "") -> bytes | None:
        """Return the digest of a function; None if it has none.

        With a name, it has one only where that pays.
        """
        is_frozen = self._run.is_frozen
        known = self._cache.digests.get(function) if is_frozen else None
        if known is not None and self.has_all(known.bound):
            return known.digest
        found = self._computed(function, name)
        if is_frozen and found is not None:
            self._note(function, found)
        return found

    def _computed(self, function: Any, name: str) -> bytes | None:
        if name in self._run.undigested and not self._is_slow(name):
            return None
        large_bytes = self._run.store.optimizations.large_value_bytes
        large: dict[int, LargeValue] = {}
        values: dict[bytes, int] = {}  # however many objects have one

        def note(value: LargeValue) -> int | None:
            if value.nbytes < large_bytes:
                return None
            large[id(value)] = value
            return 0

        def take_out(value: LargeValue) -> int | None:
            if value.nbytes < large_bytes:
                return None
            return values.setdefault(self._value(value), len(values))

        encoded = self._encoded(function, note)
        if large:
            if name and not self._pays(name, large.values()):
                return None
            encoded = self._encoded(function, take_out)
        return None if encoded is None else digest_of(encoded, *values)

    def _pays(self, name: str, values: Iterable[LargeValue]) -> bool:
        """Return whether digests of large constants pay, as far as is known."""
        memo = self._cache.digests
        nbytes = sum(one.nbytes for one in values if memo.get(one) is None)
        if nbytes <= _LARGE_BYTES or self._is_slow(name):
            self._run.undigested.pop(name, None)
            return True
        self._run.undigested[name] = nbytes
        return False

    def _encoded(self, function: Any, take_out: BlobSink) -> bytes | None:
        # For memory alone the form that workers get is faster.
        codec = self._codec if self._cache.layers else None
        return content_bytes(self._adapter, codec, function, self._base, take_out)

    def _value(self, value: LargeValue) -> bytes:
        known = self._cache.digests.get(value)
        if known is None:
            known = digest_of(value.raw())
            self._cache.digests.put(value, known)
        return known

    def has_all(self, bound: weakref.ref[BoundObjects]) -> bool:
        """Return whether this module has all objects that a function is bound to."""
        if bound is self.bound:
            return True
        objects = bound()
        if objects is None:  # a reference to nothing may have no hash
            return False
        known = self._fits.get(bound)
        if known is None:
            known = self._fits[bound] = self._objects.covers(objects)
        return known

    # What passes read.

    def read(self, read: Read) -> bytes:
        """Return the digest of what a pass read of the module."""
        found = self._reads.get(read)
        if found is None:
            found = self._reads[read] = self._read(*read)
        return found

    def _read(self, kind: ReadKind, name: str) -> bytes:
        handles = self._module.handles
        match kind:
            case ReadKind.NAMES:
                return digest_of(*map(_encoded_name, handles))
            case ReadKind.SHELL:
                return digest_of(self._adapter.encode_shell(self._base))
            case ReadKind.EVERYTHING:
                others = (ReadKind.NAMES, ""), (ReadKind.SHELL, "")
                functions = ((ReadKind.FUNCTION, name) for name in handles)
                return digest_of(*map(self.read, others), *map(self.read, functions))
            case _ if name not in handles:
                return b"absent"
            case ReadKind.NAME:
                return digest_of(self._encode_reference(self._base, name))
            case ReadKind.SIGNATURE:
                return self._signature(name)
            case _:
                whole = self._whole(name)
                # What has no digest equals nothing.
                return os.urandom(16) if whole is None else whole

    def _signature(self, name: str) -> bytes:
        handle = self._module.handles[name]
        function = self._run.store.load(handle, self._base)
        signature = self._adapter.signature(function)
        try:
            return digest_of(self._adapter.encode_signature(signature))
        except Exception:  # noqa: BLE001 -- the function has it, too
            return self.read((ReadKind.FUNCTION, name))


def _encoded_name(name: str) -> bytes:
    return name.encode(errors="surrogatepass")
