"""Functions as bytes: small ones in bundles, what they have in common told once.

Where the adapter encodes functions in runs (`EncodesRuns`), small ones that are packed
one after the other make a bundle. Any of them can be had by decoding those before it,
so a bundle is small. A large function is a bundle of its own; so is each where the
adapter encodes no runs, and one that cannot be encoded in a run.
"""

from __future__ import annotations

import functools
from array import array
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

from parpass.runner.travel.folder import Ref
from parpass.runner.travel.large_values import Values
from parpass.transform import EncodesRuns, LargeValue, ModuleAdapter, Source

_FULL = 16_384  # bytes of a bundle to which nothing is added
_LARGE = 8_192  # bytes of a function that goes alone


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
        return Bundle, (self.payload, tuple(self.ends), tuple(self.values))


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
        self, adapter: ModuleAdapter, values: Values, *, together: bool = True
    ) -> None:
        self._adapter = adapter
        self._values = values
        knows_runs = together and _knows_runs(type(adapter))
        self._runs = cast("EncodesRuns", adapter) if knows_runs else None
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
        if self._encode is not None:
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


@functools.cache  # it takes as long to find out as to pack a function
def _knows_runs(kind: type) -> bool:
    return issubclass(kind, EncodesRuns)


def unpack(packed: Packed, adapter: ModuleAdapter, values: Values, mod: Any) -> Any:
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
        while self._next < at:
            try:
                self._made[self._next] = self._decode()
            except Exception as error:
                raise UnpackingError(self._next, error) from error
            self._next += 1
        if self._next > at:
            return self._made.pop(at)
        self._next += 1
        return self._decode()
