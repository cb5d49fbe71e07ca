"""Mutable functions in a run: the copies for passes, and the detection of changes.

`adapter.mutability` is None in a run if functions are values, or boxes that passes
consume. Otherwise it is what the adapter states (`StatedMutability`), or what is found
out of each function (`FoundMutability`). Both give passes a copy, if there is one, and
tell whether the copy has been changed.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from parpass.errors import InputChangedError
from parpass.source import Source
from parpass.transform.frozen_values import is_frozen
from parpass.transform.gc_pause import gc_paused
from parpass.transform.identity_memo import IdentityMemo
from parpass.transform.member_codec import MemberCodec

Body = Callable[[Any], Any]

# So that the walk keeps few parts at a time, and one that can be changed costs its
# neighbours little.
_WALKED_TOGETHER = 64

_FROZEN = object()  # in place of an encoded form: a frozen function needs none


class Mutability(Protocol):
    """The handling of functions that can be changed in place.

    A pass that changes its argument in place returns the same object, and so does a
    pass that changes nothing. Comparing fingerprints before and after each pass tells
    them apart. `to_change` decides whether passes may change functions in place.
    """

    def fingerprint(self, function: Any) -> Any:
        """Return a value that compares unequal (`!=`) after the function has changed.

        It should be cheap to compute: a change counter or a digest, for example.
        """
        ...

    def to_change(self, function: Any) -> Any:
        """Return the argument of a pass: a copy, which it may change and return.

        If you return the function itself, a pass that changes it fails with an
        `InputChangedError`.
        """
        ...


class StatedMutability:
    """The mutability that an adapter states, as a run uses it."""

    seconds = 0.0

    def __init__(self, stated: Mutability) -> None:
        self._stated = stated

    def is_frozen(self, function: Any) -> bool:
        """Return False: nothing is known of a single function."""
        del function
        return False

    def fingerprint(self, function: Any) -> Any:
        return self._stated.fingerprint(function)

    def to_change(self, function: Any, mod: Any = None) -> Any:
        """Return the argument of a pass, or what it may see of another function."""
        del mod
        return self._stated.to_change(function)

    def call(
        self, pass_name: str, name: str, function: Any, mod: Any, body: Body
    ) -> Any:
        """Call the body of a pass on what it may change.

        Returns:
            The result; `function` itself if the body returned its argument unchanged.

        Raises:
            InputChangedError: The body changed what it must not.
        """
        given = self.to_change(function, mod)
        before = self.fingerprint(given)
        result = body(given)
        is_changed = self.fingerprint(given) != before
        if is_changed and given is function:
            raise InputChangedError(
                f"pass '{pass_name}' changed function '{name}' in place, which "
                "functions of this IR must not be; return a new function",
                pass_name=pass_name,
                function=name,
            )
        return function if result is given and not is_changed else result


class CopyingCodec(Protocol):
    """A codec by which a run copies functions in its process."""

    def encode_here(self, function: Any) -> bytes: ...

    def decode_function(
        self, encoded: bytes, sources: Sequence[Source], mod: Any
    ) -> Any: ...


class FoundMutability:
    """The default mutability: each function is checked for parts that can be changed.

    Such a function is copied by the codec, and compared by its encoded form. Passes
    receive copies, so the functions of a run stay unchanged: each is checked and
    encoded once.

    Args:
        codec: The codec of a run's functions; by default they are pickled.

    Attributes:
        seconds: The time of checking, copying and comparing so far.
    """

    def __init__(self, codec: CopyingCodec | None = None) -> None:
        self._codec = MemberCodec() if codec is None else codec
        # Then equal functions without sets have equal bytes.
        self._is_pickled = isinstance(self._codec, MemberCodec)
        # The encoded form of a function, or _FROZEN.
        self._known: IdentityMemo[Any] = IdentityMemo()
        self._expects_change = False  # as of the function before
        self.seconds = 0.0

    def is_frozen(self, function: Any) -> bool:
        known = self._known.get(function)
        if known is None:
            began = time.perf_counter()
            known = self._look_at(function)
            self.seconds += time.perf_counter() - began
        return known is _FROZEN

    def _look_at(self, function: Any) -> Any:
        """Return, and keep, that a function is frozen; None if it is not."""
        if not is_frozen(function):
            return None
        self._known.put(function, _FROZEN)
        return _FROZEN

    def changeable(self, functions: Mapping[str, Any]) -> list[str]:
        """Return the names of the functions that are not frozen.

        One walk over many frozen functions takes a fifth of a walk over each.
        """
        found, unknown = list[str](), list[str]()
        for name, one in functions.items():
            known = self._known.get(one)
            if known is None:
                unknown.append(name)
            elif known is not _FROZEN:
                found.append(name)
        for at in range(0, len(unknown), _WALKED_TOGETHER):
            some = unknown[at : at + _WALKED_TOGETHER]
            if is_frozen(tuple([functions[name] for name in some])):
                for name in some:
                    self._known.put(functions[name], _FROZEN)
            else:
                found += [one for one in some if self._look_at(functions[one]) is None]
        return found

    def encoded(self, function: Any) -> bytes:
        """Return the encoded form of a function that is not frozen, and stays so."""
        encoded = self._known.get(function)
        if encoded is None:
            encoded = self._codec.encode_here(function)
            self._known.put(function, encoded)
        return encoded

    def fingerprint(self, function: Any) -> bytes:
        return self._codec.encode_here(function)

    def to_change(self, function: Any, mod: Any = None) -> Any:
        """Return a copy of a function as a member of `mod`.

        It is the function itself if that is frozen, or cannot be copied; a run warns of
        the latter when it begins.
        """
        return function if self.is_frozen(function) else self._copy(function, mod)

    def _copy(self, function: Any, mod: Any) -> Any:
        began = time.perf_counter()
        try:
            encoded = self.encoded(function)
            with gc_paused:
                return self._codec.decode_function(encoded, (), mod)
        except Exception:  # noqa: BLE001 -- of the codec
            return function
        finally:
            self.seconds += time.perf_counter() - began

    def to_keep(self, function: Any, mod: Any) -> Any:
        """Return a copy that the run keeps unchanged."""
        kept = self.to_change(function, mod)
        if kept is not function:
            self._known.put(kept, self.encoded(function))
        return kept

    def call(
        self, pass_name: str, name: str, function: Any, mod: Any, body: Body
    ) -> Any:
        """Call the body of a pass on a copy of a function that is not frozen.

        Returns:
            The result; `function` itself if the body returned the copy unchanged.
        """
        del pass_name, name
        given = self._copy(function, mod)
        if given is function:
            return body(given)
        began = time.perf_counter()
        encoded = self.encoded(function)
        # Copies of sets may have another order, and then other bytes.
        is_exact = self._is_pickled and not _has_sets(encoded)
        is_exact = is_exact and not self._expects_change  # two copies would be dearer
        before = encoded if is_exact else self.fingerprint(given)
        self.seconds += time.perf_counter() - began
        result = body(given)
        if result is not given:
            return result
        began = time.perf_counter()
        try:
            after = self.fingerprint(given)
            is_same = after == before
            if not is_same and is_exact:
                # A copy may share other strings, and then its bytes differ.
                again = self._codec.decode_function(encoded, (), mod)
                is_same = after == self.fingerprint(again)
            self._expects_change = not is_same
            if is_same:
                return function
            self._known.put(given, after)
            return given
        finally:
            self.seconds += time.perf_counter() - began


def _has_sets(pickled: bytes) -> bool:
    """Return whether a pickle may contain sets; text may look like one."""
    return pickle.EMPTY_SET in pickled or pickle.FROZENSET in pickled


RunMutability = StatedMutability | FoundMutability


class _Adapter(Protocol):
    """A module adapter in its checked form, by what is used of it here."""

    @property
    def mutability(self) -> Any: ...

    @property
    def consumes_functions(self) -> bool: ...


def own_copy(adapter: _Adapter, function: Any, mod: Any) -> Any:
    """Return a copy of a function, as a member of `mod`, if passes may change it."""
    mutability = adapter.mutability
    return function if mutability is None else mutability.to_change(function, mod)


def is_value(adapter: _Adapter, function: Any) -> bool:
    """Return whether a function is surely not changed in place."""
    mutability = adapter.mutability
    if mutability is None:
        return not adapter.consumes_functions
    return mutability.is_frozen(function)


def copying_seconds(adapter: _Adapter) -> float:
    """Return the time that a run has spent on copies so far."""
    mutability = adapter.mutability
    return 0.0 if mutability is None else mutability.seconds
