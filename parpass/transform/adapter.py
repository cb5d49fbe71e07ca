"""The module adapter: all that the machine needs to know of an IR.

`transform`, `instrument` and `runner` see a module through an adapter only. The
embedded Relay registers its adapter in the same way as a foreign IR does.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from parpass.runtime.source import Source
from parpass.transform import by_value
from parpass.transform.outside import KeepOutside
from parpass.transform.passes import Pass
from parpass.transform.textual import Textual

_ALL = 1 << 62  # a limit that no size reaches


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


class ModuleAdapter(Textual):
    """What an IR offers for its modules to go through pipelines; a base class.

    Five methods are an IR's own: `functions`, `with_functions`, `is_module`,
    `is_function` and `size`. What the others do is right for every IR whose functions
    are values: frozen, compared by `==`, and to be pickled. An IR overrides what it
    knows better.

    Modules are treated as values: no method changes the module it is given. An adapter
    is pickled to the workers, so it is best an object without state.

    What the command needs to read programs is in `Textual`; an adapter that has an
    `ir_name` is known by it.

    Attributes:
        mutability: How functions are changed in place; None where they cannot be, being
            frozen. Other functions than the one that it is given no pass may change.
        are_boxes: Whether functions are boxes, out of which a pass takes what it
            changes, and ask `is_handed_over` if they have to keep a copy.
    """

    mutability: Mutability | None = None
    are_boxes: bool = False

    @abstractmethod
    def functions(self, mod: Any) -> Mapping[str, Any]:
        """Return the functions that passes see one by one, by name, in module order."""
        ...

    @abstractmethod
    def with_functions(self, mod: Any, functions: Mapping[str, Any]) -> Any:
        """Return a new module like `mod`, with these functions in place of its own.

        The mapping must be kept as it is: it may load functions when they are asked
        for, so to copy it would load them all.
        """
        ...

    @abstractmethod
    def is_module(self, value: Any) -> bool:
        """Return whether a module pass may return this."""
        ...

    @abstractmethod
    def is_function(self, value: Any) -> bool:
        """Return whether a function pass may return this."""
        ...

    @abstractmethod
    def size(self, function: Any, limit: int) -> int:
        """Return how large a function is, counted no further than to `limit`.

        In any unit in which a pass takes longer on a larger function: nodes, say.
        """
        ...

    def programs(self, mod: Any) -> Textual:
        """Return what knows the text of a module: this, if modules are of one IR."""
        del mod
        return self

    def module_size(self, mod: Any) -> tuple[int, ...]:
        """Return the number of functions, and the sum of their sizes."""
        sizes = [self.size(one, _ALL) for one in self.functions(mod).values()]
        return len(sizes), sum(sizes)

    def replace_functions(self, mod: Any, changed: Mapping[str, Any]) -> Any:
        """Return a new module like `mod` with some functions replaced."""
        return self.with_functions(mod, {**self.functions(mod), **changed})

    def read_only(self, mod: Any, functions: Mapping[str, Any], reader: str) -> Any:
        """Return a module like `mod` with these functions, for `reader` to read.

        Where modules can be written to, writing to this one is to raise
        `ReadOnlyModuleError`, naming the pass `reader`. See `with_functions` for the
        mapping.
        """
        del reader
        return self.with_functions(mod, functions)

    def kind_of(self, function: Any) -> str | None:
        """Return which passes see a function: those whose `function_kind` is the same.

        That is for modules with functions of several kinds. None if no pass sees it.
        """
        del function
        return ""

    def is_skipped(self, function: Any) -> bool:
        """Return whether function passes leave this function alone."""
        del function
        return False

    def signature(self, function: Any) -> Any | None:
        """Return what passes on other functions may rely on without reading this one.

        Its type, say; compared by `==`. None if the function does not state it. A pass
        on another function gets it from the mapping that `read_only` was given, by a
        method `signature(name)` (see `parpass.runner.stage.work`), where it has one:
        that spares the runner from making the function as the pass would find it.
        """
        del function

    def keeps_signature(self, before: Any, after: Any) -> bool:
        """Return whether what a pass made of a function has the same signature.

        True where the one before had none. It is asked after each pass that changed
        something, so it should not take as long as to compare two signatures. A box
        may be empty then, out of which the pass has taken its function.
        """
        stated = self.signature(before)
        return stated is None or stated == self.signature(after)

    def restoring_pass(self, kind: str) -> Pass | None:
        """Return what restores the IR's invariants after a pass on functions of a kind.

        It sees functions of that kind itself.
        """
        del kind
        return None

    def faults(self, function: Any, mod: Any) -> Sequence[str]:
        """Return what is wrong with a function of `mod`, each in a phrase.

        That is what breaks the rules of the IR, such as a variable that nothing binds;
        what is merely not known yet, such as a type, is not wrong.
        """
        del function, mod
        return ()

    def excerpt(self, mod: Any, function: str | None) -> Excerpt:
        """Return a function, and all that it needs of the module, as text.

        None is for all of the module, which is what is returned where nothing is known
        of needs.
        """
        del function
        return Excerpt(self.astext(mod))

    def difference(self, before: Any, after: Any) -> str | None:
        """Return where two functions differ first, None if they are equal."""
        return None if before == after else f"{before!r} and {after!r}"

    def encode_function(self, function: Any, keep_outside: KeepOutside) -> bytes:
        """Return a function as bytes; `keep_outside` may take large values."""
        del keep_outside
        return by_value.pack(function)

    def decode_function(
        self, encoded: bytes | memoryview, outside: Sequence[Source], mod: Any
    ) -> Any:
        """Return the function from `encode_function`, as a member of `mod`."""
        del outside, mod
        return by_value.unpack(encoded)

    def worker_environment(self, mod: Any) -> Any:
        """Return what passes on functions of `mod` need, and takes long to make.

        It is called in each worker of a stage before the first of them, on a module
        without functions. Its time is no pass's, and counts for no budget. What it
        returns is kept for as long as the stage; for longer it may keep it itself,
        where passes look for it.
        """
        del mod

    def discard(self, function: Any) -> None:
        """Let go of a function of a worker's own, which nobody looks at any more.

        What its parts know of each other in circles may be undone here, so that it is
        freed at once, and not when the garbage collector comes to it.

        It is called with what a pass was given, and with what it returned. So where an
        adapter has this, passes keep neither: one that gave back what it made before,
        from a cache, say, would give back what was undone. The contract check finds
        those.
        """
        del function

    def encode_shell(self, mod: Any) -> bytes:
        """Return all of a module but its functions as bytes."""
        return by_value.pack(self.with_functions(mod, {}))

    def decode_shell(self, encoded: bytes) -> Any:
        """Return a module without functions from `encode_shell`."""
        return by_value.unpack(encoded)


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
