"""The use of a function cache by one run, and what is kept at its end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import replace

from parpass.runner.cache.entry_codec import encode_entries
from parpass.runner.cache.function_cache import CacheEntry, FunctionCache
from parpass.runner.cache.stage_keys import StageKey, StageKeys
from parpass.runner.ipc.messages import Recording
from parpass.runner.ipc.module_store import ModuleStore
from parpass.runner.observers import CacheFigures
from parpass.transform import ModuleAdapter, Pass, PassContext, StoreCodec
from parpass.transform.adapter import FoundMutability
from parpass.transform.budget import budgets_of
from parpass.transform.checked_adapter import adapter_name, unchecked
from parpass.transform.config import CHECK_ANALYSES, CHECK_CONTRACT, OnFailure
from parpass.transform.debug.bisect import OPT_BISECT, OPT_BISECT_LIMIT
from parpass.transform.debug.reproducer import REPRODUCER
from parpass.transform.gc_pause import in_gc_pauses

# Options of runs that look for a fault, in which passes have to run.
_INSPECTING = (
    REPRODUCER,
    CHECK_ANALYSES,
    CHECK_CONTRACT,
    OPT_BISECT,
    OPT_BISECT_LIMIT,
)


def stored_name(key: bytes) -> str:
    """Return the name of a key on disk, where there are kernels, too."""
    return f"function {key.hex()}"


class RunCache:
    """A function cache, as one run uses it.

    Attributes:
        is_frozen: Whether functions cannot be changed, so that objects are kept.
        recalled: How many functions were not run, stage by stage.
        computed: How many were.
        unwritten: How many results are in no store, as the adapter cannot write them.
        large: The bytes of constants of functions that are therefore not looked up.
    """

    def __init__(
        self,
        cache: FunctionCache,
        adapter: ModuleAdapter,
        context: PassContext,
        store: ModuleStore,
    ) -> None:
        self.cache, self.adapter, self.store = cache, adapter, store
        self._context = context
        self.is_frozen = adapter.mutability is None and not adapter.consumes_functions
        self.recalled = self.computed = 0
        self.keys = StageKeys(cache, adapter, context)
        self.unwritten = 0
        self.large: dict[str, int] = {}
        cache.layers.renew_patience()
        self._pending: list[tuple[bytes, CacheEntry, Callable[[], Any] | None]] = []
        self._codec: tuple[Any, StoreCodec | None] | None = None  # with its module

    def first_stage(
        self, steps: Sequence[Pass], base: Any
    ) -> tuple[int, StageKey | None]:
        """Return how many of the first passes form a stage, and its key.

        See `StageKeys.first_stage`.
        """
        config = self._context.config
        if any(config.get(one) for one in _INSPECTING):
            return len(steps), None
        if any(
            one.on_failure is not OnFailure.FAIL for one in budgets_of(steps, config)
        ):
            why = "what fails is skipped, or tried again"
            return len(steps), self.keys.note(steps, why)
        return self.keys.first_stage(steps, base)

    @property
    def recording(self) -> Recording:
        """The parts of outcomes that keeping and comparing them takes."""
        return Recording.RESULTS if self.cache.names_passes else Recording.READS

    @property
    def figures(self) -> CacheFigures:
        why = ""
        if self.unwritten:
            why = self._why_unwritten()
        counts = self.recalled, self.computed
        return CacheFigures(*counts, dict(self.keys.uncached), self.unwritten, why)

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
            try:
                self._codec = base, self.adapter.store_codec(base)
            except Exception:  # noqa: BLE001 -- of an adapter; all stays in memory
                self._codec = base, None
        return self._codec[1]

    def keep_later(
        self, key: bytes, entry: CacheEntry, load: Callable[[], Any] | None = None
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
                    written[stored_name(key)] = encoded
                elif codec is None:
                    self.unwritten += 1
        self.cache.layers.put(written)
        self.cache.drop_old()
