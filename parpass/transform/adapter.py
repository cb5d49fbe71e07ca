"""The module adapter: the interface of an IR to the pass manager, and its codec.

`transform`, `instrument` and `runner` access a module through an adapter only. The
embedded Relay registers its adapter in the same way as any other IR does.

The law requires that passes cannot observe whether a function was encoded and decoded:
a serial run hands an object from pass to pass, a worker decodes what it receives. If an
IR cannot guarantee that, its adapter sets `round_trip_between_passes`. Then passes see
decoded functions only, in every kind of run: at the start of a run all functions go
through the codec, and after each pass those that it changed. More than one round trip
must make no difference (the conformance kit checks it), so it does not matter where
else a run encodes and decodes.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import UnionType
from typing import Any

from parpass.errors.adapters import function_note
from parpass.errors.core import add_note
from parpass.source import Source
from parpass.transform.by_value import pickle_value
from parpass.transform.code_unpickler import unpickle
from parpass.transform.codecs import BlobSink, LargeValue, StoreCodec
from parpass.transform.function_difference import function_difference
from parpass.transform.mutability import FoundMutability, Mutability
from parpass.transform.passes import Pass
from parpass.transform.program_format import ProgramFormat

_NO_LIMIT = 1 << 62  # nodes, which no function has


@dataclass(frozen=True, slots=True)
class ProgramSlice:
    """A part of a module as text.

    Attributes:
        text: The text.
        is_restored: Whether the text omits invariants of the IR that hold in the
            module, so that the restoring pass must run on the parsed module.
    """

    text: str
    is_restored: bool = False


class ModuleAdapter(ProgramFormat):
    """A base class: the pass manager's operations on modules and functions of an IR.

    You must set `module_type` and `function_type`, and implement `size`. The other
    methods have defaults for modules that are dataclasses with the functions in a field
    `functions`, and for functions that are values: frozen, compared by `==`, and
    picklable. Override those that your IR can do better.

    Modules are treated as values: no method changes a module. An adapter is pickled for
    the workers, so it should be stateless.

    The command line needs a `ProgramFormat` as well; an adapter with an `ir_name` is
    registered under that name.

    Attributes:
        module_type: The class of modules.
        function_type: The class of functions, or a union of classes.
        mutability: The handling of functions that can be changed in place; None states
            that functions are frozen. By default parpass checks each function, and
            passes receive copies of those that can be changed. A pass may change no
            function but its argument.
        consumes_functions: Whether passes consume their argument (move semantics):
            functions are boxes, and a pass takes the content that it changes out of the
            box. Passes call `owns` to learn whether they must keep a copy.
        round_trip_between_passes: Whether passes can observe that a function was
            encoded and decoded. If True, each function goes through the codec before a
            pass sees it, in serial runs, too; a second round trip must not be
            observable. False guarantees that no round trip is observable.
    """

    module_type: type[Any]
    function_type: type[Any] | UnionType
    mutability: Mutability | None = FoundMutability()
    consumes_functions: bool = False
    round_trip_between_passes: bool = False

    def functions(self, mod: Any) -> Mapping[str, Any]:
        """Return the functions that function passes see, by name, in module order."""
        return mod.functions

    def with_functions(self, mod: Any, functions: Mapping[str, Any]) -> Any:
        """Return a new module like `mod` whose functions are these.

        The module must keep the mapping itself, not a copy: the mapping may decode
        functions on access, and a copy would decode them all.
        """
        return replace(mod, functions=functions)

    def is_module(self, value: Any) -> bool:
        """Return whether a value is a module, which a module pass may return."""
        return isinstance(value, self.module_type)

    def is_function(self, value: Any) -> bool:
        """Return whether a value is a function, which a function pass may return."""
        return isinstance(value, self.function_type)

    @abstractmethod
    def size(self, function: Any, limit: int) -> int:
        """Return the size of a function, counted up to `limit`.

        Use any unit that the time of a pass grows with, such as nodes. The coordinator
        calls this for placement, at most twice for each function and stage, so it must
        be much faster than a pass.
        """
        ...

    def programs(self, mod: Any) -> ProgramFormat:
        """Return the program format of a module: `self`, if modules are of one IR."""
        del mod
        return self

    def module_size(self, mod: Any) -> tuple[int, ...]:
        """Return the number of functions and the sum of their sizes."""
        sizes = [self.size(one, _NO_LIMIT) for one in self.functions(mod).values()]
        return len(sizes), sum(sizes)

    def replace_functions(self, mod: Any, changed: Mapping[str, Any]) -> Any:
        """Return a new module like `mod` with some functions replaced."""
        return self.with_functions(mod, {**self.functions(mod), **changed})

    def read_only(self, mod: Any, functions: Mapping[str, Any], reader: str) -> Any:
        """Return a module like `mod` with these functions, for the pass `reader`.

        If modules are mutable, writing to this one must raise a `ReadOnlyModuleError`
        that names `reader`. Keep the mapping itself, as in `with_functions`.
        """
        del reader
        return self.with_functions(mod, functions)

    def kind_of(self, function: Any) -> str | None:
        """Return the kind of a function: passes with that `function_kind` see it.

        Override this for modules with several kinds of functions. None hides a function
        from all passes.
        """
        del function
        return ""

    def is_skipped(self, function: Any) -> bool:
        """Return whether function passes must skip a function."""
        del function
        return False

    def signature(self, function: Any) -> Any | None:
        """Return the interface of a function to other functions, such as its type.

        Return None if the function does not declare it. Signatures are compared by
        `==`. A pass on another function can read it with the method `signature(name)`
        of the mapping that `read_only` received, if that mapping has one. The runner
        then need not materialise the function in the state in which the pass would see
        it.
        """
        del function

    def keeps_signature(self, before: Any, after: Any) -> bool:
        """Return whether a pass kept its argument's signature in its result.

        Return True if the argument has none. This runs after each pass that changed a
        function, so it should be faster than comparing signatures. If passes consume
        functions, `before` may be empty.
        """
        stated = self.signature(before)
        return stated is None or stated == self.signature(after)

    def restoring_pass(self, kind: str) -> Pass | None:
        """Return the pass that restores the IR's invariants after a function pass.

        It receives functions of one kind, as the function pass does. Relay's is
        InferType. It is known by its name, which no other pass should have.
        """
        del kind
        return None

    def faults(self, function: Any, mod: Any) -> Sequence[str]:
        """Return the violations of the IR's rules in a function of `mod`, as phrases.

        An unbound variable is a violation, for example. Missing information, such as a
        type that has not been inferred, is not.
        """
        del function, mod
        return ()

    def program_slice(self, mod: Any, function: str | None) -> ProgramSlice:
        """Return a function and everything in the module that it depends on, as text.

        Pass None for the whole module. If dependencies are unknown, return the whole
        module.
        """
        del function
        return ProgramSlice(self.astext(mod))

    def function_text(self, name: str, function: Any, mod: Any) -> str:
        """Return the text of one function of `mod`, for people to read.

        It depends on the function alone and omits large values. The default is the text
        of a module that contains only this function.
        """
        alone = self.with_functions(mod, {name: function})
        return self.programs(alone).astext(alone, show_meta_data=False)

    def difference(self, before: Any, after: Any) -> str | None:
        """Return the first difference between two functions; None if they are equal.

        The default compares by `==`. Functions that are equal only to themselves are
        compared by their attributes and items, or, if passes consume functions, by
        their encoded form.
        """
        return function_difference(self, before, after)

    def encode_function(self, function: Any, blob_sink: BlobSink) -> bytes:
        """Encode a function; `blob_sink` may take large values out-of-band."""
        del blob_sink
        return pickle_value(function)

    def decode_function(
        self, encoded: bytes | memoryview, sources: Sequence[Source], mod: Any
    ) -> Any:
        """Decode the result of `encode_function`, as a member of `mod`.

        `sources` are the sources of the out-of-band values, by index.
        """
        del sources, mod
        return unpickle(encoded)

    def encode_content(self, function: Any, mod: Any, blob_sink: BlobSink) -> bytes:
        """Encode everything in a function of `mod` that passes can see, for a cache.

        Functions that a pass can tell apart must differ in it. The default is
        `encode_function`; add whatever `decode_function` takes from the module.
        """
        del mod
        return self.encode_function(function, blob_sink)

    def encode_signature(self, signature: Any) -> bytes:
        """Encode a signature, for a cache; equal signatures must give equal bytes."""
        return pickle_value(signature)

    def encode_reference(self, mod: Any, name: str) -> bytes:
        """Encode the properties of a function that references show, for a cache.

        These are neither its signature nor its content, but, for example, its place in
        the source.
        """
        del mod, name
        return b""

    def encode_context(self, mod: Any) -> bytes:
        """Encode everything in a module that passes see besides functions, for a cache.

        The default is `encode_shell`. To cache more, leave out the parts that change
        often and record when a pass reads them. Call these methods of the mapping that
        `read_only` received, if it has them: `note_name(name)` for a name,
        `note_names()` for all names, and `note_shell()` for everything else.
        """
        return self.encode_shell(mod)

    def store_codec(self, mod: Any) -> StoreCodec | None:
        """Return the codec that stores functions of `mod` on disk.

        None, the default, keeps them in memory.
        """
        del mod

    def bound_objects(self, mod: Any) -> Mapping[str, Any]:
        """Return the objects that functions of a module refer to by identity, by name.

        A function belongs to every module that has the same objects. Return none if
        functions are values without such references.
        """
        del mod
        return {}

    def worker_environment(self, mod: Any) -> Any:
        """Return an expensive object that passes on functions of `mod` need.

        Each worker of a stage calls this before the first pass, with a module without
        functions. Its time counts for no pass and no budget. The result is referenced
        until the stage ends. The adapter may cache it for longer, in a place where
        passes find it.
        """
        del mod

    def discard(self, function: Any) -> None:
        """Dispose of a function that a worker no longer uses.

        You may break reference cycles here, so that the function is freed at once and
        not at the next garbage collection.

        The worker calls this with arguments and results of passes. If you override it,
        passes must keep neither: a pass that returns an earlier result, from a cache of
        its own, would return a disposed function. The contract check finds such passes.
        """
        del function

    def encode_shell(self, mod: Any) -> bytes:
        """Encode a module without its functions."""
        return pickle_value(self.with_functions(mod, {}))

    def decode_shell(self, encoded: bytes) -> Any:
        """Decode a module without functions from the result of `encode_shell`."""
        return unpickle(encoded)


def keep_inline(value: LargeValue) -> None:
    """A `BlobSink` that leaves all values in-band."""
    del value


def round_trip(adapter: ModuleAdapter, function: Any, mod: Any) -> Any:
    encoded = adapter.encode_function(function, keep_inline)
    return adapter.decode_function(encoded, (), mod)


def named_trip(adapter: ModuleAdapter, name: str, function: Any, mod: Any) -> Any:
    """Encode and decode a function; errors of encoding get a note with its name."""
    try:
        encoded = adapter.encode_function(function, keep_inline)
    except Exception as error:
        add_note(error, function_note(name))
        raise
    return adapter.decode_function(encoded, (), mod)


def round_trip_changed(adapter: ModuleAdapter, before: Any, after: Any) -> Any:
    """Return `after`, with a round trip of the functions that are not in `before`."""
    if after is before:
        return after
    known = adapter.functions(before)
    decoded = {
        name: named_trip(adapter, name, function, after)
        for name, function in adapter.functions(after).items()
        if known.get(name) is not function
    }
    return adapter.replace_functions(after, decoded) if decoded else after
