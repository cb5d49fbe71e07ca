"""The use of a function cache by one run, and what is kept at its end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from parpass.runner.cache.entry_codec import encode_entries
from parpass.runner.cache.function_cache import CacheEntry, FunctionCache
from parpass.runner.cache.stage_keys import StageKeys
from parpass.runner.ipc.function_outcome import Recording
from parpass.runner.ipc.module_store import ModuleStore
from parpass.runner.observers import CacheFigures
from parpass.runner.stage.content_bytes import store_codec_of
from parpass.transform import ModuleAdapter, PassContext, StoreCodec
from parpass.transform.checked_adapter import adapter_name, unchecked
from parpass.transform.gc_pause import in_gc_pauses
from parpass.transform.mutability import FoundMutability


class RunCache:
    """A function cache, as one run uses it.

    Attributes:
        is_frozen: Whether functions cannot be changed, so that objects are kept.
        keys: Makes the keys of stages.
        recalled: How many functions were not run, stage by stage.
        computed: How many were.
        undigested: The functions of an earlier stage whose large constants were not
            digested, as that would not pay, by name, with the bytes of these. To find
            that out takes as long as a light pass, so a later stage does not ask again.
    """

    def __init__(
        self,
        cache: FunctionCache,
        adapter: ModuleAdapter,
        context: PassContext,
        store: ModuleStore,
    ) -> None:
        self.cache, self.adapter, self.store = cache, adapter, store
        self.is_frozen = adapter.mutability is None and not adapter.consumes_functions
        self.recalled = self.computed = 0
        self.undigested: dict[str, int] = {}
        self.keys = StageKeys(adapter, context)
        cache.layers.renew_patience()
        self._unwritten = 0  # results that are in no store, as there is no codec
        self._pending: list[tuple[str, CacheEntry, Callable[[], Any] | None]] = []
        self._codec: tuple[Any, StoreCodec | None] | None = None  # with its module

    @property
    def recording(self) -> Recording:
        """The parts of outcomes that keeping and comparing them takes."""
        return Recording.RESULTS if self.cache.names_passes else Recording.READS

    @property
    def figures(self) -> CacheFigures:
        count = self._unwritten
        why = self._why_unwritten() if count else ""
        uncached = dict(self.keys.uncached)
        return CacheFigures(self.recalled, self.computed, uncached, count, why)

    def _why_unwritten(self) -> str:
        name = adapter_name(unchecked(self.adapter))
        if self.is_frozen:
            return (
                f"to write functions that passes changed, {name} needs a method "
                "store_codec"
            )
        if isinstance(self.adapter.mutability, FoundMutability):
            return (
                f"{name} does not say whether functions are changed in place; let it "
                "set mutability = None if they are not, or keep one runner for several "
                "runs"
            )
        return (
            f"{name} says that functions may be changed in place; keep one runner for "
            "several runs"
        )

    def store_codec(self, base: Any) -> StoreCodec | None:
        if not self.is_frozen:
            return None
        if self._codec is None or self._codec[0] is not base:
            self._codec = base, store_codec_of(self.adapter, base)
        return self._codec[1]

    def keep_later(
        self, key: str, entry: CacheEntry, load: Callable[[], Any] | None = None
    ) -> None:
        """Keep a result at the end of the run, unless that is cancelled.

        Its function is what `load` returns then; None if the entry has it, or has none.
        """
        self._pending.append((key, entry, load))

    def commit(self) -> None:
        """Keep what was put off, at the end of the run."""
        pending, self._pending = self._pending, []
        if not pending:
            return
        with in_gc_pauses(pending) as items:
            results = [
                (key, (entry if load is None else replace(entry, result=load()),))
                for key, entry, load in items
            ]
        self.cache.put(results)
        if not self.cache.layers:
            return
        written: dict[str, bytes] = {}
        codec = self._codec and self._codec[1]
        large_bytes = self.store.optimizations.large_value_bytes
        found = self.cache.get(key for key, _ in results)
        with in_gc_pauses(found.items()) as kept:
            for key, entries in kept:
                encoded = encode_entries(entries, codec, large_bytes)
                if encoded is not None:
                    written[key] = encoded
                elif codec is None:
                    self._unwritten += 1
        self.cache.layers.put(written)
        self.cache.drop_old()
