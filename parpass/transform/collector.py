"""A rest for the garbage collector while many objects are made that all stay alive."""

from __future__ import annotations

import contextlib
import gc
import threading
from collections.abc import Generator

# Objects made, less those freed, between two collections of the young (by default 700),
# collections of the young between two of the older ones (10), and of those between two
# of all (10). Looking through the young takes some milliseconds then; looking through
# more would be a pause that is felt, of up to a second for ten million objects.
_SELDOM = (20_000, 500, 30)

# Objects that may grow old without a look until all are gone through; where there are
# more than twice as many, half of those that there are.
_BEARABLE = 1_000_000

# What a rest in which no cycles are made is taken to leave of them all the same: ten
# times what an event loop does that runs a stage.
_OWN = 1_000

_resting = 0
_working = 0  # runs that want it to work as ever
_before = (0, 0, 0)
_counts_before = (0, 0, 0)
_is_acyclic = True  # whether all that rests now make is free of cycles
_unseen = 0  # objects that have grown old without a look, and may be in cycles
_bearable: int | None = None  # of these, None as long as nobody knows
_lock = threading.RLock()  # a look may run finalizers, and they anything


@contextlib.contextmanager
def resting_collector(*, is_acyclic: bool = False) -> Generator[None]:
    """Have the garbage collector look for cycles seldom.

    It would go through all objects again and again: of decoding a large module that
    takes three quarters of the time, of a pass a third. The setting is the process's;
    several threads may be in here at once, and the last one restores it.

    Args:
        is_acyclic: Whether nothing that is made in here refers to itself, as where
            functions are decoded whose IR has no cycles. It is freed by its reference
            count, so there is nothing that the collector would have to look for later.
    """
    global _resting, _before, _counts_before, _is_acyclic
    if _working:
        yield
        return
    with _lock:
        if _resting == 0:
            _before = gc.get_threshold()
            _counts_before = gc.get_count()
            _is_acyclic = True
            if 0 < _before[0] < _SELDOM[0]:
                gc.set_threshold(*_SELDOM)
        _resting += 1
        _is_acyclic = _is_acyclic and is_acyclic
    try:
        yield
    finally:
        with _lock:
            _resting -= 1
            if _resting == 0:
                _grow_old()
                gc.set_threshold(*_before)


@contextlib.contextmanager
def working_collector() -> Generator[None]:
    """Have no rest begin, for those who suspect that it is at fault."""
    global _working
    with _lock:
        _working += 1
    try:
        yield
    finally:
        with _lock:
            _working -= 1


def _objects(counts: tuple[int, int, int], thresholds: tuple[int, int, int]) -> int:
    """Return how many objects the collector's counts stand for.

    They count young objects, collections of the young, and those of the older ones.
    """
    young, middle, old = counts
    first, second, _ = thresholds
    return young + first * (middle + second * old)


def _grow_old() -> None:
    """Have the collector take all that is alive for old, without looking at it.

    Otherwise it would go through all that was made during the rest right after it. But
    it begins to count anew then, and cycles that are not freed here never would be, so
    all is gone through when as much has grown old, and may be in cycles, as half of
    what there was. What is made first is taken to stay alive.
    """
    global _unseen, _bearable
    if not gc.isenabled() or gc.get_freeze_count():
        return
    now, thresholds = gc.get_count(), gc.get_threshold()
    made_before = _objects(_counts_before, _before)
    made_inside = max(
        0, _objects(now, thresholds) - _objects(_counts_before, thresholds)
    )
    _unseen += made_before + (min(made_inside, _OWN) if _is_acyclic else made_inside)
    # Beside a run that makes no cycles itself an event loop may go on, so it rather
    # leaves the look to another one.
    patience = 2 if _is_acyclic else 1
    is_due = _unseen > patience * (_BEARABLE if _bearable is None else _bearable)
    if is_due:
        _unseen = 0
        if _bearable is not None:
            gc.collect()
    gc.freeze()
    if is_due:
        _bearable = max(_BEARABLE, gc.get_freeze_count() // 2)
    gc.unfreeze()
