"""The use of a function cache by one stage: results are recalled, new ones kept.

A result that is recalled becomes the outcome of its function as if a worker had just
returned it. So all that follows is as without a cache: the merge in serial order,
hooks, errors of other functions, and the check of signatures that were assumed to stay.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from functools import partial

from msgspec.structs import replace

from parpass.errors import CacheMismatchWarning
from parpass.errors.warning import warn
from parpass.runner.cache.function_cache import CacheEntry
from parpass.runner.cache.module_digests import ModuleDigests
from parpass.runner.cache.run_cache import RunCache
from parpass.runner.cache.stage_keys import StageKey, is_program_as_loaded
from parpass.runner.cache.verification import mismatch
from parpass.runner.ipc.batch import EncodedFunction, FunctionBatch
from parpass.runner.ipc.function_outcome import (
    ANY_FUNCTION,
    Effects,
    FunctionOutcome,
    ReadKind,
)
from parpass.runner.ipc.module_store import FunctionHandle, StoredModule
from parpass.runner.stage.outcomes import StageOutcomes
from parpass.transform import Pass
from parpass.transform.adapter import keep_inline, round_trip
from parpass.transform.capture.emission import BufferedLogRecord
from parpass.transform.gc_pause import gc_paused, in_gc_pauses


class StageCache:
    def __init__(
        self,
        run: RunCache,
        key: StageKey,
        steps: Sequence[Pass],
        module: StoredModule,
    ) -> None:
        self._run, self._key, self._steps = run, key, steps
        self._module, self._base = module, module.base
        self._adapter, self._cache = run.adapter, run.cache
        self._digests = ModuleDigests(run, key.content, module)
        self._expected: dict[int, CacheEntry] = {}  # of results that are verified
        self._indices = {name: at for at, name in enumerate(module.handles)}

    def recall(self, outcomes: StageOutcomes) -> None:
        """Add the outcomes of all functions whose results are in the cache."""
        with in_gc_pauses(outcomes.names) as each:
            keys = map(self._digests.key_of, each)
            missing = {key: at for at, key in enumerate(keys) if key is not None}
        for found in self._cache.search(missing, self._digests.decoded):
            with in_gc_pauses(found.items()) as known:
                for key, entries in known:
                    self._run.store.check_open()
                    entry = next(filter(self._is_valid, entries), None)
                    if entry is not None:
                        self._take(missing.pop(key), entry, outcomes)
        self._run.recalled += len(outcomes.recalled)

    def _take(self, at: int, entry: CacheEntry, outcomes: StageOutcomes) -> None:
        """Add the outcome that a result has, unless it is verified first."""
        if self._cache.is_to_be_verified():
            self._expected[at] = entry
            return
        handle = self._handle(entry, self._module.handles[outcomes.names[at]])
        outcomes.put(at, handle, self._outcome(entry))
        outcomes.recalled.add(at)

    def keep(self, outcomes: StageOutcomes) -> None:
        """Keep the outcomes that were computed, at the end of the run.

        Those of functions that failed, or on which an error was reported, are not.
        """
        computed = {
            at: handle
            for at, handle in enumerate(outcomes.handles)
            if handle is not None and at not in outcomes.recalled
        }
        self._run.computed += len(computed)
        if not computed or not (self._key.modules is None or is_program_as_loaded()):
            return
        with in_gc_pauses(computed.items()) as each:
            for at, handle in each:
                if not self._is_of_key(outcomes, at):
                    continue
                name, seconds = outcomes.names[at], outcomes.seconds[at]
                key = self._digests.key_after(name, seconds)
                if key is not None and outcomes.is_complete(at):
                    self._keep(at, key, handle, outcomes)

    def _is_of_key(self, outcomes: StageOutcomes, at: int) -> bool:
        """Return whether an outcome is of the code that the key has, and note if not.

        Records that a factory of the program makes are made anew each time.
        """
        modules = self._key.modules
        if modules is not None:
            reads = outcomes.reads.get(at, ())
            loaded = {name for kind, name in reads if kind is ReadKind.IMPORT}
            if loaded := loaded.difference(modules):
                self._run.keys.note(
                    self._steps,
                    f"the code of a pass in its stage imported '{min(loaded)}' while "
                    "it ran; import that at the top of a module",
                )
                return False
        return not _is_made_anew(outcomes.effects_of(at))

    def _keep(
        self, at: int, key: str, handle: FunctionHandle, outcomes: StageOutcomes
    ) -> None:
        run, base, name = self._run, self._base, outcomes.names[at]
        is_same = handle is self._module.handles[name]
        reads = [
            (one, self._digests.read(one))
            for one in outcomes.reads.get(at, ())
            if one[0] is not ReadKind.IMPORT
        ]
        dependencies = outcomes.dependencies_of(at)
        entry = CacheEntry(
            tuple(reads),
            None,
            self._digests.bound,
            outcomes.effects_of(at),
            None
            if ANY_FUNCTION in dependencies
            else tuple(sorted(outcomes.names[one] for one in dependencies)),
            outcomes.has_changed_signature(at),
        )
        expected = self._expected.get(at)
        if expected is not None:
            self._verify(name, key, expected, entry, None if is_same else handle)
        if is_same:
            run.keep_later(key, entry)
        elif run.is_frozen:
            # At the end it is an object, mostly, since somebody has looked at it.
            run.keep_later(key, entry, partial(run.store.load, handle, base))
        else:  # now: a module pass may change it
            function = run.store.load(handle, base)
            content = self._adapter.encode_function(function, keep_inline)
            run.keep_later(key, replace(entry, result=content))

    def _is_valid(self, entry: CacheEntry) -> bool:
        """Return whether the reads of a result are of this module."""
        for one, was in entry.reads:
            if self._digests.read(one) != was:
                return False
        return not _is_made_anew(entry.effects)

    def _handle(self, entry: CacheEntry, before: FunctionHandle) -> FunctionHandle:
        """Return the function that a result has, as one of this module."""
        result = entry.result
        if result is None:
            return before
        if not self._run.is_frozen:
            encoded = EncodedFunction(FunctionBatch(result, 1), None)
            return FunctionHandle(encoded=encoded)
        if not self._digests.has_all(entry.bound):
            with gc_paused:
                result = round_trip(self._adapter, result, self._base)
        return FunctionHandle(result)

    def _outcome(self, entry: CacheEntry) -> FunctionOutcome:
        index, named = self._indices, entry.dependencies
        return FunctionOutcome(
            None,
            (0.0,) * len(self._steps),
            {at: _as_of_now(one) for at, one in entry.effects.items()},
            None,
            (ANY_FUNCTION,) if named is None else [index[one] for one in named],
            entry.signature_changed,
            [read for read, _ in entry.reads],
        )

    def _verify(
        self,
        name: str,
        key: str,
        expected: CacheEntry,
        computed: CacheEntry,
        handle: FunctionHandle | None,
    ) -> None:
        """Compare a result that was computed again with the one in the cache.

        The function that was computed is that of `handle`; None if it did not change.
        """
        before = expected.result
        now = None if handle is None else self._run.store.load(handle, self._base)
        if not self._run.is_frozen and before is not None:
            before = self._adapter.decode_function(before, (), self._base)
        is_same = before is now
        if before is not None and now is not None:
            known = self._digests.content(before)
            is_same = known is not None and known == self._digests.content(now)
        told = mismatch(self._steps, expected, computed, is_same=is_same)
        if told is not None:
            self._cache.discard(key, expected)
            self._cache.names_passes = True  # from now on
            warn(f"on function '{name}' {told}", CacheMismatchWarning)


def _is_made_anew(effects: Mapping[int, Effects]) -> bool:
    """Return whether there are log records, and a factory of the program is set."""
    if logging.getLogRecordFactory() is logging.LogRecord:
        return False
    emissions = (one for each in effects.values() for one in each.emissions)
    return any(type(one) is BufferedLogRecord for one in emissions)


def _as_of_now(effects: Effects) -> Effects:
    """Return effects whose log records were made now."""
    if not any(type(one) is BufferedLogRecord for one in effects.emissions):
        return effects
    now = time.time()
    emissions = [
        one.at(now) if type(one) is BufferedLogRecord else one
        for one in effects.emissions
    ]
    return replace(effects, emissions=emissions)
