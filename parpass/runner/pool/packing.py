"""Packing the functions of a stage, little by little, in a good order.

Workers are to begin soon, to have work until they hear of more, and to have the largest
functions first.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from weakref import WeakKeyDictionary

from parpass.runner.pool.schedule_events import FunctionsReady
from parpass.runner.report.account import Journey
from parpass.runner.travel.bundles import Bundle, Packed
from parpass.runner.travel.folder import StorageError
from parpass.runner.travel.messages import functions_name, slots_name, why_unsendable
from parpass.runner.travel.retained import Held, Retainer
from parpass.runner.travel.slots import Slot, Slots, append_bundle

# Of packing between two announcements: little at first, so that workers begin soon, and
# each time twice as much, up to the second one.
_FIRST_PACK_SECONDS = 0.0005
_PACK_SECONDS = 0.005
# Where costs are known, there is work for a while in the first announcement, so that
# workers are not done before they hear of more; if it is no more than so many bytes,
# and packing them takes no longer.
FIRST_WORK_SECONDS = 0.03
_MOST_FIRST_BYTES = 50_000
# For large functions, before the first are packed and, if there was more to look at,
# while these keep the workers busy.
_GLANCE_SECONDS = 0.001
_SEARCH_SECONDS = 0.02
_LARGE = 1_000  # nodes
_GIANT = 20_000  # larger ones are all alike


class Packing:
    """The functions of a stage on their way into its file.

    Args:
        stage: The number of the stage.
        held: The functions, by index.
        to_run: Those that are to be run. The others are packed after them, for passes
            that read them.
        retainer: Keeps functions and folder.
        journey: Where to take down how the time goes.
        work_bytes: How many bytes of functions are work for a while, if that is known.
        keep: Whether bytes are kept for the next stage.

    Attributes:
        slots: Where the functions are.

    Raises:
        StorageError: There is no room.
    """

    def __init__(
        self,
        stage: int,
        held: Mapping[str, Held],
        to_run: Sequence[int],
        retainer: Retainer,
        journey: Journey,
        work_bytes: float,
        *,
        keep: bool,
    ) -> None:
        self._names, self._held = list(held), held
        self._retainer, self._journey, self._keep = retainer, journey, keep
        self._first_bytes = min(work_bytes, _MOST_FIRST_BYTES)
        runs = set(to_run)
        others = [at for at in range(len(held)) if at not in runs]
        self._to_pack, self._to_run = [*to_run, *others], len(to_run)
        self._packed = self._packed_bytes = 0
        self._pack_seconds = _FIRST_PACK_SECONDS
        self._is_sorted = False
        folder = retainer.folder
        self._writer = folder.open_writer(functions_name(stage))
        self.slots = Slots.create(folder, slots_name(stage), len(held))
        self._written: WeakKeyDictionary[Bundle, Slot] = WeakKeyDictionary()
        self._packer = retainer.packer()
        self._stage = stage

    def pack_some(self) -> FunctionsReady | None:
        """Pack functions for a few milliseconds; return those that can be run now.

        None says that all are packed. They are, though the rest may stay with this
        process: a worker may be waiting for one that it reads.
        """
        if not self._is_sorted:
            all_seen = self._put_large_ones_first()
            self._is_sorted = all_seen or self._packed > 0
        began = time.perf_counter()
        packed: list[tuple[int, Packed]] = []
        while self._packed < len(self._to_pack) and self._goes_on_packing(began):
            function = self._to_pack[self._packed]
            one = self._packed_function(self._names[function])
            packed.append((function, one))
            self._packed_bytes += one.size
            self._packed += 1
        self._packer.close()
        self._write_down(packed)
        first = self._packed - len(packed)
        ready = [function for function, _ in packed[: max(0, self._to_run - first)]]
        self._pack_seconds = min(2 * self._pack_seconds, _PACK_SECONDS)
        self._journey.packing += time.perf_counter() - began
        if not ready and self._packed == len(self._to_pack):
            return None
        return FunctionsReady(ready, list(map(self.slots.size, ready)))

    def _goes_on_packing(self, began: float) -> bool:
        """Return whether it is too soon to announce what has been packed since then."""
        spent = time.perf_counter() - began
        is_first = self._packed_bytes < self._first_bytes
        return spent < self._pack_seconds or (is_first and spent < FIRST_WORK_SECONDS)

    def _write_down(self, packed: Sequence[tuple[int, Packed]]) -> None:
        """Write down bundles, each once, and where the functions are."""
        for bundle, members in groupby(packed, lambda pair: pair[1].bundle):
            slot = self._written.get(bundle)
            if slot is None:
                slot = self._written[bundle] = append_bundle(self._writer, bundle)
                self._journey.sent += slot.length
            for function, (_, at) in members:
                self.slots[function] = slot._replace(at=at)

    def _put_large_ones_first(self) -> bool:
        """Have large functions packed before others, as far as they are soon found.

        They should be under way early, since nothing else can make up for the time that
        the largest takes. Return whether all functions were looked at.
        """
        search = _SEARCH_SECONDS if self._packed else _GLANCE_SECONDS
        until = time.perf_counter() + search
        size = self._retainer.adapter.size
        waiting = self._to_pack[self._packed : self._to_run]
        large: dict[int, int] = {}
        for index in waiting:
            function = self._held[self._names[index]].function
            if function is not None and (nodes := size(function, _GIANT)) >= _LARGE:
                large[index] = nodes
            if time.perf_counter() > until:
                break
        if large:
            first = sorted(large, key=large.__getitem__, reverse=True)
            others = [index for index in waiting if index not in large]
            self._to_pack[self._packed : self._to_run] = [*first, *others]
        return time.perf_counter() <= until

    def _packed_function(self, name: str) -> Packed:
        held = self._held[name]
        try:
            return self._retainer.packed(held, self._packer, keep=self._keep)
        except StorageError:
            raise
        except Exception as error:
            raise why_unsendable(name, held.function, error) from error

    def apart(self, functions: Iterable[int]) -> dict[int, Packed]:
        """Return those of these functions that can go without their bundle."""
        found: dict[int, Packed] = {}
        for at in functions:
            function = self._held[self._names[at]].function
            if function is not None and self.slots[at].has_others:
                found[at] = self._packer.pack_alone(function)
        return found

    def end(self) -> None:
        """Close the files, and remove them."""
        folder = self._retainer.folder
        self._writer.close()
        folder.discard(functions_name(self._stage))
        folder.discard(slots_name(self._stage), are_mapped=True)
