"""Functions as bytes: small ones in bundles, what they have in common told once.

Where the adapter encodes functions in runs (`EncodesRuns`), small ones that are packed
one after the other make a bundle. Any of them can be had by decoding those before it,
so a bundle is small. A large function is a bundle of its own; so is each where the
adapter encodes no runs, and one that cannot be encoded in a run.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

from parpass.runtime.large_values import LargeValues
from parpass.runtime.store import Ref
from parpass.transform import ModuleAdapter
from parpass.transform.adapter import EncodesRuns, LargeValue, Source

_FULL = 16_384  # bytes of a bundle to which nothing is added
_LARGE = 8_192  # bytes of a function that goes alone
_KEPT = 1 << 20  # bytes of bundles that a worker keeps, to be asked for the rest
_ALONE = -1  # instead of a number in a bundle


class Bundle:
    """Some functions as bytes, and their large values by reference.

    Args:
        payload: The bytes, once the bundle is complete.
        ends: Where each function ends in them; of no use to those who only unpack.
        values: The large values.
    """

    __slots__ = ("__weakref__", "ends", "payload", "unpacking", "values")

    def __init__(
        self,
        payload: bytes = b"",
        ends: Sequence[int] = (),
        values: Sequence[Ref] = (),
    ) -> None:
        self.payload = payload
        self.ends = ends
        self.values = values
        self.unpacking: _Unpacking | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return Bundle, (self.payload, self.ends, self.values)


class Packed(NamedTuple):
    """A function as bytes: its number in a bundle, None if it was encoded alone."""

    bundle: Bundle
    at: int | None

    @property
    def size(self) -> int:
        """How many bytes it has, about: those of a bundle are taken to be alike."""
        return self.bundle.ends[-1] // len(self.bundle.ends)


class Packer:
    """Packs functions, of which small ones make bundles.

    Args:
        adapter: The IR's.
        values: Takes large values.
        together: Whether to make bundles of more than one.
    """

    def __init__(
        self, adapter: ModuleAdapter, values: LargeValues, *, together: bool = True
    ) -> None:
        self._adapter = adapter
        self._values = values
        self._runs = adapter if together and isinstance(adapter, EncodesRuns) else None
        self._encode: Callable[[Any], bytes | None] | None = None
        self._bundle = Bundle()
        self._chunks: list[bytes] = []
        self._ends = array("q")
        self._refs: list[Ref] = []

    def pack(self, function: Any) -> Packed:
        """Return a function in a form that travels when `close` has been called."""
        if self._runs is None:
            return self.pack_alone(function)
        if self._encode is None:
            self._begin(self._runs)
            assert self._encode is not None
        refs = len(self._refs)
        try:
            chunk = self._encode(function)
        except Exception:  # noqa: BLE001 -- `encode_function` raises it if it must
            chunk = b""
        if chunk is None:
            return self.pack_alone(function)
        if not chunk or (len(chunk) > _LARGE and self._ends):
            del self._refs[refs:]
            self.close()
            return self.pack_alone(function)
        end = len(chunk) + (self._ends[-1] if self._ends else 0)
        self._chunks.append(chunk)
        self._ends.append(end)
        packed = Packed(self._bundle, len(self._ends) - 1)
        if end > _FULL or len(chunk) > _LARGE:
            self.close()
        return packed

    def pack_alone(self, function: Any) -> Packed:
        """Return a function in a form that travels, by itself."""
        refs: list[Ref] = []
        payload = self._adapter.encode_function(function, self._keeping(refs))
        return Packed(Bundle(payload, (len(payload),), refs), None)

    def close(self) -> None:
        """Have the bundle be complete: what is packed next begins another one."""
        self._bundle.payload = b"".join(self._chunks)
        self._encode = None

    def _begin(self, runs: EncodesRuns) -> None:
        self._chunks, self._ends, self._refs = [], array("q"), []
        self._bundle = Bundle(b"", self._ends, self._refs)
        self._encode = runs.open_encoder(self._keeping(self._refs))

    def _keeping(self, refs: list[Ref]) -> Callable[[LargeValue], int | None]:
        put = self._values.put

        def keep_outside(value: LargeValue) -> int | None:
            ref = put(value)
            if ref is None:
                return None
            refs.append(ref)
            return len(refs) - 1

        return keep_outside


def unpack(
    packed: Packed, adapter: ModuleAdapter, values: LargeValues, mod: Any
) -> Any:
    """Return the function, as a member of `mod`.

    Raises:
        UnpackingError: Another one of its bundle cannot be decoded.
        Exception: The function cannot be.
    """
    bundle, at = packed
    if at is None:
        outside = [values.source(ref) for ref in bundle.values]
        return adapter.decode_function(bundle.payload, outside, mod)
    unpacking = bundle.unpacking
    if unpacking is None or not unpacking.can_give(at, mod):
        outside = [values.source(ref) for ref in bundle.values]
        unpacking = bundle.unpacking = _Unpacking(bundle, adapter, outside, mod)
    try:
        function = unpacking.give(at)
    except BaseException:
        bundle.unpacking = None
        raise
    if unpacking.has_given(len(bundle.ends)):
        bundle.unpacking = None  # it keeps what it gave
    return function


class UnpackingError(Exception):
    """A function cannot be decoded, because another one before it cannot be.

    Attributes:
        at: The number of that one in the bundle.
        error: Why it cannot be decoded.
    """

    def __init__(self, at: int, error: Exception) -> None:
        super().__init__(at, error)
        self.at = at
        self.error = error


class _Unpacking:
    """Gives the functions of a bundle, each once, in any order."""

    def __init__(
        self,
        bundle: Bundle,
        adapter: ModuleAdapter,
        outside: Sequence[Source],
        mod: Any,
    ) -> None:
        runs = cast("EncodesRuns", adapter)
        self._decode = runs.open_decoder(bundle.payload, outside, mod)
        self._mod = mod
        self._made: dict[int, Any] = {}
        self._next = 0

    def can_give(self, at: int, mod: Any) -> bool:
        return mod is self._mod and (at >= self._next or at in self._made)

    def has_given(self, count: int) -> bool:
        return self._next == count and not self._made

    def give(self, at: int) -> Any:
        while self._next <= at:
            try:
                self._made[self._next] = self._decode()
            except Exception as error:
                if self._next == at:
                    raise
                raise UnpackingError(self._next, error) from error
            self._next += 1
        return self._made.pop(at)


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
        file: Its descriptor.
        adapter: The IR's.
        values: Gives large values.
        mod: What functions are to be members of.
    """

    def __init__(
        self, file: int, adapter: ModuleAdapter, values: LargeValues, mod: Any
    ) -> None:
        self._file = file
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
        os.close(self._file)

    def _packed(self, place: Place) -> Packed:
        bundle = self._bundles.get(place.offset)
        if bundle is None:
            payload = os.pread(self._file, place.length, place.offset)
            bundle = Bundle(payload, values=place.values)
            if place.at is not None:
                self._keep(place.offset, bundle)
        return Packed(bundle, place.at)

    def _keep(self, offset: int, bundle: Bundle) -> None:
        self._bundles[offset] = bundle
        self._kept += len(bundle.payload)
        while self._kept > _KEPT:
            oldest = self._bundles.pop(next(iter(self._bundles)))
            self._kept -= len(oldest.payload)
