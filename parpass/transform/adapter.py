"""The module adapter: all that the machine needs to know of an IR.

`transform`, `instrument` and `runner` see a module through this protocol only. The
embedded Relay registers its adapter in the same way as a foreign IR does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from parpass.errors import PassInputError
from parpass.runtime.source import Source
from parpass.tables import Table

if TYPE_CHECKING:
    from parpass.transform.passes import Pass


class LargeValue(Protocol):
    """A value in a function whose bytes are many, and seldom looked at: weights."""

    @property
    def nbytes(self) -> int:
        """How many bytes it has."""
        ...

    @property
    def source(self) -> Source | None:
        """What `decode_function` was given for it, None if it was made here."""
        ...

    def raw(self) -> memoryview:
        """Return its bytes."""
        ...


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A part of a module as text.

    Attributes:
        text: The text.
        is_restored: Whether the IR's invariants hold in the part that its text does not
            show, so that the restoring pass has to be run on what is read from it.
    """

    text: str
    is_restored: bool = False


# Takes a large value and returns its index among the sources that the decoder will be
# given; None if it is to be encoded with the rest.
KeepOutside = Callable[[LargeValue], int | None]


class Mutability(Protocol):
    """How the functions of an IR are changed in place.

    A pass that is given a function, changes it and returns it has returned the very
    same object, as one has that did nothing. So each function is looked at before and
    after a pass. Whether passes may do it is up to `to_change`.
    """

    def fingerprint(self, function: Any) -> Any:
        """Return what compares as another (by `!=`) when a function has been changed.

        It should be cheap: a counter of changes, say, or a digest.
        """
        ...

    def to_change(self, function: Any) -> Any:
        """Return what a pass is given: a copy, which it may change and return.

        Or the function itself; a pass that changes that fails with an
        `InputChangedError`.
        """
        ...


class ModuleAdapter(Protocol):
    """What an IR must offer for its modules to go through pipelines.

    Modules are treated as values: no method changes the module it is given. An adapter
    is pickled to the workers, so it is best an object without state.
    """

    @property
    def mutability(self) -> Mutability | None:
        """How functions are changed in place; None where they cannot be, being frozen.

        Other functions than the one that it is given no pass may change.
        """
        ...

    def functions(self, mod: Any) -> Mapping[str, Any]:
        """Return the functions that function passes see, by name, in module order."""
        ...

    def replace_functions(self, mod: Any, changed: Mapping[str, Any]) -> Any:
        """Return a new module like `mod` with some functions replaced."""
        ...

    def read_only(self, mod: Any, functions: Mapping[str, Any], reader: str) -> Any:
        """Return a module like `mod` with these functions, for `reader` to read.

        Writing to it raises `ReadOnlyModuleError`, naming the pass `reader`. The
        mapping must be kept as it is, because it may load functions on demand.
        """
        ...

    def is_module(self, value: Any) -> bool:
        """Return whether a module pass may return this."""
        ...

    def is_function(self, value: Any) -> bool:
        """Return whether a function pass may return this."""
        ...

    def is_skipped(self, function: Any) -> bool:
        """Return whether function passes leave this function alone."""
        ...

    def signature(self, function: Any) -> Any | None:
        """Return what passes on other functions may rely on without reading this one.

        Its type, say; compared by `==`. None if the function does not state it. A pass
        on another function gets it from the mapping that `read_only` was given, by a
        method `signature(name)` (see `parpass.runner.stage.work`), where it has one:
        that spares the runner from making the function as the pass would find it.
        """
        ...

    def keeps_signature(self, before: Any, after: Any) -> bool:
        """Return whether what a pass made of a function has the same signature.

        True where the one before had none. It is asked after each pass that changed
        something, so it should not take as long as to compare two signatures.
        """
        ...

    def size(self, function: Any, limit: int) -> int:
        """Return how large a function is, counted no further than to `limit`.

        In any unit in which a pass takes longer on a larger function: nodes, say.
        """
        ...

    def restoring_pass(self) -> Pass | None:
        """Return the pass that restores the IR's invariants after a function pass."""
        ...

    def faults(self, function: Any, mod: Any) -> Sequence[str]:
        """Return what is wrong with a function of `mod`, each in a phrase.

        That is what breaks the rules of the IR, such as a variable that nothing binds;
        what is merely not known yet, such as a type, is not wrong.
        """
        ...

    def excerpt(self, mod: Any, function: str | None) -> Excerpt:
        """Return a function, and all that it needs of the module, as text.

        With comments from `//` to the end of the line. None is for all of the module.
        """
        ...

    def difference(self, before: Any, after: Any) -> str | None:
        """Return where two functions differ first, None if they are equal."""
        ...

    def encode_function(self, function: Any, keep_outside: KeepOutside) -> bytes:
        """Return a function as bytes; `keep_outside` may take large values."""
        ...

    def decode_function(
        self, encoded: bytes | memoryview, outside: Sequence[Source], mod: Any
    ) -> Any:
        """Return the function from `encode_function`, as a member of `mod`."""
        ...

    def encode_shell(self, mod: Any) -> bytes:
        """Return all of a module but its functions as bytes."""
        ...

    def decode_shell(self, encoded: bytes) -> Any:
        """Return a module without functions from `encode_shell`."""
        ...


