"""The functions of a run between stages, as objects or encoded, decoded on demand.

A function that a worker returned stays encoded until a module pass, an instrument or
the caller reads it. The next stage sends the same bytes again, unless the function was
replaced meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from parpass.errors.adapters import function_note
from parpass.errors.core import add_note
from parpass.runner.ipc.batch import EncodedFunction, FunctionEncoder, decode
from parpass.runner.ipc.blobs import CoordinatorBlobStore
from parpass.runner.ipc.function_outcome import AbandonedError
from parpass.runner.ipc.shared_dir import Extent, KeptDirectories, SharedDirectory
from parpass.transform import ModuleAdapter, Source
from parpass.transform.adapter import keep_inline
from parpass.transform.config import Optimizations
from parpass.transform.function_copies import assemble, cuts_modules, take_in
from parpass.transform.gc_pause import gc_paused
from parpass.transform.mutability import FoundMutability, own_copy


class FunctionHandle:
    """One function: as an object, encoded, or both."""

    __slots__ = ("_counted", "encoded", "function")

    def __init__(
        self, function: Any = None, encoded: EncodedFunction | None = None
    ) -> None:
        self.function = function
        self.encoded = encoded
        self._counted = 0, 0  # the size, and up to where it was counted

    def size(self, adapter: ModuleAdapter, limit: int) -> int:
        """Return the size of the function, an object, counted up to `limit` at least.

        The adapter is asked once, or again if it counted up to a lower limit.
        """
        size, counted_to = self._counted
        if counted_to <= size and counted_to < limit:
            size = adapter.size(self.function, limit)
            self._counted = size, limit
        return size


class StoredModule:
    """A module as function handles; it becomes an object when it is first read.

    Attributes:
        base: The module that went into the first stage; all but the functions is its.
        handles: The functions by name, in module order.
        built: The module as an object; None until it is first read.
    """

    def __init__(
        self, base: Any, handles: Mapping[str, FunctionHandle], built: Any = None
    ) -> None:
        self.base = base
        self.handles = handles
        self.built = built


class ModuleStore:
    """Owns the functions of one run, its shared directory and its blob store.

    Args:
        directories: Those that the run takes one of; by default it creates its own.

    Attributes:
        jobs_out: The number of jobs without an answer that a worker has begun.
        has_ended: Whether the run is over, and `check_open` raises.
    """

    def __init__(
        self,
        adapter: ModuleAdapter,
        optimizations: Optimizations | None = None,
        directories: KeptDirectories | None = None,
    ) -> None:
        self.adapter = adapter
        self.optimizations = optimizations or Optimizations()
        self.jobs_out = 0
        self.has_ended = False
        self._kept_directories = directories
        self._known: dict[int, FunctionHandle] = {}  # by identity of the function
        self._folder: SharedDirectory | None = None
        self._blobs: CoordinatorBlobStore | None = None

    @property
    def folder(self) -> SharedDirectory:
        """The shared directory of the run, created on first use.

        Raises:
            AbandonedError: The run is over, and a new one would be left behind.
        """
        if self._folder is None:
            self.check_open()
            kept = self._kept_directories
            self._folder = SharedDirectory() if kept is None else kept.take()
        return self._folder

    @property
    def blobs(self) -> CoordinatorBlobStore:
        """The large values of the run, created on first use."""
        if self._blobs is None:
            large_bytes = self.optimizations.large_value_bytes
            self._blobs = CoordinatorBlobStore(self.folder, large_bytes)
        return self._blobs

    def wrap(self, mod: Any) -> StoredModule:
        """Return a module as function handles; known encoded forms are kept."""
        stored: Mapping[str, FunctionHandle] = {}
        built = None
        if isinstance(mod, StoredModule):
            if mod.built is None:
                return mod
            # It was read, and may have been changed since.
            stored, mod = mod.handles, mod.built
            built = mod
        handles: dict[str, FunctionHandle] = {}
        for name, function in self.adapter.functions(mod).items():
            known = stored.get(name) or self._known.get(id(function))
            if known is None or known.function is not function:
                known = FunctionHandle(function)
            handles[name] = known
        return StoredModule(mod, handles, built)

    def take_in(self, mod: Any) -> Any:
        """Return the module that the run begins with, as `function_copies.take_in`.

        A round trip only encodes; functions are decoded when they are read.
        """
        if not self.adapter.round_trip_between_passes:
            return take_in(self.adapter, mod)
        encoder = FunctionEncoder(self.adapter, keep_inline)
        handles: dict[str, FunctionHandle] = {}
        with gc_paused:
            for name, function in self.adapter.functions(mod).items():
                try:
                    encoded = encoder.encode_alone(function)
                except Exception as error:
                    add_note(error, function_note(name))
                    raise
                handles[name] = FunctionHandle(encoded=encoded)
        return StoredModule(mod, handles)

    def own_functions(self, mod: Any) -> Any:
        """Return a module of new functions, which the caller may change.

        Those that can be changed are encoded; each is an object when it is read.
        """
        adapter, began = self.adapter, time.perf_counter()
        mutability = adapter.mutability
        assert isinstance(mutability, FoundMutability)
        given = self.wrap(mod) if type(mod) is StoredModule else None
        read: Mapping[str, Any]
        if given is None:
            read = adapter.functions(mod)
        else:
            held = given.handles.items()
            read = {
                name: one.function for name, one in held if one.function is not None
            }
        changeable = mutability.changeable(read)
        if not changeable:
            mutability.seconds += time.perf_counter() - began
            return mod
        given = given or self.wrap(mod)
        made: dict[str, FunctionHandle] = {}
        encoder = FunctionEncoder(adapter, keep_inline)
        with gc_paused:
            for name in changeable:
                handle = given.handles[name]
                try:
                    encoded = handle.encoded or encoder.encode_alone(handle.function)
                except Exception:  # noqa: BLE001 -- the run has said so
                    continue
                made[name] = FunctionHandle(encoded=encoded)
        mutability.seconds += time.perf_counter() - began
        return StoredModule(given.base, {**given.handles, **made}) if made else mod

    def module(self, mod: Any) -> Any:
        """Return a module as an object; one that is not stored is returned as it is."""
        if not isinstance(mod, StoredModule):
            return mod
        if mod.built is None:
            mod.built = self._build(mod)
            self._known = {
                id(handle.function): handle
                for handle in mod.handles.values()
                if handle.encoded is not None
            }
        return mod.built

    def _build(self, mod: StoredModule) -> Any:
        """Return a module as an object, with functions that are its members."""
        adapter, handles = self.adapter, mod.handles
        if cuts_modules(adapter):
            return assemble(adapter, mod.base, handles, self._load_member)
        functions = {name: self.load(one, mod.base) for name, one in handles.items()}
        return adapter.replace_functions(mod.base, functions)

    def _load_member(self, handle: FunctionHandle, mod: Any) -> Any:
        if handle.function is None:
            return self.load(handle, mod)
        return own_copy(self.adapter, handle.function, mod)

    def decode_all(self, mod: StoredModule) -> None:
        """Decode all functions and drop their bytes, in a run that retains none."""
        self.module(mod)
        for handle in mod.handles.values():
            handle.encoded = None

    def load(self, handle: FunctionHandle, base: Any) -> Any:
        """Return a function as an object, a member of `base`; decode it if needed.

        Raises:
            AbandonedError: The run is over.
        """
        if handle.function is None:
            self.check_open()  # the shared directory may be gone
            encoded = handle.encoded
            assert encoded is not None
            with gc_paused:
                handle.function = decode(encoded, self.adapter, self._source, base)
        return handle.function

    def _source(self, extent: Extent) -> Source:
        # Without large values the shared directory is not needed, nor created.
        return self.blobs.source(extent)

    def encoder(self) -> FunctionEncoder:
        together = self.optimizations.batches
        return FunctionEncoder(self.adapter, self.blobs.put, together=together)

    def encode(
        self, handle: FunctionHandle, encoder: FunctionEncoder, *, keep: bool = True
    ) -> EncodedFunction:
        """Return a function encoded; with `keep`, the handle keeps that form.

        Raises:
            StorageError: There is no room for a large value.
        """
        if handle.encoded is not None:
            return handle.encoded
        with gc_paused:
            encoded = encoder.encode(handle.function)
        if keep:
            handle.encoded = encoded
        return encoded

    def check_open(self) -> None:
        """Raise `AbandonedError` in a thread that a cancelled run abandoned."""
        if self.has_ended:
            raise AbandonedError

    @property
    def has_directory(self) -> bool:
        """Whether the shared directory was created."""
        return self._folder is not None

    def close(self) -> None:
        """Close the blob store and give up the shared directory."""
        self.has_ended = True
        if self._blobs is not None:
            self._blobs.close()
        folder, self._folder = self._folder, None
        if folder is None:
            return
        kept = self._kept_directories
        # A worker that has not answered may still write to it.
        if kept is None or self.jobs_out:
            folder.remove()
        else:
            kept.give_back(folder)
