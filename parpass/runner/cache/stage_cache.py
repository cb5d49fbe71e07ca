"""The use of a function cache by one stage: results are recalled, new ones kept.

A result that is recalled becomes the outcome of its function as if a worker had just
returned it. So all that follows is as without a cache: the merge in serial order,
hooks, errors of other functions, and the check of signatures that were assumed to stay.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from msgspec.structs import replace

from parpass.errors import CacheMismatchWarning
from parpass.errors.warning import warn
from parpass.runner.cache.entry_codec import decode_entries
from parpass.runner.cache.function_cache import (
    CacheEntry,
    digest_of,
)
from parpass.runner.cache.function_keys import FunctionKeys
from parpass.runner.cache.run_cache import RunCache, stored_name
from parpass.runner.cache.stage_keys import StageKey, is_program_as_loaded
from parpass.runner.ipc.batch import EncodedFunction, FunctionBatch
from parpass.runner.ipc.messages import (
    ANY_FUNCTION,
    Effects,
    FunctionOutcome,
    Read,
    ReadKind,
    Recording,
)
from parpass.runner.ipc.module_store import FunctionHandle, StoredModule
from parpass.runner.stage.outcomes import StageOutcomes
from parpass.transform import Pass
from parpass.transform.adapter import keep_inline, round_trip
from parpass.transform.capture.emission import BufferedLogRecord, Emission
from parpass.transform.gc_pause import gc_paused, in_gc_pauses

_RESULT, _RECORDED = ReadKind.RESULT, "-1 "


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
        self._keys = FunctionKeys(run, key.content, module)
        self._reads: dict[Read, bytes] = {}
        self._expected: dict[int, CacheEntry] = {}  # of results that are verified
        self._indices = {name: at for at, name in enumerate(module.handles)}

    def recall(self, outcomes: StageOutcomes) -> None:
        """Add the outcomes of all functions whose results are in the cache."""
        found = self._found(outcomes.names)
        for at, name in enumerate(outcomes.names):
            entry = found.get(name)
            if entry is None:
                continue
            if self._cache.is_to_be_verified():
                self._expected[at] = entry
                continue
            handle = self._module.handles[name]
            outcomes.put(at, self._handle(entry, handle), self._outcome(entry))
            outcomes.recalled.add(at)
        self._run.recalled += len(outcomes.recalled)

    def keep(self, outcomes: StageOutcomes) -> None:
        """Keep the outcomes that were computed, at the end of the run.

        Those of functions that failed, or on which an error was reported, are not.
        """
        results = enumerate(outcomes.handles)
        computed = {
            at: one
            for at, one in results
            if one is not None and at not in outcomes.recalled
        }
        self._run.computed += len(computed)
        if not computed:
            return
        is_known = self._key.modules is None or is_program_as_loaded()
        with in_gc_pauses(computed.items()) as each:
            for at, result in each:
                name = outcomes.names[at]
                if not is_known or not self._is_of_key(outcomes, at):
                    continue
                key = self._keys.of(name)
                seconds = outcomes.seconds[at]
                if key is None and self._keys.is_worth_digesting(name, seconds):
                    key = self._keys.of(name)
                if key is not None and outcomes.is_complete(at):
                    self._keep(at, key, result, outcomes)

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
        self, at: int, key: bytes, result: FunctionHandle, outcomes: StageOutcomes
    ) -> None:
        run, base, name = self._run, self._base, outcomes.names[at]
        is_same = result is self._module.handles[name]
        effects = outcomes.effects_of(at)
        reads = [
            (one, self._digest(one))
            for one in outcomes.reads.get(at, ())
            if one[0] is not ReadKind.IMPORT
        ]
        if outcomes.recording >= Recording.RESULTS:
            reads.append(((_RESULT, _RECORDED), b""))
        dependencies = outcomes.dependencies_of(at)
        entry = CacheEntry(
            reads,
            None,
            self._keys.bound,
            effects,
            None
            if ANY_FUNCTION in dependencies
            else sorted(outcomes.names[one] for one in dependencies),
            outcomes.has_changed_signature(at),
        )
        expected = self._expected.get(at)
        if expected is not None:
            self._verify(name, key, expected, entry, None if is_same else result)
        if is_same:
            run.keep_later(key, entry)
        elif run.is_frozen:
            # At the end it is an object, mostly, since somebody has looked at it.
            run.keep_later(key, entry, partial(run.store.load, result, base))
        else:  # now: a module pass may change it
            function = run.store.load(result, base)
            content = self._adapter.encode_function(function, keep_inline)
            run.keep_later(key, replace(entry, result=content))

    def _found(self, names: Sequence[str]) -> Mapping[str, CacheEntry | None]:
        """Return the results of functions, in memory or in a layer below it."""
        with in_gc_pauses(names) as each:
            keys = {name: key for name in each if (key := self._keys.of(name))}
        known = self._cache.get(keys.values())
        found = {
            name: self._valid(name, known.get(key, ())) for name, key in keys.items()
        }
        missing = {stored_name(keys[n]): n for n, one in found.items() if one is None}
        if not (self._cache.layers and missing):
            return found
        read: list[tuple[bytes, Sequence[CacheEntry]]] = []

        def accept(stored: str, encoded: bytes) -> bool:
            """Decode results; return whether one is of this module."""
            self._run.store.check_open()
            name = missing[stored]
            entries = decode_entries(encoded, self._keys.codec, self._keys.bound)
            for one in entries:
                self._keys.note_content(one)
            if entries:
                read.append((keys[name], entries))
                found[name] = self._valid(name, entries)
            return found[name] is not None

        self._cache.layers.fetch(missing, accept)
        self._cache.put(read)
        return found

    def _valid(self, name: str, entries: Sequence[CacheEntry]) -> CacheEntry | None:
        """Return the first result whose reads are of this module."""
        for entry in entries:
            is_valid = all(self._digest(one) == digest for one, digest in entry.reads)
            if is_valid and not _is_made_anew(entry.effects):
                return entry
        return None

    def _handle(self, entry: CacheEntry, before: FunctionHandle) -> FunctionHandle:
        """Return the function that a result has, as one of this module."""
        result = entry.result
        if result is None:
            return before
        if not self._run.is_frozen:
            encoded = EncodedFunction(FunctionBatch(result, 1), None)
            return FunctionHandle(encoded=encoded)
        if not self._keys.has_all(entry.bound):
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
            [read for read, _ in entry.reads if read[0] is not ReadKind.RESULT],
        )

    def _verify(
        self,
        name: str,
        key: bytes,
        expected: CacheEntry,
        computed: CacheEntry,
        result: FunctionHandle | None,
    ) -> None:
        """Compare a result that was computed again with the one in the cache."""
        before, now = expected.result, None
        if result is not None:
            now = self._run.store.load(result, self._base)
        if not self._run.is_frozen and before is not None:
            before = self._adapter.decode_function(before, (), self._base)
        is_same = before is now
        if before is not None and now is not None:
            known = self._keys.content(before)
            is_same = known is not None and known == self._keys.content(now)
        effects = [
            at
            for at in range(len(self._steps))
            if _comparable(expected.effects.get(at))
            != _comparable(computed.effects.get(at))
        ]
        if is_same and not effects:
            return
        self._cache.discard(key, expected)
        self._cache.names_passes = True  # from now on
        suspects = _suspects(len(self._steps), expected, computed, effects)
        passes = [f"'{self._steps[at].info.name}'" for at in suspects]
        what = "diagnostics, log records or the like" if is_same else "another function"
        warn(
            f"on function '{name}' {' or '.join(passes)} gave {what} than the cache "
            "has from an earlier run: the pass depends on something that its key does "
            "not have, such as a file, a clock or state of its own, though it declares "
            "cacheable; the new result is used"
            + ("; results from now on tell these passes apart" if passes[1:] else ""),
            CacheMismatchWarning,
        )

    def _digest(self, read: Read) -> bytes:
        found = self._reads.get(read)
        if found is None:
            found = self._reads[read] = self._read_digest(*read)
        return found

    def _read_digest(self, kind: ReadKind, name: str) -> bytes:
        handles = self._module.handles
        match kind:
            case ReadKind.RESULT:  # of which nothing depends
                return b""
            case ReadKind.NAMES:
                return digest_of(
                    *(one.encode(errors="surrogatepass") for one in handles)
                )
            case ReadKind.SHELL:
                return digest_of(self._adapter.encode_shell(self._base))
            case ReadKind.EVERYTHING:
                parts = [self._whole(one) for one in handles]
                shell = ReadKind.SHELL, ""
                names = ReadKind.NAMES, ""
                return digest_of(self._digest(names), self._digest(shell), *parts)
            case _:
                return self._digest_of_function(kind, name)

    def _digest_of_function(self, kind: ReadKind, name: str) -> bytes:
        handles = self._module.handles
        if name not in handles:
            return b"absent"
        if kind is ReadKind.NAME:
            return digest_of(self._adapter.encode_reference(self._base, name))
        if kind is ReadKind.SIGNATURE:
            function = self._run.store.load(handles[name], self._base)
            signature = self._adapter.signature(function)
            try:
                return digest_of(self._adapter.encode_signature(signature))
            except Exception:  # noqa: BLE001 -- the function has it, too
                pass
        return self._whole(name)

    def _whole(self, name: str) -> bytes:
        """Return the digest of a function and of what references show of it."""
        content = self._keys.content_of(name)
        if content is None:
            return _unknown()
        return digest_of(content, self._adapter.encode_reference(self._base, name))


def _is_made_anew(effects: Mapping[int, Effects]) -> bool:
    """Return whether there are log records, and a factory of the program is set."""
    if logging.getLogRecordFactory() is logging.LogRecord:
        return False
    emissions = (one for each in effects.values() for one in each.emissions)
    return any(type(one) is BufferedLogRecord for one in emissions)


def _unknown() -> bytes:
    """Return a digest that no other thing has: what has none equals nothing."""
    return os.urandom(16)


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


def _comparable(effects: Effects | None) -> Any:
    """Return what two runs of a pass have in common, if they do the same."""
    if effects is None:
        return None
    return (
        list(effects.diagnostics),
        dict(effects.counters or {}),
        list(effects.remarks),
        [(one.function, one.before, one.after) for one in effects.changes],
        [_summary(one) for one in effects.emissions],
    )


def _suspects(
    count: int, expected: CacheEntry, computed: CacheEntry, effects: Sequence[int]
) -> Sequence[int]:
    """Return the passes one of which gave two results of the same, by index.

    The effects of those in `effects` differ.
    """
    was, now = _results(expected), _results(computed)
    if was and now:  # which are of functions that were the same up to there
        differ = [at for at in range(count) if was.get(at) != now.get(at)]
        if differ or effects:
            return [min([*differ, *effects])]
    return range(min(effects, default=count - 1) + 1)


def _results(entry: CacheEntry) -> dict[int, str]:
    """Return digests of what passes made of a function, by index; none if unknown.

    A pass that did not change it has none; that they are known is under -1.
    """
    found = [name.split(" ") for (kind, name), _ in entry.reads if kind is _RESULT]
    return {int(at): digest for at, digest in found}


def _summary(emission: Emission) -> Any:
    if not isinstance(emission, BufferedLogRecord):
        return emission
    plain = emission.plain
    return [plain.get(key) for key in ("name", "levelno", "msg", "args", "lineno")]
