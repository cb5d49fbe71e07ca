"""The payload of a stage: all that a worker needs before the functions.

It is one pickle of several parts, so that objects which parts share stay shared. Each
part is unpickled when those before it are in force: first the state of the process and
of its modules, then the entries that the program registered, then the passes and the
adapter, which may refer to both, and at last the spec of the stage.
"""

from __future__ import annotations

import contextlib
import io
import pickle
from collections.abc import Callable, Generator, Sequence
from typing import Any, Self

import msgspec

from parpass.errors.adapters import format_with_method
from parpass.replicated_tables import (
    Entry,
    declare_all,
    exclude,
    program_entries,
    restore,
    state_of,
    take_missing,
    unload_foreign,
)
from parpass.runner.follow.logging_state import LoggingState
from parpass.runner.follow.module_finder import follow_modules
from parpass.runner.follow.modules import MODULE_TRACKER, ModuleState
from parpass.runner.follow.pickling import KeptEncoding, Pickler, find_unpicklable
from parpass.runner.follow.process_state import ProcessState
from parpass.transform import ModuleAdapter, Pass
from parpass.transform.checked_adapter import unchecked
from parpass.transform.passes import step_names

# The part of a payload that an error names.
_SETTINGS = "what this process is set to, or has imported or registered"

# Errors of loading; a module may exit as it is imported.
_LOAD_ERRORS = (Exception, SystemExit)

_process, _logging, _entries = KeptEncoding(), KeptEncoding(), KeptEncoding()
_last_decoded: dict[str, tuple[bytes, Any]] = {}  # by the name of the part
_active: StagePayload | None = None  # the one whose entries are declared here


class UnsendableError(Exception):
    """Something cannot be pickled for another process; the text says why."""

    @classmethod
    def of_function(cls, name: str, function: Any, error: Exception) -> Self:
        """Return the error that names the part of a function that cannot be."""
        # A deep function can be sent, though not by pickle alone.
        found = find_unpicklable(function, f"function '{name}'")
        if found is None or RecursionError.__name__ in found:
            found = f"function '{name}': {format_with_method(error)}"
        return cls(found)


