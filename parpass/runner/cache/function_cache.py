"""The function cache: results of passes on functions, from one run to the next.

A result is found by the content of the function, the passes with their code and
options, the settings, and what the passes read of the rest of the module: a verifying
trace, as A. Mokhov, N. Mitchell and S. Peyton Jones call it ("Build systems a la
carte", 2018). What a pass read is known after it has run, so the results of one key are
a few, each with what it depends on.
"""

from __future__ import annotations

import hashlib
import os
import random
import threading
import weakref
from collections import deque
from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from pathlib import Path
from typing import Any

import msgspec

from parpass.errors import ArgumentError
from parpass.fork_safety import forks_wait
from parpass.runner.cache.layers import CacheLayer, Layers, open_layer
from parpass.runner.ipc.function_outcome import Effects, Read
from parpass.transform.gc_pause import in_gc_pauses
from parpass.transform.identity_memo import IdentityMemo

_MAX_BOUND = 8  # modules whose functions need not be decoded again
_COMMITS = 16  # after one of which the table on disk is bounded
_MAX_VARIANTS = 4  # results of one key, for different states of the rest of the module


class BoundObjects:
    """The objects that functions of a module refer to by identity, by name.

    It is kept for the modules of the last runs. A function whose objects are gone is
    decoded again where it is used.

    Attributes:
        objects: See `ModuleAdapter.bound_objects`.
    """

    __slots__ = ("__weakref__", "objects")

    def __init__(self, objects: Mapping[str, Any]) -> None:
        self.objects = dict(objects)

    def covers(self, other: BoundObjects) -> bool:
        """Return whether this has all objects of another, by identity."""
        mine = self.objects
        return all(mine.get(name) is one for name, one in other.objects.items())


# The collector has neither results nor tuples of them to follow: there are thousands,
# and no function refers to a result.
class CacheEntry(msgspec.Struct, frozen=True, gc=False):
    """The outcome of a stage for one function.

    Attributes:
        reads: What passes read of the rest of the module, with the digest of each.
        result: The function, as an object, or encoded if functions can be changed; None
            if the passes did not change it.
        bound: What it refers to by identity; a weak reference to `BoundObjects`.
        effects: The effects of passes, by index of the pass.
        dependencies: The functions whose signatures were assumed to stay, by name; None
            if they are too many to list.
        signature_changed: Whether the signature of the function changed.
    """

    reads: tuple[tuple[Read, bytes], ...]
    result: Any
    bound: weakref.ref[BoundObjects]
    effects: Mapping[int, Effects] = {}
    dependencies: tuple[str, ...] | None = ()
    signature_changed: bool = False


