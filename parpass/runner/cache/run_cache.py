"""The use of a function cache by one run: keys of stages, and what is kept at its end.

A key has all that the results of a stage can depend on but the functions: the code and
options of the passes, the settings, what the program registered, the module without its
functions. Where a part cannot be known, the stage runs as without a cache, and the
report says why.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from msgspec.structs import astuple, replace

from parpass.replicated_tables import Entry, program_entries, value_of
from parpass.runner.cache.code_references import UnknownIdentityError
from parpass.runner.cache.entry_codec import encode_entries
from parpass.runner.cache.function_cache import (
    CacheEntry,
    FunctionCache,
    digest_of,
)
from parpass.runner.cache.identity import (
    Identity,
    identity_of,
    identity_of_value,
)
from parpass.runner.cache.library_versions import version_of
from parpass.runner.ipc.messages import Recording
from parpass.runner.ipc.module_store import ModuleStore, in_gc_pauses
from parpass.runner.ipc.process_state import ProcessState
from parpass.runner.ipc.snapshot import Snapshot
from parpass.runner.report.figures import CacheFigures
from parpass.transform import ModuleAdapter, Pass, PassContext, PlacedCodec
from parpass.transform.budget import budgets_of
from parpass.transform.checked_adapter import adapter_name, unchecked
from parpass.transform.codecs import placed_codec
from parpass.transform.config import CHECK_ANALYSES, CHECK_CONTRACT, OnFailure
from parpass.transform.debug.bisect import OPT_BISECT, OPT_BISECT_LIMIT
from parpass.transform.debug.reproducer import REPRODUCER

_FORMAT = 3  # of keys and results
# Tables that passes do not look at, for what they do to a function.
_LOOKED_UP_BY_PROGRAMS = "adapter of", "key of a pass", "programs of", "wrapping of"
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


class StageKey(NamedTuple):
    """The key of a stage.

    Attributes:
        content: The digest of all that results depend on but the functions.
        lines: The digest of the lines of the code of the passes.
        reads_places: See `Identity`.
    """

    content: bytes
    lines: bytes
    reads_places: bool


class RunCache:
    """A function cache, as one run uses it.

    Args:
        cache: The cache.
        adapter: The adapter of the IR.
        context: The settings in force.
        store: The functions of the run.

    Attributes:
        cache: The cache.
        adapter: The adapter of the IR.
        store: The functions of the run.
        is_frozen: Whether functions cannot be changed, so that objects are kept.
        recalled: How many functions were not run, stage by stage.
        computed: How many were.
        uncached: The passes whose results are not kept, and why.
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
        self.uncached: dict[str, str] = {}
        self.unwritten = 0
        self.large: dict[str, int] = {}
        cache.layers.renew_patience()
        self._pending: list[tuple[bytes, CacheEntry, Callable[[], Any] | None]] = []
        self._codec: tuple[Any, PlacedCodec | None] | None = None  # with its module

    def first_stage(
        self, steps: Sequence[Pass], base: Any
    ) -> tuple[int, StageKey | None]:
        """Return how many of the first passes form a stage, and its key.

        Either all of them have an identity, or none has. So a pass of which nothing can
        be kept does not take others along.

        Args:
            steps: The passes.
            base: The module, of which all but the functions is read.

        Returns:
            The number, and the key; None if results are not to be kept.
        """
        count, identity = len(steps), self._identity(steps)
        if identity is None and count > 1:
            is_known = [self._identity([step]) is not None for step in steps]
            others = (at for at, one in enumerate(is_known) if one != is_known[0])
            count = next(others, count)
            if is_known[0]:
                identity = self._identity(steps[:count])
                if identity is None:  # what one names the other has, such as a path
                    count, identity = 1, self._identity(steps[:1])
        return count, self._key(steps[:count], identity, base)

    def _key(
        self, steps: Sequence[Pass], identity: Identity | None, base: Any
    ) -> StageKey | None:
        """Return the key of a stage of passes with this identity."""
        config = self._context.config
        if any(config.get(one) for one in _INSPECTING):
            return None
        if any(
            one.on_failure is not OnFailure.FAIL for one in budgets_of(steps, config)
        ):
            return self._note(steps, "what fails is skipped, or tried again")
        if identity is None:
            return None
        try:
            settings = self._settings()
            context = self.adapter.encode_context(base)
        except UnknownIdentityError as error:
            return self._note(
                steps, f"the settings cannot be told from others: {error}"
            )
        except Exception as error:  # noqa: BLE001 -- of an adapter; the run says more
            return self._note(steps, f"the module cannot be encoded: {error}")
        return StageKey(
            digest_of(settings.content, identity.content, context),
            digest_of(identity.lines, settings.lines),
            identity.reads_places,
        )

    def _identity(self, steps: Sequence[Pass]) -> Identity | None:
        """Return the identity of passes; None, with a note, if they have none."""
        try:
            return identity_of(*steps)
        except UnknownIdentityError as error:
            if len(steps) == 1:
                self._note(steps, str(error))
        return None

    def _note(self, steps: Sequence[Pass], why: str) -> None:
        for step in steps:
            self.uncached[step.info.name] = why

    def _settings(self) -> Identity:
        """Return the identity of what is set and registered."""
        taken = Snapshot.take(self._context)
        entries = [
            (one.table, str(one.key), one.is_removed, self._registered(one))
            for one in program_entries()
        ]
        parts = [identity.lines for *_, identity in entries]
        adapter = self._lenient(type(unchecked(self.adapter)))
        identity = identity_of_value(
            (
                _FORMAT,
                (sys.version, sys.flags.optimize, platform.machine()),
                version_of("parpass"),
                adapter,
                entries,
                _process_settings(),
                *astuple(replace(taken, logging=astuple(taken.logging))),
            )
        )
        lines = b"".join([identity.lines, adapter.lines, *parts])
        return Identity(identity.content, lines, reads_places=False)

    def _registered(self, entry: Entry) -> Identity:
        """Return the identity of what is registered.

        Raises:
            UnknownIdentityError: It has none, and passes may look it up.
        """
        value = value_of(entry)
        made = getattr(value, "__wrapped__", value)  # of a pass by its name
        is_pass = isinstance(made, type) and issubclass(made, Pass)
        if is_pass or entry.table in _LOOKED_UP_BY_PROGRAMS:
            return self._lenient(value)
        try:
            return identity_of_value(value)
        except UnknownIdentityError as error:
            raise error.at(f"the {entry}") from None

    def _lenient(self, value: Any) -> Identity:
        """Return the identity of code that may be impure; or what tells the object."""
        try:
            return identity_of_value(value, allows_impure=True)
        except UnknownIdentityError:
            return Identity(self.cache.token_of(value), b"", reads_places=False)

    @property
    def recording(self) -> Recording:
        """The parts of outcomes that keeping and comparing them takes."""
        return Recording.RESULTS if self.cache.names_passes else Recording.READS

    @property
    def figures(self) -> CacheFigures:
        """The numbers of functions that were recalled and computed."""
        why = ""
        if self.unwritten:
            name = adapter_name(unchecked(self.adapter))
            why = (
                f"to write functions that passes changed, {name} needs a method "
                "portable_codec"
                if self.is_frozen
                else f"{name} says that functions may be changed in place; keep one "
                "runner for several runs"
            )
        counts = self.recalled, self.computed
        return CacheFigures(*counts, dict(self.uncached), self.unwritten, why)

    def portable_codec(self, base: Any) -> PlacedCodec | None:
        """Return the codec of functions of a module; None if there is none."""
        if not self.is_frozen:
            return None
        if self._codec is None or self._codec[0] is not base:
            try:
                codec = self.adapter.portable_codec(base)
                shown = partial(self.adapter.encode_reference, base)
                self._codec = base, placed_codec(codec, shown)
            except Exception:  # noqa: BLE001 -- of an adapter; all stays in memory
                self._codec = base, None
        return self._codec[1]

    def keep_later(
        self, key: bytes, entry: CacheEntry, load: Callable[[], Any] | None = None
    ) -> None:
        """Keep a result at the end of the run, unless that is cancelled.

        Args:
            key: Its key.
            entry: The result.
            load: Returns its function, at the end; None if it has that, or none.
        """
        self._pending.append((key, entry, load))

    def commit(self) -> None:
        """Keep what was put off, at the end of the run."""
        pending, self._pending = self._pending, []
        if not pending:
            return
        results = [
            (key, (entry if load is None else replace(entry, result=load()),))
            for key, entry, load in in_gc_pauses(pending)
        ]
        self.cache.put(results)
        if not self.cache.layers:
            return
        written: dict[str, bytes] = {}
        codec = self._codec and self._codec[1]
        found = self.cache.get(key for key, _ in results)
        for key, entries in in_gc_pauses(found.items()):
            encoded = encode_entries(entries, codec)
            if encoded is not None:
                written[stored_name(key)] = encoded
            elif codec is None:
                self.unwritten += 1
        self.cache.layers.put(written)
        self.cache.drop_old()


def _process_settings() -> list[Any]:
    """Return what is set in this process that passes can see without naming it.

    Of what they have to name, such as the environment, code is searched for.
    """
    state = ProcessState.take()
    return [
        state.recursion_limit,
        state.max_str_digits,
        state.locale,
        state.level_names,
        state.logger_methods,
        state.decimal[:-2],  # without the flags that computing sets
        [str(trap) for trap in state.decimal.traps],
        state.numpy,
    ]