class UnloadableError(Exception):
    """A worker cannot load something that was sent to it.

    If that is a pass, `step` is its index; if it was registered, `entry` names it.
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
        error: BaseException,
        step: int | None = None,
        entry: str | None = None,
    ) -> Self:
        return cls(what, format_with_method(error), step, entry)

    def __str__(self) -> str:
        return f"{self.what} ({self.why})"


class _Head(msgspec.Struct, frozen=True):
    """The settings, each pickled, since workers compare the bytes with the last ones.

    Attributes:
        steps: The names of the passes.
    """

    process: bytes
    modules: bytes
    logging: bytes
    entries: bytes
    steps: Sequence[str]


@contextlib.contextmanager
def _loading(
    what: str, step: int | None = None, entry: str | None = None
) -> Generator[None]:
    try:
        yield
    except _LOAD_ERRORS as error:
        raise UnloadableError.of(what, error, step, entry) from error


def _load_cached(part: str, encoded: bytes) -> Any:
    """Return a part as an object; the one of the last call, if the bytes are equal."""
    last = _last_decoded.get(part)
    if last is None or last[0] != encoded:
        # From the coordinator.
        last = _last_decoded[part] = encoded, pickle.loads(encoded)
    return last[1]


def encode_payload(steps: Sequence[Pass], adapter: ModuleAdapter, spec: Any) -> bytes:
    """Return a spec as bytes, with its passes, its adapter and all that they need.

    An entry whose state cannot be pickled is excluded, here and in later payloads. It
    must be called in the contextvars context of the run.

    Raises:
        UnsendableError: The state of the process cannot be pickled.
        Exception: A pass, or the spec, cannot be pickled.
    """
    adapter, names = unchecked(adapter), step_names(steps)
    modules = MODULE_TRACKER.state_for([*steps, adapter])
    try:
        process, logging = ProcessState.take(), LoggingState.take()
        settings = (
            _process.encode(process, is_plain=process.is_plain),
            pickle.dumps(modules, protocol=5),
            _logging.encode(logging, is_plain=logging.is_plain),
        )
    except Exception as error:
        raise UnsendableError(f"what this process is set to: {error}") from error
    while True:
        entries = program_entries()
        encoded = io.BytesIO()
        pickler = Pickler(encoded)
        pickler.dump(_Head(*settings, _entries.encode(entries), names))
        # A pickle cannot be undone, so a failure begins a new one without that entry.
        if all(_dump_or_exclude(pickler, one) for one in entries if one.has_state):
            break
    for step in steps:
        pickler.dump(step)
    pickler.dump(adapter)
    pickler.dump(spec)
    return encoded.getvalue()


def _dump_or_exclude(pickler: Pickler, entry: Entry) -> bool:
    """Pickle the state of an entry, or exclude the entry; return which it was."""
    state = state_of(entry)
    try:
        pickler.dump(state)
    except Exception as error:  # noqa: BLE001 -- __reduce__ may raise anything
        why = find_unpicklable(state, str(entry))
        exclude(entry, why or f"{type(error).__name__}: {error}")
        return False
    return True


class StagePayload:
    """A decoded payload in a worker; owns the states that it put in force.

    Args:
        encoded: The result of `encode_payload`.
        follows: Whether this process is a worker, which takes over the state of the
            coordinator; else it is the process of the coordinator.
        other_machine: Whether this machine has its files at other paths than that of
            the coordinator.
        on_step: Called with the index of each pass before it is loaded.

    Raises:
        UnloadableError: A part cannot be loaded in this process.
    """

    def __init__(
        self,
        encoded: bytes,
        *,
        follows: bool,
        other_machine: bool = False,
        on_step: Callable[[int], None] | None = None,
    ) -> None:
        self._follows, self._other_machine = follows, other_machine
        self._states: list[tuple[Entry, Any]] = []
        unpickler = pickle.Unpickler(io.BytesIO(encoded))  # from the coordinator
        head: _Head = unpickler.load()
        with _loading(_SETTINGS):
            self._process: ProcessState = _load_cached("process", head.process)
            self._modules: ModuleState = _load_cached("modules", head.modules)
            if follows:
                self._follow_process()
            # They may refer to classes of modules that are found by then.
            self._logging: LoggingState = _load_cached("logging", head.logging)
            self._entries: Sequence[Entry] = _load_cached("entries", head.entries)
            if follows:
                self._follow_rest()
        for entry in self._entries:
            if entry.has_state:
                with _loading(f"the {entry}", entry=str(entry)):
                    state = unpickler.load()
                self._states.append((entry, state))
                if follows:
                    restore(entry, state)
        for step, name in enumerate(head.steps):
            if on_step is not None:
                on_step(step)
            with _loading(f"pass '{name}'", step):
                unpickler.load()
        with _loading("the adapter"):
            unpickler.load()
        with _loading("the module"):
            self.spec: Any = unpickler.load()

    def activate(self) -> None:
        """Set this process to the state of the coordinator, for a job."""
        if not self._follows:
            return
        if _active is not self:
            with _loading(_SETTINGS):
                self._follow_process()
                self._follow_rest()
            for entry, state in self._states:
                restore(entry, state)
        self._process.apply_per_job()

    def close(self) -> None:
        """Withdraw the entries of the program; call it when the stage is over."""
        global _active
        if _active is self:
            _active = None
            if self._states:
                unload_foreign()
        self._states.clear()

    def _follow_process(self) -> None:
        global _active
        _active = None
        self._process.apply(other_machine=self._other_machine)
        take_missing()  # of a stage that could not be loaded
        follow_modules(self._modules)

    def _follow_rest(self) -> None:
        """Put in force the parts that refer to modules; not the states of entries."""
        global _active
        self._logging.apply()
        declare_all(self._entries)
        _active = self
