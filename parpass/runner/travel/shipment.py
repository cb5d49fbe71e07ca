"""What goes to the workers before a stage's functions, and is put in force there.

It is one pickle of several parts, so that what the parts share stays shared, and each
is unpickled when those before it are in force: first what the process is set to and
which modules it has, then what the program registered, then the passes, which may
refer to all of that, and at last the stage's spec.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Sequence
from typing import Any, Self

import msgspec

from parpass.runner.travel.pickling import Pickler, pack_by_value, why_not_picklable
from parpass.runner.travel.reloading import (
    MODULES,
    Code,
    check_sources,
    follow,
    set_values,
)
from parpass.runner.travel.surroundings import Surroundings, pack_surroundings
from parpass.tables import (
    Entry,
    keep_back,
    outline_all,
    program_entries,
    restore,
    state_of,
    withdraw_foreign,
)
from parpass.transform import Pass


class UnsendableError(Exception):
    """Something cannot be sent from one process to another; the text says why."""


class UnloadableError(Exception):
    """Something was sent to a worker and cannot be loaded there.

    Args:
        what: What it is.
        why: What is in the way.
        step: Which of the steps it is, if it is one.
        entry: What was registered, if it is that.
    """

    def __init__(
        self, what: str, why: str, step: int | None = None, entry: str | None = None
    ) -> None:
        super().__init__(what, why, step, entry)
        self.what = what
        self.why = why
        self.step = step
        self.entry = entry

    @classmethod
    def of(
        cls,
        what: str,
        error: Exception,
        step: int | None = None,
        entry: str | None = None,
    ) -> Self:
        """Return the error that says so, because of another one."""
        return cls(what, f"{type(error).__name__}: {error}", step, entry)

    def __str__(self) -> str:
        return f"{self.what} ({self.why})"


class _Head(msgspec.Struct, frozen=True):
    surroundings: bytes
    code: Code
    entries: bytes
    steps: Sequence[str]  # their names


_packed: tuple[Sequence[Entry], bytes] | None = None  # the last that were
_loaded: dict[str, tuple[bytes, Any]] = {}  # likewise, by what it is


def _packed_entries(entries: Sequence[Entry]) -> bytes:
    global _packed
    packed = _packed
    if packed is None or packed[0] is not entries:
        packed = _packed = entries, pack_by_value(entries)
    return packed[1]


def _loaded_again(what: str, packed: bytes) -> Any:
    """Return what was packed: the same object as the last time, if it is the same."""
    known = _loaded.get(what)
    if known is None or known[0] != packed:
        known = _loaded[what] = packed, pickle.loads(packed)  # from our coordinator
    return known[1]


def pack_shipment(steps: Sequence[Pass], spec: Any) -> bytes:
    """Return a spec as bytes, with its passes and what these need.

    It is called in the contextvars context of the run.

    Raises:
        UnsendableError: What the program set the process to cannot be pickled.
        Exception: A pass, or the spec, cannot be pickled.
    """
    names = [step.info.name for step in steps]
    code = MODULES.code_of(steps)
    try:
        surroundings = pack_surroundings()
    except Exception as error:
        raise UnsendableError(f"what this process is set to: {error}") from error
    while True:
        entries = program_entries()
        head = _Head(surroundings, code, _packed_entries(entries), names)
        packed = io.BytesIO()
        # It is plain, and apart: mostly it is what it was, and the same bytes then.
        packed.write(pickle.dumps(pickle.dumps(head, protocol=5), protocol=5))
        pickler = Pickler(packed, protocol=5)
        # What was begun cannot be taken back; without what is stuck, all begins anew.
        if not any(_is_stuck(pickler, one) for one in entries if one.has_state):
            break
    for step in steps:
        pickler.dump(step)
    pickler.dump(spec)
    return packed.getvalue()


def _is_stuck(pickler: Pickler, entry: Entry) -> bool:
    state = state_of(entry)
    try:
        pickler.dump(state)
    except Exception as error:  # noqa: BLE001 -- __reduce__ may raise anything
        why = why_not_picklable(state, str(entry))
        keep_back(entry, why or f"{type(error).__name__}: {error}")
        return True
    return False


class Shipment:
    """What came, in a worker.

    Args:
        packed: What `pack_shipment` returned.
        follows: Whether the process is a worker's own, and follows what came; else it
            is the very process that it came from.
        elsewhere: Whether it is on another machine, where files are in other places.

    Attributes:
        spec: The spec.

    Raises:
        UnloadableError: Something in it cannot be loaded here.
    """

    def __init__(
        self, packed: bytes, *, follows: bool, elsewhere: bool = False
    ) -> None:
        self._follows, self._elsewhere = follows, elsewhere
        self._states: list[tuple[Entry, Any]] = []
        parts = io.BytesIO(packed)
        head: bytes = pickle.load(parts)  # from our own coordinator
        self._head: _Head = _loaded_again("head", head)
        unpickler = pickle.Unpickler(parts)
        try:
            surroundings, entries = self._head.surroundings, self._head.entries
            self._surroundings: Surroundings = _loaded_again("process", surroundings)
            self._entries: Sequence[Entry] = _loaded_again("entries", entries)
        except Exception as error:
            what = "what this process is set to, or has registered"
            raise UnloadableError.of(what, error) from error
        self._put_head_in_force()
        for entry in self._entries:
            if entry.has_state:
                state = _load(unpickler, f"the {entry}", entry=str(entry))
                self._states.append((entry, state))
                if follows:
                    restore(entry, state)
        for step, name in enumerate(self._head.steps):
            self._load_step(unpickler, step, name)
        if follows:
            set_values(self._head.code)
        self.spec: Any = _load(unpickler, "the module")

    def _load_step(self, unpickler: pickle.Unpickler, step: int, name: str) -> None:
        if self._follows:
            try:
                check_sources(self._head.code.sources[step])
            except Exception as error:
                raise UnloadableError.of(f"pass '{name}'", error, step) from error
        _load(unpickler, f"pass '{name}'", step)

    def put_in_force(self) -> None:
        """Have this process as the one that this came from, for a job."""
        if self._follows:
            if _in_force is not self:
                self._put_head_in_force()
                for entry, state in self._states:
                    restore(entry, state)
                set_values(self._head.code)
            self._surroundings.apply_here()

    def close(self) -> None:
        """Let go of what was registered: no worker keeps what is the program's."""
        global _in_force
        if _in_force is self:
            _in_force = None
            if self._states:
                withdraw_foreign()
        self._states.clear()

    def _put_head_in_force(self) -> None:
        global _in_force
        if not self._follows:
            return
        _in_force = None
        head = self._head
        try:
            self._surroundings.apply(elsewhere=self._elsewhere)
            follow(head.code)
            outline_all(self._entries)
        except Exception as error:
            what = "what this process is set to, or has imported"
            raise UnloadableError.of(what, error) from error
        _in_force = self


_in_force: Shipment | None = None


def _load(
    unpickler: pickle.Unpickler,
    what: str,
    step: int | None = None,
    entry: str | None = None,
) -> Any:
    try:
        return unpickler.load()  # from our own coordinator
    except Exception as error:
        raise UnloadableError.of(what, error, step, entry) from error
