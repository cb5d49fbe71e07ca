"""Where the functions of a stage are, in the file that the coordinator appends them to.

A slot for each function is in a file that both sides map, and is filled as soon as the
function is written down; so a worker that needs another function waits for that one
only, not for all of them.
"""

from __future__ import annotations

import os
import pickle
import time
from array import array
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from parpass.runner.travel.bundles import Bundle, Packed, unpack
from parpass.runner.travel.folder import Folder, Ref, Writer
from parpass.runner.travel.large_values import Values
from parpass.transform import ModuleAdapter

_KEPT = 1 << 20  # bytes of bundles that a worker keeps, to be asked for the rest
_ALONE = -1  # instead of a number in a bundle
_POLL_SECONDS = 0.001  # between two looks whether a function is written down


class Slot(NamedTuple):
    """Where a function is in the file of its stage.

    Attributes:
        offset: Where its bundle begins.
        length: How many bytes the bundle has.
        at: Its number in the bundle, None if it was encoded alone.
        size: How many bytes it has, about.
        values: How many bytes right behind the bundle tell of its large values.
    """

    offset: int
    length: int
    at: int | None
    size: int
    values: int = 0

    @property
    def has_others(self) -> bool:
        """Whether there are other functions in its bundle."""
        return self.size < self.length


class Slots:
    """Where functions are, by index, in memory that may be shared.

    Args:
        memory: An array of ints of 64 bits, an equal part for each field of `Slot`.
    """

    def __init__(self, memory: memoryview) -> None:
        count = len(memory) // len(Slot._fields)
        self._fields = [
            memory[at * count : (at + 1) * count] for at in range(len(Slot._fields))
        ]

    @staticmethod
    def private(count: int) -> Slots:
        """Return slots for so many functions, that no other process sees."""
        return Slots(memoryview(array("q", bytes(_bytes(count)))))

    @staticmethod
    def create(folder: Folder, name: str, count: int) -> Slots:
        """Return slots for so many functions, in a new file.

        Raises:
            StorageError: There is no room for it.
        """
        if not count:
            return Slots.private(0)
        writer = folder.open_writer(name)
        # Written, so that there is room: else it would be missed by who writes to it.
        writer.append(bytes(_bytes(count)))
        return Slots(memoryview(writer.mapped()).cast("q"))

    @staticmethod
    def open(folder: Folder, name: str) -> Slots:
        """Return the slots in a file, which another process fills."""
        return Slots(memoryview(folder.mapped(name)).cast("q"))

    def __setitem__(self, function: int, slot: Slot) -> None:
        offsets, lengths, numbers, sizes, values = self._fields
        offsets[function], sizes[function] = slot.offset, slot.size
        numbers[function] = _ALONE if slot.at is None else slot.at
        values[function] = slot.values
        lengths[function] = slot.length  # last: it tells that the slot is filled

    def __getitem__(self, function: int) -> Slot:
        offset, length, at, size, values = (field[function] for field in self._fields)
        return Slot(offset, length, None if at == _ALONE else at, size, values)

    def __len__(self) -> int:
        return len(self._fields[0])

    def size(self, function: int) -> int:
        """Return how many bytes a function has, about."""
        return self._fields[3][function]

    def is_filled(self, function: int) -> bool:
        """Return whether a function is written down."""
        return self._fields[1][function] > 0

    def awaited(self, function: int) -> Slot:
        """Return where a function is, as soon as it is written down."""
        while not self.is_filled(function):
            time.sleep(_POLL_SECONDS)
        return self[function]

    def function_at(self, offset: int, number: int) -> int:
        """Return the function of that number in the bundle there."""
        offsets, lengths, numbers, _, _ = self._fields
        slots = enumerate(zip(offsets, lengths, numbers, strict=True))
        wanted = offset, number
        return next(at for at, (o, n, m) in slots if n and (o, m) == wanted)


def _bytes(count: int) -> int:
    return 8 * count * len(Slot._fields)


def append_bundle(writer: Writer, bundle: Bundle) -> Slot:
    """Write down a bundle, and where its large values are; return the slot of all."""
    payload = bundle.payload
    values = pickle.dumps(list(map(tuple, bundle.values))) if bundle.values else b""
    offset = writer.append(payload + values if values else payload).offset
    size = len(payload) // len(bundle.ends)
    return Slot(offset, len(payload), None, size, len(values))


class BundlesFile:
    """The file with the functions of a stage, as bytes.

    Args:
        open_file: Opens it; called when a function is first read from it.
    """

    def __init__(self, open_file: Callable[[], int]) -> None:
        self._open = open_file
        self._file: int | None = None
        self._bundles: dict[int, Bundle] = {}  # by offset; the oldest ones first
        self._kept = 0  # bytes

    def packed(self, slot: Slot) -> Packed:
        """Return a function as it is there."""
        bundle = self._bundles.get(slot.offset)
        if bundle is None:
            bundle = self._read(slot)
            if slot.has_others:
                self._keep(slot.offset, bundle)
        return Packed(bundle, slot.at)

    def close(self) -> None:
        """Close it."""
        if self._file is not None:
            os.close(self._file)

    def _read(self, slot: Slot) -> Bundle:
        if self._file is None:
            self._file = self._open()
        content = os.pread(self._file, slot.length + slot.values, slot.offset)
        values: Sequence[Ref] = ()
        if slot.values:
            values = [Ref(*one) for one in pickle.loads(content[slot.length :])]
            content = content[: slot.length]
        # Of a bundle that is sent on it is asked how large its functions are.
        return Bundle(content, (slot.size,), values)

    def _keep(self, offset: int, bundle: Bundle) -> None:
        self._bundles[offset] = bundle
        self._kept += len(bundle.payload)
        while self._kept > _KEPT:
            oldest = self._bundles.pop(next(iter(self._bundles)))
            self._kept -= len(oldest.payload)


class FunctionsFile(BundlesFile):
    """The file with the functions of a stage, as a worker reads it.

    Args:
        open_file: Opens it; called when a function is first read from it.
        adapter: The IR's.
        values: Gives large values.
        mod: What functions are to be members of.
    """

    def __init__(
        self,
        open_file: Callable[[], int],
        adapter: ModuleAdapter,
        values: Values,
        mod: Any,
    ) -> None:
        super().__init__(open_file)
        self._adapter = adapter
        self._values = values
        self._mod = mod

    def function(self, slot: Slot | Packed) -> Any:
        """Return a function; see `unpack`."""
        packed = self.packed(slot) if isinstance(slot, Slot) else slot
        return unpack(packed, self._adapter, self._values, self._mod)