@runtime_checkable
class EncodesRuns(Protocol):
    """What an adapter may offer besides, so that small functions travel cheaply.

    Functions are encoded in runs then. The bytes of one may lean on those of all that
    the same encoder gave before: names of classes, types, what functions share. They
    are decoded in the same order, from the first one on, up to any.
    """

    def open_encoder(self, keep_outside: KeepOutside) -> Callable[[Any], bytes | None]:
        """Return what encodes the functions of a run, one after the other.

        It gives None for a function that is better encoded alone, by
        `encode_function`. So is one for which it raises; it is not called again then.
        """
        ...

    def open_decoder(
        self, encoded: bytes | memoryview, outside: Sequence[Source], mod: Any
    ) -> Callable[[], Any]:
        """Return what gives the next function of a run, as a member of `mod`.

        `encoded` has the bytes of its first functions, or of all, one after the other.
        """
        ...


_adapters: Table[type, ModuleAdapter] = Table("adapter of")


def register_adapter(module_type: type, adapter: ModuleAdapter) -> None:
    """Say how modules of a type, and of its subclasses, are handled."""
    _adapters[module_type] = adapter


Unwrap = Callable[[Any], Any]

_wrappings: Table[type, Callable[[Any], tuple[Any, Unwrap]]] = Table("wrapping of")


def register_wrapping(
    part_type: type, wrap: Callable[[Any], tuple[Any, Unwrap]]
) -> None:
    """Say how something less than a module, of a type, goes through passes.

    `wrap` returns a module with it, and what takes it out of the resulting module.
    """
    _wrappings[part_type] = wrap


def wrapped(value: Any) -> tuple[Any, Unwrap]:
    """Return what a pass was called on as a module, and what gives the result back."""
    for kind in type(value).__mro__:
        wrap = _wrappings.find(kind)
        if wrap is not None:
            return wrap(value)
    return value, lambda mod: mod


def adapter_of(mod: Any, pass_name: str) -> ModuleAdapter:
    """Return the adapter for a module that a pass was given.

    Raises:
        PassInputError: No adapter is registered for its type.
    """
    for kind in type(mod).__mro__:
        adapter = _adapters.find(kind)
        if adapter is not None:
            return adapter
    expected = " or ".join(sorted(kind.__name__ for kind in _adapters)) or "a module"
    raise PassInputError(
        f"pass '{pass_name}' expected {expected}, got {type(mod).__name__}",
        pass_name=pass_name,
    )
