"""Digests of a stage's module: of its functions, for keys, and of what is read."""

from __future__ import annotations

import os
import weakref
from typing import Any, NamedTuple

from parpass.runner.cache.function_cache import BoundObjects, CacheEntry, digest_of
from parpass.runner.cache.run_cache import RunCache
from parpass.runner.ipc.messages import Read, ReadKind
from parpass.runner.ipc.module_store import StoredModule
from parpass.transform import BlobSink, LargeValue

# Digests of constants take a second for some 500 MB. A function with more than so many
# bytes of them, whose digests are not known, has one if passes take five times as long.
_LARGE_BYTES = 1 << 24
_BYTES_PER_SECOND = 100e6
_UNCOUNTED_BYTES = 1 << 20  # digested before it is counted how many there are


class _TooLargeError(Exception):
    """The digest of a function takes longer than its passes, as far as is known."""


class Content(NamedTuple):
    """The content of a function: its digest, and what it refers to by identity."""

    digest: bytes
    bound: weakref.ref[BoundObjects]


class ModuleDigests:
    """The digests of a module before a stage, each computed once.

    Attributes:
        bound: What functions of the module refer to by identity; a weak reference.
        codec: Encodes them for a store on disk; None if the adapter has none.
    """

    def __init__(self, run: RunCache, stage_key: bytes, module: StoredModule) -> None:
        self._run, self._stage_key, self._module = run, stage_key, module
        self._base, self._adapter, self._cache = module.base, run.adapter, run.cache
        self._objects = self._cache.bound(self._adapter.bound_objects(self._base))
        self.bound = weakref.ref(self._objects)
        # What was read from disk may share other parts than what was computed, which
        # the bytes for workers show.
        self.codec = run.store_codec(self._base)
        self._fits: dict[weakref.ref[BoundObjects], bool] = {}
        self._keys: dict[str, bytes | None] = {}
        self._functions: dict[str, bytes | None] = {}
        self._reads: dict[Read, bytes] = {}

    # Functions.

    def key_of(self, name: str) -> bytes | None:
        """Return the key of a function in this stage; None if it has no digest."""
        if name not in self._keys:
            self._run.store.check_open()
            content = self._function(name)
            self._keys[name] = content and digest_of(
                self._stage_key,
                content,
                self._adapter.encode_reference(self._base, name),
                _encoded_name(name),
            )
        return self._keys[name]

    def key_after(self, name: str, seconds: float) -> bytes | None:
        """Return the key of a function on which the passes have taken so long.

        If it has none for its large constants, and that took longer than their digests,
        it has one from now on, or, if it may be another by now, in later runs.
        """
        nbytes = self._run.large.get(name)
        if nbytes is not None and seconds * _BYTES_PER_SECOND >= nbytes:
            self._cache.slow.add(self._slow_key(name))
            if self._run.is_frozen and self._keys.get(name) is None:
                self._keys.pop(name, None)
                self._functions.pop(name, None)
        return self.key_of(name)

    def _function(self, name: str) -> bytes | None:
        if name not in self._functions:
            self._functions[name] = None
            if not self._is_too_large(name):
                handle = self._module.handles[name]
                function = self._run.store.load(handle, self._base)
                self._functions[name] = self.content(function, name)
        return self._functions[name]

    def _is_too_large(self, name: str) -> bool:
        if name not in self._run.large:
            return False
        return self._slow_key(name) not in self._cache.slow

    def _slow_key(self, name: str) -> bytes:
        return digest_of(self._stage_key, _encoded_name(name))

    def note_content(self, entry: CacheEntry) -> None:
        """Note the digest of a function, if a layer had it with the result."""
        if entry.content is not None:
            content = Content(entry.content, self.bound)
            self._cache.digests.put(entry.result, content)

    def content(self, function: Any, name: str = "") -> bytes | None:
        """Return the digest of a function; None if it has none.

        With a name, it has one only where that pays.
        """
        is_frozen, memo = self._run.is_frozen, self._cache.digests
        known = memo.get(function) if is_frozen else None
        if known is not None and self.has_all(known.bound):
            return known.digest
        values: dict[bytes, int] = {}  # however many objects have one
        digested = 0

        def take_out(value: LargeValue) -> int | None:
            nonlocal digested
            if value.nbytes < self._run.store.optimizations.large_value_bytes:
                return None
            if name and digested <= _UNCOUNTED_BYTES and memo.get(value) is None:
                digested += value.nbytes
                if digested > _UNCOUNTED_BYTES:
                    self._check_size(function, name)
            return values.setdefault(self._value(value), len(values))

        encoded = self._encoded(function, name, take_out)
        if encoded is None:
            return None
        found = digest_of(encoded, *values)
        if is_frozen:
            memo.put(function, Content(found, self.bound))
        return found

    def _encoded(self, function: Any, name: str, take_out: BlobSink) -> bytes | None:
        try:
            # For memory alone the form that workers get is faster.
            if self.codec is not None and self._cache.layers:
                encoded = self.codec.encode(function, take_out)
                if encoded is not None or self._is_too_large(name):
                    return encoded
            return self._adapter.encode_content(function, self._base, take_out)
        except Exception:  # noqa: BLE001 -- what sends it to workers says what is wrong
            return None

    def _check_size(self, function: Any, name: str) -> None:
        """Raise `_TooLargeError` if a function's digest does not pay."""
        nbytes, memo = 0, self._cache.digests

        def count(value: LargeValue) -> int:
            nonlocal nbytes
            nbytes += 0 if memo.get(value) else value.nbytes
            return 0

        self._adapter.encode_content(function, self._base, count)
        if nbytes > _LARGE_BYTES:
            self._run.large[name] = nbytes
            if self._is_too_large(name):
                raise _TooLargeError

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
            case ReadKind.RESULT:  # of which nothing depends
                return b""
            case ReadKind.NAMES:
                return digest_of(*map(_encoded_name, handles))
            case ReadKind.SHELL:
                return digest_of(self._adapter.encode_shell(self._base))
            case ReadKind.EVERYTHING:
                others = (ReadKind.NAMES, ""), (ReadKind.SHELL, "")
                return digest_of(*map(self.read, others), *map(self._whole, handles))
            case _ if name not in handles:
                return b"absent"
            case ReadKind.NAME:
                return digest_of(self._adapter.encode_reference(self._base, name))
            case ReadKind.SIGNATURE:
                return self._signature(name)
            case _:
                return self._whole(name)

    def _signature(self, name: str) -> bytes:
        handle = self._module.handles[name]
        function = self._run.store.load(handle, self._base)
        signature = self._adapter.signature(function)
        try:
            return digest_of(self._adapter.encode_signature(signature))
        except Exception:  # noqa: BLE001 -- the function has it, too
            return self._whole(name)

    def _whole(self, name: str) -> bytes:
        """Return the digest of a function and of what references show of it."""
        content = self._function(name)
        if content is None:
            return os.urandom(16)  # what has no digest equals nothing
        return digest_of(content, self._adapter.encode_reference(self._base, name))


def _encoded_name(name: str) -> bytes:
    return name.encode(errors="surrogatepass")