class FunctionCache:
    """Keeps the results of passes on functions for later runs.

    A cache changes only the time of a run. If a function is the same as before, under
    the same passes, settings and neighbours, its result is taken from the cache, with
    diagnostics, log records, warnings, remarks and counters. Errors are not kept.
    Runners, threads and tasks may share a cache.

    Args:
        folder: The folder that keeps results on disk for other processes and later
            runs: the folder of compiled kernels, or another. None keeps them in memory
            only. A folder that others can write to is not used, with one warning.
        lower: Layers to search for results that the cache does not have: folders of
            other caches (read only), URLs, or objects with the methods of `CacheLayer`,
            such as `HttpLayer` of `parpass.integrations.http`. Results found there are
            copied up, and new results are written to the writable layers.
        max_entries: The maximum number of results in memory; the least recently used
            ones are dropped.
        max_bytes: The maximum size of the table on disk, kernels included; the least
            recently used ones are dropped.
        verify: The share of results, from 0 to 1, that is computed again and compared
            before use. A result that differs is dropped with a `CacheMismatchWarning`,
            and the new one is used. With 1, and once a result has differed, new results
            record a digest after each pass, so that the warning names the pass and not
            every pass of the stage.

    Attributes:
        digests: The digests of functions and large values that still exist.
        names_passes: Whether new results record a digest after each pass.
        slow: Keys of functions with large constants whose passes took so long that
            digesting the constants pays off.
        store: The table on disk; None if there is none.
        layers: That table, and the layers below it.

    Raises:
        ArgumentError: An argument is out of range.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str] | None = None,
        *,
        lower: Sequence[str | os.PathLike[str] | CacheLayer] = (),
        max_entries: int = 1 << 18,
        max_bytes: int = 1 << 30,
        verify: float = 0.0,
    ) -> None:
        if max_entries < 1:
            raise ArgumentError(f"expected max_entries of 1 or more, got {max_entries}")
        if not 0 <= verify <= 1:
            raise ArgumentError(f"expected verify between 0 and 1, got {verify}")
        if isinstance(lower, (str, os.PathLike)):
            raise ArgumentError(f"expected a list of lower layers, got '{lower}'")
        self._verify, self._random = verify, random.Random()
        self.names_passes = verify == 1
        self.digests = IdentityMemo[Any]()
        self.slow: set[bytes] = set()
        self.store = None
        if folder is not None:
            # It loads SQLite.
            from parpass.object_store import ObjectStore

            self.store = ObjectStore(Path(folder), max_bytes)
        upper = () if self.store is None else (self.store,)
        self.layers = Layers([*upper, *map(open_layer, lower)])
        self._max_entries = max_entries
        self._entries: dict[str, tuple[CacheEntry, ...]] = {}  # used last at the end
        self._count = 0
        self._bound: deque[BoundObjects] = deque(maxlen=_MAX_BOUND)
        self._commits = 0
        self._lock = threading.RLock()

    def is_to_be_verified(self) -> bool:
        """Return whether to compute the next result again, and compare."""
        return self._verify > 0 and self._random.random() < self._verify

    def search(
        self,
        missing: Collection[str],
        decode: Callable[[bytes], tuple[CacheEntry, ...]],
    ) -> Iterator[Mapping[str, tuple[CacheEntry, ...]]]:
        """Yield the results of keys: those in memory, then those of each layer.

        Args:
            missing: The keys. The caller removes those whose results it takes; only the
                others are looked for in the next layer.
            decode: Returns the results that a layer has; none if they are damaged.
        """
        yield self.get(missing)
        for found in self.layers.search(missing):
            with in_gc_pauses(found.items()) as each:
                decoded = {key: some for key, one in each if (some := decode(one))}
            self.put(decoded.items())
            yield decoded

    def get(self, keys: Iterable[str]) -> dict[str, tuple[CacheEntry, ...]]:
        """Return the results in memory of the keys that have any, the newest first."""
        found: dict[str, tuple[CacheEntry, ...]] = {}
        with forks_wait(), self._lock:
            for key in keys:
                entries = self._entries.pop(key, None)
                if entries is not None:
                    self._entries[key] = found[key] = entries
        return found

    def put(self, results: Iterable[tuple[str, tuple[CacheEntry, ...]]]) -> None:
        """Add results by keys, and replace results with the same reads.

        The least recently used results are dropped when the cache is full.
        """
        with forks_wait(), self._lock:
            for key, entries in results:
                before = self._entries.pop(key, ())
                same = [one.reads for one in entries]
                others = (one for one in before if one.reads not in same)
                now = self._entries[key] = (*entries, *others)[:_MAX_VARIANTS]
                self._count += len(now) - len(before)
            while self._count > self._max_entries:
                oldest = next(iter(self._entries))
                self._count -= len(self._entries.pop(oldest))

    def discard(self, key: str, entry: CacheEntry) -> None:
        """Drop a result."""
        with forks_wait(), self._lock:
            found = self._entries.get(key, ())
            kept = tuple(one for one in found if one.reads != entry.reads)
            self._count -= len(found) - len(kept)
            self._entries[key] = kept

    def clear(self) -> None:
        """Drop all results."""
        with forks_wait(), self._lock:
            self._entries.clear()
            self._count = 0

    def drop_old(self) -> None:
        """Bound the table on disk, every now and then: it scans the whole table."""
        self._commits += 1
        if self.store is not None and self._commits % _COMMITS == 1:
            self.store.drop_old()

    def bound(self, objects: Mapping[str, Any]) -> BoundObjects:
        """Return the bindings of a module's functions; known ones, if they are equal.

        Args:
            objects: The objects by name, compared by identity.
        """
        new = BoundObjects(objects)
        with forks_wait(), self._lock:
            for one in self._bound:
                if len(one.objects) == len(new.objects) and new.covers(one):
                    return one
            self._bound.append(new)
        return new

    def __len__(self) -> int:
        """Return the number of results."""
        return self._count


_EMPTY = hashlib.blake2b(digest_size=16)  # a copy takes less than a new one


def digest_of(*parts: bytes | memoryview) -> bytes:
    """Return the digest of parts, which tells where each of them ends."""
    return digest_of_all(parts)


def digest_of_all(parts: Iterable[bytes | memoryview]) -> bytes:
    """Return the digest of parts, as `digest_of`, without keeping them."""
    state = _EMPTY.copy()
    for part in parts:
        state.update(len(part).to_bytes(8, "little"))
        state.update(part)
    return state.digest()
