"""The functions of a stage, encoded for workers into the file of the stage.

That is done slice by slice, the largest functions first. The first slice is short, so
that workers begin early; later ones keep them busy until the next slice. A stage that
is one small slice, and one job, has no file: the job has all of its functions.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from weakref import WeakKeyDictionary

from parpass.runner.follow.payload import UnsendableError
from parpass.runner.ipc.batch import EncodedFunction, FunctionBatch
from parpass.runner.ipc.function_file import (
    FunctionIndex,
    IndexEntry,
    append_batch,
    function_file_name,
    index_file_name,
    spec_file_name,
)
from parpass.runner.ipc.module_store import FunctionHandle, ModuleStore
from parpass.runner.ipc.shared_dir import FileWriter, StorageError
from parpass.runner.observers import Activity, RunObserver, Span
from parpass.runner.pool.scheduler_events import FunctionsReady

# Of encoding in one slice: short at first, so that workers begin early, and doubled
# each time, up to the second one.
_FIRST_ENCODE_SECONDS = 0.0005
_ENCODE_SECONDS = 0.005

# If costs are known, the first slice has as many seconds of work, so that workers are
# not idle before the second; up to so many bytes, and as many seconds of encoding. If
# that is all, and little work, it is one message to one worker.
_FIRST_WORK_SECONDS = 0.03
_MAX_FIRST_BYTES = 50_000

_MAX_MESSAGE_SECONDS = 0.005  # of work of several functions that are one message
_MAX_SPEC_BYTES = 500_000  # of a stage that is; a program may have many modules

# Of the search for large functions, before the first slice and, if it did not see all
# functions, before the second.
_FIRST_SEARCH_SECONDS = 0.001
_SEARCH_SECONDS = 0.02
_LARGE = 1_000  # nodes
_GIANT = 20_000  # nodes; the size is not counted further


class StageWriter:
    """Encodes the functions of a stage; owns its function file and index.

    Args:
        stage: The number of the stage.
        spec: The encoded payload of the stage.
        to_run: The functions to run. Others are encoded after them, for passes that
            read them.
        pace: The seconds of work for each byte of a function; None if not known.
        keep: Whether the bytes are kept in the store for the next stage.
    """

    def __init__(
        self,
        stage: int,
        spec: bytes,
        held: Mapping[str, FunctionHandle],
        to_run: Sequence[int],
        store: ModuleStore,
        observers: RunObserver,
        *,
        workers: int,
        pace: float | None,
        keep: bool,
    ) -> None:
        self._names, self._held = list(held), held
        self._store, self._observers, self._keep = store, observers, keep
        work_bytes = workers * _FIRST_WORK_SECONDS / pace if pace else 0.0
        self._first_bytes = min(work_bytes, _MAX_FIRST_BYTES)
        self._pace, self._spec = pace, spec
        runs = set(to_run)
        others = [at for at in range(len(held)) if at not in runs]
        self._to_encode, self._to_run = [*to_run, *others], len(to_run)
        self._encoded = self._encoded_bytes = 0
        self._slice_seconds = _FIRST_ENCODE_SECONDS
        self._is_sorted = False
        self._writer: FileWriter | None = None  # until there is more than a message
        self.slots = FunctionIndex.private(len(held))
        # All functions of a stage that is one message, by index; else none.
        self._attached: Mapping[int, EncodedFunction] = {}
        self._sent = bytearray(len(held))  # 1 for those in jobs so far
        self._send_alone = False  # each function, outside of its batch
        self._written: WeakKeyDictionary[FunctionBatch, IndexEntry] = (
            WeakKeyDictionary()
        )
        self._encoder = store.encoder()
        self._stage = stage

    def encode_some(self) -> FunctionsReady | None:
        """Encode a slice of functions; return those of it that are to run.

        Returns:
            None if all functions are encoded. All of them are, even if this process
            reclaims some: a worker may wait for one that its pass reads.

        Raises:
            StorageError: The shared directory is full.
        """
        if self.is_complete:
            return None
        if not self._is_sorted:
            all_seen = self._to_run == 1 or self._move_large_first()
            self._is_sorted = all_seen or self._encoded > 0
        began = time.perf_counter()
        encoded: list[tuple[int, EncodedFunction]] = []
        while self._encoded < len(self._to_encode) and self._continues_slice(began):
            function = self._to_encode[self._encoded]
            one = self._encode_function(self._names[function])
            encoded.append((function, one))
            self._encoded_bytes += one.size
            self._encoded += 1
        self._encoder.close()
        if self._writer is None and self._fits_one_message():
            self._attach(encoded)
        else:
            self._write(encoded)
        first = self._encoded - len(encoded)
        ready = [function for function, _ in encoded[: max(0, self._to_run - first)]]
        self._slice_seconds = min(2 * self._slice_seconds, _ENCODE_SECONDS)
        span = Span(Activity.ENCODING, "", began, time.perf_counter())
        self._observers.span_ended(span)
        if not ready and self._encoded == len(self._to_encode):
            return None
        return FunctionsReady(ready, list(map(self.slots.size, ready)))

    @property
    def is_complete(self) -> bool:
        """Whether all functions are encoded."""
        return self._encoded == len(self._to_encode)

    @property
    def is_one_message(self) -> bool:
        """Whether each job has all of the stage, so that one worker runs it."""
        return bool(self._attached)

    @property
    def attached_spec(self) -> bytes | None:
        """The spec, if it goes in the message of a job."""
        return self._spec if self.is_one_message else None

    def _continues_slice(self, began: float) -> bool:
        spent = time.perf_counter() - began
        is_first = self._encoded_bytes < self._first_bytes
        is_soon = spent < _FIRST_WORK_SECONDS or self._is_light
        return spent < self._slice_seconds or (is_first and is_soon)

    @property
    def _is_light(self) -> bool:
        """Whether what is encoded so far is worth one job only."""
        pace = self._pace
        return pace is not None and self._encoded_bytes * pace <= _MAX_MESSAGE_SECONDS

    def _fits_one_message(self) -> bool:
        is_small = (
            self.is_complete
            and self._encoded_bytes <= _MAX_FIRST_BYTES
            and len(self._spec) <= _MAX_SPEC_BYTES
        )
        return is_small and (self._to_run == 1 or self._is_light)

    def _attach(self, encoded: Sequence[tuple[int, EncodedFunction]]) -> None:
        """Set the functions to be sent in each job, of which there mostly is one."""
        self._attached = dict(encoded)
        for function, (batch, at) in encoded:
            self.slots[function] = IndexEntry(0, batch.length, at, batch.count)

    def _create_files(self) -> FileWriter:
        """Write the spec, and create the function file and the index."""
        folder, stage = self._store.folder, self._stage
        folder.publish(spec_file_name(stage), self._spec)
        self._observers.bytes_sent(len(self._spec))
        self._writer = folder.open_writer(function_file_name(stage))
        self.slots = FunctionIndex.create(
            folder, index_file_name(stage), len(self._held)
        )
        return self._writer

    def _write(self, encoded: Sequence[tuple[int, EncodedFunction]]) -> None:
        """Append batches to the file, each once, and set the entries of functions."""
        writer = self._writer or self._create_files()
        for batch, members in groupby(encoded, lambda pair: pair[1].batch):
            slot = self._written.get(batch)
            if slot is None:
                slot = self._written[batch] = append_batch(writer, batch)
                self._observers.bytes_sent(slot.length)
            for function, (_, at) in members:
                self.slots[function] = slot._replace(at=at)

    def _move_large_first(self) -> bool:
        """Move large functions to the front, as far as they are found in a short time.

        The stage takes at least as long as its largest function from when that begins.

        Returns:
            Whether the sizes of all functions were compared.
        """
        search = _SEARCH_SECONDS if self._encoded else _FIRST_SEARCH_SECONDS
        until = time.perf_counter() + search
        adapter = self._store.adapter
        waiting = self._to_encode[self._encoded : self._to_run]
        large: dict[int, int] = {}
        for index in waiting:
            held = self._held[self._names[index]]
            if held.function is not None:
                nodes = held.size(adapter, _GIANT)
                if nodes >= _LARGE:
                    large[index] = nodes
            if time.perf_counter() > until:
                break
        if large:
            first = sorted(large, key=large.__getitem__, reverse=True)
            others = [index for index in waiting if index not in large]
            self._to_encode[self._encoded : self._to_run] = [*first, *others]
        return time.perf_counter() <= until

    def _encode_function(self, name: str) -> EncodedFunction:
        held = self._held[name]
        try:
            return self._store.encode(held, self._encoder, keep=self._keep)
        except StorageError:
            raise
        except Exception as error:
            raise UnsendableError.of_function(name, held.function, error) from error

    def attached_to(self, functions: Sequence[int]) -> Mapping[int, EncodedFunction]:
        """Return the functions that go in the message of a job, by index."""
        # A function that runs alone must not fail for another of its batch. From the
        # first suspect on, which is one that runs again, that holds for all.
        is_alone = len(functions) == 1
        self._send_alone |= is_alone and self._sent[functions[0]] == 1
        for function in functions:
            self._sent[function] = 1
        if is_alone or self._send_alone:
            return {**self._attached, **self._encode_separately(functions)}
        return self._attached

    def _encode_separately(
        self, functions: Iterable[int]
    ) -> dict[int, EncodedFunction]:
        """Return functions encoded alone, if they share a batch and are loaded."""
        found: dict[int, EncodedFunction] = {}
        for at in functions:
            function = self._held[self._names[at]].function
            if function is not None and self.slots[at].functions > 1:
                found[at] = self._encoder.encode_alone(function)
        return found

    def end(self) -> None:
        if self._writer is None:
            return
        folder = self._store.folder
        self._writer.close()
        folder.discard(spec_file_name(self._stage), function_file_name(self._stage))
        folder.discard(index_file_name(self._stage), are_mapped=True)
