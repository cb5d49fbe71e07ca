"""The keys of functions in a stage: digests of their content, in the cache's terms."""

from __future__ import annotations

import weakref
from typing import Any, NamedTuple

from parpass.runner.cache.function_cache import BoundObjects, CacheEntry, digest_of
from parpass.runner.cache.run_cache import RunCache
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


class FunctionKeys:
    """The keys of the functions of a stage, each computed once.

    Attributes:
        bound: What functions of the module refer to by identity; a weak reference.
        codec: Encodes them for a store on disk; None if the adapter has none.
    """

    def __init__(self, run: RunCache, key: bytes, module: StoredModule) -> None:
        self._run, self._key, self._module = run, key, module
        self._base, self._adapter, self._cache = module.base, run.adapter, run.cache
        self._objects = self._cache.bound(self._adapter.bound_objects(self._base))
        self.bound = weakref.ref(self._objects)
        # What was read from disk may share other parts than what was computed, which
        # the bytes for workers show.
        self.codec = run.store_codec(self._base)
        self._fits: dict[weakref.ref[BoundObjects], bool] = {}
        self._keys: dict[str, bytes | None] = {}
        self._contents: dict[str, bytes | None] = {}

    def of(self, name: str) -> bytes | None:
        """Return the key of a function, computed once; None if it has no digest."""
        if name not in self._keys:
            self._run.store.check_open()
            content = self.content_of(name)
            self._keys[name] = content and digest_of(
                self._key,
                content,
                self._adapter.encode_reference(self._base, name),
                name.encode(errors="surrogatepass"),
            )
        return self._keys[name]

    def content_of(self, name: str) -> bytes | None:
        """Return the digest of a function before the stage; None if it has none."""
        if name not in self._contents:
            self._contents[name] = None
            if name not in self._run.large or self._is_slow(name):
                handle = self._module.handles[name]
                function = self._run.store.load(handle, self._base)
                self._contents[name] = self.content(function, name)
        return self._contents[name]

    def is_worth_digesting(self, name: str, seconds: float) -> bool:
        """Note that passes take long on a function with large constants, if they do.

        It gets a digest then, in later runs and, unless it may be another by now, in
        this one; return that.
        """
        nbytes = self._run.large.get(name)
        if nbytes is None or seconds * _BYTES_PER_SECOND < nbytes:
            return False
        self._cache.slow.add(self._slow_key(name))
        if self._run.is_frozen:
            del self._keys[name], self._contents[name]
        return self._run.is_frozen

    def _is_slow(self, name: str) -> bool:
        return self._slow_key(name) in self._cache.slow

    def _slow_key(self, name: str) -> bytes:
        return digest_of(self._key, name.encode(errors="surrogatepass"))

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
        values: list[bytes] = []
        digested = 0

        def take_out(value: LargeValue) -> int | None:
            nonlocal digested
            if value.nbytes < self._run.store.optimizations.large_value_bytes:
                return None
            if name and digested <= _UNCOUNTED_BYTES and memo.get(value) is None:
                digested += value.nbytes
                if digested > _UNCOUNTED_BYTES:
                    self._check_size(function, name)
            digest = self._value_digest(value)
            if digest not in values:  # however many objects have it
                values.append(digest)
            return values.index(digest)

        encoded = self._encoded(function, name, take_out, values)
        if encoded is None:
            return None
        found = digest_of(encoded, *values)
        if is_frozen:
            memo.put(function, Content(found, self.bound))
        return found

    def _encoded(
        self, function: Any, name: str, take_out: BlobSink, values: list[bytes]
    ) -> bytes | None:
        try:
            # For memory alone the form that workers get is faster.
            if self.codec is not None and self._cache.layers:
                encoded = self.codec.encode(function, take_out)
                if encoded is not None:
                    return encoded
                if name in self._run.large and not self._is_slow(name):
                    return None
                values.clear()
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
        if nbytes > _LARGE_BYTES and not self._is_slow(name):
            self._run.large[name] = nbytes
            raise _TooLargeError

    def _value_digest(self, value: LargeValue) -> bytes:
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
