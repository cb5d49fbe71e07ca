"""Where the functions of a stage are, in the file that the coordinator writes."""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from parpass.runner.travel.bundles import Bundle, Packed, unpack
from parpass.runner.travel.folder import Ref
from parpass.runner.travel.large_values import Values
from parpass.transform import ModuleAdapter

_KEPT = 1 << 20  # bytes of bundles that a worker keeps, to be asked for the rest
_ALONE = -1  # instead of a number in a bundle


class Place(NamedTuple):
    """Where a function is in the file of its stage.

    Attributes:
        offset: Where its bundle begins.
        length: How many bytes the bundle has.
        at: Its number in the bundle, None if it was encoded alone.
        size: How many bytes it has, about.
        values: The large values of the bundle.
    """

    offset: int
    length: int
    at: int | None
    size: int
    values: Sequence[Ref]

    @property
    def has_others(self) -> bool:
        """Whether there are other functions in its bundle."""
        return self.size < self.length


class Places:
    """Where functions are, by index.

    Of all functions of a stage they are published when all are packed.

    Args:
        count: How many functions there are.
    """

    def __init__(self, count: int) -> None:
        # An array for each field of `Place`, but for those that few have.
        self._fields = tuple(array("q", bytes(8 * count)) for _ in range(4))
        self._values: dict[int, Sequence[Ref]] = {}

    def __setitem__(self, function: int, place: Place) -> None:
        offsets, lengths, numbers, sizes = self._fields
        offsets[function], lengths[function], at, sizes[function], values = place
        numbers[function] = _ALONE if at is None else at
        if values:
            self._values[function] = values

    def __getitem__(self, function: int) -> Place:
        offset, length, at, size = (field[function] for field in self._fields)
        values = self._values.get(function, ())
        return Place(offset, length, None if at == _ALONE else at, size, values)

    def of(self, functions: Sequence[int]) -> Places:
        """Return where these functions are, by their number among these."""
        part = Places(0)
        for mine, field in zip(part._fields, self._fields, strict=True):
            mine.extend(map(field.__getitem__, functions))
        known = self._values
        part._values = {
            number: known[function]
            for number, function in enumerate(functions if known else ())
            if function in known
        }
        return part

    def size(self, function: int) -> int:
        """Return how many bytes a function has, about."""
        return self._fields[3][function]

    def function_at(self, offset: int, number: int) -> int:
        """Return the function of that number in the bundle there."""
        offsets, _, numbers, _ = self._fields
        places = enumerate(zip(offsets, numbers, strict=True))
        return next(at for at, place in places if place == (offset, number))


class FunctionsFile:
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
        self._open = open_file
        self._file: int | None = None
        self._adapter = adapter
        self._values = values
        self._mod = mod
        self._bundles: dict[int, Bundle] = {}  # by offset; the oldest ones first
        self._kept = 0  # bytes

    def function(self, place: Place | Packed) -> Any:
        """Return a function; see `unpack`."""
        packed = self._packed(place) if isinstance(place, Place) else place
        return unpack(packed, self._adapter, self._values, self._mod)

    def close(self) -> None:
        """Close it."""
        if self._file is not None:
            os.close(self._file)

    def _packed(self, place: Place) -> Packed:
        bundle = self._bundles.get(place.offset)
        if self._file is None:
            self._file = self._open()
        if bundle is None:
            payload = os.pread(self._file, place.length, place.offset)
            bundle = Bundle(payload, values=place.values)
            if place.has_others:
                self._keep(place.offset, bundle)
        return Packed(bundle, place.at)

    def _keep(self, offset: int, bundle: Bundle) -> None:
        self._bundles[offset] = bundle
        self._kept += len(bundle.payload)
        while self._kept > _KEPT:
            oldest = self._bundles.pop(next(iter(self._bundles)))
            self._kept -= len(oldest.payload)
