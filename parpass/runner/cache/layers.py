"""The layers that a function cache has below its memory: a table on disk, and others.

A layer has objects by key, and knows nothing of what they mean. What is not in one is
looked for in the next, and what was found there is put into those above that take
objects. So a service, or a job of CI, has a layer of its own that it writes to, above
one that many read.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from parpass.entry_points import open_cache_layer
from parpass.errors import ArgumentError, EntryPointError, SlowerRunWarning
from parpass.errors.warning import warn


class CacheLayer(Protocol):
    """The protocol of layers: objects by key, for all runs of a cache.

    Several threads may call it at the same time. A layer skips what it cannot do, with
    at most one warning. It returns an object only under the key under which it was
    stored, and checks for damage where it can.

    Attributes:
        is_writable: Whether objects can be stored.
    """

    is_writable: bool

    def get(self, keys: Iterable[str]) -> Mapping[str, bytes]:
        """Return the objects that the layer has, by key."""
        ...

    def put(self, objects: Mapping[str, bytes]) -> None:
        """Store objects, replacing those under the same keys."""
        ...

    def renew_patience(self) -> None:
        """Restart the limit on waiting time, as at the start of a run."""
        ...


def open_layer(where: str | os.PathLike[str] | CacheLayer) -> CacheLayer:
    """Return a layer that is read: a folder, or what a server has at a URL.

    An object that is a layer is returned.

    Raises:
        ArgumentError: It is an address of no kind that is known or installed, or not
            whole.
    """
    if not isinstance(where, (str, os.PathLike)):
        return where
    text = os.fspath(where)
    if "://" in text:
        try:
            return open_cache_layer(text)
        except EntryPointError as error:
            raise ArgumentError(str(error)) from None
    # It loads SQLite.
    from parpass.object_store import ObjectStore

    return ObjectStore(Path(text), only_reads=True)


class Layers:
    """Layers, the upper one first, as one.

    A layer that raises an exception is not used by the rest of the run, with a warning.
    """

    def __init__(self, layers: Sequence[CacheLayer]) -> None:
        self._layers = layers
        self._failed: set[int] = set()
        self._warned: set[int] = set()

    def __bool__(self) -> bool:
        return bool(self._layers)

    def renew_patience(self) -> None:
        self._failed.clear()
        for at in range(len(self._layers)):
            self._use(at, "renew_patience")

    def search(self, missing: Collection[str]) -> Iterator[Mapping[str, bytes]]:
        """Yield what one layer after the other has of what is missing, by key.

        What the caller takes, it removes from `missing`. That is put into the layers
        above that are writable, and the rest is looked for in the layers below.
        """
        for at in range(len(self._layers)):
            if not missing:
                return
            asked = list(missing)
            given: Mapping[str, bytes] = self._use(at, "get", asked) or {}
            found = {key: given[key] for key in asked if key in given}
            yield found
            taken = {key: one for key, one in found.items() if key not in missing}
            self._put(range(at), taken)

    def put(self, objects: Mapping[str, bytes]) -> None:
        """Store objects in all layers that are writable."""
        self._put(range(len(self._layers)), objects)

    def _put(self, numbers: Iterable[int], objects: Mapping[str, bytes]) -> None:
        for at in numbers if objects else ():
            if self._layers[at].is_writable:
                self._use(at, "put", objects)

    def _use(self, at: int, method: str, *args: object) -> Mapping[str, bytes] | None:
        """Call a method of a layer; None if it fails, or has failed in this run."""
        if at in self._failed:
            return None
        layer = self._layers[at]
        try:
            return getattr(layer, method)(*args)
        except Exception as error:  # noqa: BLE001 -- of a program's own layer
            self._failed.add(at)
            if at not in self._warned:
                self._warned.add(at)
                what = f"{method} of {type(layer).__name__}"
                why = f"{type(error).__name__}: {error}"
                warn(
                    f"a cache layer failed and is not used any more: {what}: {why}",
                    SlowerRunWarning,
                )
            return None
